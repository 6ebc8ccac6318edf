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
    const double *offset, *slope, *bend, *low, *high, *step;
    const double *inverse; /* of low and high; of shape (2, n), like offset, slope and step */
    int64_t n;
    double most, least;
} Posterior;

typedef struct {
    Hyperplanes rules;
    Posterior of;
    int64_t n_classes, width; /* numbers in a line of a table, see below */
} Committee;

/* Numbers of four pairs from p on, or four times that of p. */
INLINE Four of_pairs(const double *values, int64_t p, bool several)
{
    return several ? load(values + p) : four(values[p]);
}

INLINE Four four_log_odds(const Posterior *of, int64_t p, bool several, Four score)
{
#define OF(name, side) of_pairs(of->name, p + (side) * of->n, several)
    Four zero = four(0.0), s = larger(smaller(score, OF(high, 0)), OF(low, 0));
    Four bent = times(OF(bend, 0), s);
    Four no = times(s, add(bent, OF(slope, 0))), yes = times(s, add(bent, OF(slope, 1)));
    Four beyond = larger(times(OF(inverse, 0), score), times(OF(inverse, 1), score));
    beyond = doublings(larger(beyond, four(1.0)));
    no = subtract(subtract(no, OF(offset, 0)), times(OF(step, 0), beyond));
    yes = add(add(yes, OF(offset, 1)), times(OF(step, 1), beyond));
#undef OF
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
WIDE static void couple(const Committee *c, const double *scores, const double *X, int64_t n,
                        double *odds, double *out)
{
    Four group[2 * GROUP];
    int64_t rows[LANES], which[GROUP], n_pairs = c->of.n, K = c->n_classes;
    double *sums = odds + n_pairs * LANES, *x = sums + 2 * K * LANES;
    for (int64_t start = 0; start < n; start += LANES) {
        int64_t m = n - start < LANES ? n - start : LANES;
        for (int64_t r = 0; r < LANES; r++)
            rows[r] = start + (r < m ? r : 0);
        if (scores != NULL)
            fill_lanes(scores, n_pairs, rows, odds);
        else
            fill_lanes(X, c->rules.d, rows, x);
        for (int64_t p = 0; p < n_pairs && scores == NULL; p += GROUP) {
            int64_t q = n_pairs - p < GROUP ? n_pairs - p : GROUP;
            for (int64_t g = 0; g < GROUP; g++)
                which[g] = p + (g < q ? g : 0);
            lane_scores(c->rules, which, x, group);
            memcpy(odds + p * LANES, group, (size_t)q * LANES * sizeof(double));
        }
        for (int64_t at = 0; at < n_pairs * LANES; at += 4)
            store(four_log_odds(&c->of, at / LANES, false, load(odds + at)), odds + at);
        for (int64_t at = 0; at < n_pairs * LANES; at++)
            odds[at] = exp_within_range(odds[at]);
        couple_tile(odds, K, sums + K * LANES, sums);
        for (int64_t r = 0; r < m; r++) {
            double total = 0.0, *p = out + (start + r) * K;
            for (int64_t k = 0; k < K; k++)
                total += sums[k * LANES + r];
            for (int64_t k = 0; k < K; k++)
                p[k] = sums[k * LANES + r] / total;
        }
    }
}

/* Winners

   The probabilities are proportional to S_j = sum_k (r_j + r_k) s(x_jk), where k runs over
   all K classes but j, and r_j = 1 / (1 + sum_k exp(-x_jk)). Let E be the classes all of
   whose rules were evaluated. The r and b_j = sum_k s(x_jk) of these are known. For others,
   take upper bounds: r_j with the sum over k in E only, and b_j = K - 1. With
       c_j = sum of r_k s(x_jk) over k in E,   v = sum of r_k over k not in E,
   all terms are positive, so S_j is at most A_j + v with A_j = r_j b_j + c_j, and at least A_j
   if j is in E. The class i of largest A_i in E is the winner if A_i > m (A_j + v) for all
   others, with m the margin, since S_i > m S_j then. Rounding changes sums of positive terms
   by less than the margin. */

/* The rules of a class against all others, side by side: line f of a table has feature f of
   all, and further lines have their intercepts, the numbers of their curves, and 1 or -1 if
   the class is the first or the second of the pair, or 0 where there is no other class. */
enum { CURVE_LINES = 11, LINES = CURVE_LINES + 2 };

static void fill_table(const Committee *c, int64_t own, double *table)
{
    int64_t d = c->rules.d, K = c->n_classes, width = c->width;
    const Posterior *of = &c->of;
    const double *lines[] = {
        c->rules.intercept, of->offset,     of->offset + of->n, of->slope,
        of->slope + of->n,  of->bend,       of->low,            of->high,
        of->step,           of->step + of->n, of->inverse,      of->inverse + of->n,
    };
    for (int64_t k = 0; k < width; k++) {
        bool is_other = k != own && k < K;
        int64_t i = k < own ? k : own, j = k < own ? own : k;
        int64_t p = is_other ? i * K - i * (i + 1) / 2 + j - i - 1 : 0;
        for (int64_t f = 0; f < d; f++)
            table[f * width + k] = c->rules.coef[p * d + f];
        for (int64_t f = 0; f <= CURVE_LINES; f++)
            table[(d + f) * width + k] = lines[f][p];
        table[(d + LINES - 1) * width + k] = !is_other ? 0.0 : k > own ? 1.0 : -1.0;
    }
}

/* Scores of a row by the rules of a table; true if products may have overflowed. */
INLINE bool table_scores(const Committee *c, const double *table, const double *row,
                         double *scores)
{
    int64_t d = c->rules.d, width = c->width;
    Four doubt = four(0.0);
    double in_doubt[4];
    for (int64_t start = 0; start < width; start += 8) {
        int64_t k = start + 8 <= width ? start : width - 8;
        const double *line = table + k;
        Four s = four(0.0), t = four(0.0);
        for (int64_t f = 0; f < d; f++, line += width) {
            s = add(s, scaled(row[f], load(line)));
            t = add(t, scaled(row[f], load(line + 4)));
        }
        s = add(s, load(line));
        t = add(t, load(line + 4));
        store(s, scores + k);
        store(t, scores + k + 4);
        s = scaled(ROOM, s);
        t = scaled(ROOM, t);
        s = add(subtract(s, s), subtract(t, t)); /* NaN if one is infinite or too large */
        doubt = add(doubt, s);
    }
    store(doubt, in_doubt);
    return isnan(in_doubt[0] + in_doubt[1] + in_doubt[2] + in_doubt[3]);
}

/* What is known of the classes: 1 / r, b, c, A, and 1 if not in E. */
typedef struct {
    double *against, *sum, *common, *bound, *open;
    int64_t *seen; /* E, of this size */
    int64_t n_seen;
} Known;

INLINE double total(Four a)
{
    double part[4];
    store(a, part);
    return (part[0] + part[1]) + (part[2] + part[3]);
}

/* Add a class to E, given scores by its table. */
INLINE void learn(const Committee *c, const double *table, int64_t own, Known *to, double *odds)
{
    int64_t width = c->width;
    const double *line = table + (c->rules.d + 1) * width, *side = line + CURVE_LINES * width;
    Posterior of = {line, line + 2 * width, line + 4 * width, line + 5 * width,
                    line + 6 * width, line + 7 * width, line + 9 * width, width,
                    c->of.most, c->of.least};
    Known at = *to;
    Four one = four(1.0), a = four(0.0), b = a;
    for (int64_t k = 0; k < width; k += 4)
        store(times(load(side + k), four_log_odds(&of, k, true, load(odds + k))), odds + k);
    for (int64_t k = 0; k < width; k++)
        odds[k] = exp_within_range(odds[k]);
    for (int64_t k = 0; k < width; k += 4) {
        Four x = load(odds + k), is_other = times(load(side + k), load(side + k));
        Four win = times(is_other, over(one, add(one, x))), lose = times(x, win);
        a = add(a, times(is_other, x));
        b = add(b, win);
        Four more = times(load(at.open + k), over(one, x));
        store(add(load(at.against + k), more), at.against + k);
        store(lose, odds + k);
    }
    at.against[own] = 1 + total(a);
    at.sum[own] = total(b);
    at.open[own] = 0.0;
    to->seen[to->n_seen++] = own;
    for (int64_t k = 0; k < width; k += 4) {
        Four r = scaled(1 / at.against[own], load(odds + k));
        store(add(load(at.common + k), r), at.common + k);
    }
}

/* Whether the winner is known; if not, another class to evaluate. */
INLINE bool is_decided(const Committee *c, Known at, double margin, int64_t *winner,
                       int64_t *next)
{
    Four v = four(0.0), highest = v;
    double low = -1.0, rival = 0.0, part[4];
    for (int64_t k = 0; k < c->width; k += 4) {
        Four r = over(four(1.0), load(at.against + k)), open = load(at.open + k);
        Four bound = add(times(r, load(at.sum + k)), load(at.common + k));
        v = add(v, times(open, r));
        highest = larger(times(open, bound), highest);
        store(bound, at.bound + k);
    }
    store(highest, part);
    for (int i = 0; i < 4; i++)
        rival = part[i] > rival ? part[i] : rival;
    for (*next = 0; *next + 1 < c->n_classes && at.open[*next] * at.bound[*next] != rival;)
        *next += 1;
    for (int64_t i = 0; i < at.n_seen; i++) {
        double bound = at.bound[at.seen[i]], second = bound > low ? low : bound;
        *winner = bound > low ? at.seen[i] : *winner;
        low = bound > low ? bound : low;
        rival = second > rival ? second : rival;
    }
    return low > margin * (rival + total(v));
}

/* Find winners, or -1 if another class is within the margin, or products may overflow. There
   are tables of all classes, and one of the guess. */
WIDE static void find_winners(const Committee *c, const double *tables, const double *X,
                              int64_t n, double margin, Known at, double *odds,
                              int64_t *winners)
{
    int64_t K = c->n_classes, width = c->width, size = (c->rules.d + LINES) * width;
    for (int64_t r = 0; r < n; r++) {
        const double *row = X + r * c->rules.d;
        int64_t winner = 0, next = 0;
        bool failed = table_scores(c, tables + K * size, row, odds), done = false;
        for (int64_t k = 1; k < K; k++)
            next = odds[k] > odds[next] ? k : next;
        for (int64_t k = 0; k < width; k++) {
            at.against[k] = 1.0;
            at.open[k] = k < K ? 1.0 : 0.0;
            at.sum[k] = (double)(K - 1);
            at.common[k] = 0.0;
        }
        for (at.n_seen = 0; at.n_seen < K && !done && !failed;) {
            failed = table_scores(c, tables + next * size, row, odds);
            learn(c, tables + next * size, next, &at, odds);
            done = is_decided(c, at, margin, &winner, &next);
        }
        winners[r] = done && !failed ? winner : -1;
    }
}

/* Probabilities from scores, or from rows and rules; or, given a guess, winners of rows. */
PyObject *py_couple(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        {"coef", "d", "pd?"}, {"intercept", "d", "p?"}, {"offset", "d", "2p"},
        {"slope", "d", "2p"}, {"bend", "d", "p"}, {"low", "d", "p"}, {"high", "d", "p"},
        {"step", "d", "2p"}, {"inverse", "d", "2p"}, {"most", "d"}, {"least", "d"},
        {"scores", "d", "np?"}, {"X", "d", "nd?"}, {"probabilities", "d!", "nk?"},
        {"guess", "d", "ek?"}, {"margin", "d"}, {"winners", "l!", "n?"},
    };
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    const double *scores = a[11].data, *X = a[12].data, *guess = a[14].data;
    int64_t n = SIZE('n'), n_pairs = SIZE('p'), K = SIZE('k'), d = X ? SIZE('d') : 0;
    int64_t width = K < 8 ? 8 : (K + 3) / 4 * 4, table = (d + LINES) * width;
    if ((scores == NULL || guess != NULL) && !(X && a[0].data && a[1].data))
        PyErr_SetString(PyExc_ValueError, "scores, or rows and rules are needed");
    else if (guess ? SIZE('e') != d + 1 || a[16].data == NULL : a[13].data == NULL)
        PyErr_SetString(PyExc_ValueError, "probabilities, or a guess and winners are needed");
    else if (K < 2 || K > ((int64_t)1 << 30) || n_pairs != K * (K - 1) / 2)
        PyErr_SetString(PyExc_ValueError, "one rule is needed for each pair of classes");
    else if (!(a[9].number > 0 && a[9].number <= 700))
        PyErr_SetString(PyExc_ValueError, "log-odds must be kept within 700");
    else {
        double *work = calloc(guess ? (size_t)((K + 1) * table + 7 * width)
                                    : (size_t)((n_pairs + 2 * K + d) * LANES), sizeof(double));
        Committee c = {
            {a[0].data, a[1].data, d},
            {a[2].data, a[3].data, a[4].data, a[5].data, a[6].data, a[7].data, a[8].data,
             n_pairs, a[9].number, a[10].number},
            K, width,
        };
        if (work == NULL) {
            PyErr_NoMemory();
            return give_back(a, COUNT(a));
        }
        Py_BEGIN_ALLOW_THREADS
        if (guess == NULL)
            couple(&c, scores, X, n, work, a[13].data);
        else {
            double *last = work + K * table, *of[7];
            for (int64_t k = 0; k < K; k++)
                fill_table(&c, k, work + k * table);
            for (int64_t f = 0; f <= d; f++)
                memcpy(last + f * width, guess + f * K, (size_t)K * sizeof(double));
            for (int i = 0; i < 7; i++)
                of[i] = last + table + i * width;
            Known at = {of[0], of[1], of[2], of[3], of[4], (int64_t *)of[5], 0};
            find_winners(&c, work, X, n, a[15].number, at, of[6], a[16].data);
        }
        Py_END_ALLOW_THREADS
        free(work);
    }
    return give_back(a, COUNT(a));
}
