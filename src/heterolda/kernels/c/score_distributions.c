/* Smoothed distributions of left-out scores; see score_distributions.py, the reference. */
#include "arguments.h"
#include "kernels.h"
#include "pairs.h"

#include <float.h>
#include <stdlib.h>

#include "vectors.h"

/* As in score_distributions.py. */
#define N_EDGES 161
static const double NO_RULE = 1e-9, QUANTILE = 0.005, IQR = 1.349, MARGIN = 0.05;
static const double LEAST_SIGMA = 0.3, FEW = 5;

/* All that a pair needs, in rows of G directions. */
typedef struct {
    const double *basis, *inverse, *lost[2], *distance, *unit;
    int64_t d, r, G;
} Directions;

typedef struct {
    double *w, *inverse;     /* normals (d, G) and 1 / g (r, G) */
    double *z, *Z, *A, *q;   /* a row, its coordinates, products */
    double *scores[2], *weight[2]; /* of both classes */
    double *mean, *deviation, *fine; /* of the finite scores of a class, and their share */
    double *sample, *mass, *kernel;
    int64_t n[2];
    void *memory;
} Space;

enum { REACH = 6, PADDED = N_EDGES + 1 + 2 * (N_EDGES + 2) };

static bool make_space(Space *s, int64_t d, int64_t r, int64_t G, int64_t n)
{
    int64_t sizes[] = {d * G, r * G, d, r, G, G, n * G, n * G, n, n, G, G, G, 2 * n,
                       G * PADDED, 2 * (N_EDGES + 2)};
    double **parts[] = {&s->w, &s->inverse, &s->z, &s->Z, &s->A, &s->q, &s->scores[0], &s->scores[1],
                        &s->weight[0], &s->weight[1], &s->mean, &s->deviation, &s->fine,
                        &s->sample, &s->mass, &s->kernel};
    int64_t total = 0;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        total += sizes[k];
    double *next = s->memory = malloc((size_t)total * sizeof(double));
    if (!next)
        return false;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; next += sizes[k++])
        *parts[k] = next;
    return true;
}

/* Scores of a row of weight l in a class of weight W, by rules without it. */
WIDE static void score_row(const Directions *D, Space *s, double l, double W, int k, double *score)
{
    int64_t G = D->G, r = D->r;
    double eps = k ? -1.0 : 1.0, e = l / (W - l);
    memset(s->A, 0, (size_t)G * sizeof(double));
    add_lines(s->z, D->d, s->w, G, G, s->A);
    if (isnan(D->lost[k][0])) {
        for (int64_t g = 0; g < G; g++)
            score[g] = (s->A[g] + 0.5 * eps * D->distance[g]) / D->unit[g];
        return;
    }
    memset(s->Z, 0, (size_t)r * sizeof(double));
    add_lines(s->z, D->d, D->basis, r, r, s->Z);
    for (int64_t i = 0; i < r; i++)
        s->Z[i] *= s->Z[i];
    memset(s->q, 0, (size_t)G * sizeof(double));
    add_lines(s->Z, r, D->inverse, G, G, s->q);
    const double *RESTRICT lost = D->lost[k], *RESTRICT distance = D->distance;
    const double *RESTRICT unit = D->unit, *RESTRICT As = s->A, *RESTRICT qs = s->q;
    for (int64_t g = 0; g < G; g++) {
        double A = As[g], q = qs[g], d = distance[g];
        double R = lost[g] * l * (1 + e), divisor = 1 - R * q;
        double t = (R * A - eps * e) / divisor;
        double left = d - eps * e * A + t * (A - eps * e * q);
        double value = (1 + 0.5 * e) * (A + t * q) + 0.5 * eps * (d + t * A);
        value *= sqrt(d / left) / unit[g];
        score[g] = divisor > NO_RULE && left > 0 ? value : -eps * INFINITY;
    }
}

