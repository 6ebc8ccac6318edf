/* Weights, means and centered scatters of classes; see class_moments.py. */
#include "arguments.h"
#include "kernels.h"
#include "portable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows are sorted by class this many at a time, so that they are close together. */
#define SORTED 16384
/* Rows of a class are centered and multiplied in blocks that stay in cache. */
#define BLOCK_NUMBERS 4096
#define MIN_ROWS 32
#define MAX_ROWS 256
/* Products of this many features with this many others stay in registers. */
#define TALL 4
#define BROAD 8

/* Numbers stored row by row, or else column by column. */
typedef struct {
    const double *rows, *columns;
    int64_t n, d;
} Data;

typedef struct {
    /* Moments of the class so far: weight, an origin (a row or an earlier mean), the mean
       relative to it, and the upper half of the scatter. */
    double *weight, *origin, *mean, *scatter;
    double *z;     /* a block of rows, each padded with zeros to `wide` numbers */
    double *shift; /* their mean, relative to the same origin */
    double *part;  /* their weights */
    int64_t d, wide;
    int64_t lost;  /* index of a feature whose squares underflow, or -1 */
} Work;

/* Copy rows of a block, padded with zeros. */
INLINE void gather(const Data *x, const int64_t *RESTRICT at, int64_t n, int64_t wide,
                   double *RESTRICT z)
{
    const int64_t d = x->d;
    if (x->rows) {
        for (int64_t r = 0; r < n; r++)
            for (int64_t i = 0; i < d; i++)
                z[r * wide + i] = x->rows[at[r] * d + i];
        return;
    }
    for (int64_t i = 0; i < d; i++)
        for (int64_t r = 0; r < n; r++)
            z[r * wide + i] = x->columns[i * x->n + at[r]];
}

/* Products of features i, i + 1, ... with j, j + 1, ..., summed over rows. */
INLINE void products(const double *RESTRICT z, int64_t n, int64_t wide, int64_t i,
                     int64_t j, double sums[TALL][BROAD])
{
    double s0[BROAD] = {0}, s1[BROAD] = {0}, s2[BROAD] = {0}, s3[BROAD] = {0};
    for (int64_t r = 0; r < n; r++) {
        const double *one = z + r * wide + i, *other = z + r * wide + j;
        double a0 = one[0], a1 = one[1], a2 = one[2], a3 = one[3];
        for (int b = 0; b < BROAD; b++) {
            s0[b] += a0 * other[b];
            s1[b] += a1 * other[b];
            s2[b] += a2 * other[b];
            s3[b] += a3 * other[b];
        }
    }
    memcpy(sums[0], s0, sizeof s0);
    memcpy(sums[1], s1, sizeof s1);
    memcpy(sums[2], s2, sizeof s2);
    memcpy(sums[3], s3, sizeof s3);
}

static bool varies(const Work *w, int64_t n, int64_t i)
{
    for (int64_t r = 0; r < n; r++)
        if (w->z[r * w->wide + i] != 0.0)
            return true;
    return false;
}

/* Add a block of rows to the moments of a class. Subtracting a row first makes the
   scatter of a constant feature exactly zero, and keeps all digits despite an offset. */
INLINE void add_block(Work *w, int64_t n, bool weighted, double smallest)
{
    const int64_t d = w->d, wide = w->wide;
    double *RESTRICT z = w->z, *RESTRICT shift = w->shift;
    double before = *w->weight, more = (double)n;
    if (weighted) {
        more = 0.0;
        for (int64_t r = 0; r < n; r++)
            more += w->part[r];
    }
    if (before == 0)
        memcpy(w->origin, z, (size_t)d * sizeof(double));
    memset(shift, 0, (size_t)wide * sizeof(double));
    for (int64_t r = 0; r < n; r++) {
        double p = weighted ? w->part[r] : 1.0;
        for (int64_t i = 0; i < d; i++) {
            double x = z[r * wide + i] - w->origin[i];
            z[r * wide + i] = x;
            shift[i] += p * x;
        }
    }
    for (int64_t i = 0; i < d; i++)
        shift[i] /= more;
    for (int64_t r = 0; r < n; r++) {
        double root = weighted ? sqrt(w->part[r]) : 1.0;
        for (int64_t i = 0; i < wide; i++)
            z[r * wide + i] = (z[r * wide + i] - shift[i]) * root;
    }
    /* Chan, Golub and LeVeque, pairwise update */
    double total = before + more, outer = before * more / total;
    for (int64_t i = 0; i < d; i++)
        shift[i] -= w->mean[i];
    for (int64_t i = 0; i < d; i += TALL)
        for (int64_t j = i / BROAD * BROAD; j < d; j += BROAD) {
            double sums[TALL][BROAD];
            products(z, n, wide, i, j, sums);
            for (int64_t a = i; a < i + TALL && a < d; a++) {
                double *row = w->scatter + a * d, *sum = sums[a - i];
                double factor = outer * shift[a];
                for (int64_t b = j > a ? j : a; b < j + BROAD && b < d; b++)
                    row[b] += sum[b - j] + factor * shift[b];
                if (a >= j && a < j + BROAD && sum[a - j] < smallest && w->lost < 0 &&
                    varies(w, n, a))
                    w->lost = a;
            }
        }
    for (int64_t i = 0; i < d; i++)
        w->mean[i] += shift[i] * (more / total);
    *w->weight = total;
}

