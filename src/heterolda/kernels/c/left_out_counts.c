/* What two rules of a pair say of rows that they were not fitted to; see
   left_out_counts.py.

   Own is the class of a row x, other the other one of the pair, W the weight of own,
   z = x - m_own, delta = m_own - m_other and S the covariance of own. With

       g = (W - 1) / (W - 2),   k = W / (W - 1)^2,   s = 1 / (W - 1)

   the rule without the row is w = (A - R z z')^-1 (delta - s z), where A = B S + a
   S_other and R = B k: on the arc, at weights b and a, B = b g, and for Fisher's rule B
   = (W - 1) g / (N - 1), a = W_other / (N - 1), N = W + W_other. With p = z'A^-1 z and
   q = z'A^-1 delta it gives the row w.z = u = (q - s p) / (1 - R p), and the score is

       -b g (v - k u^2) - (1 + s) u                  on the arc, with v = w'S w
       -D / 2 - odds + (s q - R q u) / 2 - (1 + s / 2) u      Fisher's, D = delta'A^-1 delta

   Its sign is all that counts. A is not less than B S, so that p is at most
   z'S^-1 z / B, which takes one factor for all pairs of a class. The rule with all rows
   has (A - e S) w = c delta, so it gives q to within e z'A^-1 S w / c. Most rows are
   settled by these bounds. For the others A is factored; if it is next to singular, the
   pair is handed over. */
#include "arguments.h"
#include "kernels.h"
#include "lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A matrix of unit diagonal with a smaller pivot is handed over, and so is a row whose
   absence takes all but this share of the matrix in some direction. */
#define SINGULAR 1e-7
/* Bounds must settle a score by this share of its size. */
#define SLACK 1e-7

typedef struct {
    int64_t d, n; /* features, and rows of the class */
    double W, g, k, s;
    const double *mean, *cov;
    double *z;          /* rows less their mean, (n, d) */
    double *columns;    /* the same transposed */
    double *h, *root;   /* k z'S^-1 z and the root of z'S^-1 z, if `bounded` */
    bool bounded;
    double *q, *low, *high; /* bounds of the scores of all rows */
    signed char *side[2];   /* +1 for the other class, of both rules; 0 if not known */
    double *U, *scale, *delta, *x, *Sw, *y; /* room for a factor and for vectors */
} Class;

INLINE double larger(double a, double b)
{
    return a > b ? a : b;
}

INLINE double smaller(double a, double b)
{
    return a < b ? a : b;
}

typedef struct {
    bool arc;
    double b, B, a, odds;
    const double *w;          /* of the rule with all rows, without the sign */
    double sign;              /* of w */
    double c, error;          /* q is that of all rows / c, within error root / c */
    const double *mean, *cov; /* of the other class */
} Rule;

/* Factor U'U of a matrix of unit diagonal, in place; the smallest pivot. */
WIDE double factor(double *U, int64_t d, double *x)
{
    double least = 1.0;
    for (int64_t i = 0; i < d; i++) {
        for (int64_t j = 0; j < i; j++)
            x[j] = -U[j * d + i];
        add_lines(x, i, U + i, d, d - i, U + i * d + i);
        double pivot = U[i * d + i];
        if (!(pivot > SINGULAR))
            return 0.0;
        least = pivot < least ? pivot : least;
        double inverse = 1 / sqrt(pivot);
        for (int64_t j = i; j < d; j++)
            U[i * d + j] *= inverse;
    }
    return least;
}

/* Solve U'y = x in place. */
WIDE void solve_lower(const double *U, int64_t d, double *RESTRICT x)
{
    for (int64_t i = 0; i < d; i++) {
        const double *RESTRICT line = U + i * d;
        double y = x[i] / line[i];
        x[i] = y;
        for (int64_t j = i + 1; j < d; j++)
            x[j] -= y * line[j];
    }
}

/* Solve U y = x in place. */
WIDE void solve_upper(const double *U, int64_t d, double *x)
{
    for (int64_t i = d - 1; i >= 0; i--)
        x[i] = (x[i] - dot(U + i * d + i + 1, x + i + 1, d - i - 1)) / U[i * d + i];
}

WIDE double quadratic(const double *S, const double *w, int64_t d, double *Sw)
{
    for (int64_t i = 0; i < d; i++)
        Sw[i] = dot(S + i * d, w, d);
    return dot(w, Sw, d);
}

