/* Optimum on the arc of a pair by branch and bound, with a proven bound.

   This is the search of solvers/global_search.py and solvers/arc.py, which explain it,
   for one pair at a time. */
#include "pairs.h"
#include "portable.h"

#include <math.h>
#include <string.h>

#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif
#define LOG_2PI 1.8378770664093454836

/* As in foundations/rounding.py and solvers/global_search.py. */
static const double LIFT = 1e-30, FLAT = 1e-10;
static const double RUNGS = 1.1, FIRST_RUNG = 0.7, ROUNDING = 1e-13, NEAREST = 1e-14;
static const double NEGLIGIBLE = 1e-9, FARTHEST = 700.0;
/* Beyond this position, rules are not accurate in the tridiagonal form. */
static const double FAR_OUT = 8;
/* Variances below the second number may be zero, and are raised to the first; others below
   the third are too small for the tridiagonal form. */
static const double FLOOR = 1e-7, VANISHING = 1e-11, SMALL = 1e-4;
static const double START[] = {-12, -4, -1.5, 0, 1.5, 4, 12};
enum {
    N_START = 7,
    CUT_INTO = 4,
    MAX_RUNGS = 32,  /* on each side of a minimum */
    MAX_MINIMA = 64,
    MAX_POINTS = N_START + 2 + (N_START - 1) * (2 * MAX_RUNGS + 1),
    STACK = 1024,
    MAX_EVALUATIONS = 20000,
    SECTIONS = 21, /* of an interval into five parts, down to rounding */
};

typedef struct {
    double x, log_error1, log_error2, log_error, y1, y2, log_ratio, slope;
} Point;

typedef struct {
    /* The pair in diagonal form; r is a multiple of 4. */
    int64_t r;
    const double *alpha, *beta, *c, *cos_low, *sin_low, *cos_high, *sin_high;
    double length, cos_of_low, sin_of_low, cos_of_high, sin_of_high, log1, log2;
    int64_t n_evaluations;
} Arc;

double ndtr(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }

double log_ndtr(double x)
{
    if (x > -1)
        return log1p(-ndtr(-x));
    if (x > -20)
        return log(ndtr(x));
    /* Asymptotic series of Mills' ratio. */
    double square = x * x, term = 1, sum = 1;
    for (int k = 1; k < 12; k++) {
        term *= -(2 * k - 1) / square;
        sum += term;
    }
    return -0.5 * (square + LOG_2PI) - log(-x) + log(sum);
}

static double log_add(double a, double b)
{
    double high = a > b ? a : b, low = a > b ? b : a;
    return high == low ? high + 0.69314718055994530942 : high + log1p(exp(low - high));
}

/* The larger of two numbers; NaN if either is NaN. */
INLINE double larger(double a, double b) { return a >= b || isnan(a) ? a : b; }

typedef struct {
    const double *cos_form, *sin_form;
    double a, b, cos, sin, speed;
} Place;

/* Sums of alpha u^2 and beta u^2 at g = a forms + b other forms, u = c / g. */
WIDE static void variances(const Arc *arc, const Place *place, double *v1, double *v2)
{
    const double *cos_form = place->cos_form, *sin_form = place->sin_form;
    double a = place->a, b = place->b;
    double sum1[4] = {0, 0, 0, 0}, sum2[4] = {0, 0, 0, 0};
    for (int64_t i = 0; i < arc->r; i += 4)
        for (int k = 0; k < 4; k++) {
            double g = a * cos_form[i + k] + b * sin_form[i + k];
            double u = arc->c[i + k] / g;
            u *= u;
            sum1[k] += arc->alpha[i + k] * u;
            sum2[k] += arc->beta[i + k] * u;
        }
    *v1 = (sum1[0] + sum1[1]) + (sum1[2] + sum1[3]);
    *v2 = (sum2[0] + sum2[1]) + (sum2[2] + sum2[3]);
}

