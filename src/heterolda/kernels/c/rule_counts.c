/* How many rows of each class two rules of a pair get wrong; see rule_counts.py. */
#include "class_rows.h"
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
WIDE double count_one_pair(const Task *t, double *counts)
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

/* A line of intercepts and one for each feature: those of the first rules of all pairs,
   then of the second rules, filled up with zeros. */
static void pack(const Task *t, int64_t width, double *packed)
{
    memset(packed, 0, (size_t)(width * (t->d + 1)) * sizeof(double));
    for (int rule = 0; rule < 2; rule++)
        for (int64_t k = 0; k < t->n_pairs; k++) {
            int64_t pair = t->places[k] / 2;
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

/* Weights that rules give to second become weights that they get wrong. */
static void store(const Task *t, const double *sums, double *counts)
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
    double *scores = room + 2 * most * (t->d + 1), *wrong = scores + 2 * most,
           *lines = wrong + 2 * most, *sums = lines + 3 * most, rest;
    if (t->n_pairs == 1) {
        rest = count_one_pair(t, sums);
    } else {
        int64_t width = (2 * t->n_pairs + STEP - 1) / STEP * STEP;
        pack(t, width, room);
        rest = count_pairs(t, width, room, scores, wrong, lines);
        for (int64_t i = 0; i < 3 * t->n_pairs; i++)
            sums[i] = lines[i % 3 * t->n_pairs + i / 3];
    }
    if (rest != 0)
        count_carefully(t, sums);
    store(t, sums, counts);
}

PyObject *py_rule_counts(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        CLASS_ROWS,
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
    int64_t most = 2 * rows.n_pairs + STEP, d = rows.d;
    double *room = NULL;
    int64_t *places = malloc((size_t)most * sizeof(int64_t));
    if (most < PTRDIFF_MAX / 64 / (d + 6))
        room = malloc((size_t)(most * (2 * d + 12)) * sizeof(double));
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
