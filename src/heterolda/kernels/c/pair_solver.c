/* Best linear rule of each pair of Gaussian classes, with a certificate.

   Doubtful pairs are left to solvers/global_search.py, the reference: those with singular
   covariances, an unproven gap, or a rule whose error differs between the covariances
   themselves and the arc. */
#include "kernels.h"
#include "pairs.h"

#include <math.h>
#include <stdlib.h>

#include "vectors.h"

/* As in foundations/rounding.py. */
static const double UNDERFLOW_ = 1e-290, NO_GAIN = 1e-12;
/* Largest relative difference between errors by the arc and by the covariances, if the
   trace of the inverse of S1 + S2 is at most REGULAR, as in foundations/rounding.py. */
static const double SAME = 1e-9, REGULAR = 1e8;

/* Beyond this |x|, near an end of the arc, b S1 + a S2 is so nearly singular that solving
   with it loses more than three digits. */
static const double NEAR_END = 8;
/* A component of delta below this share of the largest has lost half of its digits. */
static const double LOST = 1e-6;
/* Entries of Status in solvers/rules.py. */
enum { CERTIFIED = 1, TRIVIAL = 6 };

typedef struct {
    double *coef, *intercept, *error, *gap, *means, *deviations;
    int64_t *n_iter, *status, *rank;
    bool *floored;
    double *fisher_coef, *fisher_intercept;
} Rules;

/* w'S w. */
WIDE static double quadratic(const double *S, const double *w, int64_t d)
{
    double sum = 0;
    for (int64_t i = 0; i < d; i++)
        sum += w[i] * dot(S + i * d, w, d);
    return sum;
}

/* Rounding error of w'S w. */
static double rounding(const double *S, const double *w, int64_t d)
{
    double sum = 0;
    for (int64_t i = 0; i < d; i++)
        sum += sqrt(S[i * (d + 1)]) * fabs(w[i]);
    return 8 * (64 + 4 * d) * EPS * sum * sum;
}

/* Threshold of least error along w, (39); see solvers/rules.py. */
static double best_threshold(double D, double sigma1, double sigma2, double log_tau)
{
    double size = sqrt(sigma1 * sigma1 + sigma2 * sigma2);
    double L = log_tau + log(sigma1 / sigma2), s1 = sigma1 / size, s2 = sigma2 / size;
    D /= size;
    double difference = (s1 - s2) * (s1 + s2), root = sqrt(D * D + 2 * difference * L);
    double t = D > 0 ? s2 * s2 * (D * D + 2 * s1 * s1 * L) / (D * s2 * s2 + s1 * s2 * root)
                     : (s1 * s2 * root - D * s2 * s2) / difference;
    return t * size;
}

static double error_of(double t, double D, double sigma1, double sigma2, const double *prior)
{
    return prior[0] * ndtr((t - D) / sigma1) + prior[1] * ndtr(-t / sigma2);
}

/* Bound on the total variation between the classes, by Pinsker's inequality. */
static double most_variation(const Diagonal *form)
{
    double divergence = 0;
    for (int64_t j = 0; j < form->r; j++) {
        double beta = form->beta[j], excess = (form->alpha[j] - beta) / beta;
        divergence += excess - log1p(excess) + form->c[j] * form->c[j] / beta;
    }
    double most = sqrt(divergence > 0 ? 0.25 * divergence : 0.0);
    return most < 1 ? most : 1;
}

/* Result of the search on an arc. */
typedef struct {
    Optimum best;
    double size;             /* factor for u */
    double D, v1, v2;        /* distance of the means and variances along w */
    double raised1, raised2; /* parts of the variances that were added by raising */
} Result;

/* The scale of (11): for equal covariances the score is the log-odds. */
static double size_of(const Optimum *best)
{
    return best->cos + best->sin > 0 ? best->cos + best->sin : 1.0;
}

static bool find_diagonal(Diagonal *form, const double *log_priors, double gap,
                          double *work, Result *result)
{
    int64_t r = form->r;
    double *lifted = work + 4 * (r + 4), *u = form->u;
    for (int64_t j = 0; j < r + 4; j++) {
        if (j >= r) { /* padding with neutral directions */
            form->alpha[j] = form->beta[j] = 0.5;
            form->c[j] = 0;
        }
        lifted[j] = form->c[j];
    }
    Optimum best = search_arc(form->alpha, form->beta, lifted, r, log_priors, gap, work, u);
    *result = (Result){.best = best, .size = size_of(&best)};
    /* Near an end, the rule depends on the component of delta that makes the arc end. */
    bool is_near = fabs(best.x) > NEAR_END;
    const double *variance = best.x < 0 ? form->alpha : form->beta;
    double largest = 0;
    int64_t pole = 0;
    for (int64_t j = 0; j < r; j++) {
        largest = fabs(form->c[j]) > largest ? fabs(form->c[j]) : largest;
        pole = variance[j] < variance[pole] ? j : pole;
    }
    if (is_near && fabs(form->c[pole]) < LOST * largest)
        return false;
    for (int64_t j = 0; j < r; j++) {
        u[j] *= result->size;
        double square = u[j] * u[j];
        result->D += form->c[j] * u[j];
        result->v1 += form->alpha[j] * square;
        result->v2 += form->beta[j] * square;
        result->raised1 += form->raised1[j] * square;
        result->raised2 += form->raised2[j] * square;
    }
    return best.proven;
}

