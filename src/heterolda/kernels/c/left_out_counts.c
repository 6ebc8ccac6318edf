/* How many rows two rules of a pair that were not fitted to them get wrong; see
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
#include "class_rows.h"
#include "four.h"
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
/* Rows that are solved for at a time. */
#define TILE 8

typedef struct {
    int64_t d, n; /* features, and rows of the class */
    double W, g, k, s;
    const double *mean, *cov;
    double *z;          /* rows less their mean, (n, d) */
    double *columns;    /* the same transposed */
    double *h, *root;   /* k z'S^-1 z and the root of z'S^-1 z, if `bounded` */
    bool bounded;
    double *q, *low, *high; /* bounds of the scores of all rows */
    double *solved;         /* room for as much */
    int64_t *open;          /* rows that are not settled */
    signed char *side[2];   /* +1 for the other class, of both rules; 0 if not known */
    double *U, *unit, *delta, *x, *Sw, *y; /* room for a factor and for vectors */
    double *tile;                          /* and for `TILE` of them */
} Class;

INLINE double greater(double a, double b)
{
    return a > b ? a : b;
}

INLINE double lesser(double a, double b)
{
    return a < b ? a : b;
}

typedef struct {
    bool arc;
    double B, a, odds;
    const double *w;          /* of the rule with all rows, without the sign */
    double sign;              /* of w */
    double c, error;          /* q is that of all rows / c, within error root / c */
    const double *mean, *cov; /* of the other class */
} Rule;

/* Factor U'U of a matrix of unit diagonal, in place, but for the diagonal, which becomes
   that of the inverse. False if the matrix is next to singular. */
WIDE static bool factor(double *U, int64_t d, double *x)
{
    for (int64_t i = 0; i < d; i++) {
        for (int64_t j = 0; j < i; j++)
            x[j] = -U[j * d + i];
        add_lines(x, i, U + i, d, d - i, U + i * d + i);
        double pivot = U[i * d + i];
        if (!(pivot > SINGULAR))
            return false;
        double inverse = 1 / sqrt(pivot);
        for (int64_t j = i + 1; j < d; j++)
            U[i * d + j] *= inverse;
        U[i * d + i] = inverse;
    }
    return true;
}

/* Solve U'y = x in place. */
WIDE static void solve_lower(const double *U, int64_t d, double *RESTRICT x)
{
    for (int64_t i = 0; i < d; i++) {
        const double *RESTRICT line = U + i * d;
        double y = x[i] * line[i];
        x[i] = y;
        for (int64_t j = i + 1; j < d; j++)
            x[j] -= y * line[j];
    }
}

/* Solve U y = x in place. */
WIDE static void solve_upper(const double *U, int64_t d, double *x)
{
    for (int64_t i = d - 1; i >= 0; i--)
        x[i] = (x[i] - dot(U + i * d + i + 1, x + i + 1, d - i - 1)) * U[i * d + i];
}

WIDE static double quadratic(const double *S, const double *w, int64_t d, double *Sw)
{
    for (int64_t i = 0; i < d; i++)
        Sw[i] = dot(S + i * d, w, d);
    return dot(w, Sw, d);
}

/* z'S^-1 z of all rows, with the factor of S. */
WIDE static void leverages(Class *c)
{
    int64_t d = c->d, n = c->n;
    double *U = c->U, *x = c->x;
    for (int64_t i = 0; i < d; i++) {
        double inverse = U[i * d + i], *y = c->solved + i * n;
        for (int64_t j = 0; j < i; j++)
            x[j] = -U[j * d + i];
        for (int64_t r = 0; r < n; r++)
            y[r] = c->columns[i * n + r] * c->unit[i];
        add_lines(x, i, c->solved, n, n, y);
        for (int64_t r = 0; r < n; r++) {
            y[r] *= inverse;
            c->h[r] += y[r] * y[r];
        }
    }
    for (int64_t r = 0; r < n; r++) {
        c->root[r] = sqrt(c->h[r]);
        c->h[r] *= c->k;
        if (!(c->h[r] < 1 - SINGULAR)) /* nothing is known of this row */
            c->h[r] = c->root[r] = NAN;
    }
}

