"""Random problems and an independent evaluation of rules, for several test files."""

import warnings
from fractions import Fraction
from itertools import combinations
from types import SimpleNamespace

import numpy as np
from scipy.special import ndtr

from heterolda import ClassStatistics, GaussianLinearDiscriminant
from heterolda.exceptions import TrivialRuleWarning
from heterolda.search.algorithm2 import grid_weights

# With this count the divisor n - 1 is a power of two, so that turning covariances into
# scatter and back is exact and a reference sees the same float64 matrices.
COUNT = 1025


def statistics_of(problem):
    """Class statistics of a `reference.Problem`."""
    return ClassStatistics.from_moments(
        [0, 1],
        [COUNT, COUNT],
        np.stack([problem.m1, problem.m2]),
        np.stack([problem.S1, problem.S2]),
    )


def fit(problem, solver="global"):
    """A discriminant of a `reference.Problem`, fitted without a warning."""
    model = GaussianLinearDiscriminant(solver=solver, priors=[problem.p1, problem.p2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrivialRuleWarning)
        return model.fit_statistics(statistics_of(problem))


def random_covariance(rng, d, condition=100.0):
    """A rotated covariance with eigenvalues between 1 / condition and 1."""
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    cov = (rotation * condition ** -rng.uniform(0, 1, d)) @ rotation.T
    return 0.5 * (cov + cov.T)


def random_pairs(rng, n, d, condition=100.0):
    """Means, covariances, priors and weights of n pairs of classes."""
    means = rng.normal(size=(n, 2, d))
    cov = np.array(
        [[random_covariance(rng, d, condition) for _ in range(2)] for _ in range(n)]
    )
    p1 = rng.uniform(0.05, 0.95, n)
    weights = rng.integers(10, 1000, (n, 2)).astype(float)
    return means, cov, np.column_stack([p1, 1 - p1]), weights


def rates_of_rule(coef, intercept, means, cov):
    """Error rates of a stored rule, from their definition."""
    deviations = np.sqrt(np.einsum("i,kij,j->k", coef, cov, coef))
    return ndtr([1, -1] * (means @ coef + intercept) / deviations)


def error_of_rule(coef, intercept, means, cov, priors):
    """Equation (9) for a stored rule; coef = 0 is a constant answer."""
    if not np.any(coef):
        return priors[0] if intercept > 0 else priors[1]
    return priors @ rates_of_rule(coef, intercept, means, cov)


def votes_of(scores, weights, n_classes):
    """Yield the votes for each class, in exact arithmetic, and its sum of scores."""
    for row in scores.tolist():
        votes, sums = [Fraction(0)] * n_classes, [0.0] * n_classes
        pairs = combinations(range(n_classes), 2)
        for s, w, (i, j) in zip(row, weights.tolist(), pairs, strict=True):
            votes[j if s > 0 else i] += Fraction(w)
            sums[j] += s
            sums[i] -= s
        yield votes, sums


def winners_of(scores, weights, n_classes):
    """Return winners by votes, then by sums of scores, then by order."""
    return [
        max(range(n_classes), key=lambda k: (votes[k], sums[k], -k))
        for votes, sums in votes_of(scores, weights, n_classes)
    ]


def shrunk_moments(X, y, weight, to_pooled, to_diagonal, divisors, kept):
    """Means, covariances and the pooled one, given divisors and a target's diagonal."""
    classes = range(len(divisors))
    means = np.array([np.average(X[y == k], 0, weight[y == k]) for k in classes])
    T = [((X - means[k]).T * (weight * (y == k))) @ (X - means[k]) for k in classes]
    P = (1 - to_diagonal) * sum(T) / divisors.sum() + to_diagonal * np.diag(kept)
    shares = np.broadcast_to(to_pooled, len(divisors))
    S = [(1 - g) * T[k] / divisors[k] + g * P for k, g in enumerate(shares)]
    return means, np.array(S), P


def arc_score(x, m1, m2, mixed, share):
    """Score of a row, whose rule is at a share of the distance, and this distance."""
    w = np.linalg.solve(mixed, m2 - m1)
    distance = w @ (m2 - m1)
    return w @ (x - m2) + share * distance, distance


def lda_score(x, m1, m2, pooled, ratio):
    """Score of a row by linear discriminant analysis, given the ratio of the priors."""
    w = np.linalg.solve(pooled, m2 - m1)
    return w @ (x - (m1 + m2) / 2) + np.log(ratio)


def is_first(X, v):
    """The rule w.x >= w0, with w.x added up column by column."""
    total = v[1] * X[:, 0]
    for k in range(1, X.shape[1]):
        total = total + v[k + 1] * X[:, k]
    return total >= v[0]


def count_errors(X, first, weight, v):
    wrong = is_first(X, v) != first
    return np.count_nonzero(wrong) if weight is None else np.sum(weight[wrong])


def literal_search(X, first, weight, v, step, max_iter, patience):
    """Algorithm 2 as it stands in the paper: every neighbor evaluated from scratch."""
    if weight is not None:
        multiples, unit = grid_weights(weight)
        weight = unit * multiples
    current = np.array(v, dtype=float)
    history = [count_errors(X, first, weight, current)]
    best, fewest, stalled = current, history[0], 0
    while len(history) < max_iter and stalled < patience and fewest > 0:
        neighbors = []
        for i in range(len(current)):
            for sign in (1, -1):
                neighbor = current.copy()
                neighbor[i] = current[i] + sign * (step * abs(current[i]))
                neighbors.append(neighbor)
        errors = [count_errors(X, first, weight, u) for u in neighbors]
        current = neighbors[np.argmin(errors)]
        history.append(min(errors))
        stalled += 1
        if history[-1] < fewest:
            best, fewest, stalled = current, history[-1], 0
    return SimpleNamespace(v=best, errors=fewest, history=history)


def random_problem(rng):
    """Small problems of all the kinds that are hard to get right to the last count."""
    d, n = (
        rng.integers(1, 9),
        rng.choice([rng.integers(2, 150), rng.integers(150, 900)]),
    )
    first = rng.random(n) < rng.uniform(0.2, 0.8)
    center = rng.normal(size=d) * rng.choice([0.3, 1.0])
    X = rng.normal(size=(n, d)) + np.where(first[:, None], center, -center)
    v = np.append(rng.normal() * rng.choice([0, 0.1, 1]), center + rng.normal(size=d))
    kind = rng.choice(["plain", "integers", "all integers", "scaled", "offset"])
    if "integers" in kind:
        X = np.round(rng.choice([1, 3]) * X)
    if kind == "all integers":
        v = np.round(3 * v)
    if kind == "scaled":
        X *= 10.0 ** rng.integers(-150, 150, size=d)
        v[1:] /= np.abs(X).max(axis=0)
    if kind == "offset":
        X += 1000
        v[0] += 1000 * v[1:].sum()
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = rng.integers(-1, 2)
    if rng.random() < 0.2:
        v[rng.integers(d + 1)] = 0
    if rng.random() < 0.2:
        copies = rng.integers(n, size=n)
        X, first = X[copies], first[copies]
    if rng.random() < 0.1:
        first = is_first(X, v)
    weight = None
    if rng.random() < 0.4:
        weight = rng.choice([rng.random(n), rng.integers(0, 4, n).astype(float)])
    return X, first, weight, v


def random_settings(rng):
    return {
        "step": rng.choice([0.1, 0.01, 0.25, 0.5, 1.0, 3.0]),
        "max_iter": int(rng.choice([1, 2, 60])),
        "patience": int(rng.choice([1, 5, 40])),
    }


def wide_rows(rng, d=150):
    """Rows and labels of four classes, fewer than features, one of these constant."""
    y = np.repeat([0, 1, 2, 3], [14, 18, 22, 26])
    X = rng.normal(size=(len(y), d)) * (1 + 0.3 * y[:, None])
    X += X[:, :1] + 0.5 * rng.normal(size=(4, d))[y]
    X = X * 10 ** rng.uniform(-2, 2, d) + rng.normal(size=d)
    X[:, 7] = 3.0
    return X, y


def on_a_line(rng, means, n=50):
    """Rows of classes with one feature, and their labels."""
    y = np.repeat(np.arange(len(means)), n)
    return (rng.normal(size=len(y)) + np.array(means)[y])[:, None], y
