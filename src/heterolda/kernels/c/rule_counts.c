/* Errors of two rules per pair, counted on the rows of each class; see rule_counts.py. */
#include "arguments.h"
#include "kernels.h"

#include <math.h>

#include "vectors.h"

/* Return whether a score, or one that overflowed, is positive. */
INLINE bool is_positive(double score, const double *x, const double *coef,
                        double intercept, int64_t d)
{
    return (isfinite(score) ? score : huge_score(x, 1, coef, intercept, d)) > 0;
}

PyObject *py_rule_counts(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        {"X", "d", "nd"},
        {"weight", "d", "n?"}, /* of the rows */
        {"order", "l", "m"},   /* rows, sorted by class */
        {"bounds", "l", "b"},  /* where classes begin in order, and the end */
        {"chosen", "b", "k"},  /* classes that are counted */
        {"classes", "l", "p2"}, /* of each pair; -1 for none */
        {"counted", "b", "p"},  /* pairs that are counted */
        {"coef", "d", "pd"},
        {"intercept", "d", "p"},
        {"other_coef", "d", "pd"},
        {"other_intercept", "d", "p"},
        {"counts", "d!", "p23"},
    };
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    const double *X = a[0].data, *weight = a[1].data;
    const int64_t *order = a[2].data, *bounds = a[3].data, *classes = a[5].data;
    const bool *chosen = a[4].data, *counted = a[6].data;
    const double *coef[2] = {a[7].data, a[9].data};
    const double *intercept[2] = {a[8].data, a[10].data};
    double *counts = a[11].data;
    int64_t n = SIZE('n'), m = SIZE('m'), K = SIZE('k'), n_pairs = SIZE('p'), d = SIZE('d');
    bool fine = SIZE('b') == K + 1 && bounds[0] == 0 && bounds[K] == m;
    for (int64_t k = 0; fine && k < K; k++)
        fine = bounds[k] <= bounds[k + 1];
    for (int64_t j = 0; fine && j < m; j++)
        fine = order[j] >= 0 && order[j] < n;
    for (int64_t p = 0; fine && p < 2 * n_pairs; p++)
        fine = classes[p] >= -1 && classes[p] < K;
    if (!fine) {
        PyErr_SetString(PyExc_ValueError, "order, bounds or classes is out of range");
        return give_back(a, COUNT(a));
    }
    Py_BEGIN_ALLOW_THREADS
    for (int64_t p = 0; p < 2 * n_pairs; p++) {
        int64_t k = classes[p];
        if (k < 0 || !chosen[k] || !counted[p / 2])
            continue;
        const double *one = coef[0] + p / 2 * d, *two = coef[1] + p / 2 * d;
        double from_one = intercept[0][p / 2], from_two = intercept[1][p / 2];
        for (int64_t j = bounds[k]; j < bounds[k + 1]; j++) {
            const double *x = X + order[j] * d;
            double w = weight ? weight[order[j]] : 1.0, s = from_one, t = from_two;
            for (int64_t i = 0; i < d; i++) {
                s += x[i] * one[i];
                t += x[i] * two[i];
            }
            bool wrong = is_positive(s, x, one, from_one, d) != p % 2;
            bool also = is_positive(t, x, two, from_two, d) != p % 2;
            counts[3 * p] += wrong ? w : 0.0;
            counts[3 * p + 1] += also ? w : 0.0;
            counts[3 * p + 2] += wrong != also ? w : 0.0;
        }
    }
    Py_END_ALLOW_THREADS
    return give_back(a, COUNT(a));
}