static void prepare(Class *c, const double *X, const int64_t *order)
{
    int64_t d = c->d, n = c->n;
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < d; i++)
            c->columns[i * n + r] = c->z[r * d + i] = X[order[r] * d + i] - c->mean[i];
    c->bounded = true;
    for (int64_t i = 0; i < d; i++) {
        c->bounded &= c->cov[i * d + i] > 0;
        c->unit[i] = 1 / sqrt(c->cov[i * d + i]);
    }
    if (!c->bounded)
        return;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++)
            c->U[i * d + j] = c->cov[i * d + j] * (c->unit[i] * c->unit[j]);
    c->bounded = factor(c->U, d, c->x);
    memset(c->h, 0, (size_t)n * sizeof(double));
    if (c->bounded)
        leverages(c);
}

/* The products of all rows with c->y. */
WIDE static void project(Class *c)
{
    memset(c->q, 0, (size_t)c->n * sizeof(double));
    add_lines(c->y, c->d, c->columns, c->n, c->n, c->q);
}

/* Bounds of u for all rows; the arguments are the constants of a rule. */
INLINE void bound_u(const Class *c, double s, double R, double over, double error,
                    double *RESTRICT low, double *RESTRICT high)
{
    const double *RESTRICT h = c->h, *RESTRICT root = c->root, *RESTRICT q = c->q;
    for (int64_t r = 0; r < c->n; r++) {
        double doubt = error * root[r], rest = 1 / (1 - h[r]);
        double from = q[r] * over - doubt - s / R * h[r], to = q[r] * over + doubt;
        low[r] = lesser(from, from * rest);
        high[r] = greater(to, to * rest);
    }
}

/* Bounds of the scores of all rows. The variance is that with all rows, D the distance
   of the means. */
WIDE static void bound_scores(Class *c, const Rule *rule, double variance, double D)
{
    double *RESTRICT low = c->low, *RESTRICT high = c->high;
    const double *RESTRICT root = c->root, *RESTRICT q = c->q;
    double s = c->s, g = c->g, k = c->k, B = rule->B, R = B * k, sigma = sqrt(variance);
    double over = 1 / rule->c, error = rule->error * over + SLACK * sigma;
    bound_u(c, s, R, over, error, low, high);
    if (rule->arc) {
        for (int64_t r = 0; r < c->n; r++) {
            double size = greater(fabs(low[r]), fabs(high[r]));
            double moved = (s + R * size) * root[r] / B, more = sigma + moved;
            double less = sigma / g - moved;
            less = 0.5 * (less + fabs(less)); /* or zero */
            double least = -B * more * more - (1 + s) * high[r];
            high[r] = -B * (less * less - k * size * size) - (1 + s) * low[r];
            low[r] = least;
        }
        return;
    }
    double fixed = -0.5 * D * over - rule->odds, wide = 0.5 * over * rule->error * sigma;
    for (int64_t r = 0; r < c->n; r++) {
        double size = greater(fabs(low[r]), fabs(high[r]));
        double doubt = wide + 0.5 * (s + R * size) * error * root[r];
        double middle = fixed + 0.5 * s * over * q[r];
        double slope = 0.5 * R * over * q[r] + (1 + 0.5 * s);
        double one = -slope * low[r], two = -slope * high[r];
        low[r] = middle - doubt + lesser(one, two);
        high[r] = middle + doubt + greater(one, two);
    }
}

