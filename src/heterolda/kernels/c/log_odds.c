/* Log-odds on the sides of rules that fit rows held out; see log_odds.py. */
#include "arguments.h"
#include "kernels.h"

#include <math.h>
#include <stdlib.h>

#include "elementary.h"

#define N_BINS 32
#define WRONG 0.5
#define NO_WEIGHT 1e-12
#define MOST_STEPS 50
#define FARTHEST 1e100
#define SETTLED 1e-9

typedef struct {
    int64_t n; /* a multiple of LANES, at most 2 N_BINS; some may be without weight */
    double x[2 * N_BINS], right[2 * N_BINS], wrong[2 * N_BINS];
} Bins;

/* The sum of numbers, of which there are a multiple of LANES. */
INLINE double sum_of(const double *a, int64_t n)
{
    double sum[LANES] = {0};
    for (int64_t k = 0; k < n; k += LANES)
        for (int l = 0; l < LANES; l++)
            sum[l] += a[k + l];
    return joined(sum);
}

/* Costs of a line, and probabilities p of being right. */
INLINE double costs(const Bins *b, const double *x, const double *theta, double *p)
{
    double cost[2 * N_BINS], offset = theta[0], slope = theta[1];
    for (int64_t k = 0; k < b->n; k++) {
        double right = b->right[k], wrong = b->wrong[k];
        double z = offset + slope * x[k], size = fabs(z);
        double e = exp_of_negative(-size), inverse = 1 / (1 + e);
        double against = z > 0 ? wrong : right;
        cost[k] = (right + wrong) * log1p_of_share(e) + against * size;
        p[k] = (z > 0 ? 1.0 : e) * inverse;
    }
    return sum_of(cost, b->n);
}

/* Slopes g and curvatures h (offset, both, slope) of the costs. */
INLINE void derivatives(const Bins *b, const double *x, const double *p, double *g,
                        double *h)
{
    double pull[2 * N_BINS], bend[2 * N_BINS], leaning[2 * N_BINS];
    for (int64_t k = 0; k < b->n; k++) {
        double weight = b->right[k] + b->wrong[k];
        pull[k] = weight * p[k] - b->right[k];
        bend[k] = weight * p[k] * (1 - p[k]);
        leaning[k] = bend[k] * x[k];
    }
    g[0] = sum_of(pull, b->n);
    g[1] = dot(pull, x, b->n);
    h[0] = sum_of(bend, b->n);
    h[1] = sum_of(leaning, b->n);
    h[2] = dot(leaning, x, b->n);
}

/* Offset and slope by Newton's method, its steps halved until they descend. */
WIDE void heterolda_regression(const Bins *b, bool free_offset, bool free_slope,
                               double slope, double *line)
{
    double x[2 * N_BINS], p[2 * N_BINS], far = 0, total = 0, g[2], h[3];
    for (int64_t k = 0; k < b->n; k++) {
        far += (b->right[k] + b->wrong[k]) * b->x[k];
        total += b->right[k] + b->wrong[k];
    }
    double unit = far / (total > NO_WEIGHT ? total : NO_WEIGHT);
    unit = unit > 0 ? unit : 1.0;
    for (int64_t k = 0; k < b->n; k++)
        x[k] = b->x[k] / unit;
    double theta[2] = {0, free_slope ? slope * unit : 0.0};
    double now = costs(b, x, theta, p);
    for (int step = 0; step < MOST_STEPS; step++) {
        derivatives(b, x, p, g, h);
        double ridge = 1e-9 * (h[0] + h[2]) + NO_WEIGHT;
        double g0 = free_offset ? g[0] : 0, g1 = free_slope ? g[1] : 0;
        double both = free_offset && free_slope ? h[1] : 0;
        double a = (free_offset ? h[0] : 1) + ridge, c = (free_slope ? h[2] : 1) + ridge;
        double size = a * c - both * both;
        double move[2] = {-(c * g0 - both * g1) / size, -(a * g1 - both * g0) / size};
        double there[2] = {theta[0] + move[0], theta[1] + move[1]};
        double value = costs(b, x, there, p);
        for (int half = 0; half < MOST_STEPS && value > now * (1 + 1e-12); half++) {
            move[0] /= 2;
            move[1] /= 2;
            there[0] = theta[0] + move[0];
            there[1] = theta[1] + move[1];
            value = costs(b, x, there, p);
        }
        theta[0] = there[0];
        theta[1] = there[1];
        double gain = now - value;
        now = value;
        if (gain <= SETTLED * now)
            break;
    }
    line[0] = theta[0];
    line[1] = theta[1] / unit;
}

