"""Subspaces of Gaussian classes against naive references, and their properties."""

import numpy as np
import pytest
from scipy.linalg import logm, sqrtm
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from helpers.problems import random_covariance
from heterolda import ClassStatistics
from heterolda.exceptions import ParameterError
from heterolda.subspaces import QuadraticRule, find_subspace
from heterolda.subspaces.bound import BhattacharyyaBound
from heterolda.subspaces.classes import WhitenedClasses
from heterolda.subspaces.methods import descend

METHODS = ["error", "chernoff", "fisher"]


def random_classes(rng, k=4, d=5, spread=1.0):
    """Means, covariances, priors and weights of k classes."""
    cov = np.array([random_covariance(rng, d, 30.0) for _ in range(k)])
    priors = rng.dirichlet(np.full(k, 5.0))
    return spread * rng.normal(size=(k, d)), cov, priors, 500.0 * priors + 20


def naive_bound(A, moments):
    """Return the sum of Bhattacharyya's bounds on the errors of all pairs."""
    (means, cov, priors), total = moments[:3], 0.0
    for i in range(len(priors)):
        for j in range(i + 1, len(priors)):
            Si, Sj = A.T @ cov[i] @ A, A.T @ cov[j] @ A
            S, shift = (Si + Sj) / 2, A.T @ (means[i] - means[j])
            distance = shift @ np.linalg.solve(S, shift) / 8
            distance += 0.5 * np.log(
                np.linalg.det(S) / np.sqrt(np.linalg.det(Si) * np.linalg.det(Sj))
            )
            total += np.sqrt(priors[i] * priors[j]) * np.exp(-distance)
    return total


@pytest.mark.parametrize("priors", [None, [0.1, 0.2, 0.3, 0.4]])
def test_fisher_is_linear_discriminant_analysis(make_classes, priors):
    X, y = make_classes(4, n=30, d=6)
    X, y = X[10:], y[10:]  # classes of different sizes
    stats = ClassStatistics.from_data(X + 100, y)
    share = stats.weights / stats.weights.sum() if priors is None else np.array(priors)
    moments = stats.means, stats.covariances(0), share, stats.weights
    lda = LinearDiscriminantAnalysis(priors=priors).fit(X + 100, y)
    for n in (1, 3):
        ours = find_subspace(*moments, n, "fisher").project(X + 100)
        peer = lda.transform(X + 100)[:, :n]
        peer = peer - peer.mean(axis=0)
        ours = ours - ours.mean(axis=0)
        signs = np.sign((ours * peer).sum(axis=0))
        scale = np.sqrt((ours**2).sum(axis=0) / (peer**2).sum(axis=0))
        assert np.allclose(ours, peer * signs * scale, atol=1e-8)


def test_chernoff_is_that_of_loog_and_duin(rng):
    means, cov, priors, weights = random_classes(rng)
    W = np.tensordot(priors, cov, axes=1)
    half = np.linalg.inv(sqrtm(W))
    total = 0
    for i in range(4):
        for j in range(i + 1, 4):
            a = priors[i] / (priors[i] + priors[j])
            b = 1 - a
            Si, Sj = half @ cov[i] @ half, half @ cov[j] @ half
            root = np.linalg.inv(sqrtm(a * Si + b * Sj))
            shift = root @ half @ (means[i] - means[j])
            logs = logm(a * Si + b * Sj) - a * logm(Si) - b * logm(Sj)
            pair = np.outer(shift, shift) + logs / (a * b)
            total = total + priors[i] * priors[j] * pair
    naive = half @ np.linalg.eigh(total)[1][:, ::-1]
    for n in (1, 2, 4):
        A = find_subspace(means, cov, priors, weights, n, "chernoff").scalings
        A, B = np.linalg.qr(A)[0], np.linalg.qr(naive[:, :n])[0]
        assert np.allclose(A @ A.T, B @ B.T, atol=1e-6)


