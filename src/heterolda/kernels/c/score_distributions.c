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

/* All that a pair needs; numbers of directions are padded to a multiple of WIDTH. */
typedef struct {
    const double *basis, *lost[2], *distance, *inverse_unit;
    int64_t d, r, G, P; /* features, coordinates, directions, and these padded */
} Directions;

typedef struct {
    double *w, *inverse, *ratio; /* normals (d, P); pivots and ratios (r, P) */
    double *Z;                   /* coordinates of a row */
    double *scores[2], *weight[2]; /* of both classes */
    double *mean, *deviation, *fine; /* of the finite scores of a class, and their share */
    double *sample, *mass, *kernel, *origin, *sums, *q, *zero, *cell;
    int64_t n[2];
    void *memory;
} Space;

/* Bins have as many empty ones on both sides as a kernel reaches. */
enum { REACH = 6, WIDTH = 16, REST = N_EDGES + 2, PADDED = N_EDGES + 1 + 2 * REST };

static bool make_space(Space *s, int64_t d, int64_t r, int64_t P, int64_t n)
{
    int64_t sizes[] = {d * P, r * P, r * P, r, n * P, n * P, n, n, P, P, P, 2 * n,
                       P * PADDED, N_EDGES + 2, P, P, P, WIDTH, P};
    double **parts[] = {&s->w, &s->inverse, &s->ratio, &s->Z, &s->scores[0], &s->scores[1],
                        &s->weight[0], &s->weight[1], &s->mean, &s->deviation, &s->fine,
                        &s->sample, &s->mass, &s->kernel, &s->origin, &s->sums,
                        &s->q, &s->zero, &s->cell};
    int64_t total = 0;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        total += sizes[k];
    double *next = s->memory = calloc((size_t)total + 1, sizeof(double));
    if (!next)
        return false;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; next += sizes[k++])
        *parts[k] = next;
    s->mass += P * REST;
    return true;
}

/* Copy G rows of n numbers to columns. */
static void to_columns(const double *from, int64_t G, int64_t n, int64_t P, double *to)
{
    for (int64_t g = 0; g < G; g++)
        for (int64_t i = 0; i < n; i++)
            to[i * P + g] = from[g * n + i];
}

/* sums = start + multiples of n lines, for WIDTH columns. */
INLINE void add_wide_lines(const double *x, int64_t n, const double *lines, int64_t stride,
                           const double *start, double *sums)
{
    Four s[8]; /* sums over lines of even and of odd number */
    for (int j = 0; j < 4; j++) {
        s[j] = load(start + 4 * j);
        s[4 + j] = four(0.0);
    }
    for (; n > 1; n -= 2, x += 2, lines += 2 * stride)
        for (int j = 0; j < 4; j++) {
            s[j] = add(s[j], scaled(x[0], load(lines + 4 * j)));
            s[4 + j] = add(s[4 + j], scaled(x[1], load(lines + stride + 4 * j)));
        }
    for (int j = 0; j < 4; j++) {
        if (n)
            s[j] = add(s[j], scaled(x[0], load(lines + 4 * j)));
        store(add(s[j], s[4 + j]), sums + 4 * j);
    }
}

/* Sums of the squares of y over the pivots, where y solves a bidiagonal system with the
   right-hand side z. */
INLINE void wide_squares(const double *z, int64_t r, const double *inverse,
                         const double *ratio, int64_t P, double *sums)
{
    Four y[4], q[4];
    for (int j = 0; j < 4; j++)
        y[j] = q[j] = four(0.0);
    for (int64_t i = 0; i < r; i++, inverse += P, ratio += P)
        for (int j = 0; j < 4; j++) {
            y[j] = subtract(four(z[i]), times(load(ratio + 4 * j), y[j]));
            q[j] = add(q[j], times(times(y[j], y[j]), load(inverse + 4 * j)));
        }
    for (int j = 0; j < 4; j++)
        store(q[j], sums + 4 * j);
}

