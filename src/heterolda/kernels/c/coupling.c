/* Class probabilities, and winners, from all pairs of classes together; see coupling.py.

   The rule of classes i < j is number i K - i (i + 1) / 2 + j - i - 1. */
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

typedef struct {
    Hyperplanes rules;
    Posterior of;
    int64_t n_pairs, n_classes;
    double margin; /* sums in this ratio differ for certain */
} Committee;

/* Memory for a tile, with LANES numbers for each entry. */
typedef struct {
    double *x, *odds; /* features; odds of the second class of each pair, or of each class */
    double *against, *sum, *common, *open; /* of each class: 1 / r, b, c and -d below */
} Room;

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

/* Sums S of a tile, n_classes times LANES, from the odds of all pairs, by
       a_i = 1 + sum_j exp(-x_ij),  q_i = 1 / a_i / sum,  S_i = sum_j (q_i + q_j) s(x_ij)
   where s is the logistic function. Probabilities are S_i / sum S. */
INLINE void couple_tile(const double *odds, int64_t n_classes, double *q, double *sums)
{
    Four one = four(1.0);
    for (int64_t h = 0; h < LANES; h += 4) {
        Four total = four(0.0);
        for (int64_t k = 0; k < n_classes; k++) {
            store(one, q + k * LANES + h);
            store(four(0.0), sums + k * LANES + h);
        }
        for (int64_t i = 0, p = 0; i < n_classes; i++) {
            Four own = load(q + i * LANES + h);
            for (int64_t j = i + 1; j < n_classes; j++, p++) {
                double *other = q + j * LANES + h;
                Four to_second = load(odds + p * LANES + h);
                own = add(own, to_second);
                store(add(load(other), over(one, to_second)), other);
            }
            own = over(one, own);
            total = add(total, own);
            store(own, q + i * LANES + h);
        }
        for (int64_t k = 0; k < n_classes; k++)
            store(over(load(q + k * LANES + h), total), q + k * LANES + h);
        for (int64_t i = 0, p = 0; i < n_classes; i++) {
            Four own = load(q + i * LANES + h), sum = load(sums + i * LANES + h);
            for (int64_t j = i + 1; j < n_classes; j++, p++) {
                double *other = sums + j * LANES + h;
                Four to_second = load(odds + p * LANES + h);
                Four both = add(own, load(q + j * LANES + h));
                Four first = over(one, add(one, to_second));
                sum = add(sum, times(both, first));
                store(add(load(other), times(both, times(first, to_second))), other);
            }
            store(sum, sums + i * LANES + h);
        }
    }
}

/* Probabilities from scores, or from rows and rules if scores are NULL. */
WIDE static void couple(const Committee *c, Room w, const double *scores, const double *X,
                        int64_t n, double *out)
{
    Four group[2 * GROUP];
    int64_t rows[LANES], which[GROUP], K = c->n_classes, n_pairs = c->n_pairs;
    for (int64_t start = 0; start < n; start += LANES) {
        int64_t m = n - start < LANES ? n - start : LANES;
        for (int64_t r = 0; r < LANES; r++)
            rows[r] = start + (r < m ? r : 0);
        if (scores != NULL)
            fill_lanes(scores, n_pairs, rows, w.odds);
        else
            fill_lanes(X, c->rules.d, rows, w.x);
        for (int64_t p = 0; p < n_pairs && scores == NULL; p += GROUP) {
            int64_t q = n_pairs - p < GROUP ? n_pairs - p : GROUP;
            for (int64_t g = 0; g < GROUP; g++)
                which[g] = p + (g < q ? g : 0);
            lane_scores(c->rules, which, w.x, group);
            memcpy(w.odds + p * LANES, group, (size_t)q * LANES * sizeof(double));
        }
        for (int64_t at = 0; at < n_pairs * LANES; at += 4)
            store(four_log_odds(&c->of, n_pairs, at / LANES, load(w.odds + at)), w.odds + at);
        for (int64_t at = 0; at < n_pairs * LANES; at++)
            w.odds[at] = exp_within_range(w.odds[at]);
        couple_tile(w.odds, K, w.against, w.sum);
        for (int64_t r = 0; r < m; r++) {
            double total = 0.0, *p = out + (start + r) * K;
            for (int64_t k = 0; k < K; k++)
                total += w.sum[k * LANES + r];
            for (int64_t k = 0; k < K; k++)
                p[k] = w.sum[k * LANES + r] / total;
        }
    }
}