/* z'S^-1 z of all rows, with the factor of S. */
WIDE void leverages(Class *c, double *room)
{
    int64_t d = c->d, n = c->n;
    double *U = c->U, *x = c->x;
    for (int64_t i = 0; i < d; i++) {
        double inverse = 1 / U[i * d + i], *y = room + i * n;
        for (int64_t j = 0; j < i; j++)
            x[j] = -U[j * d + i];
        for (int64_t r = 0; r < n; r++)
            y[r] = c->columns[i * n + r] / c->scale[i];
        add_lines(x, i, room, n, n, y);
        for (int64_t r = 0; r < n; r++) {
            y[r] *= inverse;
            c->h[r] += y[r] * y[r];
        }
    }
    for (int64_t r = 0; r < n; r++) {
        c->root[r] = sqrt(c->h[r]);
        c->h[r] *= c->k;
    }
}

static void prepare(Class *c, const double *X, const int64_t *order, double *room)
{
    int64_t d = c->d, n = c->n;
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < d; i++)
            c->columns[i * n + r] = c->z[r * d + i] = X[order[r] * d + i] - c->mean[i];
    c->bounded = true;
    for (int64_t i = 0; i < d; i++) {
        c->scale[i] = sqrt(c->cov[i * d + i]);
        c->bounded &= c->scale[i] > 0;
    }
    if (!c->bounded)
        return;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++)
            c->U[i * d + j] = c->cov[i * d + j] / (c->scale[i] * c->scale[j]);
    c->bounded = factor(c->U, d, c->x) > 0;
    memset(c->h, 0, (size_t)n * sizeof(double));
    if (c->bounded)
        leverages(c, room);
}

/* Bounds of the scores of all rows. The variance is that with all rows, D the distance
   of the means. */
WIDE void bound_scores(Class *c, const Rule *rule, double variance, double D)
{
    int64_t n = c->n;
    double *RESTRICT low = c->low, *RESTRICT high = c->high;
    const double *RESTRICT h = c->h, *RESTRICT root = c->root, *RESTRICT q0 = c->q;
    double s = c->s, B = rule->B, R = B * c->k, k = c->k, sigma = sqrt(variance);
    double over = 1 / rule->c, error = rule->error * over + SLACK * sigma;
    for (int64_t r = 0; r < n; r++) {
        double q = q0[r] * over, doubt = error * root[r], most = h[r] / R;
        double rest = h[r] < 1 - SINGULAR ? 1 / (1 - h[r]) : HUGE_VAL;
        double from = q - doubt - s * most, to = q + doubt;
        from = smaller(from, from * rest);
        to = larger(to, to * rest);
        double size = larger(fabs(from), fabs(to));
        if (rule->arc) {
            double moved = (s + R * size) * root[r] / B;
            double less = larger(sigma / c->g - moved, 0.0), more = sigma + moved;
            less = larger(less * less - k * size * size, 0.0);
            high[r] = -B * less - (1 + s) * from;
            low[r] = -B * more * more - (1 + s) * to;
        } else {
            double fixed = -0.5 * D * over - rule->odds + 0.5 * s * q;
            double factor = -0.5 * R * q - (1 + 0.5 * s);
            double wide = 0.5 * (s + R * size) * doubt + 0.5 * over * rule->error * sigma;
            high[r] = fixed + wide + larger(factor * from, factor * to);
            low[r] = fixed - wide + smaller(factor * from, factor * to);
        }
    }
}

/* The matrix A in units of its diagonal, factored; false if it is next to singular. */
static bool factor_pair(Class *c, const Rule *rule)
{
    int64_t d = c->d;
    double B = rule->B, a = rule->a, *U = c->U, *scale = c->scale;
    for (int64_t i = 0; i < d; i++) {
        double size = fabs(B) * c->cov[i * d + i] + fabs(a) * rule->cov[i * d + i];
        c->delta[i] = c->mean[i] - rule->mean[i];
        if (!(size > 0) && c->delta[i] != 0)
            return false;
        scale[i] = size > 0 ? sqrt(size) : 1.0;
        c->delta[i] /= scale[i];
    }
    for (int64_t i = 0; i < d; i++) {
        for (int64_t j = i; j < d; j++)
            U[i * d + j] = (B * c->cov[i * d + j] + a * rule->cov[i * d + j]) /
                           (scale[i] * scale[j]);
        if (!(fabs(B) * c->cov[i * d + i] + fabs(a) * rule->cov[i * d + i] > 0))
            U[i * d + i] = 1.0; /* constant in both classes, without a difference */
    }
    return factor(U, d, c->x) > 0;
}

