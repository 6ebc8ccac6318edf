/* Scores of rows by linear rules, summed in a fixed order; see ordered_scores.py. */
#include "arguments.h"
#include "kernels.h"

#include <stdlib.h>

#include "vectors.h"

/* x is memory for a tile. */
WIDE static void ordered_scores(const double *X, int64_t n, Hyperplanes rules, int64_t n_rules,
                               double *x, double *out)
{
    Four sums[2 * GROUP];
    double scores[GROUP][LANES];
    int64_t rows[LANES], which[GROUP];
    for (int64_t start = 0; start < n; start += LANES) {
        int64_t m = n - start < LANES ? n - start : LANES;
        for (int64_t r = 0; r < LANES; r++)
            rows[r] = start + (r < m ? r : 0);
        fill_lanes(X, rules.d, rows, x);
        for (int64_t p = 0; p < n_rules; p += GROUP) {
            int64_t q = n_rules - p < GROUP ? n_rules - p : GROUP;
            for (int64_t g = 0; g < GROUP; g++)
                which[g] = p + (g < q ? g : 0);
            lane_scores(rules, which, x, sums);
            memcpy(scores, sums, sizeof scores);
            for (int64_t r = 0; r < m; r++)
                for (int64_t g = 0; g < q; g++)
                    out[(start + r) * n_rules + p + g] = scores[g][r];
        }
    }
}

/* Scores by a single rule, without rearranging the rows. */
WIDE static void scores_of_one(const double *X, int64_t n, Hyperplanes rules, double *out)
{
    const double *w = rules.coef, *at[2 * LANES];
    int64_t d = rules.d;
    for (int64_t start = 0; start < n; start += 2 * LANES) {
        int64_t m = n - start < 2 * LANES ? n - start : 2 * LANES;
        double scores[2 * LANES];
        Four s[4] = {four(0.0), four(0.0), four(0.0), four(0.0)};
        for (int64_t r = 0; r < 2 * LANES; r++)
            at[r] = X + (start + (r < m ? r : 0)) * d;
        for (int64_t k = 0; k < d; k++)
            for (int i = 0; i < 4; i++) {
                const double **x = at + 4 * i;
                Four values = of_four(x[0][k], x[1][k], x[2][k], x[3][k]);
                s[i] = add(s[i], scaled(w[k], values));
            }
        memcpy(scores, s, sizeof scores);
        for (int64_t r = 0; r < m; r++) {
            double score = scores[r] + rules.intercept[0];
            if (!isfinite(score * ROOM))
                score = huge_score(at[r], 1, w, rules.intercept[0], d);
            out[start + r] = score;
        }
    }
}

PyObject *py_ordered_scores(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        {"X", "d", "nd"}, {"coef", "d", "pd"}, {"intercept", "d", "p"}, {"scores", "d!", "np"},
    };
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    Hyperplanes rules = {a[1].data, a[2].data, SIZE('d')};
    double *x = malloc((size_t)(rules.d + 1) * LANES * sizeof(double));
    if (x == NULL) {
        PyErr_NoMemory();
        return give_back(a, COUNT(a));
    }
    Py_BEGIN_ALLOW_THREADS
    if (SIZE('p') == 1)
        scores_of_one(a[0].data, SIZE('n'), rules, a[3].data);
    else
        ordered_scores(a[0].data, SIZE('n'), rules, SIZE('p'), x, a[3].data);
    Py_END_ALLOW_THREADS
    free(x);
    return give_back(a, COUNT(a));
}
