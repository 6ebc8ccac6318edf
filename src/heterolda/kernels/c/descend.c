/* Descent of a rule to a minimum of the smooth count of its errors; see descent.py. */
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
#define BLOCK 256

typedef struct {
    const double *Z, *start, *weight, *costs; /* Z: a column of n rows after the other */
    int64_t n, r, logistic;
    double h, penalty;
    double tol;
    int64_t max_iter;
} Problem;

/* Who hears of each iteration, and the thread that must be awake for it. */
typedef struct {
    PyObject *report;
    PyThreadState *thread;
} Listener;

/* Values of the loss at margins, and in place of these its slopes, over h. */
INLINE double losses(const Problem *p, int64_t from, int64_t n, double *RESTRICT m)
{
    const double *RESTRICT w = p->weight + from;
    double value[BLOCK], over_h = 1 / p->h;
    if (p->logistic) {
        for (int64_t j = 0; j < n; j++) {
            double x = m[j] * over_h, size = fabs(x);
            double e = exp_of_negative(-size), inverse = 1 / (1 + e);
            double q = (x > 0 ? e : 1.0) * inverse;
            value[j] = log1p_of_share(e) + (x > 0 ? 0.0 : size);
            m[j] = -q * w[j] * over_h;
        }
    } else {
        for (int64_t j = 0; j < n; j++) {
            double x = m[j] * over_h;
            double e = exp_of_negative(-fabs(x)), inverse = 1 / (1 + e);
            value[j] = (x > 0 ? e : 1.0) * inverse;
            m[j] = -(e * inverse) * inverse * w[j] * over_h;
        }
    }
    return dot(value, w, n);
}

/* Value and gradient at u, and the costs of the rows on the wrong side. */
INLINE double objective(const Problem *p, const double *u, double *gradient,
                        double *errors)
{
    double m[BLOCK], total = 0;
    *errors = 0;
    for (int64_t i = 0; i < p->r; i++)
        gradient[i] = 2 * p->penalty * u[i];
    for (int64_t from = 0; from < p->n; from += BLOCK) {
        int64_t n = p->n - from < BLOCK ? p->n - from : BLOCK;
        memcpy(m, p->start + from, (size_t)n * sizeof(double));
        int64_t i = 0;
        for (; i + 4 <= p->r; i += 4) {
            const double *RESTRICT z0 = p->Z + i * p->n + from;
            const double *RESTRICT z1 = z0 + p->n, *RESTRICT z2 = z1 + p->n;
            const double *RESTRICT z3 = z2 + p->n;
            double u0 = u[i], u1 = u[i + 1], u2 = u[i + 2], u3 = u[i + 3];
            for (int64_t j = 0; j < n; j++)
                m[j] += (u0 * z0[j] + u1 * z1[j]) + (u2 * z2[j] + u3 * z3[j]);
        }
        for (; i < p->r; i++) {
            const double *RESTRICT z = p->Z + i * p->n + from;
            for (int64_t j = 0; j < n; j++)
                m[j] += u[i] * z[j];
        }
        if (p->costs)
            for (int64_t j = 0; j < n; j++)
                *errors += m[j] <= 0 ? p->costs[from + j] : 0.0;
        total += losses(p, from, n, m);
        for (i = 0; i < p->r; i++)
            gradient[i] += dot(m, p->Z + i * p->n + from, n);
    }
    return total + p->penalty * dot(u, u, p->r);
}

/* The step, minus the inverse Hessian times the gradient, by two loops over the last
   steps; the one of number k is in place k % MEMORY. */
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

static bool heard(Listener *listener, int64_t n_iter, double errors)
{
    if (listener->report == Py_None)
        return true;
    PyEval_RestoreThread(listener->thread);
    PyObject *answer =
        PyObject_CallFunction(listener->report, "Ld", (long long)n_iter, errors);
    Py_XDECREF(answer);
    listener->thread = PyEval_SaveThread();
    return answer != NULL;
}

