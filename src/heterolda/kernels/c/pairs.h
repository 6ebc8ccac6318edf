/* Two Gaussian classes: their diagonal form, and the best rule on their arc.

   Notation as in solvers/pencil.py and solvers/arc.py, the reference:
   V'(S1 + S2)V = I, V'S1 V = diag(alpha), V'S2 V = diag(beta), c = V'delta. */
#ifndef HETEROLDA_PAIRS_H
#define HETEROLDA_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#define EPS 2.220446049250313e-16
/* Number of columns besides those of a basis that are computed at once. */
#define MOST_COLUMNS 64

/* Rotation of the directions i and i + 1 by the diagonalization. */
typedef struct {
    double cos, sin;
    int64_t i;
} Rotation;

typedef struct {
    const double *mean[2], *covariance[2]; /* of d features */
    double prior[2], weight[2];
} Classes;

/* W'S1 W in coordinates in which delta is along the last axis. */
typedef struct {
    int64_t n;
    double *diag, *off_diag; /* off_diag[k] is between k and k + 1 */
    double distance;         /* length of delta */
} Tridiagonal;

/* A pair in diagonal form, without its basis: V u is computed when needed. */
typedef struct {
    int64_t d;         /* features */
    int64_t m;         /* features that vary, and their indices */
    int64_t *at;
    int64_t *directions; /* memory for indices */
    int64_t r;         /* directions */
    double *scale;     /* of the m features */
    double *delta;     /* differences of the means, in units of the scale */
    double *sum;       /* S1 + S2, later working memory; m x m, like the next four */
    double *first;     /* S1 in units of the scale */
    double *whitening; /* m x r */
    bool triangular;   /* whether the whitening is an upper triangle */
    double trace;      /* of the inverse of S1 + S2, in units of the scale */
    double *product;
    double *reduced;   /* r x r */
    double *mirrors;   /* Householder vectors, r x r */
    double *mirror_factor;
    Rotation *rotations;
    int64_t n_rotations, most_rotations;
    Tridiagonal tridiagonal;
    double *off; /* memory for it */
    /* Of length r, padded with neutral directions to a multiple of 4: */
    double *alpha, *beta, *c;
    double *alpha0, *beta0;   /* variances indistinguishable from zero are zero */
    double *raised1, *raised2; /* amounts by which variances were raised */
    double *u;
    double *length; /* divisor of each direction, so that alpha + beta is one */
    double *column; /* memory for several columns of m numbers */
    bool floored[2];
    void *memory;
} Diagonal;

typedef enum { DONE = 0, SINGULAR = 1, UNSOLVED = 2 } Outcome;

bool make_diagonal(Diagonal *form, int64_t d);
void free_diagonal(Diagonal *form);
/* Compute the tridiagonal form. `whitening` is that of S1 + S2 in units of the scale
   (d x d, some columns zero), or NULL, in which case a singular sum is rejected. */
Outcome tridiagonalize(Diagonal *form, const Classes *pair, const double *whitening);
/* Compute the diagonal form from it. */
Outcome diagonalize(Diagonal *form, const Classes *pair);
/* w = V u for two u, for all d features. */
void apply_basis(Diagonal *form, const double *u1, const double *u2, double *w1, double *w2);

/* Optimum on the arc of a pair. */
typedef struct {
    double x;         /* position of the best rule */
    double log_bound; /* lower bound of the log error of all rules */
    double log_error; /* log error of the best rule on the arc */
    double cos, sin;  /* of theta */
    int64_t n_evaluations;
    bool proven; /* false if the search was given up */
} Optimum;

/* Sets the coordinates u of the best rule. `work` has 4 numbers for each direction. */
Optimum search_arc(const double *alpha, const double *beta, double *c, int64_t r,
                   const double *log_priors, double gap, double *work, double *u);

/* Rules at G positions of the arc, in tridiagonal form: coordinates u (r, G) and, in rows
   of `stride` numbers for each position, the inverse pivots of b S1 + a S2, and its
   off-diagonal elements divided by the pivot before. */
typedef struct {
    int64_t G, stride, place; /* the last is the index of the optimum */
    double *cos, *sin, *u, *inverse, *ratio, *distance, *v1, *v2;
} Fan;

/* `optimum` is the cosine and sine of theta, which is sorted into the G - 1 positions.
   False if that is not accurate enough. */
bool fill_fan(const Tridiagonal *form, const double *optimum, const double *positions,
              Fan *fan);
/* V u for k columns u (r, k), which are overwritten, in units of the scale of the m
   features that vary. */
void apply_to_columns(const Diagonal *form, double *u, int64_t k, bool turned, double *w);

double ndtr(double x);
double log_ndtr(double x);

#endif
