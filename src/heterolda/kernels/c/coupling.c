/* Class probabilities from the scores of all pairs of classes; see coupling.py. */
#include "arguments.h"
#include "kernels.h"

#include <stdlib.h>

#include "vectors.h"

/* Log-odds of the second class of a pair. With the score s clipped, they are
   offset[1] + s (bend s + slope[1]) if the score is positive, and
   s (bend s + slope[0]) - offset[0] otherwise. Each doubling of the score below low
   subtracts step[0], and above high adds step[1]. They are limited by most; at a positive
   score they are at least half of their value plus least. */
typedef struct {
    const double *offset, *slope; /* of shape (2, n_pairs), and so is step */
    const double *bend, *low, *high, *step;
    double most, least;
    double *inverse; /* of low and high, of shape (2, n_pairs) */
} Posterior;

INLINE Four four_log_odds(const Posterior *of, int64_t n_pairs, int64_t p, Four score)
{
    Four zero = four(0.0), s = larger(smaller(score, four(of->high[p])), four(of->low[p]));
    Four bent = scaled(of->bend[p], s);
    Four no = times(s, shifted(bent, of->slope[p]));
    Four yes = times(s, shifted(bent, of->slope[n_pairs + p]));
    Four beyond = larger(scaled(of->inverse[p], score),
                         scaled(of->inverse[n_pairs + p], score));
    beyond = doublings(larger(beyond, four(1.0)));
    no = subtract(shifted(no, -of->offset[p]), scaled(of->step[p], beyond));
    yes = add(shifted(yes, of->offset[n_pairs + p]), scaled(of->step[n_pairs + p], beyond));
    no = smaller(larger(no, four(-of->most)), zero);
    yes = larger(yes, shifted(scaled(0.5, larger(yes, zero)), of->least));
    yes = smaller(yes, four(of->most));
    return if_greater(score, zero, yes, no);
}

/* Probabilities of a tile, n_classes times LANES, from n_pairs times LANES scores, which
   are overwritten by odds. Short loops let the processor overlap many iterations. */
INLINE void couple_tile(const Posterior *of, double *scores, int64_t n_pairs,
                        int64_t n_classes, double *against)
{
    Four one = four(1.0);
    for (int64_t p = 0; p < n_pairs; p++)
        for (int64_t at = p * LANES; at < (p + 1) * LANES; at += 4)
            store(four_log_odds(of, n_pairs, p, load(scores + at)), scores + at);
    for (int64_t at = 0; at < n_pairs * LANES; at++)
        scores[at] = exp_within_range(scores[at]);
    for (int64_t h = 0; h < LANES; h += 4) {
        Four total = four(0.0);
        for (int64_t k = 0; k < n_classes; k++)
            store(one, against + k * LANES + h);
        for (int64_t i = 0, p = 0; i < n_classes; i++) {
            Four own = load(against + i * LANES + h);
            for (int64_t j = i + 1; j < n_classes; j++, p++) {
                double *other = against + j * LANES + h;
                Four odds = load(scores + p * LANES + h);
                own = add(own, odds);
                store(add(load(other), over(one, odds)), other);
            }
            own = over(one, own);
            total = add(total, own);
            store(own, against + i * LANES + h);
        }
        for (int64_t k = 0; k < n_classes; k++) {
            double *at = against + k * LANES + h;
            store(over(load(at), total), at);
        }
    }
}

/* Votes of a tile, n_classes times LANES. */
INLINE void count_tile(const double *weight, const double *scores, int64_t n_classes,
                       double *votes)
{
    for (int64_t h = 0; h < LANES; h += 4) {
        for (int64_t k = 0; k < n_classes; k++)
            store(four(0.0), votes + k * LANES + h);
        for (int64_t i = 0, p = 0; i < n_classes; i++) {
            Four own = load(votes + i * LANES + h);
            for (int64_t j = i + 1; j < n_classes; j++, p++) {
                double *other = votes + j * LANES + h;
                Four w = four(weight[p]);
                Four won = if_greater(load(scores + p * LANES + h), four(0.0), w, four(0.0));
                own = add(own, subtract(w, won));
                store(add(load(other), won), other);
            }
            store(own, votes + i * LANES + h);
        }
    }
}