/* Descend from u = 0; work has room for 5 + 2 MEMORY vectors. False if the listener has
   raised an error: then u is what was reached before. */
WIDE bool heterolda_descend(const Problem *p, Listener *listener, double *u,
                            double *work)
{
    int64_t r = p->r;
    double *gradient = work, *step = gradient + r, *trial = step + r;
    double *there = trial + r, *s = there + r, *y = s + MEMORY * r;
    double rho[MEMORY] = {0}, bound = p->logistic ? 0.25 : 0.09622504486493763;
    double inverse = 1 / (bound / (p->h * p->h) + 2 * p->penalty), length = 1, errors;
    for (int64_t i = 0; i < r; i++)
        u[i] = 0;
    double value = objective(p, u, gradient, &errors);
    for (int64_t n_iter = 0; n_iter < p->max_iter; n_iter++) {
        if (!heard(listener, n_iter + 1, errors))
            return false;
        newton(r, n_iter, inverse, gradient, s, y, rho, step);
        double slope = dot(gradient, step, r), errors_there;
        if (!(-0.5 * slope > p->tol && length > SHORTEST))
            break;
        for (int64_t i = 0; i < r; i++)
            trial[i] = u[i] + length * step[i];
        double value_there = objective(p, trial, there, &errors_there);
        int64_t at = n_iter % MEMORY;
        double *s_at = s + at * r, *y_at = y + at * r;
        rho[at] = 0;
        if (!(value_there <= value + ARMIJO * length * slope)) {
            /* A rejected step is remembered as zero. */
            memset(s_at, 0, (size_t)r * sizeof(double));
            memset(y_at, 0, (size_t)r * sizeof(double));
            length *= SHORTEN;
            continue;
        }
        for (int64_t i = 0; i < r; i++) {
            s_at[i] = trial[i] - u[i];
            y_at[i] = there[i] - gradient[i];
            u[i] = trial[i];
            gradient[i] = there[i];
        }
        value = value_there;
        errors = errors_there;
        length = 1;
        double sy = dot(s_at, y_at, r), yy = dot(y_at, y_at, r);
        double least = sy < yy ? sy : yy;
        if (sy > FLAT * sqrt(dot(s_at, s_at, r) * yy) && least > NO_CHANGE) {
            rho[at] = 1 / sy;
            inverse = sy / yy;
        }
    }
    return true;
}

PyObject *py_descend(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        {"columns", "d", "rn"}, {"start", "d", "n"}, {"weight", "d", "n"},
        {"costs", "d", "n?"},   {"logistic", "l", "p"}, {"h", "d", "p"},
        {"penalty", "d", "p"},  {"tol", "d"},        {"max_iter", "l"},
        {"shifts", "d!", "pr"},
    };
    Sizes size;
    (void)self;
    /* The last argument is what hears of the iterations, or None. */
    if (!take_arguments(args, n_args - 1, a, COUNT(a), size))
        return NULL;
    Py_ssize_t r = SIZE('r');
    double *work = calloc((size_t)r + 1, (5 + 2 * MEMORY) * sizeof(double));
    if (!work) {
        PyErr_NoMemory();
        return give_back(a, COUNT(a));
    }
    Listener listener = {args[n_args - 1], PyEval_SaveThread()};
    bool going = true;
    for (Py_ssize_t k = 0; k < SIZE('p') && going; k++) {
        Problem problem = {
            .Z = a[0].data, .start = a[1].data, .weight = a[2].data,
            .costs = a[3].data, .n = SIZE('n'), .r = r,
            .logistic = ((int64_t *)a[4].data)[k], .h = ((double *)a[5].data)[k],
            .penalty = ((double *)a[6].data)[k], .tol = a[7].number,
            .max_iter = a[8].integer,
        };
        double *u = (double *)a[9].data + k * r;
        going = heterolda_descend(&problem, &listener, u, work);
    }
    PyEval_RestoreThread(listener.thread);
    free(work);
    return give_back(a, COUNT(a));
}
