/* The best of all real steps along a coordinate; see best_step.py. */
#include "arguments.h"
#include "kernels.h"

#include <math.h>
#include <string.h>

#define DIGIT 11 /* bits that a pass of the sort looks at */
#define N_PASSES 6
#define N_BINS (1 << DIGIT)
/* Intervals narrower than this share of their ends are rounding. */
#define NARROW 0x1p-40

typedef struct {
    uint64_t key;  /* the bits of a breakpoint, in the order of the numbers */
    uint64_t gain; /* change of the errors there; it may wrap around */
} Breakpoint;

static uint64_t key_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double point_of(uint64_t key)
{
    uint64_t bits = key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key;
    double x;
    memcpy(&x, &bits, 8);
    return x;
}

/* Sort by the keys, digit by digit; returns which of the two arrays has the result. */
static Breakpoint *sorted(Breakpoint *from, Breakpoint *to, int64_t m, int64_t *counts)
{
    memset(counts, 0, N_PASSES * N_BINS * sizeof *counts);
    for (int64_t k = 0; k < m; k++)
        for (int pass = 0; pass < N_PASSES; pass++)
            counts[pass * N_BINS + (from[k].key >> (DIGIT * pass) & (N_BINS - 1))]++;
    for (int pass = 0; pass < N_PASSES; pass++) {
        int64_t *place = counts + pass * N_BINS, sum = 0;
        int shift = DIGIT * pass;
        if (m && place[from[0].key >> shift & (N_BINS - 1)] == m)
            continue; /* all have the same digit */
        for (int64_t bin = 0; bin < N_BINS; bin++) {
            int64_t here = place[bin];
            place[bin] = sum;
            sum += here;
        }
        for (int64_t k = 0; k < m; k++)
            to[place[from[k].key >> shift & (N_BINS - 1)]++] = from[k];
        Breakpoint *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

typedef struct {
    bool found;
    double step;
    int64_t errors;
} Best;

/* The middle of the best interval between m sorted breakpoints. */
static Best best_interval(const Breakpoint *points, int64_t m, uint64_t errors)
{
    Best best = {false, 0.0, 0};
    double low = point_of(points[0].key), high = point_of(points[m - 1].key);
    double span = high - low != 0 ? high - low : 1.0, width = 0.0;
    double end = low - 2 * (low != 0 ? fabs(low) : span);
    for (int64_t k = 0; k <= m; k++) {
        double start = end;
        end = k < m ? point_of(points[k].key)
                    : high + 2 * (high != 0 ? fabs(high) : span);
        double wide = end - start, middle = start + wide / 2;
        if (wide > NARROW * fmax(fabs(start), fabs(end))) {
            int64_t count = (int64_t)errors;
            if (!best.found || count < best.errors ||
                (count == best.errors &&
                 (wide > width ||
                  (wide == width && fabs(middle) < fabs(best.step))))) {
                best = (Best){true, middle, count};
                width = wide;
            }
        }
        if (k < m)
            errors += points[k].gain;
    }
    return best;
}

static Best best_step(const double *x, int64_t stride, const uint8_t *first,
                      const int64_t *weight, const double *margins, int64_t n,
                      Breakpoint *room, int64_t *counts)
{
    int64_t m = 0;
    uint64_t errors = 0; /* at the far left */
    for (int64_t j = 0; j < n; j++) {
        double value = x ? x[j * stride] : -1.0, point = -margins[j] / value;
        uint64_t w = weight ? (uint64_t)weight[j] : 1;
        bool is_first = first[j] != 0;
        /* Other rows stay where they are at all finite steps, or do not count. */
        bool moving = point - point == 0 && (int64_t)w > 0;
        bool wrong = (moving ? value < 0 : margins[j] >= 0) != is_first;
        errors += wrong ? w : 0;
        room[m].key = key_of(point);
        room[m].gain = wrong ? 0 - w : w;
        m += moving;
    }
    Best none = {false, 0.0, 0};
    return m ? best_interval(sorted(room, room + n + 1, m, counts), m, errors) : none;
}

/* The step and the errors after it, or None; for column i of X, with i = 0 for w0. */
PyObject *py_best_step(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {{"X", "d", "nd"},
                    {"first", "b", "n"},
                    {"weight", "l", "n?"},
                    {"margins", "d", "n"},
                    {"i", "l"}};
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    int64_t n = SIZE('n'), d = SIZE('d'), i = a[4].integer;
    Best best = {false, 0.0, 0};
    if (i < 0 || i > d) {
        PyErr_SetString(PyExc_ValueError, "i must be a column of X, or 0");
        return give_back(a, COUNT(a));
    }
    Breakpoint *room = PyMem_Malloc(2 * ((size_t)n + 1) * sizeof *room);
    int64_t *counts = PyMem_Malloc(N_PASSES * N_BINS * sizeof *counts);
    if (room && counts) {
        const double *x = i ? (const double *)a[0].data + i - 1 : NULL;
        Py_BEGIN_ALLOW_THREADS
        best = best_step(x, d, a[1].data, a[2].data, a[3].data, n, room, counts);
        Py_END_ALLOW_THREADS
    } else {
        PyErr_NoMemory();
    }
    PyMem_Free(room);
    PyMem_Free(counts);
    PyObject *none = give_back(a, COUNT(a));
    if (!none || !best.found)
        return none;
    Py_DECREF(none);
    return Py_BuildValue("dL", best.step, (long long)best.errors);
}