INLINE void take_rows(const double *lanes, int64_t n_classes, int64_t m, double *rows)
{
    for (int64_t r = 0; r < m; r++)
        for (int64_t k = 0; k < n_classes; k++)
            rows[r * n_classes + k] = lanes[k * LANES + r];
}

/* From scores, or from rows and rules. Votes and weights may be NULL. */
WIDE static void couple(const double *scores, const double *X, Hyperplanes rules, int64_t n,
                        int64_t n_pairs, int64_t n_classes, const Posterior *of,
                        const double *weight, double *work, double *out, double *votes)
{
    double *tile = work, *sums = tile + n_pairs * LANES;
    double *x = sums + n_classes * LANES;
    for (int64_t p = 0; p < n_pairs; p++) {
        of->inverse[p] = 1 / of->low[p];
        of->inverse[n_pairs + p] = 1 / of->high[p];
    }
    int64_t rows[LANES], which[GROUP];
    for (int64_t start = 0; start < n; start += LANES) {
        int64_t m = n - start < LANES ? n - start : LANES;
        for (int64_t r = 0; r < LANES; r++)
            rows[r] = start + (r < m ? r : 0);
        if (scores != NULL)
            fill_lanes(scores, n_pairs, rows, tile);
        else
            fill_lanes(X, rules.d, rows, x);
        for (int64_t p = 0; p < n_pairs && scores == NULL; p += GROUP) {
            Four four_scores[2 * GROUP];
            int64_t q = n_pairs - p < GROUP ? n_pairs - p : GROUP;
            for (int64_t g = 0; g < GROUP; g++)
                which[g] = p + (g < q ? g : 0);
            lane_scores(rules, which, x, four_scores);
            memcpy(tile + p * LANES, four_scores, (size_t)q * LANES * sizeof(double));
        }
        if (votes != NULL) {
            count_tile(weight, tile, n_classes, sums);
            take_rows(sums, n_classes, m, votes + start * n_classes);
        }
        couple_tile(of, tile, n_pairs, n_classes, sums);
        take_rows(sums, n_classes, m, out + start * n_classes);
    }
}

PyObject *py_couple(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        {"scores", "d", "np?"},  {"X", "d", "nd?"},      {"coef", "d", "pd?"},
        {"intercept", "d", "p?"}, {"weight", "d", "p?"},  {"offset", "d", "2p"},
        {"slope", "d", "2p"},    {"bend", "d", "p"},     {"low", "d", "p"},
        {"high", "d", "p"},      {"step", "d", "2p"},     {"most", "d"},
        {"least", "d"},          {"probabilities", "d!", "nk"}, {"votes", "d!", "nk?"},
    };
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    Py_ssize_t d = a[1].data ? SIZE('d') : 0, n_pairs = SIZE('p'), n_classes = SIZE('k');
    double *work = NULL;
    if (a[0].data == NULL && (a[1].data == NULL || a[2].data == NULL || a[3].data == NULL))
        PyErr_SetString(PyExc_ValueError, "scores, or rows and rules are needed");
    else if (a[14].data != NULL && a[4].data == NULL)
        PyErr_SetString(PyExc_ValueError, "votes need weights");
    else if (n_classes < 2 || n_classes > ((Py_ssize_t)1 << 30) ||
             n_pairs != n_classes * (n_classes - 1) / 2)
        PyErr_SetString(PyExc_ValueError, "one rule is needed for each pair of classes");
    else if (!(a[11].number > 0 && a[11].number <= 700))
        PyErr_SetString(PyExc_ValueError, "log-odds must be kept within 700");
    else if ((work = malloc((size_t)(2 * n_pairs + (n_pairs + n_classes + d) * LANES) * 8))
             == NULL)
        PyErr_NoMemory();
    else {
        Hyperplanes rules = {a[2].data, a[3].data, d};
        Posterior of = {
            a[5].data, a[6].data, a[7].data, a[8].data, a[9].data, a[10].data,
            a[11].number, a[12].number,
            work + (n_pairs + n_classes + d) * LANES,
        };
        Py_BEGIN_ALLOW_THREADS
        couple(a[0].data, a[1].data, rules, SIZE('n'), n_pairs, n_classes, &of,
               a[4].data, work, a[13].data, a[14].data);
        Py_END_ALLOW_THREADS
    }
    free(work);
    return give_back(a, COUNT(a));
}
