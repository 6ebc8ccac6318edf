/* Rows in coordinates of unit second moment; see whitening.py. */
#include "arguments.h"
#include "kernels.h"

#include <math.h>
#include <stdlib.h>

#include "elementary.h"

#define BLOCK 64
#define CONSTANT 1e-14
/* Proven shares of the variance above which no direction is a rounding error; ten times
   the limit of whitening.py, so that both always agree. */
#define CERTAIN 1e-9

/* Middle and half of the range of each feature. */
WIDE void heterolda_ranges(const double *X, int64_t n, int64_t d, double *centre,
                           double *size)
{
    for (int64_t i = 0; i < d; i++)
        centre[i] = size[i] = X[i];
    for (int64_t j = 1; j < n; j++) {
        const double *x = X + j * d;
        for (int64_t i = 0; i < d; i++) {
            centre[i] = x[i] < centre[i] ? x[i] : centre[i];
            size[i] = x[i] > size[i] ? x[i] : size[i];
        }
    }
    for (int64_t i = 0; i < d; i++) {
        double low = centre[i], high = size[i];
        centre[i] = low / 2 + high / 2;
        size[i] = high / 2 - low / 2;
        if (size[i] <= CONSTANT * fabs(centre[i]))
            size[i] = INFINITY;
    }
}

/* Scaled, centred columns of features that vary, of variance one; their number. kept
   has their features, deviation what they were divided by. */
WIDE int64_t heterolda_columns(const double *X, const double *weight, int64_t n,
                               int64_t d, const double *centre, const double *size,
                               double *mean, int64_t *kept, double *deviation,
                               double *columns)
{
    int64_t used = 0, r = 0;
    for (int64_t i = 0; i < d; i++) {
        mean[i] = 0;
        if (size[i] < INFINITY)
            kept[used++] = i;
    }
    for (int64_t from = 0; from < n; from += BLOCK) {
        int64_t end = n - from < BLOCK ? n : from + BLOCK;
        for (int64_t k = 0; k < used; k++) {
            int64_t i = kept[k];
            for (int64_t j = from; j < end; j++)
                columns[k * n + j] = (X[j * d + i] - centre[i]) / size[i];
        }
    }
    for (int64_t k = 0; k < used; k++) {
        const double *from = columns + k * n;
        double *to = columns + r * n, sum[LANES] = {0};
        double middle = mean[kept[k]] = dot(weight, from, n);
        for (int64_t j = 0; j < n; j++) {
            to[j] = from[j] - middle;
            sum[j % LANES] += weight[j] * to[j] * to[j];
        }
        deviation[r] = sqrt(joined(sum));
        if (!(deviation[r] > 0))
            continue;
        for (int64_t j = 0; j < n; j++)
            to[j] /= deviation[r];
        kept[r++] = kept[k];
    }
    return r;
}

/* Sums over rows of products of columns, times the weights. */
WIDE void heterolda_products(const double *columns, const double *weight, int64_t n,
                             int64_t r, double *scratch, double *matrix)
{
    for (int64_t i = 0; i < r; i++) {
        const double *RESTRICT z = columns + i * n;
        for (int64_t j = 0; j < n; j++)
            scratch[j] = weight[j] * z[j];
        for (int64_t k = 0; k <= i; k++)
            matrix[i * r + k] = dot(scratch, columns + k * n, n);
    }
}

/* The same by rows, each times the root of its weight; moments has room for 2 d. */
WIDE void heterolda_rows(const double *X, const double *weight, int64_t n, int64_t d,
                         const double *centre, const double *size, double *moments,
                         double *rows)
{
    double *RESTRICT mean = moments, *RESTRICT square = moments + d;
    for (int64_t i = 0; i < 2 * d; i++)
        moments[i] = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < d; i++) {
            rows[j * d + i] = (X[j * d + i] - centre[i]) / size[i];
            mean[i] += weight[j] * rows[j * d + i];
        }
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < d; i++) {
            double z = rows[j * d + i] -= mean[i];
            square[i] += weight[j] * z * z;
        }
    for (int64_t i = 0; i < d; i++)
        square[i] = square[i] > 0 ? 1 / sqrt(square[i]) : 0.0;
    for (int64_t j = 0; j < n; j++) {
        double root = sqrt(weight[j]);
        for (int64_t i = 0; i < d; i++)
            rows[j * d + i] *= root * square[i];
    }
}

/* Products of these rows, plus those of the roots of their weights. */
WIDE void heterolda_row_products(const double *rows, const double *weight, int64_t n,
                                 int64_t d, double *matrix)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = 0; k <= j; k++) {
            double product = dot(rows + j * d, rows + k * d, d);
            matrix[j * n + k] = product + sqrt(weight[j]) * sqrt(weight[k]);
        }
}

/* Cholesky factor L of a matrix, in place, and its inverse; false unless they prove
   that no eigenvalue is below CERTAIN times the trace. */
