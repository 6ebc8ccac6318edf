/* Descent of a rule to minima of the smoothed error along a path of widths, or of the
   logistic loss along a path of penalties; see smoothed.py for definitions. */
#include "arguments.h"
#include "kernels.h"

#include <math.h>
#include <stdlib.h>

#include "vectors.h"

#define MEMORY 6
#define ARMIJO 1e-4
#define SHORTEN 0.35
#define SHORTEST 1e-6
#define FLAT 1e-10
#define NO_CHANGE 1e-300
#define SETTLED -30.0
#define BLOCK 256
#define ROOT_HALF 0.70710678118654752440
#define DENSITY 0.39894228040143267794 /* standard normal density at zero */

typedef struct {
    /* Centered rows, stored as consecutive columns of n numbers, with those of the first
       class first. */
    const double *columns;
    const double *share;        /* share of each row in the error */
    const double *c;            /* difference of the means */
    const double *first_covariance, *second_covariance; /* of the classes, (r, r) */
    int64_t n, first, r;
    double h;       /* width of the smoothed error, or */
    double penalty; /* penalty of the logistic loss */
    double *a;      /* memory for n numbers */
    double *turned; /* memory for 2 r numbers: covariances times a rule */
} Problem;

/* (1 + 2 z) exp(z^2) erfc(z) as a polynomial in (z - 4) / (z + 4), to 1e-15. */
static const double ERFCX[23] = {
    1.23299511862555256e+00, -1.39621116840557002e-01, 1.53796521026184022e-02,
    6.80970542542067292e-02, -1.01039066036180639e-01, 9.37328350110569197e-02,
    -6.63303658154165005e-02, 3.71675153836046185e-02, -1.61977340204517567e-02,
    5.03197101723519991e-03, -7.57773525737241607e-04, -1.99261001857916058e-04,
    1.50622571366729559e-04, -2.43876912563246880e-05, -1.12241222730271064e-05,
    5.68940907853727152e-06, 2.96840905125057589e-07, -8.01917458484651937e-07,
    7.20251864060244073e-08, 9.29077239213780232e-08, -1.67381330779985857e-08,
    -6.98402011110055669e-09, 1.64031941934072741e-09
};

/* exp(z^2) erfc(z) for z >= 0. */
INLINE double scaled_erfc(double z)
{
    double y = (z - 4) / (z + 4), y2 = y * y, even = ERFCX[22], odd = ERFCX[21];
    for (int k = 20; k > 0; k -= 2) {
        even = even * y2 + ERFCX[k];
        odd = odd * y2 + ERFCX[k - 1];
    }
    return (even * y2 + ERFCX[0] + y * odd) / (1 + 2 * z);
}

/* Deviations by which rows are on the wrong side, offset + factor z.u. Returns the
   largest. */
INLINE double arguments_of(const Problem *p, const double *u, int64_t from, int64_t to,
                           double offset, double factor)
{
    double most = -INFINITY;
    for (; from < to; from += BLOCK) {
        int64_t n = to - from < BLOCK ? to - from : BLOCK, i = 0;
        double *RESTRICT m = p->a + from;
        memset(m, 0, (size_t)n * sizeof(double));
        for (; i + 4 <= p->r; i += 4) {
            const double *RESTRICT z0 = p->columns + i * p->n + from;
            const double *RESTRICT z1 = z0 + p->n, *RESTRICT z2 = z1 + p->n;
            const double *RESTRICT z3 = z2 + p->n;
            double u0 = u[i], u1 = u[i + 1], u2 = u[i + 2], u3 = u[i + 3];
            for (int64_t j = 0; j < n; j++)
                m[j] += (u0 * z0[j] + u1 * z1[j]) + (u2 * z2[j] + u3 * z3[j]);
        }
        for (; i < p->r; i++) {
            const double *RESTRICT z = p->columns + i * p->n + from;
            for (int64_t j = 0; j < n; j++)
                m[j] += u[i] * z[j];
        }
        for (int64_t j = 0; j < n; j++) {
            m[j] = offset + factor * m[j];
            most = m[j] > most ? m[j] : most;
        }
    }
    return most;
}

typedef struct {
    double error, density, moment; /* sums of q Phi(a), q phi(a) and q a phi(a) */
} Sums;

/* Sums of a class, times exp(lift). Each a is replaced by q phi(a) times factor. */
INLINE Sums sums_of(const Problem *p, int64_t from, int64_t to, double lift, double factor)
{
    Sums sums = {0, 0, 0};
    double error[BLOCK], x[BLOCK], one[BLOCK];
    for (int64_t j = 0; j < BLOCK; j++)
        one[j] = 1;
    for (; from < to; from += BLOCK) {
        int64_t n = to - from < BLOCK ? to - from : BLOCK;
        double *RESTRICT a = p->a + from;
        const double *RESTRICT q = p->share + from;
        for (int64_t j = 0; j < n; j++) {
            x[j] = a[j];
            double z = fabs(x[j]) * ROOT_HALF, e = exp_of_negative(lift - z * z);
            double tail = 0.5 * e * scaled_erfc(z);
            error[j] = x[j] < 0 ? tail : 1 - tail;
            a[j] = q[j] * e * DENSITY;
        }
        sums.error += dot(error, q, n);
        sums.density += dot(a, one, n);
        sums.moment += dot(a, x, n);
        for (int64_t j = 0; j < n; j++)
            a[j] *= factor;
    }
    return sums;
}