/* The matrix A in units of its diagonal, factored; false if it is next to singular. */
WIDE static bool factor_pair(Class *c, const Rule *rule)
{
    int64_t d = c->d;
    double B = rule->B, a = rule->a, *unit = c->unit;
    for (int64_t i = 0; i < d; i++) {
        double size = fabs(B) * c->cov[i * d + i] + fabs(a) * rule->cov[i * d + i];
        double delta = c->mean[i] - rule->mean[i];
        if (!(size > 0) && delta != 0)
            return false;
        unit[i] = size > 0 ? 1 / sqrt(size) : 0.0;
        c->delta[i] = delta * unit[i];
    }
    for (int64_t i = 0; i < d; i++) {
        const double *RESTRICT own = c->cov + i * d, *RESTRICT other = rule->cov + i * d;
        double *RESTRICT line = c->U + i * d;
        for (int64_t j = i; j < d; j++)
            line[j] = (B * own[j] + a * other[j]) * (unit[i] * unit[j]);
        if (unit[i] == 0)
            line[i] = 1.0; /* constant in both classes, without a difference */
    }
    return factor(c->U, d, c->x);
}

/* y = U'^-1 z of up to `TILE` rows, side by side; p, q and the product with c->y of each.
   Two features are done at a time. */
WIDE static void solve_tile(const Class *c, const int64_t *rows, int64_t n, double *y,
                            double *p, double *q, double *cross)
{
    int64_t d = c->d;
    Four sums[3][2];
    for (int k = 0; k < 3; k++)
        sums[k][0] = sums[k][1] = four(0.0);
    for (int64_t i = 0; i < d; i++)
        for (int64_t r = 0; r < TILE; r++)
            y[i * TILE + r] = c->z[rows[r < n ? r : 0] * d + i] * c->unit[i];
    for (int64_t i = 0; i < d; i += 2) {
        int64_t last = i + 1 < d ? i + 1 : i; /* there may be no second one */
        const double *U = c->U;
        Four a[2], b[2];
        for (int h = 0; h < 2; h++) {
            a[h] = load(y + i * TILE + 4 * h);
            b[h] = load(y + last * TILE + 4 * h);
        }
        for (int64_t j = 0; j < i; j++)
            for (int h = 0; h < 2; h++) {
                Four known = load(y + j * TILE + 4 * h);
                a[h] = subtract(a[h], scaled(U[j * d + i], known));
                b[h] = subtract(b[h], scaled(U[j * d + last], known));
            }
        for (int h = 0; h < 2; h++) {
            a[h] = scaled(U[i * d + i], a[h]);
            b[h] = subtract(b[h], scaled(last > i ? U[i * d + last] : 0.0, a[h]));
            b[h] = last > i ? scaled(U[last * d + last], b[h]) : four(0.0);
            store(a[h], y + i * TILE + 4 * h);
            if (last > i)
                store(b[h], y + last * TILE + 4 * h);
            sums[0][h] = add(sums[0][h], add(times(a[h], a[h]), times(b[h], b[h])));
            sums[1][h] = add(sums[1][h], add(scaled(c->delta[i], a[h]),
                                             scaled(c->delta[last], b[h])));
            sums[2][h] =
                add(sums[2][h], add(scaled(c->y[i], a[h]), scaled(c->y[last], b[h])));
        }
    }
    for (int h = 0; h < 2; h++) {
        store(sums[0][h], p + 4 * h);
        store(sums[1][h], q + 4 * h);
        store(sums[2][h], cross + 4 * h);
    }
}

/* The score of a row from p and q, or NaN if nothing is known. For the arc, `known` is
   the variance of the rule with all rows by A; y is a column of a tile. */
static double exact_score(Class *c, const Rule *rule, double p, double q, double cross,
                          double D, double variance, const double *y)
{
    int64_t d = c->d;
    double s = c->s, R = rule->B * c->k, *x = c->x;
    if (!(1 - R * p > SINGULAR))
        return NAN;
    double u = (q - s * p) / (1 - R * p), t = R * u - s;
    if (!rule->arc)
        return -0.5 * D - rule->odds + 0.5 * (s * q - R * q * u) - (1 + 0.5 * s) * u;
    double known = variance + 2 * t * cross - c->k * u * u;
    /* To this z'A^-1 S A^-1 z is added t^2 times, which is at most p / B. */
    double most = rule->B > 0 && rule->a >= 0 ? t * t * p / rule->B : HUGE_VAL;
    double low = -rule->B * known - (1 + s) * u, high = low - rule->B * most;
    if (known > SLACK * variance && (low > 0) == (high > 0))
        return low;
    for (int64_t i = 0; i < d; i++)
        x[i] = y[i * TILE];
    solve_upper(c->U, d, x);
    for (int64_t i = 0; i < d; i++)
        x[i] *= c->unit[i];
    known += t * t * quadratic(c->cov, x, d, c->Sw);
    return known > SLACK * variance ? -rule->B * known - (1 + s) * u : NAN;
}