/* Weights of the forms, cosine and sine of theta, and d theta / dx, at x. */
static Place place_of(const Arc *arc, double x)
{
    double tail = exp(-fabs(x)), share = tail / (1 + tail), near = arc->length * share;
    bool is_low = x <= 0;
    double a = sin(near), b = cos(near);
    /* theta is near - low, or pi/2 + high - near. */
    double to_end = is_low ? a * arc->cos_of_low - b * arc->sin_of_low
                           : a * arc->cos_of_high - b * arc->sin_of_high;
    double across = is_low ? b * arc->cos_of_low + a * arc->sin_of_low
                           : b * arc->cos_of_high + a * arc->sin_of_high;
    Place place = {
        .cos_form = is_low ? arc->cos_low : arc->cos_high,
        .sin_form = is_low ? arc->sin_low : arc->sin_high,
        .a = a,
        .b = b,
        .cos = is_low ? across : to_end,
        .sin = is_low ? to_end : across,
        .speed = near * (1 - share),
    };
    return place;
}

static Point point_of(Arc *arc, double x, const Place *place, double v1, double v2)
{
    Point point = {.x = x};
    point.y1 = sqrt(v1) * place->cos;
    point.y2 = sqrt(v2) * place->sin;
    point.log_ratio = 0.5 * log(v1 / v2);
    point.log_error1 = arc->log1 + log_ndtr(-point.y1);
    point.log_error2 = arc->log2 + log_ndtr(-point.y2);
    point.log_error = log_add(point.log_error1, point.log_error2);
    double square1 = point.y1 * point.y1, square2 = point.y2 * point.y2;
    double slope = arc->log1 - arc->log2 - point.log_ratio - 0.5 * (square1 - square2);
    /* A slope that rounding cannot distinguish from zero marks a minimum. */
    point.slope = fabs(slope) < FLAT * (1 + square1 + square2) ? 0.0 : slope;
    arc->n_evaluations++;
    return point;
}

static void evaluate(Arc *arc, const double *x, int n, Point *points)
{
    for (int k = 0; k < n; k++) {
        double v1, v2;
        Place place = place_of(arc, x[k]);
        variances(arc, &place, &v1, &v2);
        points[k] = point_of(arc, x[k], &place, v1, v2);
    }
}

typedef struct {
    double y1, y2, speed; /* the last is -dy1/dx */
} Motion;

/* Slope of the error, and its derivative with respect to x. */
WIDE static double slope_at(Arc *arc, double x, double *derivative, Motion *motion)
{
    Place place = place_of(arc, x);
    double sums[5] = {0, 0, 0, 0, 0};
    for (int64_t i = 0; i < arc->r; i++) {
        double g = place.a * place.cos_form[i] + place.b * place.sin_form[i];
        double u = arc->c[i] / g, alpha = arc->alpha[i], beta = arc->beta[i];
        u *= u;
        sums[0] += alpha * u;
        sums[1] += beta * u;
        u /= g;
        sums[2] += alpha * alpha * u;
        sums[3] += alpha * beta * u;
        sums[4] += beta * beta * u;
    }
    double v1 = sums[0], v2 = sums[1], first = sums[2], both = sums[3], second = sums[4];
    double sigma1 = sqrt(v1);
    motion->y1 = sigma1 * place.cos;
    motion->y2 = sqrt(v2) * place.sin;
    motion->speed = both * place.speed / sigma1;
    double turn = place.cos * (second / v2 - both / v1);
    turn += place.sin * (first / v1 - both / v2);
    *derivative = (both * (place.cos + place.sin) - turn) * place.speed;
    arc->n_evaluations++;
    return arc->log1 - arc->log2 -
           0.5 * (log(v1 / v2) + motion->y1 * motion->y1 - motion->y2 * motion->y2);
}

/* Root of the slope between a and b, by Newton's method within the bracket. */
static double newton_root(Arc *arc, double a, double b, double guess, Motion *motion)
{
    double x = a < guess && guess < b ? guess : 0.5 * (a + b), last = b - a;
    for (int k = 0; k < 100; k++) {
        double derivative, f = slope_at(arc, x, &derivative, motion);
        if (f < 0)
            a = x;
        else
            b = x;
        double step = -f / derivative, moved = x + step;
        bool good = a <= moved && moved <= b && fabs(step) <= 0.5 * last;
        x = good ? moved : 0.5 * (a + b);
        last = good ? fabs(step) : b - a;
        /* Convergence is quadratic: after a step this small, x no longer changes. */
        if (!(last > 1e-6 * (1 + fabs(x))))
            break;
    }
    return x;
}