/* Slope of a line through zero, half a row added as wrong at all distances. */
static double through_zero(const Bins *given)
{
    Bins b = *given;
    double total = sum_of(b.right, b.n) + sum_of(b.wrong, b.n), lost = 0, far = 0;
    double share = WRONG / (total > WRONG ? total : WRONG), line[2];
    for (int64_t k = 0; k < b.n; k++) {
        double both = b.right[k] + b.wrong[k];
        b.wrong[k] += share * both;
        lost += b.wrong[k];
        far += both * b.x[k];
    }
    /* Log-odds of all rows together, at their mean distance. */
    double odds = (total > lost ? total : lost) / (lost > NO_WEIGHT ? lost : NO_WEIGHT);
    double slope = far > 0 ? log(odds > 1 ? odds : 1.0) * total / far : 0.0;
    heterolda_regression(&b, false, true, slope, line);
    return line[1] > 0 ? line[1] : 0.0;
}

/* Offset and slope, neither negative, with half a row more that is wrong. */
static void line_of(const Bins *given, double *line)
{
    Bins b = *given;
    double slope = through_zero(given), share[2 * N_BINS];
    for (int64_t k = 0; k < b.n; k++)
        share[k] = (b.right[k] + b.wrong[k]) / (1 + exp(slope * b.x[k]));
    double total = sum_of(share, b.n);
    for (int64_t k = 0; k < b.n; k++)
        b.wrong[k] += WRONG * (total > 0 ? share[k] / total : share[k]);
    heterolda_regression(&b, true, true, slope, line);
    /* Where the best is outside of the quadrant, the best of it is on an axis. */
    bool free_slope = line[1] >= 0, free_offset = line[0] >= 0 || !free_slope;
    if (!free_slope || !free_offset)
        heterolda_regression(&b, free_offset, free_slope, line[1], line);
    line[0] = line[0] > 0 ? line[0] : 0.0;
    line[1] = line[1] > 0 ? line[1] : 0.0;
}

typedef struct {
    const double *sign, *weight;
    const int64_t *fold;
    int64_t n, n_folds;
    double *mass;           /* (2 sides, wrong and right, n_folds + 1, N_BINS) */
    double x[2 * N_BINS];   /* mean distances */
} Rows;

#define MASS(side, right, f) \
    (rows->mass + (((side) * 2 + (right)) * (rows->n_folds + 1) + (f)) * N_BINS)

/* Weights of rows by distance, without those of each fold, and last of all rows. */
WIDE void heterolda_histograms(Rows *rows, const double *margins)
{
    int64_t n_folds = rows->n_folds;
    double root = 0, total = 0, inside[2 * N_BINS] = {0};
    for (int64_t j = 0; j < rows->n; j++) {
        double far = fabs(margins[j]);
        root += sqrt(far < FARTHEST ? far : FARTHEST) * rows->weight[j];
        total += rows->weight[j];
    }
    root /= total > NO_WEIGHT ? total : NO_WEIGHT;
    double unit = root * root > 0 ? root * root : 1.0;
    memset(rows->mass, 0, (size_t)(4 * (n_folds + 1) * N_BINS) * sizeof(double));
    memset(rows->x, 0, sizeof(rows->x));
    for (int64_t j = 0; j < rows->n; j++) {
        double far = fabs(margins[j]);
        far = far < FARTHEST ? far : FARTHEST;
        int64_t bin = (int64_t)(N_BINS * (far / (far + unit)));
        bin = bin < N_BINS - 1 ? bin : N_BINS - 1;
        int side = rows->sign[j] * margins[j] > 0;
        MASS(side, margins[j] > 0, rows->fold[j])[bin] += rows->weight[j];
        inside[side * N_BINS + bin] += rows->weight[j];
        rows->x[side * N_BINS + bin] += rows->weight[j] * far;
    }
    for (int k = 0; k < 2 * N_BINS; k++)
        rows->x[k] = inside[k] > 0 ? rows->x[k] / inside[k] : 0.0;
    for (int side = 0; side < 2; side++)
        for (int right = 0; right < 2; right++)
            for (int k = 0; k < N_BINS; k++) {
                double all = 0;
                for (int64_t f = 0; f < n_folds; f++)
                    all += MASS(side, right, f)[k];
                MASS(side, right, n_folds)[k] = all;
                for (int64_t f = 0; f < n_folds; f++) {
                    double *one = MASS(side, right, f) + k;
                    *one = all > *one ? all - *one : 0.0;
                }
            }
}