WIDE void add_blocks(const Data *x, const int64_t *at, int64_t n, int64_t step,
                     const double *weight, double smallest, Work *w)
{
    for (int64_t start = 0; start < n; start += step) {
        int64_t length = n - start < step ? n - start : step;
        gather(x, at + start, length, w->wide, w->z);
        for (int64_t r = 0; weight && r < length; r++)
            w->part[r] = weight[at[start + r]];
        if (weight)
            add_block(w, length, true, smallest);
        else
            add_block(w, length, false, smallest);
    }
}

/* Sort a range of rows of positive weight by class; `bounds` are the class starts. */
static void sort_rows(const int64_t *codes, const double *weight, int64_t start,
                      int64_t n, int64_t k, int64_t *bounds, int64_t *order)
{
    memset(bounds, 0, (size_t)(k + 2) * sizeof(int64_t));
    for (int64_t r = start; r < start + n; r++)
        if (!weight || weight[r] > 0)
            bounds[codes[r] + 2]++;
    for (int64_t c = 2; c <= k + 1; c++)
        bounds[c] += bounds[c - 1];
    for (int64_t r = start; r < start + n; r++)
        if (!weight || weight[r] > 0)
            order[bounds[codes[r] + 1]++] = r;
}

/* Returns false if memory runs out. */
static bool class_moments(const Data *x, const int64_t *codes, const double *weight,
                          int64_t k, double *totals, double *means, double *scatters,
                          double smallest, int64_t *lost)
{
    *lost = -1;
    if (x->n == 0)
        return true;
    const int64_t d = x->d, wide = (d + BROAD - 1) / BROAD * BROAD;
    int64_t step = BLOCK_NUMBERS / (wide + 1);
    step = step < MIN_ROWS ? MIN_ROWS : step > MAX_ROWS ? MAX_ROWS : step;
    int64_t *order = malloc(SORTED * sizeof(int64_t));
    int64_t *bounds = malloc((size_t)(k + 2) * sizeof(int64_t));
    double *work = calloc((size_t)((step + 1) * wide + step), sizeof(double));
    double *origins = calloc((size_t)(k * d + 1), sizeof(double));
    bool done = order && bounds && work && origins;
    if (done) {
        Work w = {.z = work, .d = d, .wide = wide, .lost = -1};
        w.shift = work + step * wide;
        w.part = w.shift + wide;
        for (int64_t i = 0; i < k * d; i++)
            if (totals[i / d] > 0) {
                origins[i] = means[i];
                means[i] = 0.0;
            }
        for (int64_t start = 0; start < x->n; start += SORTED) {
            int64_t n = x->n - start < SORTED ? x->n - start : SORTED;
            sort_rows(codes, weight, start, n, k, bounds, order);
            for (int64_t c = 0; c < k; c++) {
                w.weight = totals + c;
                w.origin = origins + c * d;
                w.mean = means + c * d;
                w.scatter = scatters + c * d * d;
                add_blocks(x, order + bounds[c], bounds[c + 1] - bounds[c], step,
                           weight, smallest, &w);
            }
        }
        for (int64_t i = 0; i < k * d; i++)
            means[i] += origins[i];
        for (int64_t c = 0; c < k; c++)
            for (int64_t i = 0; i < d; i++)
                for (int64_t j = 0; j < i; j++)
                    scatters[(c * d + i) * d + j] = scatters[(c * d + j) * d + i];
        *lost = w.lost;
    }
    free(order);
    free(bounds);
    free(work);
    free(origins);
    return done;
}

PyObject *py_class_moments(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        {"rows", "d", "nd?"},      {"columns", "d", "dn?"}, {"codes", "l", "n"},
        {"weight", "d", "n?"},     {"totals", "d!", "k"},   {"means", "d!", "kd"},
        {"scatters", "d!", "kdd"}, {"smallest", "d"},       {"lost", "l!", "1"},
    };
    Sizes size;
    bool done = true;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    const int64_t *codes = a[2].data;
    Data x = {a[0].data, a[1].data, SIZE('n'), SIZE('d')};
    if (!x.rows && !x.columns) {
        PyErr_SetString(PyExc_ValueError, "rows or columns are needed");
        return give_back(a, COUNT(a));
    }
    for (int64_t r = 0; r < x.n; r++)
        if (codes[r] < 0 || codes[r] >= SIZE('k')) {
            PyErr_SetString(PyExc_ValueError, "codes must be indices of classes");
            return give_back(a, COUNT(a));
        }
    Py_BEGIN_ALLOW_THREADS
    done = class_moments(&x, codes, a[3].data, SIZE('k'), a[4].data, a[5].data,
                         a[6].data, a[7].number, a[8].data);
    Py_END_ALLOW_THREADS
    if (!done)
        PyErr_NoMemory();
    return give_back(a, COUNT(a));
}
