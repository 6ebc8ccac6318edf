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
