"""The benchmark on wide data: its peers, its protocol and its page."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.wide import __main__ as command
from benchmarks.wide.methods import METHODS, PEERS, RIDGE, LedoitWolf
from benchmarks.wide.picture import draw
from benchmarks.wide.report import page
from helpers.pages import ordered


def wide(rng):
    """30 rows of 80 features in three classes."""
    y = np.arange(30) % 3
    X = rng.normal(size=(30, 80)) * rng.uniform(0.1, 5, size=80) + 0.6 * y[:, None]
    X[y == 1, 0] = 2.0  # constant in a class
    X[:, 5] = 1.0  # and everywhere
    return X, np.array(["a", "b", "c"])[y]


def test_ledoit_wolf_is_that_of_scikit_learn(rng):
    X, y = wide(rng)
    expected = LinearDiscriminantAnalysis("lsqr", shrinkage="auto").fit(X, y)
    found = LedoitWolf().fit(X, y)
    new = 3 * rng.normal(size=(200, 80))
    scores = expected.decision_function(new)
    assert_allclose(new @ found.coef_.T + found.intercept_, scores, rtol=1e-8)
    assert (found.predict(new) == expected.predict(new)).all()


def test_turned_rows_have_the_same_rule(rng):
    X, y = wide(rng)
    found = PEERS["logistic (l2)"](0).fit(X, y)
    chosen = found.best_params_["logisticregression__C"]
    assert chosen in RIDGE
    plain = make_pipeline(StandardScaler(), LogisticRegression(C=chosen, tol=1e-10))
    new = 3 * rng.normal(size=(200, 80))
    assert_allclose(
        found.predict_proba(new), plain.fit(X, y).predict_proba(new), atol=1e-3
    )


def made(gains):
    """Results of sets on which the default is so many points above all others."""
    return {
        f"set{k}": {
            "shape": [60, 2000 + k, 2],
            "accuracy": {m: [69.0, 71.0] for m in METHODS}
            | {"default": [70.0 + gain] * 2},
        }
        for k, gain in enumerate(gains)
    }


def test_the_page_says_what_the_figures_say():
    text = ordered(page(made([1, 2, 3, 4, 5, 6, -7])))
    assert "right on 72.0 % of rows held out" in text
    assert "no peer is better than GLD (p < 0.05), and GLD is better than none" in text
    assert "Some peer is ahead of GLD on set6 (by 7.0 points, " in text
    assert "| size | 60 x 2,000, 2 |" in text
    assert "| **GLD** | **71.0** ± 0.0 | **72.0** ± 0.0 |" in text
    assert "| LDA | +2.0 | 6/0/1 | 0.3 |" in text
    assert "set aside, `" not in text
    results = made([1, 2, 3, 4, 5, 6, 7])
    results["golub"] = results.pop("set6")
    text = page(results)
    assert "as follows: golub 70.0 % to 77.0 %." in text
    assert "GLD is better than LDA, LDA (Ledoit-Wolf), logistic (l2)" in text
    assert "Some peer is ahead of GLD on no set." in text
    results = made([-1, -2, -3, -4, -5, -6, -7])
    for one in results.values():
        del one["accuracy"]["recommended()"]
    del results["set2"]["accuracy"]["LDA"]
    text = page(results)
    assert "| LDA | -4.2 | 0/0/6 | 0.031 |" in text
    assert "linear SVM and shrunken centroids is better than GLD" in text
    assert draw(results).startswith(b"\x89PNG")


@pytest.mark.filterwarnings("ignore::heterolda.exceptions.SmallClassWarning")
def test_the_command_resumes_and_writes_its_page(tmp_path, capsys, rng):
    rows = np.column_stack([rng.normal(size=(40, 3)), np.arange(40) % 2])
    np.savetxt(
        tmp_path / "drawn.csv.gz",
        rows,
        delimiter=",",
        header="a,b,c,target",
        comments="",
    )
    out, docs = tmp_path / "out", tmp_path / "docs"
    arguments = ["--data", str(tmp_path), "--sets", "drawn", "--out", str(out)]
    assert command.main([*arguments, "--methods", "LDA"]) == 0
    assert not docs.exists()
    kept = json.loads((out / "drawn.lda.json").read_text())
    assert kept["shape"] == [40, 3, 2]
    # Labels that nothing can tell: on training rows it would look better.
    assert all(20 < value < 75 for value in kept["accuracy"])
    capsys.readouterr()
    some = "default;LDA;LDA (Ledoit-Wolf)"
    assert command.main([*arguments, "--methods", some, "--page", str(docs)]) == 0
    messages = capsys.readouterr().err
    assert "drawn, LDA:" not in messages
    assert "drawn, LDA (Ledoit-Wolf):" in messages
    text = (docs / "wide_accuracy.md").read_text(encoding="utf-8")
    assert "| size | 40 x 3, 2 |" in text
    assert (docs / "images" / "wide_accuracy.png").exists()