/* Winners

   The probabilities are proportional to S_j = sum_k (r_j + r_k) s(x_jk), where k runs over
   all K classes but j, and r_j = 1 / (1 + sum_k exp(-x_jk)). Let E be the classes all of
   whose rules were evaluated. The r and b_j = sum_k s(x_jk) of these are known. For others,
   take upper bounds: r_j with the sum over k in E only, and b_j = K - 1. With
       c_j = sum of r_k s(x_jk) over k in E,   v = sum of r_k over k not in E,
   all terms are positive, so S_j lies between A_j = r_j b_j + c_j and A_j + v for j in E, and
   is at most A_j + v for others. Of the sum of r_k over k not in E, S_i of a class i of E has
   all but at most d_i = sum of s(x_ki) (1 - s(x_ik)), as it was when i was evaluated, and so
   S_j - S_i <= A_j - A_i + min(v, d_i). The class i of largest A_i in E is the winner if
   A_i > m (A_j + min(v, d_i)) + (m - 1) v for all others, with m the margin: S_i > m S_j.
   Rounding changes sums of positive terms by less than the margin. */

/* Evaluate all rules of a class in a tile. */
INLINE void evaluate(const Committee *c, Room w, int64_t own)
{
    Four scores[2 * GROUP], one = four(1.0);
    int64_t which[GROUP], others[GROUP], K = c->n_classes;
    int filled = 0;
    for (int64_t k = 0; k < K; k++) {
        if (k != own) {
            int64_t i = k < own ? k : own, j = k < own ? own : k;
            others[filled] = k;
            which[filled++] = i * K - i * (i + 1) / 2 + j - i - 1;
        }
        if (filled == 0 || (filled < GROUP && k + 1 < K))
            continue;
        for (int g = filled; g < GROUP; g++)
            which[g] = which[0];
        lane_scores(c->rules, which, w.x, scores);
        for (int i = 0; i < 2 * filled; i++) {
            Four x = four_log_odds(&c->of, c->n_pairs, which[i / 2], scores[i]);
            x = others[i / 2] < own ? subtract(four(0.0), x) : x;
            store(x, w.odds + others[i / 2] * LANES + i % 2 * 4);
        }
        filled = 0;
    }
    for (int64_t r = 0; r < LANES; r++)
        w.odds[own * LANES + r] = 0.0;
    for (int64_t at = 0; at < K * LANES; at++)
        w.odds[at] = exp_within_range(w.odds[at]);
    for (int64_t h = 0; h < LANES; h += 4) {
        Four zero = four(0.0), a = one, b = zero, d = zero;
        for (int64_t k = 0; k < K; k++) {
            int64_t at = k * LANES + h;
            Four odds = load(w.odds + at), win = over(one, add(one, odds));
            Four lose = times(odds, win), open = larger(load(w.open + at), zero);
            if (k == own)
                continue;
            a = add(a, odds);
            b = add(b, win);
            d = add(d, times(open, times(lose, lose)));
            odds = times(open, over(one, odds));
            store(add(load(w.against + at), odds), w.against + at);
            store(lose, w.odds + at);
        }
        store(a, w.against + own * LANES + h);
        store(b, w.sum + own * LANES + h);
        store(subtract(zero, d), w.open + own * LANES + h);
        a = over(one, a);
        for (int64_t k = 0; k < K; k++) {
            int64_t at = k * LANES + h;
            if (k != own)
                store(add(load(w.common + at), times(a, load(w.odds + at))), w.common + at);
        }
    }
}

/* The winner of each row of a tile, or -1, and a class to evaluate next. */
INLINE void decide(const Committee *c, Room w, double *winner, double *next)
{
    Four zero = four(0.0), none = four(-1.0), spare = four(c->margin - 1);
    for (int64_t h = 0; h < LANES; h += 4) {
        Four low = none, best = none, rival = none, high = none, unseen = none;
        Four slack = zero, v = zero;
        for (int64_t k = 0; k < c->n_classes; k++) {
            int64_t at = k * LANES + h;
            Four open = load(w.open + at), class = four((double)k);
            Four r = over(four(1.0), load(w.against + at));
            Four bound = add(times(r, load(w.sum + at)), load(w.common + at));
            Four known = if_greater(open, zero, none, bound);
            Four other = if_greater(open, zero, bound, none);
            rival = larger(smaller(known, low), rival);
            best = if_greater(known, low, class, best);
            slack = if_greater(known, low, subtract(zero, open), slack);
            low = larger(known, low);
            v = add(v, times(larger(open, zero), r));
            unseen = if_greater(other, high, class, unseen);
            high = larger(other, high);
        }
        rival = add(larger(rival, high), smaller(slack, v));
        rival = add(scaled(c->margin, rival), times(spare, v));
        store(if_greater(low, rival, best, none), winner + h);
        store(unseen, next + h);
    }
}

/* Evaluate one class for each row, the next one. Rows are in the order of these classes.
   Finds winners, or -1 and another class to evaluate next; state has what is known. */