/* The bins of a side that have any weight, after those that are there. */
static void add_bins(const Rows *rows, int side, int64_t f, Bins *b)
{
    int64_t n = b->n;
    for (int k = 0; k < N_BINS; k++) {
        double wrong = MASS(side, 0, f)[k], right = MASS(side, 1, f)[k];
        if (right + wrong > 0) {
            b->x[n] = rows->x[side * N_BINS + k];
            b->wrong[n] = wrong;
            b->right[n++] = right;
        }
    }
    b->n = (n + LANES - 1) / LANES * LANES;
}

/* Total weights of the two classes. */
static void classes_of(const Rows *rows, int64_t f, double *totals)
{
    for (int k = 0; k < 2; k++)
        totals[k] = sum_of(MASS(k, 1, f), N_BINS) + sum_of(MASS(1 - k, 0, f), N_BINS);
}

/* All lines of one rule; sides has the shape (2, 2, n_rules, n_folds + 1). */
static void lines_of(Rows *rows, const double *margins, int64_t rule, int64_t n_rules,
                     double *sides)
{
    heterolda_histograms(rows, margins);
    for (int64_t f = 0; f <= rows->n_folds; f++) {
        double totals[2], line[2][2];
        classes_of(rows, f, totals);
        bool first = totals[0] > NO_WEIGHT, second = totals[1] > NO_WEIGHT;
        Bins both = {0};
        for (int side = 0; side < 2; side++) {
            Bins b = {0};
            add_bins(rows, side, f, first && second ? &b : &both);
            line[side][0] = line[side][1] = 1;
            if (first && second)
                line_of(&b, line[side]);
        }
        if (first != second) {
            line[0][0] = line[1][0] = 0;
            line[0][1] = line[1][1] = through_zero(&both);
        }
        for (int side = 0; side < 2; side++)
            for (int part = 0; part < 2; part++) {
                int64_t at = (part * 2 + side) * n_rules + rule;
                sides[at * (rows->n_folds + 1) + f] = line[side][part];
            }
    }
}

/* The first rule that has the same margins, or the rule itself. */
static int64_t same_as(const double *margins, int64_t rule, int64_t n)
{
    for (int64_t k = 0; k < rule; k++)
        if (!memcmp(margins + k * n, margins + rule * n, (size_t)n * sizeof(double)))
            return k;
    return rule;
}

PyObject *py_log_odds(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        {"margins", "d", "pn"}, {"sign", "d", "n"},      {"weight", "d", "n"},
        {"fold", "l", "n"},     {"sides", "d!", "22pk"},
    };
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    Rows rows = {a[1].data, a[2].data, a[3].data, SIZE('n'), SIZE('k') - 1, NULL, {0}};
    int64_t n = rows.n, n_rules = SIZE('p');
    bool valid = rows.n_folds >= 0;
    for (int64_t j = 0; j < n; j++)
        valid = valid && rows.fold[j] >= 0 && rows.fold[j] < rows.n_folds;
    if (!valid) {
        PyErr_SetString(PyExc_ValueError, "fold must have numbers of folds");
        return give_back(a, COUNT(a));
    }
    rows.mass = calloc((size_t)rows.n_folds + 1, 4 * N_BINS * sizeof(double));
    if (!rows.mass) {
        PyErr_NoMemory();
        return give_back(a, COUNT(a));
    }
    const double *margins = a[0].data;
    double *sides = a[4].data;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t rule = 0; rule < n_rules; rule++) {
        int64_t same = same_as(margins, rule, n), n_lines = rows.n_folds + 1;
        if (same == rule) {
            lines_of(&rows, margins + rule * n, rule, n_rules, sides);
            continue;
        }
        for (int part = 0; part < 4; part++)
            memcpy(sides + (part * n_rules + rule) * n_lines,
                   sides + (part * n_rules + same) * n_lines,
                   (size_t)n_lines * sizeof(double));
    }
    Py_END_ALLOW_THREADS
    free(rows.mass);
    return give_back(a, COUNT(a));
}