WIDE bool heterolda_factor(double *matrix, int64_t n, double *inverse)
{
    double trace = 0, norm = 0;
    for (int64_t i = 0; i < n; i++)
        trace += matrix[i * n + i];
    for (int64_t i = 0; i < n; i++) {
        double *row = matrix + i * n;
        for (int64_t k = 0; k < i; k++)
            row[k] = (row[k] - dot(row, matrix + k * n, k)) / matrix[k * n + k];
        double pivot = row[i] - dot(row, row, i);
        if (!(pivot > CERTAIN * trace))
            return false;
        row[i] = sqrt(pivot);
    }
    /* Row i of the inverse is (e_i - sum over k < i of L_ik row k) / L_ii. */
    for (int64_t i = 0; i < n; i++) {
        double *RESTRICT to = inverse + i * n;
        for (int64_t k = 0; k < n; k++)
            to[k] = k == i;
        for (int64_t k = 0; k < i; k++) {
            const double *RESTRICT from = inverse + k * n;
            double factor = matrix[i * n + k];
            for (int64_t l = 0; l <= k; l++)
                to[l] -= factor * from[l];
        }
        for (int64_t l = 0; l <= i; l++) {
            to[l] /= matrix[i * n + i];
            norm += to[l] * to[l];
        }
    }
    /* The largest eigenvalue of the matrix' inverse is at most that sum of squares. */
    return 1 / norm > CERTAIN * trace;
}

/* Columns of unit second moment from those of variance one, by L z = x, in place. */
WIDE void heterolda_solve(const double *L, int64_t r, int64_t n, double *columns)
{
    for (int64_t i = 0; i < r; i++) {
        double *RESTRICT to = columns + i * n;
        for (int64_t k = 0; k < i; k++) {
            const double *RESTRICT from = columns + k * n;
            double factor = L[i * r + k];
            for (int64_t j = 0; j < n; j++)
                to[j] -= factor * from[j];
        }
        double pivot = L[i * r + i];
        for (int64_t j = 0; j < n; j++)
            to[j] /= pivot;
    }
}

/* Room for several arrays of doubles; NULL if there is none. */
static double *room(Py_ssize_t a, Py_ssize_t b)
{
    size_t most = SIZE_MAX / sizeof(double) / 2;
    if (b && (size_t)a > most / (size_t)b)
        return NULL;
    return malloc(((size_t)a * (size_t)b + 1) * sizeof(double));
}

PyObject *py_whiten(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        {"X", "d", "nd"},      {"weight", "d", "n"}, {"centre", "d!", "d"},
        {"size", "d!", "d"},   {"mean", "d!", "d"},  {"basis", "d!", "dd"},
        {"columns", "d!", "en"}, {"rank", "l!", "1"},
    };
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    int64_t n = SIZE('n'), d = SIZE('d'), *rank = a[7].data;
    if (n < 1 || SIZE('e') != d + 1) {
        PyErr_SetString(PyExc_ValueError,
                        "there must be a row, and columns for all features and one");
        return give_back(a, COUNT(a));
    }
    double *matrix = room(d, d), *inverse = room(d, d), *scratch = room(n, 1);
    double *deviation = room(d, 1);
    int64_t *kept = malloc(((size_t)d + 1) * sizeof(int64_t));
    if (matrix && inverse && scratch && deviation && kept) {
        double *centre = a[2].data, *half = a[3].data, *basis = a[5].data;
        double *columns = a[6].data;
        Py_BEGIN_ALLOW_THREADS
        heterolda_ranges(a[0].data, n, d, centre, half);
        int64_t r = heterolda_columns(a[0].data, a[1].data, n, d, centre, half,
                                      a[4].data, kept, deviation, columns + n);
        heterolda_products(columns + n, a[1].data, n, r, scratch, matrix);
        *rank = -1;
        if (heterolda_factor(matrix, r, inverse)) {
            *rank = r;
            for (int64_t j = 0; j < n; j++)
                columns[j] = 1;
            heterolda_solve(matrix, r, n, columns + n);
            memset(basis, 0, (size_t)d * (size_t)d * sizeof(double));
            for (int64_t i = 0; i < r; i++)
                for (int64_t k = i; k < r; k++)
                    basis[kept[i] * d + k] = inverse[k * r + i] / deviation[i];
        }
        Py_END_ALLOW_THREADS
    } else {
        PyErr_NoMemory();
    }
    free(matrix);
    free(inverse);
    free(scratch);
    free(deviation);
    free(kept);
    return give_back(a, COUNT(a));
}

PyObject *py_independent(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {{"X", "d", "nd"}, {"weight", "d", "n"}, {"proven", "l!", "1"}};
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    int64_t n = SIZE('n'), d = SIZE('d'), *proven = a[2].data;
    *proven = 0;
    double *matrix = room(n, n), *inverse = room(n, n), *rows = room(n, d);
    double *other = room(4, d);
    if (!matrix || !inverse || !rows || !other) {
        PyErr_NoMemory();
    } else if (n) {
        Py_BEGIN_ALLOW_THREADS
        heterolda_ranges(a[0].data, n, d, other, other + d);
        heterolda_rows(a[0].data, a[1].data, n, d, other, other + d, other + 2 * d,
                       rows);
        heterolda_row_products(rows, a[1].data, n, d, matrix);
        *proven = heterolda_factor(matrix, n, inverse);
        Py_END_ALLOW_THREADS
    }
    free(matrix);
    free(inverse);
    free(rows);
    free(other);
    return give_back(a, COUNT(a));
}