/* The score of a row by the factored matrix; NaN if nothing is known. */
static double exact_score(Class *c, const Rule *rule, const double *z, double D,
                          double variance)
{
    int64_t d = c->d;
    double s = c->s, R = rule->B * c->k, *x = c->x;
    for (int64_t i = 0; i < d; i++)
        x[i] = z[i] / c->scale[i];
    solve_lower(c->U, d, x);
    double p = dot(x, x, d), q = dot(x, c->delta, d);
    if (!(1 - R * p > SINGULAR))
        return NAN;
    double u = (q - s * p) / (1 - R * p), t = R * u - s;
    if (!rule->arc)
        return -0.5 * D - rule->odds + 0.5 * (s * q - R * q * u) - (1 + 0.5 * s) * u;
    double known = variance + 2 * t * dot(x, c->y, d) - c->k * u * u;
    /* v = known + k u^2 + t^2 z'A^-1 S A^-1 z, of which this is the most. */
    double most = rule->B > 0 && rule->a >= 0 ? t * t * p / rule->B : HUGE_VAL;
    double low = -rule->B * known - (1 + s) * u, high = low - rule->B * most;
    if (known > SLACK * variance && (low > 0) == (high > 0))
        return low;
    solve_upper(c->U, d, x);
    for (int64_t i = 0; i < d; i++)
        x[i] /= c->scale[i];
    known += t * t * quadratic(c->cov, x, d, c->Sw);
    return known > SLACK * variance ? -rule->B * known - (1 + s) * u : NAN;
}

/* The sides of all rows by one rule; false if the pair is to be handed over. */
static bool find_sides(Class *c, const Rule *rule, double variance,
                       signed char *side)
{
    int64_t d = c->d, n = c->n, open = n;
    memset(side, 0, (size_t)n);
    if (c->bounded && rule->B > 0 && rule->a >= 0 && variance > 0) {
        double D = 0.0;
        for (int64_t i = 0; i < d; i++) {
            c->y[i] = rule->sign * rule->w[i];
            D += c->y[i] * (c->mean[i] - rule->mean[i]);
        }
        memset(c->q, 0, (size_t)n * sizeof(double));
        add_lines(c->y, d, c->columns, n, n, c->q);
        bound_scores(c, rule, variance, D);
        double slack = SLACK * (rule->B * variance + D);
        for (int64_t r = 0; r < n; r++) {
            side[r] = (signed char)((c->low[r] > slack) - (c->high[r] < -slack));
            open -= side[r] != 0;
        }
    }
    if (!open)
        return true;
    if (!factor_pair(c, rule))
        return false;
    solve_lower(c->U, d, c->delta);
    double D = dot(c->delta, c->delta, d);
    if (rule->arc) {
        memcpy(c->x, c->delta, (size_t)d * sizeof(double));
        solve_upper(c->U, d, c->x);
        for (int64_t i = 0; i < d; i++)
            c->x[i] /= c->scale[i];
        variance = quadratic(c->cov, c->x, d, c->y);
        for (int64_t i = 0; i < d; i++)
            c->y[i] /= c->scale[i];
        solve_lower(c->U, d, c->y);
    }
    for (int64_t r = 0; r < n; r++)
        if (!side[r]) {
            double score = exact_score(c, rule, c->z + r * d, D, variance);
            if (isnan(score))
                return false;
            side[r] = score > 0 ? 1 : -1;
        }
    return true;
}

typedef struct {
    const double *means, *covariances, *weights, *log_odds, *arc, *deviations;
    const double *coef, *fisher;
    const int64_t *pairs;
    const bool *trivial;
    int64_t frequencies;
} Pairs;

/* Counts of a class in one of its pairs; false if the pair is to be handed over. */
static bool count_pair(Class *c, const Pairs *all, int64_t own, int64_t pair,
                       const double *row_weight, const int64_t *order, double *counts)
{
    int64_t d = c->d, place = all->pairs[2 * pair] == own ? 0 : 1;
    int64_t other = all->pairs[2 * pair + 1 - place];
    double Wo = all->weights[other], N = c->W + Wo, sign = place ? 1.0 : -1.0;
    double odds = -sign * all->log_odds[pair];
    if (all->frequencies)
        odds += log1p(-1 / c->W);
    Rule rule = {.arc = true, .sign = sign, .odds = odds};
    rule.mean = all->means + other * d;
    rule.cov = all->covariances + other * d * d;
    if (all->trivial[pair]) {
        memset(c->side[0], odds < 0 ? 1 : -1, (size_t)c->n);
    } else {
        double sigma = all->deviations[2 * pair + place];
        rule.b = all->arc[2 * pair + place];
        rule.a = all->arc[2 * pair + 1 - place];
        rule.B = rule.b * c->g;
        rule.w = all->coef + pair * d;
        rule.c = 1.0;
        rule.error = sigma * c->s;
        if (!find_sides(c, &rule, sigma * sigma, c->side[0]))
            return false;
    }
    rule.arc = false;
    rule.B = (c->W - 1) * c->g / (N - 1);
    rule.a = Wo / (N - 1);
    rule.w = all->fisher + pair * d;
    rule.c = N / (N - 1);
    double variance = quadratic(c->cov, rule.w, d, c->Sw);
    rule.error = sqrt(variance) / (c->W * (c->W - 2));
    if (!find_sides(c, &rule, variance, c->side[1]))
        return false;
    counts[0] = counts[1] = counts[2] = 0.0;
    for (int64_t r = 0; r < c->n; r++) {
        double w = row_weight ? row_weight[order[r]] : 1.0;
        bool one = (c->side[0][r] > 0) != place, two = (c->side[1][r] > 0) != place;
        counts[0] += one ? w : 0.0;
        counts[1] += two ? w : 0.0;
        counts[2] += one != two ? w : 0.0;
    }
    return true;
}