/* Scores of a row of weight l in a class of weight W, by rules without it. */
WIDE static void score_row(const Directions *D, Space *s, const double *z, double l, double W,
                           int k, double *RESTRICT score)
{
    int64_t P = D->P, r = D->r;
    double eps = k ? -1.0 : 1.0, e = l / (W - l);
    const double *RESTRICT distance = D->distance, *RESTRICT inverse_unit = D->inverse_unit;
    for (int64_t from = 0; from < P; from += WIDTH)
        add_wide_lines(z, D->d, s->w + from, P, s->zero, score + from);
    if (isnan(D->lost[k][0])) {
        for (int64_t g = 0; g < P; g++)
            score[g] = (score[g] + 0.5 * eps * distance[g]) * inverse_unit[g];
        return;
    }
    memset(s->Z, 0, (size_t)r * sizeof(double));
    add_lines(z, D->d, D->basis, r, r, s->Z);
    for (int64_t from = 0; from < P; from += WIDTH)
        wide_squares(s->Z, r, s->inverse + from, s->ratio + from, P, s->q + from);
    const double *RESTRICT lost = D->lost[k], *RESTRICT qs = s->q;
    for (int64_t g = 0; g < P; g++) {
        double A = score[g], q = qs[g], d = distance[g];
        double R = lost[g] * l * (1 + e), divisor = 1 - R * q;
        double t = (R * A - eps * e) / divisor;
        double left = d - eps * e * A + t * (A - eps * e * q);
        double value = (1 + 0.5 * e) * (A + t * q) + 0.5 * eps * (d + t * A);
        value *= sqrt(d / left) * inverse_unit[g];
        score[g] = divisor > NO_RULE && left > 0 ? value : -eps * INFINITY;
    }
}

/* Means and deviations of the finite scores of a class, from those of its first row. */
WIDE static void moments_of(Space *s, int k, int64_t P)
{
    double *RESTRICT mean = s->mean, *RESTRICT square = s->deviation, *RESTRICT fine = s->fine;
    const double *RESTRICT origin = s->scores[k];
    double total = 0;
    memset(mean, 0, (size_t)P * sizeof(double));
    memset(square, 0, (size_t)P * sizeof(double));
    memset(fine, 0, (size_t)P * sizeof(double));
    for (int64_t j = 0; j < s->n[k]; j++) {
        const double *RESTRICT score = s->scores[k] + j * P;
        double l = s->weight[k][j];
        total += l;
        for (int64_t g = 0; g < P; g++) {
            double from = fabs(origin[g]) <= DBL_MAX ? origin[g] : 0.0;
            bool is_fine = fabs(score[g]) <= DBL_MAX;
            double w = is_fine ? l : 0.0, x = is_fine ? score[g] - from : 0.0;
            fine[g] += w;
            mean[g] += w * x;
            square[g] += w * x * x;
        }
    }
    for (int64_t g = 0; g < P; g++) {
        double divisor = fine[g] > 0 ? fine[g] : 1, m = mean[g] / divisor;
        double variance = square[g] / divisor - m * m;
        square[g] = variance > 0 ? sqrt(variance) : 0;
        mean[g] = m + (s->n[k] && fabs(origin[g]) <= DBL_MAX ? origin[g] : 0.0);
        fine[g] /= total > 0 ? total : 1;
    }
}

/* Move the numbers below the pivot, or those up to it, to the front; return how many. */
INLINE int64_t partition(double *x, int64_t n, double pivot, bool equal)
{
    int64_t front = 0;
    for (int64_t j = 0; j < n; j++) { /* without branches, which nobody could predict */
        double value = x[j];
        x[j] = x[front];
        x[front] = value;
        front += equal ? value <= pivot : value < pivot;
    }
    return front;
}

/* Return the value that is number k of x[low] to x[high] in order, and move it there. */
static double select_value(double *x, int64_t low, int64_t high, int64_t k)
{
    while (low < high) {
        double pivot = x[low + (high - low) / 2];
        int64_t cut = low + partition(x + low, high - low + 1, pivot, false);
        if (k >= cut) {
            low = cut;
            cut += partition(x + low, high - low + 1, pivot, true);
            if (k < cut)
                return x[k];
            low = cut;
        } else {
            high = cut - 1;
        }
    }
    return x[k];
}

/* Return the deviation of the scores of a class in the two middle directions, and widen
   the range [low, high] by them. */
