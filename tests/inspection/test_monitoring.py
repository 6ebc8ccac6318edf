"""Test what a monitor says of rows in use: little if nothing has changed."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import heterolda
from helpers.cli import invoke
from heterolda import (
    BoundedErrorClassifier,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
)
from heterolda.exceptions import ParameterError
from heterolda.inspection import monitor


def draw(rng, n, share=0.5):
    y = (rng.random(n) < share).astype(int)
    X = rng.standard_t(5, size=(n, 3)) * (1 + 0.5 * y[:, None]) + 2 * y[:, None]
    return X, np.array(["a", "b"])[y]


MODELS = {
    "discriminant": GaussianLinearDiscriminant(),
    "bounds": BoundedErrorClassifier(max_error={"a": 0.1, "b": 0.2}),
    "scaled": make_pipeline(StandardScaler(), GaussianLinearDiscriminant()),
    "projected": make_pipeline(
        HeteroscedasticProjection(n_components=2), GaussianLinearDiscriminant()
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_it_is_quiet_unless_something_changes(name):
    """At fixed numbers of rows, over many draws."""
    said, model = 0, MODELS[name]
    for seed in range(40):
        rng = np.random.default_rng(seed)
        model.fit(*draw(rng, 300))
        said += bool(monitor(model, draw(rng, 400)[0]).remarks)
    assert said <= 6  # of 40, with probability 0.01 if it is 5 %
    X, y = draw(rng, 2000, 0.05)
    found = monitor(model, X, y)
    assert any(remark.startswith("a is 9") for remark in found.remarks)
    assert found.frequencies.high[1] > 0.02
    wrong = model.predict(X) != y
    for label, one in found.errors.items():
        assert one.value == pytest.approx(wrong[y == label].mean())
    reference = monitor(model, X, reference=draw(rng, 2000, 0.05)[0])
    assert reference.remarks == []
    X[:, 1] = 1e6
    broken = monitor(model, X)
    assert "unlike the rows of the fit, mostly by 1." in broken.remarks[0]
    assert broken.unlike.value == 1
    assert (found.undecided is not None) == (name == "bounds")
    if found.undecided is not None:
        share = model.predict_set(draw(rng, 4000)[0]).all(axis=1).mean()
        assert share == pytest.approx(found.undecided.expected, abs=0.06)
    assert "share of rows" in str(found)
    assert json.loads(json.dumps(found.to_dict()))["n_rows"] == 2000


def test_models_without_statistics_are_rejected():
    X, y = draw(np.random.default_rng(0), 100)
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ParameterError, match="model has no class statistics"):
        monitor(model, X)
    with pytest.raises(ParameterError, match="X has no rows"):
        heterolda.inspection.monitoring.Monitor(
            GaussianLinearDiscriminant().fit(X, y)
        ).result()


def test_the_command_prints_what_the_function_finds(tmp_path):
    rng = np.random.default_rng(0)
    X, y = draw(rng, 300)
    names = ["x0", "x1", "x2"]
    model = GaussianLinearDiscriminant().fit(pd.DataFrame(X, columns=names), y)
    heterolda.save(model, tmp_path / "m.json")
    new, labels = draw(rng, 500, 0.1)
    table = pd.DataFrame(new, columns=names)
    table.assign(kind=labels).to_csv(tmp_path / "new.csv", index=False)
    arguments = "monitor", tmp_path / "m.json", tmp_path / "new.csv", "--json"
    result = invoke(*arguments, "-t", "kind")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout) == monitor(model, table, labels).to_dict()
    assert json.loads(invoke(*arguments).stdout)["errors"] == {}
    table.assign(x2=-999.0).to_csv(tmp_path / "bad.csv", index=False)
    bad = invoke(*arguments[:2], tmp_path / "bad.csv", "--fail-above", "0.5")
    assert bad.exit_code == 3
    assert "500 of 500 rows are unlike the rows of the fit, mostly by x2" in bad.stdout
    same = invoke(*arguments, "--reference", tmp_path / "new.csv")
    assert json.loads(same.stdout)["remarks"] == []
