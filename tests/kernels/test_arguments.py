"""Compiled kernels reject arguments that do not fit, whatever Python passes."""

from itertools import product

import numpy as np
import pytest

from heterolda import kernels as package

compiled = package.compiled
if compiled is None:
    pytest.skip("nothing was compiled", allow_module_level=True)

N, D, K, P = 8, 2, 3, 3  # rows, features, classes, pairs
X, CODES, ROWS = np.ones((N, D)), np.zeros(N, np.int64), np.arange(N)
RULES = np.ones((P, D)), np.ones(P)
PAIRS = np.array([[0, 1], [0, 2], [1, 2]])
SIDES, ENDS = np.ones((2, P)), np.ones(P)
NORMALS = np.ones(D), np.eye(D), np.eye(D)
CURVE = SIDES, SIDES, ENDS, -ENDS, ENDS, SIDES
FIRST = np.ones(N, bool)


def search(d, n, state, step=0.1):
    """Return the arguments of a search."""
    block = compiled.algorithm2_block(X, FIRST, None)
    log, changes = np.zeros((2, n), np.int64), np.zeros(2 * d + 2, np.int64)
    return block, np.ones(d + 1), changes, np.array(state), log, step, 4.0, 9, 5


def moments(codes, X=X):
    """Return the arguments of the moments of classes."""
    sums = np.zeros(K), np.zeros((K, D)), np.zeros((K, D, D))
    return X, None, codes, None, *sums, 0.0, np.zeros(1, np.int64)


def counts(order=ROWS, bounds=(0, 3, 5, N), classes=PAIRS):
    """Return the arguments of the counts of errors."""
    flags = np.ones(K, bool), classes, np.ones(P, bool)
    rows = X, None, order, np.array(bounds), *flags
    return *rows, *RULES, *RULES, np.zeros((P, 2, 3))


def coupled(scores=None, rows=None, weight=None, most=700.0, k=K, votes=None):
    """Return the arguments of coupled probabilities."""
    rules = (None, None) if rows is None else RULES
    inputs = scores, rows, *rules, weight
    return *inputs, *CURVE, most, 1e-9, np.zeros((N, k)), votes


def pairs(pairs=PAIRS[:1], gap=1e-3, whitening=None):
    """Return the arguments of the solver of pairs."""
    inputs = np.zeros((K, D)), np.array([np.eye(D)] * K), np.ones(K), pairs
    n = len(pairs)
    numbers = [np.zeros(shape) for shape in ((n, D), n, n, n, (n, 2), (n, 2))]
    counted = [np.zeros(n, np.int64) for _ in range(3)]
    fisher = np.zeros((n, 2), bool), np.zeros((n, D)), np.zeros(n)
    priors = np.full((n, 2), 0.5)
    outcome = np.zeros(n, np.uint8)
    return *inputs, priors, gap, whitening, *numbers, *counted, *fisher, outcome


def path(n_first=3, start=3, moments=NORMALS):
    """Return the arguments of a descent."""
    rows = np.ones((D, N)), n_first, np.ones(N) / N, *moments
    return *rows, np.ones(1), np.ones(start), 1e-6, 9, np.zeros((1, 3)), np.zeros(1)


def winners(k=K):
    """Return the arguments of the winners of votes."""
    ballot = ENDS, np.ones(k), np.ones((k, D)), np.ones(k)
    return X, *RULES, *ballot, np.zeros(N, np.int64)


GOOD = {
    "algorithm2_errors": (X, FIRST, None, np.ones(D + 1)),
    "algorithm2_run": search(D, 9, [1, 9, 9, 0]),
    "class_moments": moments(CODES),
    "couple": coupled(scores=np.ones((N, P))),
    "ordered_scores": (X, *RULES, np.zeros((N, P))),
    "rule_counts": counts(),
    "smoothed_path": path(),
    "solve_pairs": pairs(),
    "vote_winners": winners(),
}
BAD = {
    "algorithm2_errors": [(X, FIRST, None, np.ones(D))],
    "algorithm2_run": [
        search(D, 3, [1, 9, 9, 0]),  # the log is too short
        search(D + 1, 9, [1, 9, 9, 0]),
        *[search(D, 9, [1, 9, 9, 0], step) for step in (0.0, -1.0, np.nan, np.inf)],
        *[
            search(D, 9, state)
            for state in ([-1, 9, 9, 0], [9, 9, 9, 0], [1, 9, 9, -1])
        ],
    ],
    "class_moments": [
        *[moments(CODES + k) for k in (-1, K, 2**62)],
        moments(CODES, X=None),
    ],
    "couple": [
        coupled(),
        (None, X, None, *coupled(weight=ENDS)[3:]),
        coupled(scores=np.ones((N, P)), votes=np.zeros((N, K))),
        *[coupled(scores=np.ones((N, P)), most=most) for most in (800.0, np.nan)],
        coupled(scores=np.ones((N, P)), k=K - 1),
    ],
    "rule_counts": [
        counts(order=ROWS + 1),
        *[counts(bounds=bounds) for bounds in ((N, 5, 3, 0), (0, 5, N))],
        *[counts(classes=classes) for classes in (PAIRS + 1, PAIRS - 2)],
    ],
    "smoothed_path": [
        *[path(n_first=n) for n in (-1, N + 1)],
        path(start=2),
        path(moments=(np.ones(D), None, None)),
    ],
    "solve_pairs": [
        *[pairs(pairs=np.array([pair])) for pair in ([0, K], [-1, 1])],
        *[pairs(gap=gap) for gap in (1e-9, np.nan)],
        pairs(whitening=np.zeros((1, 2, 3))),
    ],
    "vote_winners": [(X, *RULES, ENDS, np.ones(4), np.ones((K, D)), np.ones(K), CODES)],
}


@pytest.mark.parametrize("name", GOOD)
def test_arrays_that_do_not_fit_are_rejected(name):
    kernel, good = getattr(compiled, name), GOOD[name]
    kernel(*good)
    arrays = [k for k, value in enumerate(good) if isinstance(value, np.ndarray)]
    for k, spoil in product(
        arrays,
        (
            lambda a: a.astype(np.complex128),
            lambda a: a[..., None],
            lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
            lambda a: a.tolist(),
        ),
    ):
        if good[k].size > 1:
            with pytest.raises((ValueError, TypeError)):
                kernel(*good[:k], spoil(good[k]), *good[k + 1 :])
    with pytest.raises(TypeError, match="arguments are needed"):
        kernel(*good[:-1])
    if isinstance(good[-1], np.ndarray) and good[-1].dtype == float:
        shared = [good[-1] if k in arrays[:1] else a for k, a in enumerate(good)]
        with pytest.raises(ValueError, match="must be"):
            kernel(*shared)


@pytest.mark.parametrize("name", BAD)
def test_values_that_do_not_fit_are_rejected(name):
    for arguments in BAD[name]:
        with pytest.raises(ValueError, match=r"must|need|out of range|do not fit"):
            getattr(compiled, name)(*arguments)