static double deviation_of(Space *s, int k, int64_t G, int64_t P, double *low, double *high)
{
    int64_t n = 0, middle[] = {(G - 1) / 2, G / 2};
    double mean = 0, square = 0, *x = s->sample;
    for (int64_t j = 0; j < s->n[k]; j++)
        for (int i = 0; i < 2; i++) {
            x[n] = s->scores[k][j * P + middle[i]];
            n += isfinite(x[n]) != 0;
        }
    if (!n)
        return 0;
    double share = 1 / (double)n;
    for (int64_t j = 0; j < n; j++)
        mean += x[j] * share;
    for (int64_t j = 0; j < n; j++)
        square += (x[j] - mean) * (x[j] - mean) * share;
    int64_t tail = (int64_t)(QUANTILE * (double)n), quarter = n / 4, end = n - 1;
    double lower = select_value(x, 0, end, quarter);
    double width = select_value(x, quarter, end, end - quarter) - lower;
    double first = select_value(x, 0, quarter, tail);
    double last = select_value(x, end - quarter, end, end - tail);
    *low = first < *low ? first : *low;
    *high = last > *high ? last : *high;
    double deviation = sqrt(square);
    return width > 0 && width / IQR < deviation ? width / IQR : deviation;
}

/* Histograms of scores contracted to the mean of the class. */
WIDE static void fill_histograms(Space *s, const Directions *D, int k, double h, double low,
                                 double step)
{
    int64_t P = D->P;
    double c = sqrt((1 - h) * (1 + h)), total = 0, scale = 1 / step;
    memset(s->mass, 0, (size_t)(P * (N_EDGES + 1)) * sizeof(double));
    for (int64_t j = 0; j < s->n[k]; j++)
        total += s->weight[k][j];
    double *RESTRICT origin = s->origin;
    double *RESTRICT cell = s->cell;
    /* Adding these rounds up, and leaves the whole number in the last bits. */
    const double nearly_half = 0.5 - 0x1p-40, shift = 6755399441055744.0; /* 1.5 * 2^52 */
    for (int64_t g = 0; g < P; g++) /* where a score of zero lies */
        origin[g] = ((1 - c) * (k ? -0.5 : 0.5) * D->distance[g] * D->inverse_unit[g] - low) * scale;
    c *= scale;
    for (int64_t j = 0; j < s->n[k]; j++) {
        const double *RESTRICT score = s->scores[k] + j * P;
        double l = s->weight[k][j] / total;
        for (int64_t g = 0; g < P; g++) {
            double x = origin[g] + c * score[g];
            x = x > 0 ? x : 0.0;
            x = x < N_EDGES ? x : (double)N_EDGES;
            cell[g] = x + nearly_half + shift;
        }
        for (int64_t g = 0; g < P; g++) {
            uint64_t bits;
            memcpy(&bits, &cell[g], 8);
            s->mass[(int64_t)(bits & 0xff) * P + g] += l;
        }
    }
}

/* F[g][b] = sum_i mass_i[g] Phi((b - i + 1/2) / sigma), for all edges b and directions:
   the mass up to bin b, and what the kernel moves across this edge. */
WIDE static void smooth(Space *s, int64_t G, int64_t P, double sigma, double *F)
{
    int64_t m = REACH * sigma < N_EDGES ? (int64_t)(REACH * sigma) + 1 : N_EDGES + 1;
    double *sums = s->sums;
    for (int64_t k = 0; k < m; k++)
        s->kernel[k] = ndtr(-((double)k + 0.5) / sigma);
    memset(sums, 0, (size_t)P * sizeof(double));
    for (int64_t b = 0; b < N_EDGES; b++)
        for (int64_t from = 0; from < P; from += WIDTH) {
            const double *below = s->mass + b * P + from, *above = below + P;
            Four up[4], moved[4];
            double shares[WIDTH];
            for (int j = 0; j < 4; j++) {
                up[j] = add(load(sums + from + 4 * j), load(below + 4 * j));
                store(up[j], sums + from + 4 * j);
                moved[j] = four(0.0);
            }
            for (int64_t k = 0; k < m; k++, below -= P, above += P)
                for (int j = 0; j < 4; j++) {
                    Four both = subtract(load(above + 4 * j), load(below + 4 * j));
                    moved[j] = add(moved[j], scaled(s->kernel[k], both));
                }
            for (int j = 0; j < 4; j++)
                store(add(up[j], moved[j]), shares + 4 * j);
            for (int64_t g = from; g < G && g < from + WIDTH; g++) {
                double share = shares[g - from];
                F[g * N_EDGES + b] = share < 0 ? 0 : share < 1 ? share : 1;
            }
        }
}

