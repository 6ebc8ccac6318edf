"""The benchmark of rows with gaps: its gaps, its peers, its tests and its page."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss

from benchmarks.gaps import __main__ as command
from benchmarks.gaps import study
from benchmarks.gaps.comparisons import ACCURACY, LOSS, OVERALL, Comparisons
from benchmarks.gaps.methods import EM, METHODS, PEERS, Method, filled, fitted
from benchmarks.gaps.picture import draw
from benchmarks.gaps.regimes import RANDOM, REGIMES, gaps
from benchmarks.gaps.report import page
from helpers.pages import ordered

ROWS = 4000


@pytest.mark.parametrize("regime", REGIMES)
def test_gaps_are_those_of_their_seed(rng, regime):
    X = rng.normal(size=(50, 6))
    first = gaps(X, "iris", regime, 0)
    assert_array_equal(first, gaps(X, "iris", regime, 0))
    others = [("iris", regime, 1), ("wine", regime, 0)]
    others += [("iris", other, 0) for other in REGIMES if other != regime]
    assert all((first != gaps(X, *other)).any() for other in others)


@pytest.mark.parametrize("regime", RANDOM)
def test_random_gaps_have_the_promised_share(rng, regime):
    removed = gaps(rng.normal(size=(ROWS, 5)), "made up", regime, 0)
    assert_allclose(removed.mean(axis=0), RANDOM[regime], atol=4 * 0.5 / ROWS**0.5)


@pytest.mark.parametrize("d", [2, 3, 7])
def test_dependent_gaps_follow_a_column_that_has_none(rng, d):
    X = rng.normal(size=(ROWS, d))
    removed = gaps(X, "made up", "dependent", 3)
    partners = np.flatnonzero(~removed.any(axis=0))
    assert len(partners) == d // 2
    above = X[:, partners] > np.median(X[:, partners], axis=0)
    for column in removed[:, removed.any(axis=0)].T:
        shares = [(column[side].mean(), column[~side].mean()) for side in above.T]
        assert_allclose(max(shares), (0.4, 0.05), atol=0.05)


def test_every_method_has_the_same_rows_and_gaps(monkeypatch):
    seen = {"one": [], "two": []}

    class Recorder:
        def __init__(self, name):
            self.rows = seen[name]

        def fit(self, X, y):
            self.rows += [X, y]
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            self.rows.append(X)
            return np.zeros(len(X))

        def predict_proba(self, X):
            return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))

    for name in seen:
        method = Method(None, lambda name=name: Recorder(name))
        monkeypatch.setitem(study.METHODS, name, method)
    monkeypatch.setitem(study.METHODS, "bad", Method(None, lambda: 1 / 0))
    found = study.measure("iris", "random-20", ["one", "bad", "two"])
    assert len(seen["one"]) == 3 * study.FOLDS * study.TRIALS
    for one, two in zip(*seen.values(), strict=True):
        assert_array_equal(one, two)
    # Every third array is that of test rows, which have gaps too.
    for k in (0, 2):
        shares = [np.isnan(rows).mean() for rows in seen["one"][k::3]]
        assert_allclose(np.mean(shares), 0.2, atol=0.05)
    assert_allclose(found["one"]["accuracy"], 100 / 3)
    assert_allclose(found["one"]["log_loss"], np.log(3))
    assert found["bad"] == {"error": "ZeroDivisionError: division by zero"}


def test_dropping_keeps_whole_rows_and_fills_new_ones_with_means():
    nan = np.nan
    X = np.array([[1, 2], [3, nan], [nan, 6], [5, 4], [3, 0]])
    y = np.array([0, 0, 0, 1, 1])
    rows, labels, fill = filled("drop rows", X, y)
    assert_array_equal(rows, [[1, 2], [5, 4], [3, 0]])
    assert_array_equal(labels, [0, 1, 1])
    assert_array_equal(fill(np.array([[nan, 7], [nan, nan]])), [[3, 7], [3, 3]])
    make = METHODS["drop rows + LDA"].classifier
    assert type(fitted(make, rows, labels, y)) is make
    for few in ([0, 0, 0], [0, 1]):
        model = fitted(make, rows[: len(few)], np.array(few), y)
        assert_allclose(model.predict_proba(rows)[0], [0.6, 0.4])
        assert_array_equal(model.predict(rows), [0, 0, 0])


def test_log_losses_are_those_of_scikit_learn(rng):
    proba = rng.dirichlet(np.ones(3), size=40)
    truth = np.arange(40) % 3 * 2
    losses = study.log_losses(proba, np.array([0, 2, 4]), truth)
    assert_allclose(losses.mean(), log_loss(truth, proba))
    # Classes without training rows, between others and after them.
    losses = study.log_losses(proba, np.array([0, 2, 4]), np.array([1, 9] * 20))
    assert_allclose(losses, -np.log(1e-15))


def made(gains, methods=METHODS):
    """Results of sets on which EM is so many points above all others."""
    names = study.SETS[: len(gains)]
    return {
        (name, regime, method): {
            "accuracy": 70.0 + gain * (method == EM),
            "log_loss": 0.5 - gain / 100 * (method == EM),
            "fit_seconds": 2.0 if method == EM else 1.0,
            "predict_seconds": 0.1,
            "unfitted": 1,
            "folds": 5,
        }
        for name, gain in zip(names, gains, strict=True)
        for regime in REGIMES
        for method in methods
    }


def test_comparisons_over_the_sets():
    results = made([1, 2, 3, 4, -5])
    del results[study.SETS[0], "random-5", "mean + LDA"]
    c = Comparisons(results)
    for what in (ACCURACY, LOSS):
        one = c.against("random-20", what, "mean + LDA")
        assert (one.sets, one.won, one.tied, one.lost) == (5, 4, 0, 1)
        # 10 of the 32 sets of ranks up to 5 have a sum of 10 at least, which is that of
        # the gains, and 25 a sum of 5 at least, which is the rank of the loss.
        assert_allclose((one.p_ours, one.p_peer), (10 / 32, 25 / 32))
        assert_allclose(one.points, 1 if what == ACCURACY else 0.01)
        assert c.against("random-5", what, "mean + LDA").sets == 4
        assert c.against(OVERALL, what, "mean + LDA").sets == 4
        assert c.against(OVERALL, what, "mean + ours").sets == 5
        assert_allclose(c.ranks("dependent", what)[EM], (4 * 1 + 9) / 5)
    assert {loss[:3] for loss in c.losses()} == {
        (-5.0, study.SETS[4], r) for r in REGIMES
    }
    assert Comparisons(made([1], PEERS)).against(OVERALL, LOSS, "mean + LDA") is None


def test_the_page_says_what_the_figures_say():
    text = ordered(page(Comparisons(made([1, 2, 3, 4, 5, 6]))))
    assert "**accuracy** EM is better than every peer by a paired test over 6" in text
    assert "No peer is better with any kind of gaps." in text
    assert "73.5 % against 70.0 % (drop rows + LDA) with 5 % of values" in text
    assert "| mean + LDA | +3.5 6/0/0 0.016 |" in text
    assert "| **EM** | 73.5 (1.0) |" in text
    assert "too few rows in 20 % of the fits" in text
    assert "| **EM** | 2 | 2 | 1 | 1 |" in text
    assert "others are ahead" not in text
    assert "cannot be told" not in text
    text = page(Comparisons(made([-1, -2, -3, -4, -5, -6])))
    assert "EM is better than no peer" in text
    assert "**A peer is better** in 40 of 40 tests: drop rows + LDA (5 % at" in text
    assert "| mean + LDA | **-3.5 0/0/6 0.016 peer** |" in text
    assert "| mean + GLD | **-0.035 0/0/6 0.016 peer** |" in text
    assert f"| {study.SETS[5]} | 20 % at random | -6.0 |" in text
    # Neither is better: the text names every peer in each of the four ways.
    text = page(Comparisons(made([1, 2, 3, -1, -2, -3])))
    assert "It cannot be told apart (p >= 0.05) from drop rows + LDA (5 % a" in text
    assert text.count("kNN + GLD (depending on another column)") == 2
    c = Comparisons(made([1, 2], [EM, "mean + LDA", "drop rows + ours"]))
    assert "| set | EM | mean + LDA | drop rows + GLD |\n" in page(c)
    assert draw(c).startswith(b"\x89PNG")
    assert "EM against each" not in page(Comparisons(made([1], PEERS)))


def test_the_command_resumes_and_writes_its_page(tmp_path, capsys):
    out, docs = tmp_path / "out", tmp_path / "docs"
    arguments = ["--sets", "iris", "--out", str(out), "--methods"]
    assert command.main([*arguments, "mean + LDA"]) == 0
    assert capsys.readouterr().err.count("iris, ") == len(REGIMES)
    assert not docs.exists()
    both = "mean + LDA,drop rows + ours"
    assert command.main([*arguments, both, "--page", str(docs)]) == 0
    assert "mean + LDA" not in capsys.readouterr().err
    text = (docs / "gaps_accuracy.md").read_text(encoding="utf-8")
    assert "| set | mean + LDA | drop rows + GLD |\n" in text
    assert "\n| iris | " in text
    assert (docs / "images" / "gaps_accuracy.png").exists()
    with pytest.raises(SystemExit):
        command.main([*arguments, "nothing"])
    assert "choose from EM, drop rows + LDA" in capsys.readouterr().err
