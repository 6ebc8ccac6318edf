"""The benchmark of dimension reduction: its peers, its protocol and its page."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benchmarks.projection import __main__ as command
from benchmarks.projection.peers import hlda, hlda_loss, save
from benchmarks.projection.picture import draw
from benchmarks.projection.reductions import NCA_ROWS, PEERS, REDUCTIONS
from benchmarks.projection.report import compared, page
from benchmarks.projection.study import CLASSIFIERS, FOLDS, MOST_ROWS, measure, sample
from helpers.pages import ordered
from heterolda.subspaces.classes import WhitenedClasses


@pytest.fixture
def classes(rng):
    """Four classes in six dimensions."""
    factors = rng.normal(size=(4, 6, 8))
    priors = rng.dirichlet(np.full(4, 5.0))
    means, cov = rng.normal(size=(4, 6)), factors @ factors.mT / 8
    return WhitenedClasses.from_moments(means, cov, priors, 1000 * priors)


def test_hlda_maximises_its_likelihood(classes, rng):
    """Kumar and Andreou's, with the rejected directions written out."""
    A = rng.normal(size=(6, 2))

    def loss(A):
        return hlda_loss(classes, A.reshape(6, -1))[0]

    assert_allclose(
        hlda_loss(classes, A)[1].ravel(), approx_fprime(A.ravel(), loss), atol=1e-5
    )
    found = hlda(classes, 2)
    least = loss(found)
    trials = rng.normal(size=(200, 6, 2))
    others = [*trials, save(classes, 2), found + 1e-3 * trials[0]]
    assert all(least < loss(other) for other in others)

    within = np.tensordot(classes.priors, classes.covariances, axes=1)
    total = within + (classes.means.T * classes.priors) @ classes.means

    def likelihood(kept, rest):
        logs = np.linalg.slogdet(kept.T @ classes.covariances @ kept)[1]
        shared = np.linalg.slogdet(rest.T @ total @ rest)[1]
        whole = np.linalg.slogdet(np.column_stack([kept, rest]))[1]
        return whole - 0.5 * (classes.priors @ logs + shared)

    constant = -0.5 * np.linalg.slogdet(total)[1]
    uncorrelated = np.linalg.svd((total @ found).T)[2][2:].T
    assert_allclose(likelihood(found, uncorrelated), constant - 0.5 * least)
    for rest in rng.normal(size=(20, 6, 4)):
        assert likelihood(found, rest) < constant - 0.5 * least


def test_save_sees_the_variance_that_differs():
    """Two classes of equal means that differ in the variance of one feature."""
    cov = np.stack([np.eye(4), np.diag([1.0, 1.0, 9.0, 1.0])])
    weights = np.array([500.0, 500.0])
    found = WhitenedClasses.from_moments(np.zeros((2, 4)), cov, weights / 1000, weights)
    direction = np.abs(found.basis @ save(found, 1))[:, 0]
    assert direction.argmax() == 2
    assert_allclose(np.delete(direction, 2), 0, atol=1e-9)


def test_reductions_have_the_components_that_are_asked_for():
    X, y = load_iris(return_X_y=True)
    for name, reduce in REDUCTIONS.items():
        found = reduce(X, y, [1, 2, 3])
        for number, matrix in found.items():
            most = 2 if name == "LDA" else 3  # three classes
            assert matrix.shape == (4, min(number, most)), name
    expected = LinearDiscriminantAnalysis().fit(X, y).transform(X)
    found = X @ REDUCTIONS["LDA"](X, y, [2])[2]
    assert_allclose(found - found.mean(axis=0), expected - expected.mean(axis=0))


def test_a_sample_keeps_small_classes_and_counts_those_left_out(rng):
    y = np.repeat(["large", "small", "tiny"], [20_000, 15, FOLDS - 1])
    X = rng.normal(size=(len(y), 2))
    rows, labels, left_out = sample(X, y)
    assert left_out == 1
    assert_allclose(np.unique(labels, return_counts=True), [[0, 1], [4994, 15]])
    assert len(rows) < MOST_ROWS + 20
    assert_allclose(rows, sample(X, y)[0])
    assert len(sample(X[:100], y[:100])[1]) == 100
    assert NCA_ROWS < MOST_ROWS