/* Return whether the variances along w agree between the covariances and the form. */
static bool is_same(const Diagonal *form, const Classes *pair, const double *w,
                    const Result *result, double t, double error)
{
    int64_t d = form->d;
    double first = quadratic(pair->covariance[0], w, d) + result->raised1;
    double second = quadratic(pair->covariance[1], w, d) + result->raised2, distance = 0;
    bool any = false;
    for (int64_t i = 0; i < form->m; i++) {
        distance += w[form->at[i]] * form->delta[i] * form->scale[i];
        any |= w[form->at[i]] != 0;
    }
    if (!any)
        return false;
    if (form->trace > REGULAR) /* a nearly singular sum loses more digits */
        return fabs(first - result->v1) <=
                   SAME * result->v1 + rounding(pair->covariance[0], w, d) &&
               fabs(second - result->v2) <=
                   SAME * result->v2 + rounding(pair->covariance[1], w, d);
    double exact = error_of(t, distance, sqrt(first), sqrt(second), pair->prior);
    return fabs(exact - error) <= SAME * error;
}

/* Write the rule; false if it is in doubt. */
static bool write_rule(Diagonal *form, const Classes *pair, const Result *result,
                       double gap, double log_tau, double *work, int64_t p, Rules *rules)
{
    const Optimum *best = &result->best;
    int64_t d = form->d;
    double *coef = rules->coef + p * d, size = result->size;
    double sigma1 = sqrt(result->v1), sigma2 = sqrt(result->v2), D = result->D;
    double t = best_threshold(D, sigma1, sigma2, log_tau);
    if (!isfinite(t))
        t = best->sin / size * result->v2;
    double error = error_of(t, D, sigma1, sigma2, pair->prior);
    /* Fisher's rule, (7), is computed at once. */
    double *fisher = rules->fisher_coef + p * d, total = pair->weight[0] + pair->weight[1];
    double b = pair->weight[0] / total, a = pair->weight[1] / total;
    double *other = work; /* no longer needed */
    for (int64_t j = 0; j < form->r; j++)
        other[j] = form->c[j] / (b * form->alpha0[j] + a * form->beta0[j]);
    apply_basis(form, form->u, other, coef, fisher);
    if (!(sigma1 > 0 && sigma2 > 0) || !is_same(form, pair, coef, result, t, error))
        return false;

    double least = pair->prior[0] < pair->prior[1] ? pair->prior[0] : pair->prior[1];
    bool trivial = error >= least * (1 - NO_GAIN);
    double lower = best->log_bound, log_error = log(trivial ? least : error);
    if (lower < log_error + log1p(-gap)) {
        /* No rule has an error below min(p1, p2) (1 - total variation). */
        double bound = log(least) + log1p(-most_variation(form));
        lower = bound > lower ? bound : lower;
    }
    /* If the error underflows, use its logarithm on the arc. */
    if (error < UNDERFLOW_ && best->log_error > log_error)
        log_error = best->log_error;
    double proven = lower < log_error ? -expm1(lower - log_error) : 0.0;
    if (error == 0)
        proven = 0;
    if (!(proven <= gap))
        return false;

    rules->error[p] = trivial ? least : error;
    rules->gap[p] = proven;
    rules->n_iter[p] = best->n_evaluations;
    rules->status[p] = trivial ? TRIVIAL : CERTIFIED;
    rules->rank[p] = form->r;
    rules->floored[2 * p] = form->floored[0];
    rules->floored[2 * p + 1] = form->floored[1];
    rules->intercept[p] =
        trivial ? log_tau : dot(coef, pair->mean[1], d) + t;
    rules->means[2 * p] = trivial ? log_tau : t - D;
    rules->means[2 * p + 1] = trivial ? log_tau : t;
    rules->deviations[2 * p] = trivial ? 0 : sigma1;
    rules->deviations[2 * p + 1] = trivial ? 0 : sigma2;
    for (int64_t i = 0; i < d; i++)
        coef[i] = trivial ? 0.0 : -coef[i];
    double projected = dot(fisher, pair->mean[0], d) + dot(fisher, pair->mean[1], d);
    rules->fisher_intercept[p] = projected / 2 + log_tau;
    for (int64_t i = 0; i < d; i++)
        fisher[i] = -fisher[i];
    return true;
}