/* Means and deviations of the finite scores of a class, from those of its first row. */
WIDE static void moments_of(Space *s, int k, int64_t G)
{
    double *RESTRICT mean = s->mean, *RESTRICT square = s->deviation, *RESTRICT fine = s->fine;
    const double *RESTRICT origin = s->scores[k];
    double total = 0;
    memset(mean, 0, (size_t)G * sizeof(double));
    memset(square, 0, (size_t)G * sizeof(double));
    memset(fine, 0, (size_t)G * sizeof(double));
    for (int64_t j = 0; j < s->n[k]; j++) {
        const double *RESTRICT score = s->scores[k] + j * G;
        double l = s->weight[k][j];
        total += l;
        for (int64_t g = 0; g < G; g++) {
            double from = fabs(origin[g]) <= DBL_MAX ? origin[g] : 0.0;
            bool is_fine = fabs(score[g]) <= DBL_MAX;
            double w = is_fine ? l : 0.0, x = is_fine ? score[g] - from : 0.0;
            fine[g] += w;
            mean[g] += w * x;
            square[g] += w * x * x;
        }
    }
    for (int64_t g = 0; g < G; g++) {
        double divisor = fine[g] > 0 ? fine[g] : 1, m = mean[g] / divisor;
        double variance = square[g] / divisor - m * m;
        square[g] = variance > 0 ? sqrt(variance) : 0;
        mean[g] = m + (s->n[k] && fabs(origin[g]) <= DBL_MAX ? origin[g] : 0.0);
        fine[g] /= total > 0 ? total : 1;
    }
}

/* Return the value that is number k of n in order, and move it there. */
static double select_value(double *x, int64_t n, int64_t k)
{
    for (int64_t low = 0, high = n - 1; low < high;) {
        double middle = x[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (x[i] < middle)
                i++;
            while (middle < x[j])
                j--;
            if (i <= j) {
                double swapped = x[i];
                x[i++] = x[j];
                x[j--] = swapped;
            }
        }
        if (k > j && k < i)
            break;
        low = k > j ? i : low;
        high = k > j ? high : j;
    }
    return x[k];
}

/* Return the deviation of the scores of a class in the two middle directions, and widen
   the range [low, high] by them. */
static double deviation_of(Space *s, int k, int64_t G, double *low, double *high)
{
    int64_t n = 0, middle[] = {(G - 1) / 2, G / 2};
    double mean = 0, square = 0, *x = s->sample;
    for (int64_t j = 0; j < s->n[k]; j++)
        for (int i = 0; i < 2; i++) {
            x[n] = s->scores[k][j * G + middle[i]];
            n += isfinite(x[n]) != 0;
        }
    if (!n)
        return 0;
    for (int64_t j = 0; j < n; j++)
        mean += x[j] / (double)n;
    for (int64_t j = 0; j < n; j++)
        square += (x[j] - mean) * (x[j] - mean) / (double)n;
    int64_t tail = (int64_t)(QUANTILE * (double)n), quarter = n / 4;
    double first = select_value(x, n, tail), last = select_value(x, n, n - 1 - tail);
    double width = select_value(x, n, n - 1 - quarter) - select_value(x, n, quarter);
    *low = first < *low ? first : *low;
    *high = last > *high ? last : *high;
    double deviation = sqrt(square);
    return width > 0 && width / IQR < deviation ? width / IQR : deviation;
}

/* Histograms of scores contracted to the mean of the class, with zeros on both sides. */
static void fill_histograms(Space *s, const Directions *D, int k, double h, double low,
                            double step)
{
    int64_t G = D->G;
    double c = sqrt((1 - h) * (1 + h)), total = 0, scale = 1 / step;
    memset(s->mass, 0, (size_t)(G * PADDED) * sizeof(double));
    for (int64_t j = 0; j < s->n[k]; j++)
        total += s->weight[k][j];
    for (int64_t g = 0; g < G; g++) /* where a score of zero lies */
        s->A[g] = ((1 - c) * (k ? -0.5 : 0.5) * D->distance[g] / D->unit[g] - low) * scale;
    c *= scale;
    for (int64_t j = 0; j < s->n[k]; j++) {
        const double *score = s->scores[k] + j * G;
        double l = s->weight[k][j] / total, *mass = s->mass + N_EDGES + 2;
        for (int64_t g = 0; g < G; g++, mass += PADDED) {
            double x = s->A[g] + c * score[g];
            x = x > 0 ? x < N_EDGES ? ceil(x) : N_EDGES : 0;
            mass[(int64_t)x] += l;
        }
    }
}