def test_accuracy_is_that_of_rows_held_out(rng):
    """Labels that nothing can tell: on training rows 5-NN would look far better."""
    X, y = rng.normal(size=(400, 6)), np.arange(400) % 4
    found = measure(X, y, "chernoff")
    assert set(found) == set(CLASSIFIERS)
    for by_number in found.values():
        assert list(by_number) == ["1", "2", "3", "K - 1"]
        assert all(12 < value < 38 for value in by_number.values())


@pytest.mark.filterwarnings("ignore::heterolda.exceptions.SmallClassWarning")
def test_a_refusal_is_a_gap(rng):
    X, y = rng.normal(size=(120, 11)), np.arange(120) % 12
    found = measure(X, y, "PCA")  # K - 1 = 11 components, 9 rows of each class
    assert found["QDA"]["K - 1"] is None
    assert found["QDA"]["2"] > 0
    assert found["discriminant"]["K - 1"] > 0


def made(points):
    """Results of ten sets on which the default is so many points above all others."""

    def cell(value):
        return {c: dict.fromkeys(["1", "2", "3", "K - 1"], value) for c in CLASSIFIERS}

    return {
        f"set{k}": {
            "shape": [6000 - k, 5, 2 + k % 3, int(k == 3)],
            "accuracy": {r: cell(70.0) for r in PEERS} | {"default": cell(70.0 + gain)},
        }
        for k, gain in enumerate(points)
    }


def test_the_page_says_what_the_figures_say():
    results = made([1, 2, 3, 4, 5, 6, 7, 8, 0, -9])
    results["set8"]["accuracy"]["LDA"]["QDA"]["K - 1"] = None
    text = ordered(page(results))
    assert "more often than on LDA's on 8 of 10 sets" in text
    losses = text.partition("## Where LDA is better")[2].partition("\n## ")[0]
    assert "| set9 | -9.0 | -9.0 | -9.0 | -9.0 | +0.0 |" in losses
    assert "set8" not in losses
    assert compared(np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 0, -9])) == (
        "+2.7, 8/1/1, p = 0.11"
    )
    assert compared(np.zeros(3)) == "+0.0, 0/3/0, p = 1"
    assert "| LDA | 2 | +2.7, 8/1/1, p = 0.11 |" in text
    assert "| LDA | K - 1 | +3.0, 8/0/1, p = 0.11 |" in text
    assert "1 of set3" in text
    assert "(p < 0.05) ours is better nowhere, LDA nowhere." in text
    ahead = page(made([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]))
    assert "ours is better with QDA (1, 2, 3, K - 1 components), 5-NN" in ahead
    assert "Where LDA is better" not in ahead
    assert "| set7 | 5,993 x 5, 3 | **78.0** | 70.0 |" in text
    assert draw(results).startswith(b"\x89PNG")


def test_the_command_resumes_and_writes_its_page(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("HETEROLDA_DATA", raising=False)
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=(90, 4)), np.arange(90) % 3])
    head = "a,b,c,d,target"
    np.savetxt(tmp_path / "drawn.csv.gz", rows, delimiter=",", header=head, comments="")
    out, docs = tmp_path / "out", tmp_path / "docs"
    arguments = ["--data", str(tmp_path), "--sets", "drawn", "--out", str(out)]
    assert command.main([*arguments, "--reductions", "LDA"]) == 0
    assert not docs.exists()
    kept = json.loads((out / "drawn.LDA.json").read_text())
    assert kept["shape"] == [90, 4, 3, 0]
    capsys.readouterr()
    assert command.main([*arguments, "--page", str(docs)]) == 0
    messages = capsys.readouterr().err
    assert "drawn, LDA" not in messages
    assert "drawn, NCA" in messages
    text = (docs / "projection_accuracy.md").read_text(encoding="utf-8")
    assert "| drawn | 90 x 4, 3 |" in text
    assert (
        (docs / "images" / "projection_accuracy.png")
        .read_bytes()
        .startswith(b"\x89PNG")
    )