/* Polynomial x(slope) through four points, at slope zero. */
static double interpolated(const Point *points[4])
{
    double root = 0;
    for (int i = 0; i < 4; i++) {
        double share = 1;
        for (int j = 0; j < 4; j++)
            if (j != i)
                share *= points[j]->slope / (points[j]->slope - points[i]->slope);
        root += share * points[i]->x;
    }
    return root;
}

/* Lower bound of the log error between a and b; NaN if unknown. */
static double bound_between(const Arc *arc, const Point *a, const Point *b)
{
    double prior = arc->log1 - arc->log2;
    double y1_most = larger(fabs(a->y1), fabs(b->y1));
    double y2_most = larger(fabs(a->y2), fabs(b->y2));
    double y1_least = larger(larger(b->y1, -a->y1), 0.0);
    double y2_least = larger(larger(a->y2, -b->y2), 0.0);
    double lower = prior - b->log_ratio - 0.5 * (y1_most * y1_most - y2_least * y2_least);
    double upper = prior - a->log_ratio - 0.5 * (y1_least * y1_least - y2_most * y2_most);
    if (lower > 0 || upper < 0)
        return a->log_error < b->log_error ? a->log_error : b->log_error;
    return log_add(a->log_error1, b->log_error2);
}

/* Return whether the bound of a piece does not yet prove the gap. */
static bool is_open(const Point *a, const Point *b, double bound, double best, double gap)
{
    bool brackets = a->slope <= 0 && b->slope >= 0;
    if (!(bound < best + log1p(-gap)) && !(!brackets && bound < best - NEGLIGIBLE))
        return false;
    double low = fabs(a->x), high = fabs(b->x);
    if (isinf(low) || isinf(high))
        return (low < high ? low : high) < FARTHEST;
    return b->x - a->x > 1e-14 * (1 + (low > high ? low : high));
}

static double inner_point(double a, double b, int k)
{
    double share = (double)k / CUT_INTO, most = FARTHEST + share;
    if (!isinf(a) && !isinf(b))
        return a + (b - a) * share;
    double outward = isinf(a) ? fabs(b) + pow(4, CUT_INTO - k) : fabs(a) + pow(4, k);
    if (isinf(a))
        most = FARTHEST + (double)(CUT_INTO - k) / CUT_INTO;
    outward = outward < most ? outward : most;
    return isinf(a) ? -outward : outward;
}

typedef struct {
    Arc *arc;
    double gap, best_log, best_x, log_bound;
    double minimum_log, minimum_x; /* best minimum so far */
    struct {
        double a, b, bound;
    } brackets[MAX_MINIMA];
    int n_brackets;
    bool given_up;
} Search;

static void consider(Search *search, const Point *point)
{
    if (point->log_error < search->best_log) {
        search->best_log = point->log_error;
        search->best_x = point->x;
    }
}

static void consider_minimum(Search *search, const Point *point)
{
    consider(search, point);
    if (point->log_error < search->minimum_log ||
        (point->log_error == search->minimum_log && point->x < search->minimum_x)) {
        search->minimum_log = point->log_error;
        search->minimum_x = point->x;
    }
}

/* Cut the piece from a to b until the gap is proven on it. */
static void close_piece(Search *search, const Point *from, const Point *to)
{
    struct {
        Point a, b;
    } stack[STACK];
    int n = 1;
    stack[0].a = *from;
    stack[0].b = *to;
    while (n > 0 && !search->given_up) {
        Point a = stack[--n].a, b = stack[n].b;
        double bound = bound_between(search->arc, &a, &b);
        if (isnan(bound)) {
            search->given_up = true;
        } else if (!is_open(&a, &b, bound, search->best_log, search->gap)) {
            search->log_bound = bound < search->log_bound ? bound : search->log_bound;
            if (a.slope < 0 && b.slope > 0 && bound < search->best_log) {
                if (search->n_brackets == MAX_MINIMA) {
                    search->given_up = true;
                    return;
                }
                search->brackets[search->n_brackets].a = a.x;
                search->brackets[search->n_brackets].b = b.x;
                search->brackets[search->n_brackets++].bound = bound;
            }
        } else if (n + CUT_INTO > STACK || search->arc->n_evaluations > MAX_EVALUATIONS) {
            search->given_up = true;
        } else {
            double x[CUT_INTO - 1];
            Point inner[CUT_INTO + 1];
            for (int k = 1; k < CUT_INTO; k++)
                x[k - 1] = inner_point(a.x, b.x, k);
            evaluate(search->arc, x, CUT_INTO - 1, inner + 1);
            inner[0] = a;
            inner[CUT_INTO] = b;
            for (int k = CUT_INTO - 1; k >= 0; k--) { /* the leftmost piece comes first */
                consider(search, &inner[k]);
                stack[n].a = inner[k];
                stack[n++].b = inner[k + 1];
            }
        }
    }
}