/* F[b] = sum_i mass_i Phi((b - i + 1/2) / sigma), for all edges b and directions. */
WIDE static void smooth(Space *s, int64_t G, double sigma, double *F)
{
    int64_t m = REACH * sigma < N_EDGES ? (int64_t)(REACH * sigma) + 1 : N_EDGES + 1;
    for (int64_t k = 0; k < m; k++) { /* kernel[m + k] belongs to the bin i = b + 1 + k */
        s->kernel[m + k] = ndtr(-((double)k + 0.5) / sigma);
        s->kernel[m - 1 - k] = 1 - s->kernel[m + k];
    }
    for (int64_t g = 0; g < G; g++, F += N_EDGES) {
        const double *mass = s->mass + g * PADDED + N_EDGES + 2;
        double before = 0;
        for (int64_t b = 0; b < N_EDGES; b++) {
            before += b - m >= 0 ? mass[b - m] : 0;
            F[b] = before;
        }
        add_lines(s->kernel, 2 * m, mass + 1 - m, 1, N_EDGES, F);
        for (int64_t b = 0; b < N_EDGES; b++)
            F[b] = F[b] < 0 ? 0 : F[b] < 1 ? F[b] : 1;
    }
}

/* Distributions of a pair; its rows and scores are in `s`. */
static void pair_distributions(Space *s, const Directions *D, double smoothing, double *low,
                               double *step, double *F)
{
    int64_t G = D->G;
    double n[2], h[2], deviation[2], high = -INFINITY;
    *low = INFINITY;
    for (int k = 0; k < 2; k++) {
        double sum = 0, squares = 0;
        for (int64_t j = 0; j < s->n[k]; j++) {
            sum += s->weight[k][j];
            squares += s->weight[k][j] * s->weight[k][j];
        }
        n[k] = squares > 0 ? sum * sum / squares : 1;
        h[k] = smoothing > 0 ? smoothing : 1 / cbrt(n[k]);
        h[k] = h[k] < 1 ? h[k] : 1;
        deviation[k] = deviation_of(s, k, G, low, &high);
    }
    double pooled = sqrt((n[0] * deviation[0] * deviation[0] + n[1] * deviation[1] * deviation[1]) /
                         (n[0] + n[1]));
    for (int k = 0; k < 2; k++)
        deviation[k] = n[k] < FEW ? pooled : deviation[k];
    if (!(high > *low))
        *low = isfinite(*low) ? *low - 0.5 : -0.5, high = *low + 1;
    double reach[2] = {3 * h[0] * deviation[0], 3 * h[1] * deviation[1]};
    double width = high - *low, margin = reach[0] > reach[1] ? reach[0] : reach[1];
    margin = margin > MARGIN * width ? margin : MARGIN * width;
    *low -= margin;
    *step = (width + 2 * margin) / (N_EDGES - 1);
    for (int k = 0; k < 2; k++, F += G * N_EDGES) {
        if (h[k] < 1) {
            double sigma = h[k] * deviation[k] / *step;
            fill_histograms(s, D, k, h[k], *low, *step);
            smooth(s, G, sigma > LEAST_SIGMA ? sigma : LEAST_SIGMA, F);
            continue;
        }
        moments_of(s, k, G);
        for (int64_t g = 0; g < G; g++) {
            double sigma = (n[k] < FEW ? pooled : s->deviation[g]) / *step;
            double below = k ? 0 : 1 - s->fine[g], mean = (s->mean[g] - *low) / *step;
            sigma = sigma > LEAST_SIGMA ? sigma : LEAST_SIGMA;
            for (int64_t b = 0; b < N_EDGES; b++)
                F[g * N_EDGES + b] = below + s->fine[g] * ndtr(((double)b - mean) / sigma);
        }
    }
}

