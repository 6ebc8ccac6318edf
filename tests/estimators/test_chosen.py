"""The rows choose on the curve of optimal rules."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigvalsh
from sklearn.covariance import LedoitWolf

from helpers.problems import rates_of_rule, shrunk_moments
from helpers.scores import N_EDGES, smoothed
from heterolda import ClassStatistics
from heterolda import GaussianLinearDiscriminant as GLD
from heterolda.exceptions import ModelMisfitWarning, ParameterError

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::heterolda.exceptions.{name}")
    for name in ("ModelMisfitWarning", "SmallClassWarning", "TrivialRuleWarning")
]


def skewed(rng, n=(300, 200), d=4):
    """Two classes that are far from Gaussian."""
    y = rng.permutation(np.repeat([0, 1], n))
    X = rng.gamma(0.4, size=(len(y), d)) * np.exp(rng.normal(size=(2, d)))[y]
    return X + 0.3 * rng.normal(size=(2, d))[y], y


def angle_of(model, m, S):
    """Position of the rule of a model on the arc of its moments."""
    w, w0 = -model.coef_[0], model.intercept_[0]
    cos = (w @ m[0] - w0) / (w @ S[0] @ w)
    return np.arctan2((w0 - w @ m[1]) / (w @ S[1] @ w), cos)


def naive_scores(X, y, weight, m, S, priors, angles):
    """Scores of left-out rows in units; divisors and angles are kept."""
    scores = [[], []]
    for row, k in enumerate(y):
        less = np.where(np.arange(len(y)) == row, 0.0, weight)
        means, C, _ = shrunk_moments(X, y, less, 0, 0, np.bincount(y, weight) - 1, [0])
        line = []
        for angle in angles:
            M, N = (np.cos(angle) * A[0] + np.sin(angle) * A[1] for A in (S, C))
            before = np.linalg.solve(M, m[0] - m[1])
            w = np.linalg.solve(N, means[0] - means[1])
            scale = before @ (m[0] - m[1]) / (w @ (means[0] - means[1]))
            unit = np.sqrt(before @ np.tensordot(priors, S, 1) @ before)
            score = w @ (X[row] - means.mean(axis=0)) * np.sqrt(max(scale, 0)) / unit
            regular = np.linalg.eigvalsh(N)[0] > 0 and scale > 0
            line.append(score if regular else np.inf * (2 * k - 1))
        scores[k].append(line)
    return [np.array(part) for part in scores]


def naive_choice(X, y, weight, criterion):
    """Rule and error rates of the point that left-out rows choose."""
    total = np.bincount(y, weight)
    m, S, _ = shrunk_moments(X, y, weight, 0, 0, total - 1, [0])
    model = GLD(choose_on="model", **criterion).fit(X, y, weight)
    p, own = total / total.sum(), angle_of(model, m, S)
    if "costs" in criterion:
        p = p * [criterion["costs"][0][1], criterion["costs"][1][0]]
        p /= p.sum()
    zeros = np.arctan(eigvalsh(S[1], S[0]))
    low, high = zeros.max() - np.pi / 2, zeros.min() + np.pi / 2
    x = 1 / (1 + np.exp(-np.linspace(-4.5, 4.5, 15)))
    angles = np.sort(np.append(low + (high - low) * x, own))
    optimum = int(np.searchsorted(angles, own))
    scores = naive_scores(X, y, weight, m, S, p, angles)
    weights = [weight[y == k] for k in range(2)]
    w = np.array(
        [
            np.linalg.solve(np.cos(a) * S[0] + np.sin(a) * S[1], m[0] - m[1])
            for a in angles
        ]
    )
    unit = np.sqrt(np.einsum("gi,kij,gj,k->g", w, S, w, p))
    center = 0.5 * w @ (m[0] - m[1]) / unit
    start, step, F = smoothed(scores, weights, (center, -center))
    rates = F[0], 1 - F[1]

    def value(first, second):
        if criterion.get("criterion") == "minimax":
            return max(first, second)
        if criterion.get("criterion") == "neyman-pearson":
            q = criterion["max_error"][1]
            return first if second <= q else 1 + second
        return p[0] * first + p[1] * second

    best = np.inf, 0, 0
    for g in range(16):
        near = slice(max(g - 1, 0), g + 2)
        for b in range(N_EDGES):
            found = value(*(r[near, b].mean() for r in rates))
            best = min(best, (found, g, b))
    least, g, b = best
    t = start + step * b
    share, own = p, [r[optimum] for r in rates]
    if criterion.get("criterion"):  # the optimum has its best threshold
        share, place = np.ones(2), np.argmin(list(map(value, *own)))
    else:
        means = model.coef_[0] @ m.T + model.intercept_[0]
        D = w[optimum] @ (m[0] - m[1]) / unit[optimum]
        place = (means.mean() / np.diff(means)[0] * D - start) / step
    there = [np.interp(place, np.arange(N_EDGES), r) for r in own]
    n = [u.sum() ** 2 / (u @ u) for u in weights]
    error = np.sqrt(
        sum(share[k] ** 2 * abs(rates[k][g, b] - there[k]) / n[k] for k in range(2))
    )
    if value(*there) - least <= error:
        t = start + step * place
        return -w[optimum], w[optimum] @ m.mean(0) + unit[optimum] * t, there
    return -w[g], w[g] @ m.mean(0) + unit[g] * t, [r[g, b] for r in rates]


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    "criterion",
    [
        {},
        {"costs": [[0, 2], [1, 0]]},
        {"criterion": "minimax"},
        {"criterion": "neyman-pearson", "max_error": {1: 0.2}},
    ],
)
def test_the_point_is_that_of_refits_and_loops(rng, criterion):
    moved = []
    for weighted in (False, True, False):
        X, y = skewed(rng, (16, 11), 2)
        X[y == 1] += 2 * X.std(axis=0)
        weight = rng.choice([1.0, 1.5], len(y)) if weighted else np.ones(len(y))
        model = GLD(shrinkage=0.0, **criterion).fit(X, y, weight)
        coef, intercept, rates = naive_choice(X, y, weight, criterion)
        found = np.append(model.coef_[0], model.intercept_[0])
        expected = np.append(coef, intercept)
        expected *= np.linalg.norm(found) / np.linalg.norm(expected)
        assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(found).max())
        assert_allclose(model.left_out_error_rates_[0], rates, atol=1e-5)
        error = model.priors_ @ model.left_out_error_rates_[0]
        assert_allclose(model.left_out_error_[0], error)
        moved.append(model.chosen_on_rows_[0])
        assert np.isnan(model.gap_[0]) == moved[-1]
    assert any(moved) or not criterion


@pytest.mark.parametrize("d", [2, 40])
def test_order_units_axes_and_names_do_not_matter(rng, d):
    X, y = skewed(rng, (150, 90) if d == 2 else (30, 25), d)
    settings = {"shrinkage": 0.0} if d == 2 else {}
    score = GLD(**settings).fit(X, y).decision_function(X)
    order = rng.permutation(len(y))
    shuffled = X[order]
    axes = np.linalg.qr(rng.normal(size=(d, d)))[0] if d == 2 else np.eye(d)
    scaled = X * np.exp(rng.normal(size=d)) + 10
    for rows, labels, sign in (
        (shuffled, y[order], 1),
        (scaled, y, 1),
        (X @ axes, y, 1),
        (X, 1 - y, -1),
    ):
        other = sign * GLD(**settings).fit(rows, labels).decision_function(rows)
        if rows is shuffled:
            other = other[np.argsort(order)]
        assert_allclose(other, score, rtol=1e-4, atol=1e-4 * np.abs(score).max())


@pytest.mark.parametrize("equal", [True, False])
def test_little_is_lost_where_classes_are_gaussian(rng, equal):
    lost = []
    for _ in range(8):
        A = rng.normal(size=(2, 3, 3))
        S = A @ A.mT + 0.3 * np.eye(3)
        S[1] = S[0] if equal else S[1]
        means = np.array([np.zeros(3), 1.5 * np.sqrt(np.diag(S[0]))])
        y = np.arange(400) % 2
        X = np.einsum("nij,nj->ni", np.linalg.cholesky(S)[y], rng.normal(size=(400, 3)))
        X += means[y]
        rates = [
            rates_of_rule(model.coef_[0], model.intercept_[0], means, S).mean()
            for model in (GLD().fit(X, y), GLD(choose_on="model").fit(X, y))
        ]
        lost.append(rates[0] - rates[1])
    assert np.mean(lost) < 0.004  # .0002 in the mean


def test_rows_help_where_classes_are_not_gaussian(rng):
    """Also the larger of both error rates, and a bound."""
    gains, excess = [], []
    for _ in range(15):
        X, y = skewed(rng, (500, 300))
        new, truth = X[250:], y[250:]
        rates = []
        for choose_on in ("rows", "model"):
            settings = {"choose_on": choose_on, "priors": "equal"}
            plain = GLD(**settings).fit(X[:250], y[:250])
            level = GLD(criterion="minimax", **settings).fit(X[:250], y[:250])
            bound = {"criterion": "neyman-pearson", "max_error": {1: 0.1}}
            bounded = GLD(**settings, **bound).fit(X[:250], y[:250])
            wrong = [
                [np.mean(m.predict(new[truth == k]) != k) for k in (0, 1)]
                for m in (plain, level, bounded)
            ]
            rates.append([np.mean(wrong[0]), max(wrong[1]), abs(wrong[2][1] - 0.1)])
        gains.append(np.subtract(rates[1], rates[0]))
        excess.append(rates[0][2])
    assert (np.mean(gains, axis=0) > -0.01).all()
    assert np.mean(gains) > 0
    assert np.mean(excess) < 0.06


def test_another_operating_point_is_the_best_on_the_curve(rng, tmp_path):
    X, y = skewed(rng)
    model = GLD().fit(X, y)
    curve = model._position.curve
    first, second = curve.F[0, 0], 1 - curve.F[0, 1]
    first, second = (
        np.array([r[max(g - 1, 0) : g + 2].mean(axis=0) for g in range(16)])
        for r in (first, second)
    )
    costs = 5 * 0.6 * first, 0.4 * second
    for point, value in (
        ({"costs": [[0, 5], [1, 0]], "priors": [0.6, 0.4]}, sum(costs)),
        ({"criterion": "minimax"}, np.maximum(first, second)),
        (
            {"criterion": "neyman-pearson", "max_error": {0: 0.05}},
            np.where(first <= 0.05, second, 2),
        ),
    ):
        moved = model.with_operating_point(**point)
        g, b = np.unravel_index(value.argmin(), value.shape)
        assert_allclose(moved.coef_[0], curve.coef[0, g], rtol=1e-9)
        t = curve.low[0] + b * curve.step[0]
        assert_allclose(
            moved.intercept_[0], curve.intercept[0, g] + curve.unit[0, g] * t
        )
        assert_allclose(
            moved.left_out_error_rates_[0],
            [curve.F[0, 0, g, b], 1 - curve.F[0, 1, g, b]],
        )
        again = moved.with_operating_point(**point)
        assert_allclose(again.coef_, moved.coef_)
    # More classes take the curve of the model.
    y = y + 2 * (rng.random(len(y)) < 0.3)
    moved = GLD().fit(X, y).with_operating_point(priors="equal")
    pure = GLD(choose_on="model", priors="equal").fit(X, y)
    assert_allclose(moved.coef_, pure.coef_, rtol=1e-6)


def test_few_rows_move_the_threshold_of_one_direction(rng):
    """The optimum for equal priors, and Gaussians with moments of left-out scores."""
    y = np.repeat([0, 1], (28, 20))
    X = rng.normal(size=(48, 30)) * (1 + y[:, None]) + 0.6 * y[:, None]
    model = GLD().fit(X, y)
    pure = GLD(choose_on="model", priors="equal").fit(X, y)
    assert_allclose(model.coef_, pure.coef_, rtol=1e-6)
    assert np.isnan(model.gap_).all()
    F, priors = model._position.curve.F[0], [28 / 48, 20 / 48]
    assert F.shape == (2, 1, N_EDGES)
    assert_allclose(
        model.left_out_error_[0], (priors @ np.array([F[0, 0], 1 - F[1, 0]])).min()
    )
    z = np.diff(F[:, 0, 40:120]) > 1e-9  # the normal deviates are lines
    assert z.any()
    assert model.with_operating_point("minimax").left_out_error_rates_[
        0
    ] == pytest.approx([np.maximum(F[0, 0], 1 - F[1, 0]).min()] * 2, abs=0.1)


@pytest.mark.parametrize("q", [0.1, 0.3])
def test_few_rows_keep_a_bound(rng, q):
    # A single direction was averaged with itself, at half its rate.
    y = np.arange(24) % 2
    X = rng.normal(size=(24, 15)) + 0.5 * y[:, None]
    bounded = GLD(criterion="neyman-pearson", max_error={1: q}).fit(X, y)
    assert 0.8 * q < bounded.left_out_error_rates_[0, 1] <= q


def test_pairs_with_few_rows_per_feature_keep_the_optimum(rng):
    y = np.repeat([0, 1, 2, 3], [200, 200, 12, 9])
    X = rng.gamma(0.3, size=(len(y), 8)) * (1 + y[:, None] % 2) + 0.2 * y[:, None]
    model, pure = GLD().fit(X, y), GLD(choose_on="model").fit(X, y)
    assert not model.chosen_on_rows_[-1]
    assert_array_equal(
        model.coef_[~model.chosen_on_rows_], pure.coef_[~model.chosen_on_rows_]
    )
    assert_allclose(model.gap_[-1], pure.gap_[-1])
    assert np.isfinite(model.left_out_error_).all()


def test_where_rows_cannot_be_left_out(rng):
    """Scores of training rows serve one-vs-rest, EM and covariance estimators."""
    X, y = skewed(rng)
    y4 = y + 2 * (X[:, 0] > np.median(X[:, 0]))
    holes = np.where(rng.random(X.shape) < 0.05, np.nan, X)
    for model, rows, labels in (
        (GLD(multiclass="ovr"), X, y4),
        (GLD(missing="em"), holes, y4),
        (GLD(covariance_estimator=LedoitWolf()), X, y4),
    ):
        model.fit(rows, labels)
        assert model.chosen_on_rows_.any()
        # Errors that were chosen on the rows are near those of the rows.
        assert np.isfinite(model.left_out_error_).all()
        assert (model.left_out_error_rates_ >= 0).all()
        assert (model.left_out_error_rates_ <= 1).all()
        assert np.isfinite(model.predict_proba(rows)).all()


def test_weights_ties_and_tiny_classes(rng):
    X, y = skewed(rng, (60, 40))
    # Rows of weight zero are none.
    weight = rng.integers(0, 3, len(y)).astype(float)
    used = weight > 0
    same = GLD().fit(X, y, weight), GLD().fit(X[used], y[used], weight[used])
    assert_allclose(same[0].coef_, same[1].coef_)
    assert_allclose(same[0].left_out_error_rates_, same[1].left_out_error_rates_)
    # A trivial rule, a class of one row, and rows of a few values.
    trivial = GLD(priors=[1 - 1e-9, 1e-9]).fit(X, y)
    assert (trivial.predict(X) == 0).mean() > 0.9
    lone = np.append(y, 2), np.vstack([X, X.mean(axis=0)])
    model = GLD().fit(lone[1], lone[0])
    assert np.isnan(model.left_out_error_).tolist() == [False, True, True]
    ties = GLD().fit(np.round(X).clip(0, 2), y)
    assert np.isfinite(ties.left_out_error_rates_).all()
    # Without rows there is nothing to choose by.
    for model in (
        GLD().fit_statistics(ClassStatistics.from_data(X, y)),
        GLD(choose_on="model").fit(X, y),
        GLD(solver="fisher").fit(X, y),
    ):
        assert not model.chosen_on_rows_.any()
        assert np.isnan(model.left_out_error_).all()
    # Sparse and wide rows: as tested in test_sparse.py and test_wide.py.


def test_memory_of_many_classes(rng, monkeypatch):
    y = np.repeat(np.arange(120), 3)
    X = rng.normal(size=(360, 5)) + 3 * rng.normal(size=(120, 5))[y]
    tracemalloc.start()
    GLD().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 7140 * 2500 + 80e6  # blocks, and a record of each pair
    with pytest.raises(ParameterError, match="multiclass='ovr'") as caught:
        GLD().fit_statistics(
            ClassStatistics.from_moments(
                np.arange(10_000),
                np.full(10_000, 9),
                np.zeros((10_000, 2)),
                np.tile(np.eye(2), (10_000, 1, 1)),
            )
        )
    assert caught.value.parameter == "multiclass"


def test_misfit_is_told_once(rng):
    """The pairs, and the features on which the model relies; not by chance."""
    y = np.arange(1500) % 3
    X = rng.normal(size=(1500, 4))
    X[:, :3] += 0.5 * y[:, None]
    X[:, 3] = (rng.random(1500) < 0.01) & (y == 0)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "rare"])
    with pytest.warns(ModelMisfitWarning, match=r"0 and .*\['rare'\]") as caught:
        model = GLD().fit(frame, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert model.chosen_on_rows_[:2].any()
    new = rng.normal(size=(9000, 4)) + 0.5 * np.repeat([0, 1, 2], 3000)[:, None]
    new[:, 3] = 0
    truth = np.repeat([0, 1, 2], 3000)
    pure = GLD(choose_on="model").fit(X, y)
    rows = pd.DataFrame(new, columns=frame.columns)
    assert model.score(rows, truth) > pure.score(new, truth) + 0.03
    warned = 0
    for _ in range(20):
        X = rng.normal(size=(200, 3)) * (1 + y[:200, None]) + y[:200, None]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            GLD().fit(X, y[:200])
        warned += any(w.category is ModelMisfitWarning for w in caught)
    assert warned <= 3