/* Distributions of a pair; its rows and scores are in `s`. */
static void pair_distributions(Space *s, const Directions *D, double smoothing, double *low,
                               double *step, double *F)
{
    int64_t G = D->G, P = D->P;
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
        deviation[k] = deviation_of(s, k, G, P, low, &high);
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
            smooth(s, G, P, sigma > LEAST_SIGMA ? sigma : LEAST_SIGMA, F);
            continue;
        }
        moments_of(s, k, P);
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
        {"Z", "d", "nd"},         /* rows less the means of their classes, by class */
        {"weight", "d", "n?"},    /* of the rows */
        {"bounds", "l", "b"},     /* where classes begin, and the end */
        {"pairs", "l", "p2"},
        {"totals", "d", "k"},     /* weights of the classes */
        {"w", "d", "pgd"},        {"basis", "d", "pdr"},
        {"inverse", "d", "pgr"},  {"ratio", "d", "pgr"},
        {"lost", "d", "p2g"},     {"distance", "d", "pg"},
        {"unit", "d", "pg"},      {"smoothing", "d"},
        {"low", "d!", "p"},       {"step", "d!", "p"},
        {"F", "d!", "p2gs"},
    };
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    const double *Z = a[0].data, *weight = a[1].data, *totals = a[4].data;
    const int64_t *bounds = a[2].data, *pairs = a[3].data;
    int64_t K = SIZE('k'), d = SIZE('d'), r = SIZE('r'), G = SIZE('g'), most = 1;
    int64_t P = (G + WIDTH - 1) / WIDTH * WIDTH;
    bool fine = G > 0 && SIZE('b') == K + 1 && bounds[0] == 0 && bounds[K] == SIZE('n');
    for (int64_t k = 0; fine && k < K; k++) {
        fine = bounds[k] >= 0 && bounds[k] <= bounds[k + 1];
        if (fine && bounds[k + 1] - bounds[k] > most)
            most = bounds[k + 1] - bounds[k];
    }
    for (int64_t p = 0; fine && p < 2 * SIZE('p'); p++)
        fine = pairs[p] >= 0 && pairs[p] < K;
    if (!fine || SIZE('s') != N_EDGES) {
        PyErr_SetString(PyExc_ValueError, "bounds, pairs or F is out of range");
        return give_back(a, COUNT(a));
    }
    Space s;
    bool has_memory = make_space(&s, d, r, P, most);
    double *padded = has_memory ? calloc((size_t)(4 * P), sizeof(double)) : NULL;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t p = 0; padded && p < SIZE('p'); p++) {
        Directions D = {
            .basis = (double *)a[6].data + p * d * r,
            .lost = {padded, padded + P}, .distance = padded + 2 * P, .inverse_unit = padded + 3 * P,
            .d = d, .r = r, .G = G, .P = P,
        };
        to_columns((double *)a[5].data + p * G * d, G, d, P, s.w);
        to_columns((double *)a[7].data + p * G * r, G, r, P, s.inverse);
        to_columns((double *)a[8].data + p * G * r, G, r, P, s.ratio);
        for (int64_t g = 0; g < P; g++) { /* padded by copies of the last direction */
            int64_t at = g < G ? g : G - 1;
            padded[g] = ((double *)a[9].data)[2 * p * G + at];
            padded[P + g] = ((double *)a[9].data)[(2 * p + 1) * G + at];
            padded[2 * P + g] = ((double *)a[10].data)[p * G + at];
            padded[3 * P + g] = 1 / ((double *)a[11].data)[p * G + at];
        }
        for (int k = 0; k < 2; k++) {
            int64_t c = pairs[2 * p + k];
            s.n[k] = 0;
            for (int64_t j = bounds[c]; j < bounds[c + 1]; j++) {
                double l = weight ? weight[j] : 1.0;
                if (!(l > 0) || !(l < totals[c] || isnan(D.lost[k][0])))
                    continue;
                score_row(&D, &s, Z + j * d, l, totals[c], k, s.scores[k] + s.n[k] * P);
                s.weight[k][s.n[k]++] = l;
            }
        }
        pair_distributions(&s, &D, a[12].number, (double *)a[13].data + p,
                           (double *)a[14].data + p,
                           (double *)a[15].data + p * 2 * G * N_EDGES);
    }
    Py_END_ALLOW_THREADS
    if (has_memory)
        free(s.memory);
    if (!padded)
        PyErr_NoMemory();
    free(padded);
    return give_back(a, COUNT(a));
}