/* The sides of some rows by the factored matrix; false if one is not known. */
static bool find_exact_sides(Class *c, const Rule *rule, const int64_t *rows, int64_t n,
                             signed char *side)
{
    int64_t d = c->d;
    size_t size = (size_t)d * sizeof(double);
    double variance = 0.0, D, p[TILE], q[TILE], cross[TILE];
    solve_lower(c->U, d, c->delta);
    D = dot(c->delta, c->delta, d);
    memset(c->y, 0, size);
    if (rule->arc) {
        memcpy(c->x, c->delta, size);
        solve_upper(c->U, d, c->x);
        for (int64_t i = 0; i < d; i++)
            c->x[i] *= c->unit[i];
        variance = quadratic(c->cov, c->x, d, c->y);
        for (int64_t i = 0; i < d; i++)
            c->y[i] *= c->unit[i];
        solve_lower(c->U, d, c->y);
    }
    for (int64_t first = 0; first < n; first += TILE) {
        int64_t count = n - first < TILE ? n - first : TILE;
        solve_tile(c, rows + first, count, c->tile, p, q, cross);
        for (int64_t r = 0; r < count; r++) {
            double score = exact_score(c, rule, p[r], q[r], cross[r], D, variance,
                                       c->tile + r);
            if (isnan(score))
                return false;
            side[rows[first + r]] = score > 0 ? 1 : -1;
        }
    }
    return true;
}

/* The sides of all rows by one rule; false if the pair is to be handed over. */
static bool find_sides(Class *c, const Rule *rule, double variance, signed char *side)
{
    int64_t d = c->d, n = c->n, open = 0;
    memset(side, 0, (size_t)n);
    if (c->bounded && rule->B > 0 && rule->a >= 0 && variance > 0) {
        double D = 0.0;
        for (int64_t i = 0; i < d; i++) {
            c->y[i] = rule->sign * rule->w[i];
            D += c->y[i] * (c->mean[i] - rule->mean[i]);
        }
        project(c);
        bound_scores(c, rule, variance, D);
        double slack = SLACK * (rule->B * variance + D);
        for (int64_t r = 0; r < n; r++)
            side[r] = (signed char)((c->low[r] > slack) - (c->high[r] < -slack));
    }
    for (int64_t r = 0; r < n; r++)
        if (!side[r])
            c->open[open++] = r;
    if (!open)
        return true;
    return factor_pair(c, rule) && find_exact_sides(c, rule, c->open, open, side);
}

typedef struct {
    const double *means, *covariances, *weights, *log_odds, *arc, *deviations;
    const bool *trivial;
    const double *coef, *fisher;
    int64_t frequencies;
} Pairs;