@pytest.mark.parametrize("batch", [40, 1 << 22])
def test_the_bound_and_its_gradient(rng, monkeypatch, batch):
    monkeypatch.setattr("heterolda.subspaces.bound.BATCH_SIZE", batch)
    moments = random_classes(rng)
    classes = WhitenedClasses.from_moments(*moments)
    bound = BhattacharyyaBound(classes)
    for n in (1, 3, 5):
        A = rng.normal(size=(5, n))
        naive = [
            naive_bound((classes.basis @ A)[:, :m], moments) for m in range(1, n + 1)
        ]
        nothing = (np.sqrt(moments[2]).sum() ** 2 - 1) / 2
        assert np.allclose(np.exp(bound.logs(A)), [nothing, *naive], rtol=1e-9)
        log, slope = bound.log_and_gradient(A)
        assert np.isclose(np.exp(log), naive[-1], rtol=1e-9)
        # Only the span matters, so the gradient is orthogonal to changes of axes.
        turned = A @ rng.normal(size=(n, n))
        assert np.isclose(bound.log_and_gradient(turned)[0], log, rtol=1e-9)
        assert np.abs(A.T @ slope).max() < 1e-10
        step = rng.normal(size=A.shape)
        ends = [bound.log_and_gradient(A + h * step)[0] for h in (1e-5, -1e-5)]
        assert np.isclose((ends[0] - ends[1]) / 2e-5, (slope * step).sum(), atol=1e-7)


def test_error_has_the_least_bound(rng):
    for _ in range(8):
        k, d = rng.integers(2, 7), int(rng.integers(2, 9))
        moments = random_classes(rng, k, d, spread=rng.choice([0.0, 0.3, 1.0, 3.0]))
        n = int(rng.integers(1, d + 1))
        ours = naive_bound(find_subspace(*moments, n).scalings, moments)
        rivals = [find_subspace(*moments, n, "chernoff").scalings]
        if n < k:
            rivals.append(find_subspace(*moments, n, "fisher").scalings)
        rivals += [rng.normal(size=(d, n)) for _ in range(3)]
        for rival in rivals:
            assert ours <= naive_bound(rival, moments) * (1 + 1e-9)


def test_without_time_for_descents_the_best_start_is_returned(rng, monkeypatch):
    monkeypatch.setattr("heterolda.subspaces.methods._WORK", 0)
    moments = random_classes(rng)
    ours, *rivals = (
        naive_bound(find_subspace(*moments, 2, method).scalings, moments)
        for method in METHODS
    )
    assert ours <= min(rivals) * (1 + 1e-9)


def test_descents_go_on_after_steps_that_are_too_long(rng, monkeypatch):
    bound = BhattacharyyaBound(WhitenedClasses.from_moments(*random_classes(rng)))
    plain = bound.log_and_gradient
    calls = iter(range(1000))

    def failing(A):
        call = next(calls)
        if call % 5 == 2:
            raise np.linalg.LinAlgError
        log, slope = plain(A)
        return (np.nan if call % 5 == 4 else log), slope

    start = np.linalg.qr(rng.normal(size=(5, 2)))[0]
    monkeypatch.setattr(bound, "log_and_gradient", failing)
    end = bound.logs(descend(bound, start))[-1]
    assert end < bound.logs(start)[-1] - 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_components_are_white_within_classes_and_explained(rng, method):
    moments = _, cov, priors, weights = random_classes(rng, k=6)
    subspace = find_subspace(*moments, 5, method)
    freedom = (weights - 1) / (weights - 1).sum()
    within = (
        subspace.scalings.T @ np.tensordot(freedom, cov, axes=1) @ subspace.scalings
    )
    assert np.allclose(within, np.eye(5), atol=1e-9)
    bounds = [naive_bound(subspace.scalings[:, :n], moments) for n in range(1, 6)]
    nothing = (np.sqrt(priors).sum() ** 2 - 1) / 2
    steps = -np.diff([nothing, *bounds]) / (nothing - bounds[-1])
    assert np.allclose(subspace.explained, steps, atol=1e-9)
    assert np.isclose(subspace.explained.sum(), 1)
    if method == "error":  # the first axis is nearly the best alone
        best = find_subspace(*moments, 1).explained[0]
        assert np.isclose(subspace.explained[0], best, atol=0.02)


def test_lda_comes_first_and_then_the_best_axes_of_the_method(rng):
    moments = random_classes(rng)
    lda = find_subspace(*moments, 3, "fisher").scalings
    for method in ("error", "chernoff"):
        subspace = find_subspace(*moments, 4, method, to_pooled=1).scalings
        assert np.allclose(np.abs(subspace[:, :3]), np.abs(lda))
        axis = find_subspace(*moments, 4, method, to_pooled=0.9).scalings[:, 0]
        assert np.allclose(subspace @ np.linalg.lstsq(subspace, axis)[0], axis)


