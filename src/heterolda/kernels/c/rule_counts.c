/* How many rows of each class the two rules of a pair give to its second class; see
   rule_counts.py. */
#include "arguments.h"
#include "kernels.h"
#include "lines.h"
#include "portable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The score of a row of numbers so large that products overflow, made smaller. */
static double small_score(const double *x, const double *coef, double intercept,
                          int64_t d)
{
    double size = 0.0, sum;
    for (int64_t i = 0; i < d; i++)
        size = fabs(x[i]) > size ? fabs(x[i]) : size;
    sum = intercept / size;
    for (int64_t i = 0; i < d; i++)
        sum += x[i] / size * coef[i];
    return sum;
}

typedef struct {
    const double *X, *weight; /* the latter may be NULL */
    const int64_t *order;
    int64_t n, d; /* of the class, and features */
    const double *coef[2], *intercept[2];
    const int64_t *pairs;
    int64_t n_pairs;
} Task;

static double plain_score(const Task *t, const double *x, int64_t pair, int rule)
{
    const double *coef = t->coef[rule] + pair * t->d;
    double sum = t->intercept[rule][pair];
    for (int64_t i = 0; i < t->d; i++)
        sum += x[i] * coef[i];
    return isfinite(sum) ? sum : small_score(x, coef, t->intercept[rule][pair], t->d);
}

/* One row at a time, with care. */
static void count_carefully(const Task *t, double *counts)
{
    memset(counts, 0, (size_t)(3 * t->n_pairs) * sizeof(double));
    for (int64_t j = 0; j < t->n; j++) {
        const double *x = t->X + t->order[j] * t->d;
        double w = t->weight ? t->weight[t->order[j]] : 1.0;
        for (int64_t k = 0; k < t->n_pairs; k++) {
            bool one = plain_score(t, x, t->pairs[k], 0) > 0;
            bool two = plain_score(t, x, t->pairs[k], 1) > 0;
            counts[3 * k] += one ? w : 0.0;
            counts[3 * k + 1] += two ? w : 0.0;
            counts[3 * k + 2] += one != two ? w : 0.0;
        }
    }
}

/* The two rules of a single pair. */
WIDE double count_one_pair(const Task *t, double *counts)
{
    int64_t d = t->d, pair = t->pairs[0];
    const double *a = t->coef[0] + pair * d, *b = t->coef[1] + pair * d;
    double rest = 0.0;
    counts[0] = counts[1] = counts[2] = 0.0;
    for (int64_t j = 0; j < t->n; j++) {
        const double *x = t->X + t->order[j] * d;
        double w = t->weight ? t->weight[t->order[j]] : 1.0;
        double s = dot(x, a, d) + t->intercept[0][pair];
        double u = dot(x, b, d) + t->intercept[1][pair];
        double one = s > 0 ? w : 0.0, two = u > 0 ? w : 0.0;
        counts[0] += one;
        counts[1] += two;
        counts[2] += fabs(one - two);
        rest += (s + u) * 0.0;
    }
    return rest;
}

/* A line of intercepts and one for each feature: those of the first rules of all pairs,
   then of the second rules, filled up with zeros. */
static void pack(const Task *t, int64_t width, double *packed)
{
    memset(packed, 0, (size_t)(width * (t->d + 1)) * sizeof(double));
    for (int rule = 0; rule < 2; rule++)
        for (int64_t k = 0; k < t->n_pairs; k++) {
            int64_t pair = t->pairs[k];
            double *at = packed + rule * t->n_pairs + k;
            const double *coef = t->coef[rule] + pair * t->d;
            *at = t->intercept[rule][pair];
            for (int64_t i = 0; i < t->d; i++)
                at[(i + 1) * width] = coef[i];
        }
}

/* Scores in, weights of positive ones out; `wrong` becomes NaN if one is not finite. */
INLINE void answers(double *RESTRICT scores, int64_t width, double w,
                    double *RESTRICT wrong)
{
    for (int64_t r = 0; r < width; r++) {
        wrong[r] += scores[r] * 0.0;
        scores[r] = scores[r] > 0 ? w : 0.0;
    }
}

/* There are three lines of sums: weights that the first rules and the second rules give
   to second, and that only one of them does. */
