/* How many rows of each class two rules of a pair get wrong; see rule_counts.py. */
#include "class_rows.h"
#include "four.h"
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
    const int64_t *places; /* 2 * pair, and 1 more if the class is second */
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
            bool one = plain_score(t, x, t->places[k] / 2, 0) > 0;
            bool two = plain_score(t, x, t->places[k] / 2, 1) > 0;
            counts[3 * k] += one ? w : 0.0;
            counts[3 * k + 1] += two ? w : 0.0;
            counts[3 * k + 2] += one != two ? w : 0.0;
        }
    }
}

/* The two rules of a single pair. */
WIDE static double count_one_pair(const Task *t, double *counts)
{
    int64_t d = t->d, pair = t->places[0] / 2;
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

/* Rules of groups of four pairs. A group has a line of intercepts and one for each
   feature: those of the first rules, then of the second; zeros fill it up. */
static void pack(const Task *t, double *packed)
{
    for (int64_t first = 0; first < t->n_pairs; first += 4)
        for (int64_t i = -1; i < t->d; i++)
            for (int rule = 0; rule < 2; rule++)
                for (int64_t k = first; k < first + 4; k++) {
                    int64_t pair = k < t->n_pairs ? t->places[k] / 2 : -1;
                    *packed++ = pair < 0 ? 0.0
                                : i < 0  ? t->intercept[rule][pair]
                                         : t->coef[rule][pair * t->d + i];
                }
}

/* Add the weights of four rows to the counts of a group: what the first rules and what
   the second rules give to second, and what only one of them does. */
INLINE Four count_group(const double *const *x, const Four *w, const double *lines,
                        int64_t d, double *counts)
{
    Four one[4], two[4], zero = four(0.0), sums[3] = {zero, zero, zero}, rest = zero;
    for (int j = 0; j < 4; j++) {
        one[j] = load(lines);
        two[j] = load(lines + 4);
    }
    for (int64_t i = 0; i < d; i++) {
        Four a = load(lines + 8 * (i + 1)), b = load(lines + 8 * (i + 1) + 4);
        for (int j = 0; j < 4; j++) {
            one[j] = add(one[j], scaled(x[j][i], a));
            two[j] = add(two[j], scaled(x[j][i], b));
        }
    }
    for (int j = 0; j < 4; j++) {
        rest = add(rest, scaled(0.0, add(one[j], two[j])));
        one[j] = if_greater(one[j], zero, w[j], zero);
        two[j] = if_greater(two[j], zero, w[j], zero);
        sums[0] = add(sums[0], one[j]);
        sums[1] = add(sums[1], two[j]);
        sums[2] = add(sums[2], larger(subtract(one[j], two[j]), subtract(two[j], one[j])));
    }
    for (int k = 0; k < 3; k++)
        store(add(load(counts + 4 * k), sums[k]), counts + 4 * k);
    return rest;
}

/* Returns zero, or NaN if a score is not finite. */
WIDE static double count_pairs(const Task *t, const double *packed, double *groups)
{
    int64_t d = t->d, n_groups = (t->n_pairs + 3) / 4;
    Four rest = four(0.0);
    double parts[4];
    memset(groups, 0, (size_t)(12 * n_groups) * sizeof(double));
    for (int64_t j = 0; j < t->n; j += 4) {
        const double *x[4];
        Four w[4];
        for (int k = 0; k < 4; k++) {
            int64_t row = t->order[j + k < t->n ? j + k : t->n - 1];
            x[k] = t->X + row * d;
            w[k] = four(j + k >= t->n ? 0.0 : t->weight ? t->weight[row] : 1.0);
        }
        for (int64_t g = 0; g < n_groups; g++)
            rest = add(rest, count_group(x, w, packed + 8 * (d + 1) * g, d,
                                         groups + 12 * g));
    }
    store(rest, parts);
    return parts[0] + parts[1] + parts[2] + parts[3];
}

/* Weights that rules give to second become weights that they get wrong. */
static void store_wrong(const Task *t, const double *sums, double *counts)
{
    double total = 0.0;
    for (int64_t j = 0; j < t->n; j++)
        total += t->weight ? t->weight[t->order[j]] : 1.0;
    for (int64_t k = 0; k < t->n_pairs; k++) {
        bool second = t->places[k] % 2;
        double *mine = counts + 3 * t->places[k];
        mine[0] = second ? total - sums[3 * k] : sums[3 * k];
        mine[1] = second ? total - sums[3 * k + 1] : sums[3 * k + 1];
        mine[2] = sums[3 * k + 2];
    }
}

static void count_class(const Task *t, double *room, int64_t most, double *counts)
{
    double *groups = room + 2 * most * (t->d + 1), *sums = groups + 3 * most, rest;
    if (t->n_pairs == 1) {
        rest = count_one_pair(t, sums);
    } else {
        pack(t, room);
        rest = count_pairs(t, room, groups);
        for (int64_t k = 0; k < t->n_pairs; k++)
            for (int part = 0; part < 3; part++)
                sums[3 * k + part] = groups[k / 4 * 12 + part * 4 + k % 4];
    }
    if (rest != 0)
        count_carefully(t, sums);
    store_wrong(t, sums, counts);
}

PyObject *py_rule_counts(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        {"X", "d", "nd"},
        {"weight", "d", "n?"},
        {"order", "l", "m"},
        {"bounds", "l", "b"},
        {"chosen", "b", "k"},
        {"classes", "l", "p2"},
        {"judged", "b", "p"},
        {"coef", "d", "pd"},
        {"intercept", "d", "p"},
        {"other_coef", "d", "pd"},
        {"other_intercept", "d", "p"},
        {"counts", "d!", "p23"},
    };
    Sizes size;
    ClassRows rows;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    /* Without rows or pairs other sizes may be anything. */
    if (!take_class_rows(a, size, &rows) || !rows.m || !rows.n_pairs)
        return give_back(a, COUNT(a));
    int64_t most = 2 * rows.n_pairs + 4, d = rows.d;
    double *room = NULL;
    int64_t *places = malloc((size_t)most * sizeof(int64_t));
    if (most < PTRDIFF_MAX / 64 / (d + 6))
        room = malloc((size_t)(most * (2 * d + 8)) * sizeof(double));
    if (!room || !places) {
        PyErr_NoMemory();
    } else {
        Py_BEGIN_ALLOW_THREADS
        for (int64_t k = 0; k < rows.n_classes; k++) {
            Task t = {rows.X,
                      rows.weight,
                      rows.order + rows.bounds[k],
                      rows.bounds[k + 1] - rows.bounds[k],
                      d,
                      {a[7].data, a[9].data},
                      {a[8].data, a[10].data},
                      places,
                      places_of(&rows, k, places)};
            if (t.n_pairs)
                count_class(&t, room, most, a[11].data);
        }
        Py_END_ALLOW_THREADS
    }
    free(places);
    free(room);
    return give_back(a, COUNT(a));
}