def test_loadings_are_the_best_linear_prediction(rng):
    X = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4)) + 5
    y = rng.integers(0, 3, 300)
    X[y == 1] += 2
    stats = ClassStatistics.from_data(X, y)
    share = stats.weights / 300
    moments = stats.means, stats.covariances(0), share, stats.weights
    subspace = find_subspace(*moments, 2)
    # Pooled with n - K instead of n rows, the total covariance is that of these rows.
    spread = np.sqrt(300 / 297)
    rows = np.concatenate(
        [(X[y == k] - stats.means[k]) * spread + stats.means[k] for k in range(3)]
    )
    naive = np.linalg.lstsq(subspace.project(rows), rows - subspace.mean, rcond=None)[0]
    assert np.allclose(subspace.loadings, naive)


def test_directions_without_variance_do_not_count(rng):
    means, cov, priors, weights = random_classes(rng, d=3)
    # A constant feature, and one that is the sum of two others.
    grow = np.array([[1.0, 0, 0, 0, 1], [0, 1, 0, 0, 1], [0, 0, 1, 0, 0]])
    moments = means @ grow, grow.T @ cov @ grow, priors, weights
    plain = find_subspace(means, cov, priors, weights, 2)
    subspace = find_subspace(*moments, 2)
    rows = rng.normal(size=(10, 3))
    projected = np.abs(subspace.project(rows @ grow))
    assert np.allclose(projected, np.abs(plain.project(rows)), atol=1e-5)
    with pytest.raises(ParameterError, match="3 directions in which rows vary"):
        find_subspace(*moments, 4)
    with pytest.raises(ParameterError, match="number of features, 5"):
        find_subspace(*moments, 6)
    with pytest.raises(ParameterError, match="at most 3 directions"):
        find_subspace(*random_classes(rng), 4, "fisher")
    with pytest.raises(ValueError, match="no feature varies"):
        find_subspace(np.full((4, 5), 0.1), np.zeros((4, 5, 5)), priors, weights)
    # The mean of a constant feature is rounded in each class.
    moments[0][:, 3] = 1e3 + 1e-13 * np.arange(4)
    subspace = find_subspace(*moments, 2)
    assert np.all(subspace.scalings[3] == 0)


def test_a_class_without_variance_in_a_direction(rng):
    means, cov, priors, weights = random_classes(rng)
    cov[0] = np.diag([1.0, 2, 3, 4, 0])
    for method in METHODS:
        subspace = find_subspace(means, cov, priors, weights, 2, method)
        assert np.isfinite(subspace.scalings).all()
        assert 0 < subspace.explained.sum() <= 1 + 1e-12


def test_the_number_of_components_is_that_of_lda_but_at_least_two(rng):
    for k, d, expected in ((2, 5, 2), (3, 5, 2), (4, 5, 3), (4, 2, 2), (2, 1, 1)):
        moments = random_classes(rng, k, d)
        assert find_subspace(*moments).scalings.shape == (d, expected)
        fisher = find_subspace(*moments, method="fisher")
        assert fisher.scalings.shape == (d, min(k - 1, d))


def test_equal_distant_and_rare_classes(rng):
    means, cov, priors, weights = random_classes(rng)
    same = np.ones_like(means), np.broadcast_to(cov[0], cov.shape), priors, weights
    for method in METHODS:
        subspace = find_subspace(*same, 2, method)
        assert np.all(subspace.explained < 1e-9)
        assert np.isfinite(subspace.scalings).all()
    far = find_subspace(1e8 * means, cov, priors, weights, 2)
    assert np.isfinite(far.scalings).all()
    assert 0 <= far.explained.sum() <= 1 + 1e-12
    rare = np.array([1 - 3e-9, 1e-9, 1e-9, 1e-9])
    subspace = find_subspace(means, cov, rare, 1e12 * rare, 2)
    rival = find_subspace(means, cov, rare, 1e12 * rare, 2, "chernoff")
    bounds = [
        naive_bound(one.scalings, (means, cov, rare)) for one in (subspace, rival)
    ]
    assert bounds[0] <= bounds[1] * (1 + 1e-9)


def test_the_quadratic_rule_takes_the_likeliest_class(rng):
    means, cov, priors, _ = random_classes(rng, d=2)
    X = rng.normal(size=(50, 2))
    naive = [
        np.log(p) + multivariate_normal(m, S).logpdf(X)
        for p, m, S in zip(priors, means, cov, strict=True)
    ]
    rule = QuadraticRule(means, cov, priors)
    logs = rule.log_densities(X) - np.log(2 * np.pi)
    assert np.allclose(logs, np.transpose(naive))
    assert np.array_equal(rule.winners(X), np.argmax(naive, axis=0))
