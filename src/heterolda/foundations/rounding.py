"""Tolerances for rank, singularity and agreement, each with its reason.

Features are scaled to unit deviation before a tolerance is compared with a variance,
so the units of the data do not matter.
"""

from __future__ import annotations

import numpy as np

EPS = float(np.finfo(float).eps)

# Statistics
# Eigenvalues of a correlation matrix below this share of the largest are zero: sums
# over a million rows leave errors of about 1e-13, and float32 data about 1e-14.
SINGULAR = 1e-10
# LDA treats variances below this share of the largest as zero: the square of
# scikit-learn's `tol`.
LDA_SINGULAR = 1e-8
# Likelihoods, and sums over the rows in another order, agree to this share: a sum of
# 1e12 rows is off by less even if all rounding errors have the same sign.
SAME_SUM = 1e-10
# Error of means and squares after many merges, as a share of the numbers summed: about
# a hundred roundings.
MERGED = 2e-14
# A difference of scatters that is negative by this many such errors is invalid.
IMPOSSIBLE = 1e4
# Means of a constant feature agree up to a few roundings of their sums.
SAME_CONSTANT = 16 * EPS
# A feature that varies by no more than this share of its size is constant.
NO_VARIATION = 8 * EPS
# Entries of a triangular factor below this, in units of the features, are rounding
# errors of its QR decomposition: some hundred roundings.
NO_ENTRY = 1e-13
# A coordinate is empty if all entries along it are below this share of the largest,
# times the number of coordinates: errors of a QR decomposition grow with its size.
NO_COORDINATE = 1e-14
# Squares of deviations below this, in units of the features, are lost in the rounding
# of a covariance matrix: ten times the square root of EPS.
NO_DEVIATION = 1e-7
# Means this many deviations apart differ even if the deviation is itself only rounding
# noise; Phi(-20) is below any error of interest.
REAL_SEPARATION = 40.0
# Asymmetry and negative eigenvalues up to this are accepted in a correlation matrix,
# which a user may have rounded to half of the digits.
ROUGH_COVARIANCE = 1e-8

# Solvers
# A sum below this share of the sum of its absolute terms is zero: a few dozen
# roundings leave that much.
ZERO_SUM = 64 * EPS
# Variances above this share of the largest are never treated as rounding errors, so
# condition numbers up to 1e12 are left alone.
RANK_TOLERANCE = 1e-13
# LAPACK's errors are EPS times the largest eigenvalue. The subspace of eigenvalues
# below this share of it, the square root of EPS, is decomposed again on its own.
WEAK_AXIS = 1e-8
# In a direction without variance, rounding leaves less than this many EPS (linearly
# dependent float32 data leaves four), or less than this share of the square root of the
# number of rows, if every row was merged separately.
NOISE_UNITS = 12.0
NOISE_UNITS_OF_ROWS = 1 / 32
# If the inverse of S1 + S2, scaled to unit diagonal, is no larger than this, a Cholesky
# factor loses at most half of the digits, and no eigenvectors are needed.
REGULAR = 1e8
# A class with at least this share of the total variance in every direction has no
# variance that could be rounding, so Krylov subspaces suffice.
SOUND_CLASS = 1e-4
# A class variance indistinguishable from zero is raised to this share of S1 + S2: far
# above rounding (EPS), and far below what any number of rows could distinguish from
# zero. The model is then the pair with raised variances.
VARIANCE_FLOOR = 1e-7
# Means closer than this many deviations are equal if the difference may be rounding:
# 1e12 rows could not distinguish it from zero.
EQUAL_MEANS = 1e-6
# Where neither class varies, a difference of the means below this share of the largest
# is rounding: half of the digits.
REAL_PART = 1e-8
# If rounding may change the squared distance of the means by more than this share, and
# so errors by more than 3e-7, nothing is certified. (In 330 pairs with condition
# numbers from 1e8 to 1e15, checked with 60 digits, shares above 2.5e-6 changed errors
# by up to 1e-6.)
BLURRED = 2e-6
# Variances w'S w are uncertain by this many EPS of sum w_i^2 S_ii. (In 500 pairs with
# variances down to 1e-17 of the largest, and in 150 with 10 to 200 features, errors
# were off by at most 0.7 times what one EPS would do, checked with 50 digits.)
UNCERTAIN_UNITS = 2.0
# If that may change the error of a rule by more than this, nothing is certified.
MOST_UNCERTAIN = 1e-6
# In a class scaled to unit variances, eigenvalues below four EPS per feature are zero,
# and those from there up to this are nonzero but too small to be resolved.
UNRESOLVED = 1e-10
# Means farther apart than this many deviations are treated as fully separated: the
# error is zero long before, and fourth powers would overflow.
FARTHEST_MEANS = 1e50
# Deviation of a score, relative to the distance of the means, that replaces zero where
# a direction without variance separates the classes.
NO_SPREAD = 1e-7
# In the hard case c_i = 0 at the end of the arc, and the admissible rules continue as
# w(end) + eta V_i. With c_i raised to this share of |c| the arc itself continues there,
# and the problem does not change visibly.
LIFTED_COMPONENT = 1e-30
# A slope of the error below this share of its terms is zero: the error there exceeds
# the minimum by the square of this.
ZERO_SLOPE = 1e-10
# Rounding error of the logarithm of an error.
LOG_ERROR_ROUNDING = 1e-13
# A rule is preferred to the trivial one if it is better by this share: ten times the
# rounding error of either.
NO_GAIN = 1e-12
# Beyond this position on an arc, the distance from its end underflows.
FARTHEST_POSITION = 700.0