/* Points that prove a minimum, at growing distances up to a and b, with the minimum
   itself in the middle. Returns their number. */
static int add_ladder(Search *search, double x, const Motion *motion, double a, double b,
                      Point *points)
{
    Arc *arc = search->arc;
    int n = (int)ceil(-RUNGS * log(search->gap)), count = 0;
    double y1 = motion->y1, reach[2] = {x - a, b - x};
    double log_error = log_add(arc->log1 + log_ndtr(-y1), arc->log2 + log_ndtr(-motion->y2));
    double log_loss = arc->log1 - 0.5 * (y1 * y1 + LOG_2PI) + log(motion->speed);
    double first = exp(log(FIRST_RUNG * search->gap) + log_error - log_loss);
    double places[2 * MAX_RUNGS + 1];
    places[count++] = x;
    for (int side = 0; side < 2; side++) {
        /* If the error is nearly zero, the first rung would be too close. */
        double least = NEAREST * (1 + fabs(x)), nearest = first > least ? first : least;
        if (!(nearest < reach[side]))
            nearest = reach[side];
        double distance = nearest, growth = pow(reach[side] / nearest, 1.0 / n);
        for (int k = 0; k < n; k++, distance *= growth)
            places[count++] = side ? x + distance : x - distance;
    }
    evaluate(arc, places, count, points);
    consider_minimum(search, &points[0]);
    for (int k = 1; k < count; k++)
        consider(search, &points[k]);
    return count;
}

static void sort_points(Point *points, int n)
{
    for (int i = 1; i < n; i++) {
        Point moved = points[i];
        int j = i;
        for (; j > 0 && points[j - 1].x > moved.x; j--)
            points[j] = points[j - 1];
        points[j] = moved;
    }
}

static void branch_and_bound(Search *search)
{
    Arc *arc = search->arc;
    Point points[MAX_POINTS], start[N_START];
    int n = N_START;
    evaluate(arc, START, n, start);
    for (int k = 0; k < n; k++)
        consider(search, &start[k]);
    memcpy(points, start, sizeof(start));
    double best = search->best_log;
    for (int k = 0; k + 1 < N_START; k++) {
        if (!(start[k].slope < 0 && start[k + 1].slope > 0) ||
            !(log_add(start[k].log_error1, start[k + 1].log_error2) <= best))
            continue;
        /* If a minimum is close to a start point, its ladder continues beyond that. */
        const Point *near[4];
        for (int j = 0; j < 4; j++) {
            int at = k - 1 + j;
            near[j] = &start[at < 0 ? 0 : at >= N_START ? N_START - 1 : at];
        }
        Motion motion;
        double x = newton_root(arc, near[1]->x, near[2]->x, interpolated(near), &motion);
        n += add_ladder(search, x, &motion, near[0]->x, near[3]->x, points + n);
    }
    sort_points(points, n);
    Point low = {-INFINITY, -INFINITY, arc->log2, arc->log2, INFINITY, -INFINITY, NAN, NAN};
    Point high = {INFINITY, arc->log1, -INFINITY, arc->log1, -INFINITY, INFINITY, NAN, NAN};
    const Point *before = &low;
    for (int k = 0; k <= n && !search->given_up; k++) {
        const Point *after = k < n ? &points[k] : &high;
        if (after->x != before->x)
            close_piece(search, before, after);
        before = after;
    }
    /* Two minima may differ by less than the gap, so find all that may be the best. */
    for (int k = 0; k < search->n_brackets && !search->given_up; k++) {
        if (!(search->brackets[k].bound < search->best_log))
            continue;
        double a = search->brackets[k].a, b = search->brackets[k].b;
        Motion motion;
        double x = newton_root(arc, a, b, 0.5 * (a + b), &motion);
        Point minimum;
        evaluate(arc, &x, 1, &minimum);
        consider_minimum(search, &minimum);
    }
}