static Outcome solve_pair(Diagonal *form, const Classes *pair, const double *whitening,
                          double gap, double *work, int64_t p, Rules *rules)
{
    Outcome outcome = tridiagonalize(form, pair, whitening);
    if (outcome != DONE)
        return outcome;
    double log_priors[2] = {log(pair->prior[0]), log(pair->prior[1])};
    double log_tau = log_priors[1] - log_priors[0];
    Result result;
    outcome = diagonalize(form, pair);
    bool done = outcome == DONE && find_diagonal(form, log_priors, gap, work, &result) &&
                write_rule(form, pair, &result, gap, log_tau, work, p, rules);
    return done ? DONE : UNSOLVED;
}

PyObject *py_solve_pairs(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        {"means", "d", "kd"},           {"covariances", "d", "kdd"},
        {"weights", "d", "k"},          {"pairs", "l", "p2"},
        {"priors", "d", "p2"},          {"gap", "d"},
        {"whitening", "d", "pdd?"},
        {"coef", "d!", "pd"},           {"intercept", "d!", "p"},
        {"error", "d!", "p"},           {"found_gap", "d!", "p"},
        {"score_means", "d!", "p2"},    {"deviations", "d!", "p2"},
        {"n_iter", "l!", "p"},          {"status", "l!", "p"},
        {"rank", "l!", "p"},            {"floored", "b!", "p2"},
        {"fisher_coef", "d!", "pd"},    {"fisher_intercept", "d!", "p"},
        {"outcome", "c!", "p"},
    };
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    int64_t d = SIZE('d'), n_classes = SIZE('k');
    const double *means = a[0].data, *covariances = a[1].data, *weights = a[2].data;
    const int64_t *pairs = a[3].data;
    const double *priors = a[4].data, *whitening = a[6].data;
    double gap = a[5].number;
    Rules rules = {
        .coef = a[7].data,         .intercept = a[8].data,    .error = a[9].data,
        .gap = a[10].data,         .means = a[11].data,       .deviations = a[12].data,
        .n_iter = a[13].data,      .status = a[14].data,      .rank = a[15].data,
        .floored = a[16].data,     .fisher_coef = a[17].data, .fisher_intercept = a[18].data,
    };
    uint8_t *outcomes = a[19].data;
    for (Py_ssize_t k = 0; k < 2 * SIZE('p'); k++)
        if (pairs[k] < 0 || pairs[k] >= n_classes) {
            PyErr_SetString(PyExc_ValueError, "pairs must hold indices of classes");
            return give_back(a, COUNT(a));
        }
    if (d < 1 || d > 1024 || !(gap >= 1e-8 && gap <= 0.5)) {
        PyErr_SetString(PyExc_ValueError,
                        "there must be 1 to 1024 features, and a gap from 1e-8 to 0.5");
        return give_back(a, COUNT(a));
    }
    bool has_memory = true;
    Py_BEGIN_ALLOW_THREADS
    Diagonal form;
    double *work = NULL;
    has_memory = make_diagonal(&form, d);
    if (has_memory) {
        work = malloc((size_t)(8 * (d + 8)) * sizeof(double));
        has_memory = work != NULL;
    }
    for (int64_t p = 0; has_memory && p < SIZE('p'); p++) {
        int64_t i = pairs[2 * p], j = pairs[2 * p + 1];
        Classes pair = {
            .mean = {means + i * d, means + j * d},
            .covariance = {covariances + i * d * d, covariances + j * d * d},
            .prior = {priors[2 * p], priors[2 * p + 1]},
            .weight = {weights[i], weights[j]},
        };
        outcomes[p] =
            (uint8_t)solve_pair(&form, &pair, whitening ? whitening + p * d * d : NULL,
                                gap, work, p, &rules);
    }
    free(work);
    free_diagonal(&form);
    Py_END_ALLOW_THREADS
    if (!has_memory)
        PyErr_NoMemory();
    return give_back(a, COUNT(a));
}

