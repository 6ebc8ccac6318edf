"""The guard: where the Gaussian model misleads, a pair takes Fisher's rule."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from helpers.problems import arc_score, lda_score, shrunk_moments
from heterolda import ClassStatistics
from heterolda import GaussianLinearDiscriminant as GLD
from heterolda.estimators import guard
from heterolda.estimators.pair_problem import PairProblem
from heterolda.exceptions import ModelMisfitWarning
from heterolda.solvers import left_out
from heterolda.statistics.rows import validated

ignore_misfit = pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.ModelMisfitWarning"
)


def with_dummy(rng, n=1000, shares=(0.01, 0.0)):
    """Three features of two Gaussian classes, and one that is 1 in a few rows."""
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 4))
    X[:, :3] += 0.5 * y[:, None]
    X[:, 3] = rng.random(n) < np.take(shares, y)
    X[:2, 3] = np.array(shares) > 0  # at least once
    return X, y


@pytest.mark.parametrize("shares", [(0.01, 0.0), (0.1, 0.002)])
def test_a_rare_dummy_does_no_harm(rng, shares):
    """The model once predicted one class for nearly all rows, and said 23 % errors."""
    X, y = with_dummy(rng, shares=shares)
    new, truth = with_dummy(rng, n=20_000, shares=shares)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "rare"])
    with pytest.warns(ModelMisfitWarning, match=r"features \['rare'\]") as caught:
        GLD().fit(frame, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with pytest.warns(ModelMisfitWarning, match=r"features \[3\]"):
        model = GLD().fit(X, y)
    pure, lda = GLD(guard=False).fit(X, y), GLD(solver="fisher")
    lda.fit(X, y)
    assert model.guarded_.tolist() == [True]
    assert_allclose(model.coef_, lda.coef_, rtol=1e-9)
    assert model.score(new, truth) > pure.score(new, truth) + 0.03
    # The gap is that of the rule in use, against what was proven for the model.
    assert_allclose(model.model_error_, lda.model_error_, rtol=1e-9)
    assert model.model_error_[0] > pure.model_error_[0]
    bound = pure.model_error_[0] * (1 - pure.gap_[0])
    assert_allclose(model.model_error_[0] * (1 - model.gap_[0]), bound)


def naive_errors(X, y, weight, model, k, few):
    """Errors of a pair on its rows, of rows of small classes without the row.

    Divisors are kept, and the place of the rule with all rows. The rival
    is Fisher's rule, or linear discriminant analysis where a class is small.
    """
    i, j = model.pairs_[k]
    s = model.statistics_
    w, w0 = -model.coef_[k], model.intercept_[k]
    S1, S2 = s.covariances()[[i, j]]
    b = (w @ s.means[i] - w0) / (w @ S1 @ w)
    a = (w0 - w @ s.means[j]) / (w @ S2 @ w)
    share = (w0 - w @ s.means[j]) / (w @ (s.means[i] - s.means[j]))
    wrong, shares = np.zeros((2, len(X)), bool), (0, 0, s.weights - 1, s.squares[0])
    for row in np.flatnonzero((y == i) | (y == j)):
        less = weight.copy()
        less[row] *= not few[y[row]]
        m, C, P = shrunk_moments(X, y, less, *shares)
        M, kept = a * C[j] + b * C[i], a * S2 + b * S1
        score, distance = arc_score(X[row], m[i], m[j], M, share)
        # Off the arc there is no such rule, and it is wrong.
        off = np.linalg.slogdet(M)[0] != np.linalg.slogdet(kept)[0] or distance <= 0
        wrong[0, row] = (score > 0) != (y[row] == j) or off
        n = np.bincount(y, less)[[i, j]]
        pooled = P if few[[i, j]].any() else np.average(C[[i, j]], 0, n)
        score = lda_score(X[row], m[i], m[j], pooled, n[1] / n[0])
        wrong[1, row] = (score > 0) != (y[row] == j)
    return wrong @ weight / weight[(y == i) | (y == j)].sum()


@ignore_misfit
@pytest.mark.usefixtures("kernels")
@pytest.mark.filterwarnings("ignore::heterolda.exceptions.TrivialRuleWarning")
@pytest.mark.parametrize("n", [32, 200])
def test_errors_are_those_of_fits_without_the_row(rng, n, monkeypatch):
    """Four classes with outliers and weights; two have few rows for three features."""
    y = np.append(np.arange(n) % 4, np.full(100, 1))
    X = rng.standard_t(2, size=(len(y), 3)) * (1 + y[:, None]) + y[:, None]
    weight = rng.integers(1, 3, size=len(y)).astype(float)
    verdicts, votes = [], []
    compare, count = guard.compare_with_rivals, guard._count_left_out
    monkeypatch.setattr(
        guard,
        "compare_with_rivals",
        lambda *given: verdicts.append(compare(*given)) or verdicts[0],
    )
    monkeypatch.setattr(
        guard, "_count_left_out", lambda *given: votes.append(count(*given)) or votes[0]
    )
    monkeypatch.setattr(left_out, "_BLOCK", 30)  # a few pairs at a time
    GLD().fit(X, y, weight)
    (verdict,) = verdicts
    model = GLD(guard=False).fit(X, y, weight)
    few = model.statistics_.weights < 5 * 3
    assert few.any() == len(votes) == (n == 32)
    for lost in votes:  # no more rows of small classes than there are
        assert np.all((lost > 0) & (lost <= model.priors_[few].sum()))
    for k in np.flatnonzero(~model.trivial_):
        expected = naive_errors(X, y, weight, model, k, few)
        assert_allclose(verdict.errors[:, k], expected, atol=1e-12)
        pair = model.pairs_[k]
        if few[pair].all():  # scores of left-out rows are those of the rules in use
            given = [verdict.left_out[c] for c in pair]
            wrong = sum(
                w @ ((s[:, k] > 0) != side) for side, (w, s) in enumerate(given)
            )
            used = verdict.errors[int(verdict.guarded[k]), k]
            assert_allclose(wrong / model.statistics_.weights[pair].sum(), used)
    more = verdict.errors[0] > 1.03 * verdict.errors[1]
    assert not (more & ~verdict.guarded).any()
    if n > 32:
        assert_array_equal(verdict.guarded, more)


@ignore_misfit
def test_many_small_classes_are_judged_together(rng, monkeypatch):
    """Of Gaussian classes with one covariance, small pairs alone say too little."""
    K, d, n = 10, 15, 20
    means = 0.6 * rng.normal(size=(K, d))
    y, new = np.repeat(np.arange(K), n), np.repeat(np.arange(K), 500)
    X, Z = (means[c] + rng.normal(size=(len(c), d)) for c in (y, new))
    model = GLD().fit(X, y)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    assert model.guarded_.all()
    assert np.mean(model.predict(Z) == lda.predict(Z)) > 0.97
    assert GLD(guard=False).fit(X, y).score(Z, new) < lda.score(Z, new) - 0.03
    # Unequal covariances: the same rows of each class say enough for the optimum.
    spread = np.where((np.arange(d) + np.arange(K)[:, None]) % 2, 0.3, 1.5)
    X, Z = (means[c] + spread[c] * rng.normal(size=(len(c), d)) for c in (y, new))
    model, lda = GLD().fit(X, y), lda.fit(X, y)
    assert not model.guarded_.all()
    assert model.score(Z, new) > lda.score(Z, new)
    # Errors are equal up to rounding, for instance with the labels in another order.
    monkeypatch.setattr(guard, "_count_left_out", lambda *_: np.array([0.3, 0.1 + 0.2]))
    assert GLD().fit(X, y).guarded_.all()


@ignore_misfit
def test_where_it_applies(rng):
    """Only to the rules of least error under the model, and only where rows are."""
    X, y = with_dummy(rng)
    statistics = ClassStatistics.from_data(X, y)
    pure = GLD(guard=False).fit(X, y)
    assert not pure.guarded_.any()
    for model in (
        GLD().fit_statistics(statistics),
        GLD().partial_fit(X, y, classes=[0, 1]),
        GLD().fit(X, y).with_operating_point(),
    ):
        assert not model.guarded_.any()
        assert_allclose(model.coef_, pure.coef_, rtol=1e-9)
    assert not GLD(criterion="minimax").fit(X, y).guarded_.any()
    # With shrinkage the rival is Fisher's rule without it.
    plain = GLD(solver="fisher").fit(X, y)
    for amount in (0.05, (0.05, 0.9)):
        shrunk = GLD(shrinkage=amount).fit(X, y)
        assert shrunk.guarded_.all()
        assert_allclose(shrunk.coef_, plain.coef_, rtol=1e-9)
    # Errors count by priors and costs: with these the model's rule is the better one.
    costs = [[0, 1], [1000, 0]]
    assert not GLD(costs=costs).fit(X, y).guarded_.any()
    assert not GLD(priors=[1e-3, 1 - 1e-3]).fit(X, y).guarded_.any()


@ignore_misfit
@pytest.mark.filterwarnings("ignore::heterolda.exceptions.TrivialRuleWarning")
def test_one_against_all_others(rng):
    X, y = with_dummy(rng, n=1500)
    y[rng.random(1500) < 0.3] = 2
    guarded = []
    for first in (0.2, 0.3, 0.4, 0.5):
        settings = {"multiclass": "ovr", "priors": [first, 0.6 - first, 0.4]}
        model = GLD(**settings).fit(X, y)
        pure = GLD(guard=False, **settings).fit(X, y)
        fisher = GLD(solver="fisher", **settings).fit(X, y)
        share = (model.priors_ / np.bincount(y))[y]
        for k in range(3):
            wrong = [
                share @ ((X @ m.coef_[k] + m.intercept_[k] > 0) != (y == k))
                for m in (pure, fisher)
            ]
            assert model.guarded_[k] == (wrong[0] > 1.03 * wrong[1])
            used = fisher if model.guarded_[k] else pure
            assert_allclose(model.coef_[k], used.coef_[k])
        guarded += model.guarded_.tolist()
    assert set(guarded) == {False, True}


def test_pairs_with_a_borrowed_covariance_are_not_compared(rng):
    y = np.repeat([0, 1, 2], [300, 300, 4])  # the last has no covariance of its own
    X = rng.normal(size=(604, 3)) * (1 + y[:, None] % 2) + y[:, None]
    problem = PairProblem.of(GLD(), ClassStatistics.from_data(X, y))
    rows = validated(X, y)
    verdict = guard.compare_with_rivals(problem.solve(), problem, rows)
    assert_array_equal((verdict.errors > 0).all(axis=0), [True, False, False])
    assert not verdict.errors[:, 1:].any()


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_weights_that_round_make_no_errors(kernels, rng, multiclass):
    y = np.arange(120) % 3
    X = rng.normal(size=(120, 3)) * (1 + y[:, None]) + 40 * np.eye(3)[y]
    weight = rng.uniform(0.5, 2.0, len(y))
    model = GLD(multiclass=multiclass).fit(X, y, weight)
    assert not model.guarded_.any()