/* Coefficients of g with respect to the sine and cosine of the distance from the end at
   which the class of `certain` is always classified right and g of `pole` vanishes. */
static void forms_from(const double *certain, const double *other, int64_t pole, int64_t r,
                       double *cos_form, double *sin_form)
{
    double a = certain[pole], b = other[pole], size = sqrt(a * a + b * b);
    for (int64_t i = 0; i < r; i++) {
        cos_form[i] = (certain[i] * a + other[i] * b) / size;
        sin_form[i] = (certain[i] - a) / size;
    }
}

static Arc arc_between(double low1, double low2, double high1, double high2,
                       const double *log_priors)
{
    /* The arc goes from -low to pi/2 + high. */
    double low = atan2(low1, low2), high = atan2(high1, high2);
    Arc arc = {
        .length = low + high + 0.5 * M_PI,
        .cos_of_low = cos(low),
        .sin_of_low = sin(low),
        .cos_of_high = cos(high),
        .sin_of_high = sin(high),
        .log1 = log_priors[0],
        .log2 = log_priors[1],
    };
    return arc;
}

Optimum search_arc(const double *alpha, const double *beta, double *c, int64_t r,
                   const double *log_priors, double gap, double *work, double *u)
{
    double largest = 0;
    int64_t pole1 = 0, pole2 = 0, padded = (r + 3) / 4 * 4;
    for (int64_t i = 0; i < r; i++) {
        largest = fabs(c[i]) > largest ? fabs(c[i]) : largest;
        pole1 = alpha[i] < alpha[pole1] ? i : pole1;
        pole2 = beta[i] < beta[pole2] ? i : pole2;
    }
    /* In the hard case, this makes the arc continue at its end. */
    double lift = largest > 0 ? LIFT * largest : LIFT;
    int64_t poles[2] = {pole1, pole2};
    for (int k = 0; k < 2; k++)
        if (fabs(c[poles[k]]) < lift)
            c[poles[k]] = copysign(lift, c[poles[k]]);
    Arc arc =
        arc_between(alpha[pole1], beta[pole1], beta[pole2], alpha[pole2], log_priors);
    arc.r = padded;
    arc.alpha = alpha, arc.beta = beta, arc.c = c;
    arc.cos_low = work, arc.sin_low = work + padded;
    arc.cos_high = work + 2 * padded, arc.sin_high = work + 3 * padded;
    forms_from(alpha, beta, pole1, r, work, work + padded);
    forms_from(beta, alpha, pole2, r, work + 2 * padded, work + 3 * padded);
    for (int64_t i = r; i < padded; i++)
        for (int k = 0; k < 4; k++)
            work[k * padded + i] = 1;
    Search search = {.arc = &arc, .gap = gap, .log_bound = INFINITY};
    search.best_log = arc.log1 < arc.log2 ? arc.log1 : arc.log2;
    search.best_x = 0;
    search.minimum_log = INFINITY;
    branch_and_bound(&search);
    /* A minimum is at least as good as any point, up to rounding. */
    if (search.minimum_log <= search.best_log + ROUNDING)
        search.best_x = search.minimum_x;
    Place place = place_of(&arc, search.best_x);
    for (int64_t i = 0; i < r; i++)
        u[i] = c[i] / (place.a * place.cos_form[i] + place.b * place.sin_form[i]);
    return (Optimum){
        .x = search.best_x,
        .log_bound = search.log_bound,
        .log_error = search.best_log,
        .cos = place.cos,
        .sin = place.sin,
        .n_evaluations = arc.n_evaluations,
        .proven = !search.given_up,
    };
}

/* Count the eigenvalues of T, or of I - T if `other`, below each of four numbers: those are
   the negative pivots. */
