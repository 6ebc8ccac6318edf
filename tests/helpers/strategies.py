"""Hypothesis strategies: pairs of Gaussian classes that are hard to get right."""

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from helpers.reference import Problem, reflection, rotated

DIMENSIONS = st.integers(1, 6)


def exponents(low, high):
    """Powers of ten."""
    return st.floats(low, high).map(lambda e: 10.0**e)


@st.composite
def directions(draw, d):
    """A vector of small integers, not all zero."""
    v = np.array(draw(st.lists(st.integers(-9, 9), min_size=d, max_size=d)), float)
    assume(v.any())
    return v


@st.composite
def orthogonals(draw, d):
    """Products of two reflections."""
    return reflection(draw(directions(d))) @ reflection(draw(directions(d)))


@st.composite
def variances(draw, d, spread):
    """Numbers down to 10**-spread."""
    return np.array(draw(st.lists(exponents(-spread, 0), min_size=d, max_size=d)))


@st.composite
def shifts(draw, S, size):
    """Differences of means, some deviations of S along its own axes."""
    values, axes = np.linalg.eigh(S)
    steps = draw(st.lists(st.floats(-size, size), min_size=len(S), max_size=len(S)))
    shift = axes @ (np.array(steps) * np.sqrt(np.maximum(values, 0)))
    assume(np.abs(steps).max() > 0.01 * size)
    return shift


@st.composite
def covariance_pairs(draw, d, spread=2.0):
    """Two covariances, each with axes of its own."""
    return tuple(
        rotated(draw(orthogonals(d)), draw(variances(d, spread))) for _ in range(2)
    )


def priors(most):
    """From one half down to 10**-most, of either class."""
    rare = exponents(-most, np.log10(0.5))
    return st.tuples(rare, st.booleans()).map(lambda x: x[0] if x[1] else 1 - x[0])


@st.composite
def regular(draw, d, S=None, most=1.3, size=2.0, m2=None):
    """The common part of all kinds: two covariances, means and a prior."""
    S1, S2 = draw(covariance_pairs(d)) if S is None else S
    shift = draw(shifts(S1 + S2, size))
    m2 = np.zeros(d) if m2 is None else m2
    return Problem(m2 + shift, m2, S1, S2, draw(priors(most)))


@st.composite
def ill_conditioned(draw):
    """Conditions up to 1e12, in axes that the classes share."""
    d = draw(st.integers(2, 6))
    Q, scale = draw(orthogonals(d)), draw(variances(d, 12.0))
    ratios = draw(variances(d, 3.0))
    S1, S2 = rotated(Q, scale), rotated(Q, scale * ratios)
    # Units alone do not make a condition: features are scaled before all else.
    deviation = np.sqrt(np.diag(S1))
    assume(1e4 < np.linalg.cond(S1 / deviation / deviation[:, None]) < 1e12)
    return draw(regular(d, (S1, S2)))


@st.composite
def offset(draw):
    """Data up to 1e9 deviations away from the origin."""
    d = draw(DIMENSIONS)
    m2 = draw(directions(d)) * draw(exponents(0, 8))
    return draw(regular(d, m2=m2))


@st.composite
def imbalanced(draw):
    """Priors down to 1e-9, classes far enough from each other for that."""
    return draw(regular(draw(DIMENSIONS), most=9.0, size=8.0))


@st.composite
def nearly_equal(draw):
    """Covariances that differ in a few last digits only."""
    d = draw(DIMENSIONS)
    S1, noise = draw(covariance_pairs(d))
    return draw(regular(d, (S1, S1 + draw(exponents(-15, -2)) * noise)))


@st.composite
def near_means(draw):
    """Means that coincide but for some last digits."""
    d = draw(DIMENSIONS)
    p = draw(regular(d))
    return Problem(p.m1 * draw(exponents(-12, -1)), p.m2, p.S1, p.S2, p.p1)


@st.composite
def singular(draw):
    """Covariances of integers, exactly singular; of one class, both, or jointly."""
    d = draw(st.integers(2, 6))

    def factor(rank):
        rows = st.lists(st.integers(-3, 3), min_size=d, max_size=d)
        return np.array(draw(st.lists(rows, min_size=rank, max_size=rank)), float)

    ranks = draw(st.tuples(st.integers(1, d), st.integers(1, d)))
    assume(min(ranks) < d)
    S1, S2 = (a.T @ a for a in map(factor, ranks))
    assume(S1.any() and S2.any())
    shift = np.array(draw(st.lists(st.integers(-2, 2), min_size=d, max_size=d)), float)
    if draw(st.booleans()):  # only where the classes vary; exact in float64
        shift = (S1 + S2) @ shift / 2.0 ** np.round(np.log2(np.trace(S1 + S2)))
    if draw(st.booleans()):  # a second copy of some feature
        copy = np.eye(d)[:, [*range(d), draw(st.integers(0, d - 1))]]
        S1, S2, shift = copy.T @ S1 @ copy, copy.T @ S2 @ copy, shift @ copy
    assume(shift.any())
    return Problem(shift, np.zeros(len(shift)), S1, S2, draw(priors(1.3)))


@st.composite
def far_apart(draw):
    """Means up to a hundred deviations apart; errors down to 1e-1000 and less."""
    return draw(regular(draw(DIMENSIONS), size=10.0 ** draw(st.floats(0.5, 2))))


@st.composite
def one_dimension(draw):
    """Variances and priors of very different sizes."""
    v1, v2 = draw(exponents(-6, 6)), draw(exponents(-6, 6))
    shift = draw(st.floats(0.01, 30)) * np.sqrt(v1 + v2)
    p1 = draw(priors(9.0))
    sign = draw(st.sampled_from([-1, 1]))
    m1, m2 = np.array([sign * shift]), np.zeros(1)
    return Problem(m1, m2, np.array([[v1]]), np.array([[v2]]), p1)


@st.composite
def units(draw):
    """Features in units from 2**-40 to 2**40."""
    d = draw(st.integers(2, 6))
    p = draw(regular(d))
    powers = draw(st.lists(st.integers(-40, 40), min_size=d, max_size=d))
    u = 2.0 ** np.array(powers)
    return Problem(
        p.m1 * u, p.m2 * u, *(S * u * u[:, None] for S in (p.S1, p.S2)), p.p1
    )


KINDS = {
    "regular": DIMENSIONS.flatmap(regular),
    "ill-conditioned": ill_conditioned(),
    "offset": offset(),
    "imbalanced": imbalanced(),
    "nearly equal covariances": nearly_equal(),
    "nearly equal means": near_means(),
    "singular": singular(),
    "far apart": far_apart(),
    "one dimension": one_dimension(),
    "units": units(),
}