/* Logarithm of the smoothed error of the rule v = (u, w0), and its gradient. */
INLINE double log_error(const Problem *p, const double *v, double *gradient)
{
    int64_t r = p->r;
    double w0 = v[r], D = dot(p->c, v, r), *turned1 = p->turned, *turned2 = turned1 + r;
    for (int64_t i = 0; i < r; i++) {
        turned1[i] = dot(p->first_covariance + i * r, v, r);
        turned2[i] = dot(p->second_covariance + i * r, v, r);
    }
    double variance1 = dot(turned1, v, r), variance2 = dot(turned2, v, r);
    double over1 = 1 / (p->h * sqrt(variance1)), over2 = 1 / (p->h * sqrt(variance2));
    double narrow = sqrt((1 - p->h) * (1 + p->h));
    double f1 = -narrow * over1, f2 = narrow * over2;
    double most1 = arguments_of(p, v, 0, p->first, (w0 - D / 2) * over1, f1);
    double most2 = arguments_of(p, v, p->first, p->n, (-w0 - D / 2) * over2, f2);
    double most = most1 > most2 ? most1 : most2;
    /* If all rows are far on the correct side, the nearest of them dominates. */
    double lift = most < 0 ? 0.5 * most * most : 0;
    Sums one = sums_of(p, 0, p->first, lift, f1);
    Sums two = sums_of(p, p->first, p->n, lift, f2);
    double total = one.error + two.error, over = 1 / total;
    double shift = -0.5 * (one.density * over1 + two.density * over2);
    double turn1 = one.moment / variance1, turn2 = two.moment / variance2;
    for (int64_t i = 0; i < r; i++) {
        double along = dot(p->a, p->columns + i * p->n, p->n) + shift * p->c[i];
        along -= turn1 * turned1[i] + turn2 * turned2[i];
        gradient[i] = along * over;
    }
    gradient[r] = (one.density * over1 - two.density * over2) * over;
    return log(total) - lift;
}

/* Logistic loss of the rule v = (u, w0), with its penalty, and its gradient. */
INLINE double logistic_loss(const Problem *p, const double *v, double *gradient)
{
    int64_t r = p->r;
    double value[BLOCK], total = p->penalty * dot(v, v, r), sums[2] = {0, 0};
    arguments_of(p, v, 0, p->first, v[r], -1);
    arguments_of(p, v, p->first, p->n, -v[r], 1);
    for (int64_t from = 0; from < p->n; from += BLOCK) {
        int64_t n = p->n - from < BLOCK ? p->n - from : BLOCK;
        double *RESTRICT a = p->a + from;
        const double *RESTRICT q = p->share + from;
        for (int64_t j = 0; j < n; j++) {
            double x = a[j], e = exp_of_negative(-fabs(x)), inverse = 1 / (1 + e);
            value[j] = log1p_of_share(e) + (x > 0 ? x : 0.0);
            a[j] = q[j] * (x > 0 ? 1.0 : e) * inverse;
        }
        total += dot(value, q, n);
        for (int64_t j = 0; j < n; j++) {
            bool second = from + j >= p->first;
            sums[second] += a[j];
            a[j] = second ? a[j] : -a[j];
        }
    }
    for (int64_t i = 0; i < r; i++)
        gradient[i] = dot(p->a, p->columns + i * p->n, p->n) + 2 * p->penalty * v[i];
    gradient[r] = sums[0] - sums[1];
    return total;
}

INLINE double objective(const Problem *p, const double *v, double *gradient)
{
    return p->c ? log_error(p, v, gradient) : logistic_loss(p, v, gradient);
}

/* Step, minus the inverse Hessian times the gradient, by the two-loop recursion over the
   last steps; step k is stored at k % MEMORY. */
INLINE void newton(int64_t r, int64_t count, double inverse, const double *gradient,
                   const double *s, const double *y, const double *rho, double *step)
{
    double alpha[MEMORY];
    int64_t first = count > MEMORY ? count - MEMORY : 0;
    for (int64_t i = 0; i < r; i++)
        step[i] = -gradient[i];
    for (int64_t k = count - 1; k >= first; k--) {
        int64_t at = k % MEMORY;
        alpha[at] = rho[at] * dot(s + at * r, step, r);
        for (int64_t i = 0; i < r; i++)
            step[i] -= alpha[at] * y[at * r + i];
    }
    for (int64_t i = 0; i < r; i++)
        step[i] *= inverse;
    for (int64_t k = first; k < count; k++) {
        int64_t at = k % MEMORY;
        double beta = alpha[at] - rho[at] * dot(y + at * r, step, r);
        for (int64_t i = 0; i < r; i++)
            step[i] += beta * s[at * r + i];
    }
}