WIDE static void count_below(const Tridiagonal *form, bool other, const double *x,
                             double *counts)
{
    double sign = other ? -1 : 1, pivot[4] = {1, 1, 1, 1}, count[4] = {0, 0, 0, 0};
    for (int64_t i = 0; i < form->n; i++) {
        double diag = (other ? 1 : 0) + sign * form->diag[i];
        double square = i ? form->off_diag[i - 1] * form->off_diag[i - 1] : 0;
        for (int k = 0; k < 4; k++) {
            double next = diag - x[k] - square / pivot[k];
            pivot[k] = next != 0 ? next : 1e-300;
            count[k] += pivot[k] < 0 ? 1.0 : 0.0;
        }
    }
    memcpy(counts, count, sizeof count);
}

/* A lower bound of the smallest eigenvalue of T, or of I - T if `other`, or zero if that is
   not positive. All are at most one. */
static double least_eigenvalue(const Tridiagonal *form, bool other)
{
    double low = 0, high = 1;
    for (int tries = 0; tries < SECTIONS; tries++) {
        double x[4], counts[4], step = (high - low) / 5;
        for (int k = 0; k < 4; k++)
            x[k] = low + (k + 1) * step;
        count_below(form, other, x, counts);
        for (int k = 3; k >= 0; k--)
            high = counts[k] > 0 ? x[k] : high;
        low = high - step;
    }
    return low > 4 * EPS ? low : 0;
}

/* Return what is added to variances that may be zero; NaN if others are nearly as small. */
static double lift_of(const Tridiagonal *form, double low, double high)
{
    const double x[4] = {SMALL, VANISHING, VANISHING, VANISHING};
    for (int other = 0; other < 2; other++) {
        double counts[4];
        count_below(form, other, x, counts);
        if (counts[0] != counts[1])
            return NAN;
    }
    return low > SMALL && high > SMALL ? 0 : FLOOR;
}

bool fill_fan(const Tridiagonal *form, const double *optimum, const double *positions, Fan *fan)
{
    static const double no_priors[2] = {0, 0};
    const double *e = form->off_diag;
    double low = least_eigenvalue(form, false), high = least_eigenvalue(form, true);
    double lift = lift_of(form, low, high), kept = 1 - 2 * lift;
    low = kept * low + lift;
    high = kept * high + lift;
    Arc arc = arc_between(low, 1 - low, high, 1 - high, no_priors);
    double p = atan2(optimum[1], optimum[0]) + atan2(arc.sin_of_low, arc.cos_of_low);
    double at = log(p) - log(arc.length - p);
    int64_t n = form->n, G = fan->G;
    if (!(fabs(at) <= FAR_OUT) || form->distance == 0)
        return false;
    fan->place = 0;
    for (int64_t g = 0; g + 1 < G; g++)
        fan->place += positions[g] < at;
    for (int64_t g = 0; g < G; g++) {
        double x = g == fan->place ? at : positions[g - (g > fan->place)];
        Place place = place_of(&arc, x);
        double *inverse = fan->inverse + g * fan->stride, *ratio = fan->ratio + g * fan->stride;
        double sum = place.sin + (place.cos - place.sin) * lift, after = 0, both = 0, first = 0;
        double difference = kept * (place.cos - place.sin);
        for (int64_t i = 0; i < n; i++) {
            double off = i ? difference * e[i - 1] : 0;
            ratio[i] = i ? off * inverse[i - 1] : 0;
            inverse[i] = 1 / (sum + difference * form->diag[i] - off * ratio[i]);
        }
        for (int64_t i = n - 1; i >= 0; i--) {
            double y = i == n - 1 ? form->distance * inverse[i] : -ratio[i + 1] * after;
            both += y * y;
            first += y * (form->diag[i] * y + (i < n - 1 ? 2 * e[i] * after : 0));
            fan->u[i * G + g] = after = y;
        }
        fan->cos[g] = place.cos;
        fan->sin[g] = place.sin;
        fan->distance[g] = fan->u[(n - 1) * G + g] * form->distance;
        fan->v1[g] = kept * first + lift * both;
        fan->v2[g] = both - fan->v1[g];
    }
    return true;
}