/* Rules at positions of the arc of a pair, and the basis of the form if `r` is not zero. */
static Outcome directions_of(Diagonal *form, const Classes *pair, const double *whitening,
                             const double *optimum, const double *positions, int64_t r,
                             double *work, Fan *fan, double *w, double *basis)
{
    Outcome outcome = tridiagonalize(form, pair, whitening);
    if (outcome != DONE)
        return outcome;
    if (!fill_fan(&form->tridiagonal, optimum, positions, fan))
        return UNSOLVED;
    int64_t G = fan->G, n = form->r, k = G + (r ? n : 0), d = form->d;
    double *u = work, *result = u + d * (d + G);
    memset(u, 0, (size_t)(n * k) * sizeof(double));
    for (int64_t i = 0; i < n; i++) {
        memcpy(u + i * k, fan->u + i * G, (size_t)G * sizeof(double));
        if (r)
            u[i * k + G + i] = 1;
    }
    apply_to_columns(form, u, k, true, result);
    memset(w, 0, (size_t)(G * d) * sizeof(double));
    memset(basis, 0, (size_t)(d * r) * sizeof(double));
    for (int64_t i = 0; i < form->m; i++) {
        double inverse = 1 / form->scale[i];
        for (int64_t g = 0; g < G; g++)
            w[g * d + form->at[i]] = result[i * k + g] * inverse;
        for (int64_t j = 0; r && j < n; j++)
            basis[form->at[i] * r + j] = result[i * k + G + j] * inverse;
    }
    return DONE;
}

PyObject *py_arc_directions(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    Argument a[] = {
        {"means", "d", "kd"},      {"covariances", "d", "kdd"},
        {"pairs", "l", "p2"},      {"optima", "d", "p2"},
        {"positions", "d", "s"},   {"whitening", "d", "pdd?"},
        {"places", "l!", "p"},     {"weights", "d!", "p2g"},
        {"w", "d!", "pgd"},        {"basis", "d!", "pdr"},
        {"inverse", "d!", "pgd"},  {"ratio", "d!", "pgd"},
        {"variances", "d!", "p2g"}, {"distance", "d!", "pg"},
        {"outcome", "c!", "p"},
    };
    Sizes size;
    (void)self;
    if (!take_arguments(args, n_args, a, COUNT(a), size))
        return NULL;
    int64_t d = SIZE('d'), r = SIZE('r'), G = SIZE('g');
    const double *means = a[0].data, *covariances = a[1].data, *optima = a[3].data;
    const double *whitening = a[5].data;
    const int64_t *pairs = a[2].data;
    int64_t *places = a[6].data;
    double *weights = a[7].data, *w = a[8].data, *basis = a[9].data, *inverse = a[10].data;
    double *ratio = a[11].data, *variances = a[12].data, *distance = a[13].data;
    uint8_t *outcomes = a[14].data;
    bool fine = d > 0 && d <= 1024 && (r == 0 || r == d) && G == SIZE('s') + 1 &&
                G <= MOST_COLUMNS;
    for (Py_ssize_t k = 0; fine && k < 2 * SIZE('p'); k++)
        fine = pairs[k] >= 0 && pairs[k] < SIZE('k');
    if (!fine) {
        PyErr_SetString(PyExc_ValueError, "pairs, positions or basis are out of range");
        return give_back(a, COUNT(a));
    }
    Diagonal form;
    bool has_memory = make_diagonal(&form, d);
    double *work = malloc((size_t)(2 * d * (d + G) + d * G) * sizeof(double));
    has_memory &= work != NULL;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t p = 0; has_memory && p < SIZE('p'); p++) {
        int64_t i = pairs[2 * p], j = pairs[2 * p + 1];
        Classes pair = {
            .mean = {means + i * d, means + j * d},
            .covariance = {covariances + i * d * d, covariances + j * d * d},
        };
        Fan fan = {
            .G = G, .stride = d, .cos = weights + 2 * p * G, .sin = weights + (2 * p + 1) * G,
            .u = work + 2 * d * (d + G), .inverse = inverse + p * G * d,
            .ratio = ratio + p * G * d, .distance = distance + p * G,
            .v1 = variances + 2 * p * G, .v2 = variances + (2 * p + 1) * G,
        };
        memset(fan.inverse, 0, (size_t)(G * d) * sizeof(double));
        memset(fan.ratio, 0, (size_t)(G * d) * sizeof(double));
        outcomes[p] = (uint8_t)directions_of(
            &form, &pair, whitening ? whitening + p * d * d : NULL, optima + 2 * p,
            a[4].data, r, work, &fan, w + p * G * d, basis + p * d * r);
        places[p] = fan.place;
    }
    Py_END_ALLOW_THREADS
    free(work);
    free_diagonal(&form);
    if (!has_memory)
        PyErr_NoMemory();
    return give_back(a, COUNT(a));
}
