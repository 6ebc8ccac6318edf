/* Scores of rows by linear rules, summed in a fixed order; see ordered_scores.py. */
#include "arguments.h"
#include "kernels.h"

#include "vectors.h"

/* Scores by a rule, `stride` numbers apart. */
WIDE static void scores_of(const double *X, int64_t n, int64_t d, const double *w,
                           double intercept, int64_t stride, double *out)
{
    const double *at[2 * LANES];
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
            double score = scores[r] + intercept;
            if (!isfinite(score * ROOM))
                score = huge_score(at[r], 1, w, intercept, d);
            out[(start + r) * stride] = score;
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
    int64_t d = SIZE('d'), n_rules = SIZE('p');
    Py_BEGIN_ALLOW_THREADS
    for (int64_t p = 0; p < n_rules; p++)
        scores_of(a[0].data, SIZE('n'), d, (double *)a[1].data + p * d,
                  ((double *)a[2].data)[p], n_rules, (double *)a[3].data + p);
    Py_END_ALLOW_THREADS
    return give_back(a, COUNT(a));
}