/* Descend from the rule v, and return the objective at the end, and the number of steps;
   work is memory for 4 + 2 MEMORY rules. */
WIDE double heterolda_descend_rule(const Problem *p, double tol, int64_t max_iter,
                                   double *v, double *work, int64_t *n_steps)
{
    int64_t r = p->r + 1;
    double *gradient = work, *step = gradient + r, *trial = step + r;
    double *next_gradient = trial + r, *s = next_gradient + r, *y = s + MEMORY * r;
    double rho[MEMORY] = {0}, length = 1, value = objective(p, v, gradient);
    double size = sqrt(dot(gradient, gradient, r));
    double inverse = size > 1 ? 1 / size : 1; /* first step at most 1 */
    int64_t n_iter = 0;
    for (; n_iter < max_iter; n_iter++) {
        newton(r, n_iter, inverse, gradient, s, y, rho, step);
        double slope = dot(gradient, step, r);
        if (!(-0.5 * slope > tol * (1 + fabs(value)) && length > SHORTEST))
            break;
        for (int64_t i = 0; i < r; i++)
            trial[i] = v[i] + length * step[i];
        double next_value = objective(p, trial, next_gradient);
        int64_t at = n_iter % MEMORY;
        double *s_at = s + at * r, *y_at = y + at * r;
        rho[at] = 0;
        if (!(next_value <= value + ARMIJO * length * slope)) {
            /* A rejected step takes a place in the memory, as zero. */
            memset(s_at, 0, (size_t)r * sizeof(double));
            memset(y_at, 0, (size_t)r * sizeof(double));
            length *= SHORTEN;
            continue;
        }
        for (int64_t i = 0; i < r; i++) {
            s_at[i] = trial[i] - v[i];
            y_at[i] = next_gradient[i] - gradient[i];
            v[i] = trial[i];
            gradient[i] = next_gradient[i];
        }
        value = next_value;
        length = 1;
        double sy = dot(s_at, y_at, r), yy = dot(y_at, y_at, r);
        double least = sy < yy ? sy : yy;
        if (sy > FLAT * sqrt(dot(s_at, s_at, r) * yy) && least > NO_CHANGE) {
            rho[at] = 1 / sy;
            inverse = sy / yy;
        }
    }
    *n_steps = n_iter;
    return value;
}

/* Rules for several widths or penalties, each starting from the previous one. */
static bool follow(Problem *problem, const double *steps, Py_ssize_t n_steps,
                   const double *from, double tol, int64_t max_iter, double *rules,
                   double *values, int64_t *n_iter)
{
    int64_t q = problem->r + 1;
    double *work = calloc((size_t)q, (4 + 2 * MEMORY) * sizeof(double));
    problem->a = calloc((size_t)problem->n + 1, sizeof(double));
    problem->turned = calloc((size_t)q, 2 * sizeof(double));
    bool room = work && problem->a && problem->turned;
    for (Py_ssize_t k = 0; k < n_steps && room; k++) {
        double *v = rules + k * q, length = 1;
        if (problem->c) /* the smoothed error depends on the direction only */
            length = sqrt(dot(from, from, problem->r));
        for (int64_t i = 0; i < q; i++)
            v[i] = from[i] / length;
        problem->h = problem->penalty = steps[k];
        /* If all rows are far on the correct side, the rule is kept. */
        bool settled = problem->c && k && values[k - 1] < SETTLED;
        values[k] = heterolda_descend_rule(problem, tol, settled ? 0 : max_iter, v, work,
                                           n_iter + k);
        from = v;
    }
    free(work);
    free(problem->a);
    free(problem->turned);
    return room;
}

PyObject *py_smoothed_path(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        {"columns", "d", "rn"}, {"n_first", "l"},      {"share", "d", "n"},
        {"c", "d", "r?"},       {"first", "d", "rr?"}, {"second", "d", "rr?"},
        {"steps", "d", "p"},    {"start", "d", "q"},   {"tol", "d"},
        {"max_iter", "l"},      {"rules", "d!", "pq"}, {"values", "d!", "p"},
        {"n_iter", "l!", "p"},
    };
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    Problem problem = {
        .columns = a[0].data, .first = a[1].integer, .share = a[2].data,
        .c = a[3].data, .first_covariance = a[4].data, .second_covariance = a[5].data,
        .n = SIZE('n'), .r = SIZE('r'),
    };
    bool all = a[3].data && a[4].data && a[5].data;
    bool none = !a[3].data && !a[4].data && !a[5].data;
    if (SIZE('q') != problem.r + 1 || problem.first < 0 || problem.first > problem.n ||
        !(all || none)) {
        PyErr_SetString(PyExc_ValueError, "start, n_first or covariances do not fit");
        return give_back(a, COUNT(a));
    }
    bool done;
    Py_BEGIN_ALLOW_THREADS;
    done = follow(&problem, a[6].data, SIZE('p'), a[7].data, a[8].number, a[9].integer,
                  a[10].data, a[11].data, a[12].data);
    Py_END_ALLOW_THREADS;
    if (!done)
        PyErr_NoMemory();
    return give_back(a, COUNT(a));
}