WIDE static void find_winners(const Committee *c, Room w, const double *X, int64_t n,
                              const int64_t *order, int64_t *next, double *state,
                              int64_t *winners)
{
    int64_t rows[LANES], K = c->n_classes, n_state = 4 * K;
    double winner[LANES], unseen[LANES];
    for (int64_t start = 0, m = 0; start < n; start += m) {
        int64_t own = next[order[start]];
        for (m = 1; m < LANES && start + m < n && next[order[start + m]] == own;)
            m++;
        for (int64_t r = 0; r < LANES; r++)
            rows[r] = order[start + (r < m ? r : 0)];
        fill_lanes(X, c->rules.d, rows, w.x);
        for (int64_t k = 0; k < K * LANES && state == NULL; k++) {
            w.against[k] = w.open[k] = 1.0;
            w.sum[k] = (double)(K - 1);
            w.common[k] = 0.0;
        }
        if (state != NULL)
            fill_lanes(state, n_state, rows, w.against);
        evaluate(c, w, own);
        decide(c, w, winner, unseen);
        for (int64_t r = 0; r < m; r++) {
            winners[rows[r]] = (int64_t)winner[r];
            next[rows[r]] = unseen[r] < 0 ? 0 : (int64_t)unseen[r];
            for (int64_t k = 0; k < n_state && state != NULL && winner[r] < 0; k++)
                state[rows[r] * n_state + k] = w.against[k * LANES + r];
        }
    }
}

static bool all_below(const int64_t *index, int64_t n, int64_t limit)
{
    for (int64_t k = 0; k < n; k++)
        if (index[k] < 0 || index[k] >= limit)
            return false;
    return true;
}

/* Probabilities from scores, or from rows and rules; or winners of rows. */
PyObject *py_couple(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        {"coef", "d", "pd?"}, {"intercept", "d", "p?"}, {"offset", "d", "2p"},
        {"slope", "d", "2p"}, {"bend", "d", "p"}, {"low", "d", "p"}, {"high", "d", "p"},
        {"step", "d", "2p"}, {"most", "d"}, {"least", "d"}, {"scores", "d", "np?"},
        {"X", "d", "nd?"}, {"probabilities", "d!", "nk?"}, {"n_classes", "l"},
        {"margin", "d"}, {"n_open", "l"}, {"order", "l", "n?"}, {"next", "l!", "n?"},
        {"state", "d!", "n4c?"}, {"winners", "l!", "n?"},
    };
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    const double *scores = a[10].data, *X = a[11].data;
    int64_t n = SIZE('n'), n_pairs = SIZE('p'), K = a[13].integer, d = X ? SIZE('d') : 0;
    int64_t *order = a[16].data, *next = a[17].data, *winners = a[19].data;
    bool has_rules = X != NULL && a[0].data != NULL && a[1].data != NULL;
    if ((scores == NULL || winners != NULL) && !has_rules)
        PyErr_SetString(PyExc_ValueError, "scores, or rows and rules are needed");
    else if (winners == NULL ? a[12].data == NULL
                             : !order || !next || (a[18].data && SIZE('c') != K) ||
                                   !all_below(order, n, n) || !all_below(next, n, K))
        PyErr_SetString(PyExc_ValueError, "probabilities, or order, next and state are needed");
    else if (K < 2 || K > ((int64_t)1 << 30) || n_pairs != K * (K - 1) / 2 ||
             (a[12].data != NULL && SIZE('k') != K))
        PyErr_SetString(PyExc_ValueError, "one rule is needed for each pair of classes");
    else if (!(a[8].number > 0 && a[8].number <= 700))
        PyErr_SetString(PyExc_ValueError, "log-odds must be kept within 700");
    else {
        size_t n_odds = (size_t)(n_pairs > K ? n_pairs : K) * LANES, n_sums = (size_t)K * LANES;
        size_t n_work = 2 * (size_t)n_pairs + n_odds + 4 * n_sums + (size_t)d * LANES;
        double *work = malloc(n_work * sizeof(double));
        if (work == NULL) {
            PyErr_NoMemory();
            return give_back(a, COUNT(a));
        }
        double *odds = work + 2 * n_pairs, *sums = odds + n_odds;
        Room w = {sums + 4 * n_sums, odds, sums, sums + n_sums, sums + 2 * n_sums,
                  sums + 3 * n_sums};
        Committee c = {
            {a[0].data, a[1].data, d},
            {a[2].data, a[3].data, a[4].data, a[5].data, a[6].data, a[7].data, a[8].number,
             a[9].number, work},
            n_pairs, K, a[14].number,
        };
        for (int64_t p = 0; p < n_pairs; p++) {
            work[p] = 1 / c.of.low[p];
            work[n_pairs + p] = 1 / c.of.high[p];
        }
        Py_BEGIN_ALLOW_THREADS
        if (winners == NULL)
            couple(&c, w, scores, X, n, a[12].data);
        else
            find_winners(&c, w, X, a[15].integer < n ? a[15].integer : n, order, next,
                         a[18].data, winners);
        Py_END_ALLOW_THREADS
        free(work);
    }
    return give_back(a, COUNT(a));
}