INLINE void add_answers(const double *RESTRICT one, const double *RESTRICT two,
                        int64_t n_pairs, double *RESTRICT sums)
{
    double *RESTRICT second = sums + n_pairs, *RESTRICT only = second + n_pairs;
    for (int64_t k = 0; k < n_pairs; k++) {
        sums[k] += one[k];
        second[k] += two[k];
        only[k] += fabs(one[k] - two[k]);
    }
}

WIDE double count_pairs(const Task *t, int64_t width, const double *RESTRICT packed,
                        double *RESTRICT scores, double *RESTRICT wrong,
                        double *RESTRICT sums)
{
    int64_t d = t->d;
    double rest = 0.0;
    memset(sums, 0, (size_t)(3 * t->n_pairs) * sizeof(double));
    memset(wrong, 0, (size_t)width * sizeof(double));
    for (int64_t j = 0; j < t->n; j++) {
        const double *x = t->X + t->order[j] * d;
        memcpy(scores, packed, (size_t)width * sizeof(double));
        add_lines(x, d, packed + width, width, width, scores);
        answers(scores, width, t->weight ? t->weight[t->order[j]] : 1.0, wrong);
        add_answers(scores, scores + t->n_pairs, t->n_pairs, sums);
    }
    for (int64_t r = 0; r < width; r++)
        rest += wrong[r];
    return rest;
}

PyObject *py_rule_counts(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        {"X", "d", "nd"},         {"weight", "d", "n?"},  {"order", "l", "m"},
        {"bounds", "l", "b"},     {"coef", "d", "pd"},    {"intercept", "d", "p"},
        {"other_coef", "d", "pd"}, {"other_intercept", "d", "p"},
        {"pairs", "l", "j"},      {"starts", "l", "b"},   {"counts", "d!", "j3"},
    };
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    const int64_t *order = a[2].data, *bounds = a[3].data, *pairs = a[8].data,
                  *starts = a[9].data;
    int64_t n_classes = SIZE('b') - 1, d = SIZE('d'), most = 0;
    double *counts = a[10].data;
    if (!within(order, SIZE('m'), SIZE('n')) || !within(pairs, SIZE('j'), SIZE('p')) ||
        !increase(bounds, SIZE('b'), SIZE('m')) ||
        !increase(starts, SIZE('b'), SIZE('j'))) {
        PyErr_SetString(PyExc_ValueError, "order, bounds, pairs or starts is wrong");
        return give_back(a, COUNT(a));
    }
    for (int64_t k = 0; k < n_classes; k++)
        most = starts[k + 1] - starts[k] > most ? starts[k + 1] - starts[k] : most;
    if (!SIZE('m') || !most) { /* then other sizes may be anything */
        memset(counts, 0, (size_t)(3 * SIZE('j')) * sizeof(double));
        return give_back(a, COUNT(a));
    }
    most += STEP;
    if (most > PTRDIFF_MAX / 64 / (d + 5)) {
        PyErr_NoMemory();
        return give_back(a, COUNT(a));
    }
    double *room = malloc((size_t)(most * (2 * d + 9)) * sizeof(double));
    if (!room) {
        PyErr_NoMemory();
        return give_back(a, COUNT(a));
    }
    Py_BEGIN_ALLOW_THREADS
    double *scores = room + 2 * most * (d + 1), *wrong = scores + 2 * most,
           *sums = wrong + 2 * most;
    for (int64_t k = 0; k < n_classes; k++) {
        Task t = {a[0].data,
                  a[1].data,
                  order + bounds[k],
                  bounds[k + 1] - bounds[k],
                  d,
                  {a[4].data, a[6].data},
                  {a[5].data, a[7].data},
                  pairs + starts[k],
                  starts[k + 1] - starts[k]};
        double *mine = counts + 3 * starts[k], rest = 0.0;
        if (t.n_pairs == 1) {
            rest = count_one_pair(&t, mine);
        } else if (t.n_pairs > 1) {
            int64_t width = (2 * t.n_pairs + STEP - 1) / STEP * STEP;
            pack(&t, width, room);
            rest = count_pairs(&t, width, room, scores, wrong, sums);
            for (int64_t i = 0; i < 3 * t.n_pairs; i++)
                mine[i] = sums[i % 3 * t.n_pairs + i / 3];
        }
        if (rest != 0)
            count_carefully(&t, mine);
    }
    Py_END_ALLOW_THREADS
    free(room);
    return give_back(a, COUNT(a));
}