PyObject *py_score_distributions(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        {"X", "d", "nd"},         {"weight", "d", "n?"},
        {"order", "l", "m"},      /* rows, sorted by class */
        {"bounds", "l", "b"},     /* where classes begin in order, and the end */
        {"pairs", "l", "p2"},     {"means", "d", "kd"},
        {"totals", "d", "k"},     /* weights of the classes */
        {"basis", "d", "pdr"},    {"inverse", "d", "pgr"},
        {"u", "d", "pgr"},        {"lost", "d", "p2g"},
        {"distance", "d", "pg"},  {"unit", "d", "pg"},
        {"smoothing", "d"},
        {"low", "d!", "p"},       {"step", "d!", "p"},
        {"F", "d!", "p2gs"},
    };
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    const double *X = a[0].data, *weight = a[1].data, *means = a[5].data, *totals = a[6].data;
    const int64_t *order = a[2].data, *bounds = a[3].data, *pairs = a[4].data;
    int64_t n = SIZE('n'), m = SIZE('m'), K = SIZE('k'), d = SIZE('d'), r = SIZE('r');
    int64_t G = SIZE('g'), most = 1;
    bool fine = G > 0 && SIZE('b') == K + 1 && bounds[0] == 0 && bounds[K] == m;
    for (int64_t k = 0; fine && k < K; k++) {
        fine = bounds[k] <= bounds[k + 1];
        most = bounds[k + 1] - bounds[k] > most ? bounds[k + 1] - bounds[k] : most;
    }
    for (int64_t j = 0; fine && j < m; j++)
        fine = order[j] >= 0 && order[j] < n;
    for (int64_t p = 0; fine && p < 2 * SIZE('p'); p++)
        fine = pairs[p] >= 0 && pairs[p] < K;
    if (!fine || SIZE('s') != N_EDGES) {
        PyErr_SetString(PyExc_ValueError, "order, bounds, pairs or F is out of range");
        return give_back(a, COUNT(a));
    }
    Space s;
    bool has_memory = make_space(&s, d, r, G, most);
    Py_BEGIN_ALLOW_THREADS
    for (int64_t p = 0; has_memory && p < SIZE('p'); p++) {
        Directions D = {
            .basis = (double *)a[7].data + p * d * r, .inverse = s.inverse,
            .lost = {(double *)a[10].data + 2 * p * G, (double *)a[10].data + (2 * p + 1) * G},
            .distance = (double *)a[11].data + p * G, .unit = (double *)a[12].data + p * G,
            .d = d, .r = r, .G = G,
        };
        const double *u = (double *)a[9].data + p * G * r;
        for (int64_t g = 0; g < G; g++)
            for (int64_t i = 0; i < r; i++)
                s.inverse[i * G + g] = ((double *)a[8].data + p * G * r)[g * r + i];
        for (int64_t i = 0; i < d; i++)
            for (int64_t g = 0; g < G; g++)
                s.w[i * G + g] = dot(D.basis + i * r, u + g * r, r);
        for (int k = 0; k < 2; k++) {
            int64_t c = pairs[2 * p + k];
            s.n[k] = 0;
            for (int64_t j = bounds[c]; j < bounds[c + 1]; j++) {
                double l = weight ? weight[order[j]] : 1.0;
                if (!(l > 0) || !(l < totals[c] || isnan(D.lost[k][0])))
                    continue;
                for (int64_t i = 0; i < d; i++)
                    s.z[i] = X[order[j] * d + i] - means[c * d + i];
                score_row(&D, &s, l, totals[c], k, s.scores[k] + s.n[k] * G);
                s.weight[k][s.n[k]++] = l;
            }
        }
        pair_distributions(&s, &D, a[13].number, (double *)a[14].data + p,
                           (double *)a[15].data + p,
                           (double *)a[16].data + p * 2 * G * N_EDGES);
    }
    Py_END_ALLOW_THREADS
    if (has_memory)
        free(s.memory);
    else
        PyErr_NoMemory();
    return give_back(a, COUNT(a));
}