/* Counts of a class at its place in a pair; false if the pair is to be handed over. */
static bool count_pair(Class *c, const Pairs *all, const int64_t *classes,
                       int64_t at, const double *row_weight, const int64_t *order,
                       double *counts)
{
    int64_t d = c->d, pair = at / 2, place = at % 2, other = classes[at ^ 1];
    if (other < 0)
        return false;
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
        double sigma = all->deviations[at];
        rule.a = all->arc[at ^ 1];
        rule.B = all->arc[at] * c->g;
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
    for (int64_t r = 0; r < c->n; r++) {
        double w = row_weight ? row_weight[order[r]] : 1.0;
        bool one = c->side[0][r] > 0, two = c->side[1][r] > 0;
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

/* All pairs of a class, if rows of it can be left out. */
static void count_class(const ClassRows *rows, const Pairs *all, int64_t k,
                        const int64_t *places, int64_t n_places, int64_t most,
                        double *room, double *counts, bool *handed)
{
    int64_t n = rows->bounds[k + 1] - rows->bounds[k], d = rows->d;
    const int64_t *order = rows->order + rows->bounds[k];
    double W = all->weights[k];
    if (!(W > 2 + SINGULAR && W < HUGE_VAL) || !are_whole(rows->weight, order, n))
        return;
    Class c = {d, n, W, (W - 1) / (W - 2), W / ((W - 1) * (W - 1)), 1 / (W - 1)};
    c.mean = all->means + k * d;
    c.cov = all->covariances + k * d * d;
    c.z = room;
    c.columns = c.z + most * d;
    c.solved = c.columns + most * d;
    c.U = c.solved + most * d;
    c.unit = c.U + d * d;
    c.delta = c.unit + d;
    c.x = c.delta + d;
    c.Sw = c.x + d;
    c.y = c.Sw + d;
    c.tile = c.y + d;
    c.h = c.tile + TILE * d;
    c.root = c.h + most;
    c.q = c.root + most;
    c.low = c.q + most;
    c.high = c.low + most;
    c.open = (int64_t *)(c.high + most);
    c.side[0] = (signed char *)(c.open + most);
    c.side[1] = c.side[0] + most;
    prepare(&c, rows->X, order);
    for (int64_t j = 0; j < n_places; j++)
        handed[places[j]] = !count_pair(&c, all, rows->classes, places[j], rows->weight,
                                        order, counts + 3 * places[j]);
}

PyObject *py_left_out_counts(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        {"X", "d", "nd"},
        {"weight", "d", "n?"},
        {"order", "l", "m"},
        {"bounds", "l", "b"},
        {"chosen", "b", "k"},
        {"classes", "l", "p2"},
        {"judged", "b", "p"},
        {"means", "d", "kd"},
        {"covariances", "d", "kdd"},
        {"weights", "d", "k"},
        {"log_odds", "d", "p"},
        {"arc", "d", "p2"},
        {"deviations", "d", "p2"},
        {"trivial", "b", "p"},
        {"coef", "d", "pd"},
        {"fisher", "d", "pd"},
        {"frequencies", "l"},
        {"counts", "d!", "p23"},
        {"handed", "b!", "p2"},
    };
    Sizes size;
    ClassRows rows;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    /* Without rows or pairs other sizes may be anything. */
    if (!take_class_rows(a, size, &rows) || !rows.m || !rows.n_pairs || !rows.d)
        return give_back(a, COUNT(a));
    Pairs all = {a[7].data,  a[8].data,  a[9].data,  a[10].data, a[11].data,
                 a[12].data, a[13].data, a[14].data, a[15].data, a[16].integer};
    int64_t d = rows.d, most = 0;
    for (int64_t k = 0; k < rows.n_classes; k++)
        if (rows.chosen[k] && rows.bounds[k + 1] - rows.bounds[k] > most)
            most = rows.bounds[k + 1] - rows.bounds[k];
    int64_t *places = malloc((size_t)(2 * rows.n_pairs) * sizeof(int64_t));
    double *room = NULL;
    if (most < PTRDIFF_MAX / 256 / (d + 4) - d)
        room = malloc((size_t)(most * (3 * d + 7) + d * (d + 5 + TILE)) * sizeof(double));
    if (!room || !places) {
        PyErr_NoMemory();
    } else {
        Py_BEGIN_ALLOW_THREADS
        for (int64_t k = 0; k < rows.n_classes; k++) {
            int64_t n = places_of(&rows, k, places);
            if (n)
                count_class(&rows, &all, k, places, n, most, room, a[17].data,
                            a[18].data);
        }
        Py_END_ALLOW_THREADS
    }
    free(places);
    free(room);
    return give_back(a, COUNT(a));
}