/* Whether one copy of each row can be left out. */
static bool are_whole(const double *weight, const int64_t *order, int64_t n)
{
    for (int64_t r = 0; weight && r < n; r++)
        if (!(weight[order[r]] >= 1))
            return false;
    return true;
}

PyObject *py_left_out_counts(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        {"X", "d", "nd"},        {"weight", "d", "n?"},     {"order", "l", "m"},
        {"bounds", "l", "b"},    {"means", "d", "kd"},      {"covariances", "d", "kdd"},
        {"weights", "d", "k"},   {"classes", "l", "p2"},    {"log_odds", "d", "p"},
        {"arc", "d", "p2"},      {"deviations", "d", "p2"}, {"trivial", "b", "p"},
        {"coef", "d", "pd"},     {"fisher", "d", "pd"},     {"pairs", "l", "j"},
        {"starts", "l", "b"},    {"frequencies", "l"},      {"counts", "d!", "j3"},
        {"handed", "b!", "j"},
    };
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    const double *X = a[0].data, *weight = a[1].data;
    const int64_t *order = a[2].data, *bounds = a[3].data, *members = a[14].data,
                  *starts = a[15].data;
    Pairs all = {a[4].data,  a[5].data,  a[6].data,  a[8].data,  a[9].data, a[10].data,
                 a[12].data, a[13].data, a[7].data, a[11].data, a[16].integer};
    int64_t d = SIZE('d'), n_classes = SIZE('k'), most = 0;
    double *counts = a[17].data;
    bool *handed = a[18].data;
    if (SIZE('b') != n_classes + 1 || !within(order, SIZE('m'), SIZE('n')) ||
        !within(members, SIZE('j'), SIZE('p')) ||
        !within(all.pairs, 2 * SIZE('p'), n_classes) ||
        !increase(bounds, SIZE('b'), SIZE('m')) ||
        !increase(starts, SIZE('b'), SIZE('j'))) {
        PyErr_SetString(PyExc_ValueError, "order, bounds, pairs or starts is wrong");
        return give_back(a, COUNT(a));
    }
    for (int64_t k = 0; k < SIZE('j'); k++) {
        handed[k] = true;
        counts[3 * k] = counts[3 * k + 1] = counts[3 * k + 2] = 0.0;
    }
    for (int64_t k = 0; k < n_classes; k++)
        if (starts[k + 1] > starts[k] && bounds[k + 1] - bounds[k] > most)
            most = bounds[k + 1] - bounds[k];
    if (!most || !d)
        return give_back(a, COUNT(a));
    double *room = NULL;
    if (most < PTRDIFF_MAX / 256 / (d + 4) - d)
        room = malloc((size_t)(most * (3 * d + 6) + d * (d + 6)) * sizeof(double));
    if (!room) {
        PyErr_NoMemory();
        return give_back(a, COUNT(a));
    }
    Py_BEGIN_ALLOW_THREADS
    for (int64_t k = 0; k < n_classes; k++) {
        int64_t n = bounds[k + 1] - bounds[k];
        const int64_t *mine = order + bounds[k];
        double W = all.weights[k];
        if (starts[k + 1] == starts[k] || !n || !(W > 2 + SINGULAR && W < HUGE_VAL) ||
            !are_whole(weight, mine, n))
            continue;
        Class c = {d, n, W, (W - 1) / (W - 2), W / ((W - 1) * (W - 1)), 1 / (W - 1)};
        c.mean = all.means + k * d;
        c.cov = all.covariances + k * d * d;
        c.z = room;
        c.columns = c.z + most * d;
        c.U = c.columns + 2 * most * d;
        c.scale = c.U + d * d;
        c.delta = c.scale + d;
        c.x = c.delta + d;
        c.Sw = c.x + d;
        c.y = c.Sw + d;
        c.h = c.y + d;
        c.root = c.h + most;
        c.q = c.root + most;
        c.low = c.q + most;
        c.high = c.low + most;
        c.side[0] = (signed char *)(c.high + most);
        c.side[1] = c.side[0] + most;
        prepare(&c, X, mine, c.columns + most * d);
        for (int64_t j = starts[k]; j < starts[k + 1]; j++)
            handed[j] = !count_pair(&c, &all, k, members[j], weight, mine,
                                    counts + 3 * j);
    }
    Py_END_ALLOW_THREADS
    free(room);
    return give_back(a, COUNT(a));
}
