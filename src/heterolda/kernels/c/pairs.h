/* Two Gaussian classes: their diagonal form, and the best rule on their arc.

   The notation is that of solvers/pencil.py and solvers/arc.py, which are the
   reference: V'(S1 + S2)V = I, V'S1 V = diag(alpha), V'S2 V = diag(beta), c = V'delta. */
#ifndef HETEROLDA_PAIRS_H
#define HETEROLDA_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#define EPS 2.220446049250313e-16

/* Rotations that the diagonalisation took: of the directions i and i + 1. */
typedef struct {
    double cos, sin;
    int64_t i;
} Rotation;

typedef struct {
    const double *mean[2], *covariance[2]; /* of d features */
    double prior[2], weight[2];
} Classes;

/* W'S1 W in the coordinates in which delta is along the last axis. */
typedef struct {
    int64_t n;
    double *middle, *beside; /* beside[k] is between k and k + 1 */
    double distance;         /* delta */
} Tridiagonal;

/* A pair in diagonal form, without its basis: V u is computed when it is needed. */
typedef struct {
    int64_t d;         /* features */
    int64_t m;         /* features that vary, and their indices */
    int64_t *at;
    int64_t *directions; /* room for indices */
    int64_t r;         /* directions */
    double *scale;     /* of the m features */
    double *delta;     /* differences of the means, in units of the scale */
    double *sum;       /* S1 + S2, then room; m x m, and so are the next four */
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
    double *off; /* room for it */
    bool plain;  /* whether the diagonal form is just the same */
    bool diagonal; /* whether it is there */
    /* Of length r, padded with directions in which nothing happens to a multiple of 4: */
    double *alpha, *beta, *c;
    double *alpha0, *beta0;   /* variances that are not told from zero are zero */
    double *raised1, *raised2; /* what was added to them instead */
    double *u;
    double *length; /* by which a direction is to be divided: alpha + beta is one */
    double *column; /* room for m numbers, several times */
    bool floored[2];
    void *memory;
} Diagonal;

typedef enum { DONE = 0, SINGULAR = 1, UNSURE = 2 } Outcome;

bool make_diagonal(Diagonal *form, int64_t d);
void free_diagonal(Diagonal *form);
/* The tridiagonal form. With a whitening of S1 + S2 in units of the scale (d x d, some
   columns zero), or NULL: then a singular sum is refused. */
Outcome tridiagonalise(Diagonal *form, const Classes *pair, const double *whitening);
/* The diagonal form from it. */
Outcome diagonalise(Diagonal *form, const Classes *pair);
/* w = V u, for all d features. Where that is the same and b and a are not both zero, it
   is computed as (b S1 + a S2)^-1 delta, which takes less time. False if that cannot be
   and there is no diagonal form yet. */
bool apply_basis(Diagonal *form, const double *u, double b, double a, double *w);

/* The optimum on the arc of a pair. */
typedef struct {
    double x;         /* position of the best rule */
    double log_bound; /* no rule has a smaller log error */
    double log_error; /* that of the best rule on the arc */
    double cos, sin;  /* of theta */
    int64_t n_evaluations;
    bool proven; /* false if the search was given up */
} Optimum;

/* Sets the coordinates u of the best rule. `room` holds 4 numbers for each direction. */
Optimum search_arc(const double *alpha, const double *beta, double *c, int64_t r,
                   const double *log_priors, double gap, double *room, double *u);

/* The same in tridiagonal form, with the variances of the best rule; false if that is not
   accurate enough. `room` holds 8 numbers for each direction. */
bool search_tridiagonal(const Tridiagonal *form, const double *log_priors, double gap,
                        double *room, Optimum *optimum, double *v1, double *v2);

double ndtr(double x);
double log_ndtr(double x);

#endif
