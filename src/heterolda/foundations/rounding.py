"""Constants that decide rank, singularity and agreement, each with its reason.

Features are in units of their deviations wherever one of these is compared with a
variance, so that units of the data do not matter.
"""

from __future__ import annotations

import numpy as np

EPS = float(np.finfo(float).eps)

# Statistics
# Eigenvalues of a correlation matrix below this share of the largest are zero: sums of
# a million rows leave errors of about 1e-13, and float32 data squares of 1e-14.
SINGULAR = 1e-10
# Variances below this share of the largest are zero to linear discriminant analysis:
# the square of scikit-learn's `tol`.
LDA_SINGULAR = 1e-8
# Sums over the same rows in another order, and likelihoods, agree to this share: that
# of 1e12 rows, should all errors have the same sign, is off by less.
SAME_SUM = 1e-10
# Errors of means and squares after many merges, as a share of the numbers summed:
# about a hundred roundings.
MERGED = 2e-14
# A difference of sums that is negative by this many such errors was never a sum.
IMPOSSIBLE = 1e4
# Means of a constant feature are the same up to a few roundings of their sums.
SAME_CONSTANT = 16 * EPS
# A feature that varies by no more than this share of its size is constant.
NO_VARIATION = 8 * EPS
# Entries of a triangular factor below this, in units of the features, are rounding of
# its QR decomposition: some hundred roundings.
NO_ENTRY = 1e-13
# A coordinate is empty if all entries along it are below this share of the largest,
# times the number of coordinates: errors of a QR decomposition grow with its size.
NO_COORDINATE = 1e-14
# Deviations, in units of the features, whose squares a matrix cannot distinguish from
# rounding: ten times the square root of EPS.
NO_DEVIATION = 1e-7
# Means that differ by this many deviations, where the deviation is itself rounding
# noise, differ for real; Phi(-20) is below any error of interest.
REAL_SEPARATION = 40.0
# Decimals to which shifts of constant features, in units of their range, are compared:
# two digits are left for rounding of the means.
SHIFT_DECIMALS = 12
# Asymmetry, and negative eigenvalues, of a correlation matrix that a user may have
# rounded: half of the digits.
ROUGH_COVARIANCE = 1e-8

# Solvers
# A sum of terms is zero if it is below this share of their sizes: it is what remains of
# a few dozen roundings.
ZERO_SUM = 64 * EPS
# Variances above this share of the largest are real, whatever the rounding errors may
# be: conditions up to 1e12 stay untouched.
RANK_TOLERANCE = 1e-13
# Eigenvectors from LAPACK are off by EPS of the largest eigenvalue. Below this share of
# it, the square root of EPS, variances are computed again among themselves.
WEAK_AXIS = 1e-8
# The variance that rounding leaves in a direction without any, in units of EPS, is
# below this (float32 data that is linearly dependent leaves four), or below a share of
# the root of the number of rows, should every row have been merged on its own.
NOISE_UNITS = 12.0
NOISE_UNITS_OF_ROWS = 1 / 32
# Up to this size of the inverse of S1 + S2, with unit diagonal, a Cholesky factor
# loses half of the digits at most, and does all that the eigenvectors do.
REGULAR = 1e8
# A class that has this share of the variance of all classes in every direction has no
# variance that rounding may have made, and spaces of few directions suffice.
SOUND_CLASS = 1e-4
# A class variance that cannot be distinguished from zero is raised to this share of
# S1 + S2: far above rounding (EPS), and far below what rows can tell from zero. The
# pair with raised variances is the model from there on.
VARIANCE_FLOOR = 1e-7
# Means that differ by less than this many deviations are equal, if rounding may have
# made the difference: a million million rows could not tell it from zero.
EQUAL_MEANS = 1e-6
# The part of the difference of the means along which neither class varies is rounding
# below this share of the largest: half of the digits.
REAL_PART = 1e-8
# Rounding may change the squared distance of the means by this share, and errors by up
# to 3e-7. Beyond it, nothing is certified. (Of 330 pairs of conditions 1e8 to 1e15,
# verified with 60 digits, errors were off by 1e-6 from a share of 2.5e-6 on.)
BLURRED = 2e-6
# No variance along a direction is known to be smaller, in units of the features.
LEAST_VARIANCE = 1e-15
# Of a class whose features have unit variance, eigenvalues below four EPS for each
# feature are zero, and those up to this are there, but too small to be resolved.
UNRESOLVED = 1e-10
# Means further apart than this, in deviations, are separated for good: the error is
# zero long before, and squares of squares would overflow.
FARTHEST_MEANS = 1e50
# Deviation of a score, relative to the distance of the means, that stands for "none"
# where a direction separates the classes without any variance.
NO_SPREAD = 1e-7
# In the hard case c_i = 0 at the end of the arc and the admissible rules go on as
# w(end) + eta V_i. Lifting c_i to this share of |c| lets the arc itself make that
# turn, without any visible change to the problem.
LIFTED_COMPONENT = 1e-30
# A slope of the error below this share of its terms is zero: the error of such a point
# is that of the minimum up to the square of this.
ZERO_SLOPE = 1e-10
# What rounding errors may add to the logarithm of an error.
LOG_ERROR_ROUNDING = 1e-13
# A rule must beat the trivial one by this share to be preferred: ten times what
# rounding errors make of either.
NO_GAIN = 1e-12
# Errors below this lose digits: they are near the smallest normal number.
UNDERFLOW = 1e-290
# A matrix that keeps less than this share of its size in some direction, once a row is
# left out, is next to singular: more than half of the digits are lost.
SINGULAR_WITHOUT_ROW = 1e-9
# Positions on an arc: beyond this x, the distance from its end underflows.
FARTHEST_POSITION = 700.0
