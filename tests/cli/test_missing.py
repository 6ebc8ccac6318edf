"""Missing values on the command line: the answers are those of the estimator."""

import json
from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import heterolda
from helpers.cli import invoke, make_frame, names, succeed
from heterolda import GaussianLinearDiscriminant
from heterolda import SmoothedLinearDiscriminant as Smoothed
from heterolda.estimators.held_out import held_out

# Few rows of drawn classes: sometimes Fisher's rule is better by chance.
pytestmark = [
    pytest.mark.filterwarnings("ignore::heterolda.exceptions.ModelMisfitWarning"),
    pytest.mark.filterwarnings("ignore::heterolda.exceptions.SmallClassWarning"),
]
FEATURES = names()


@pytest.fixture
def frame(rng):
    """Rows of which a fifth are incomplete; one has nothing, two have no label."""
    frame = make_frame(rng, 240).drop(columns="id")
    frame[FEATURES] = frame[FEATURES].mask(rng.random((240, 3)) < 0.07)
    frame.loc[5, FEATURES] = np.nan
    frame.loc[[7, 9], "kind"] = None
    return frame


@pytest.fixture
def paths(frame, tmp_path):
    data, model = tmp_path / "rows.csv", tmp_path / "model.json"
    frame.to_csv(data, index=False)
    return data, model


def fit(data, *options):
    result = invoke("fit", data, "-t", "kind", *options)
    assert result.exit_code == 0, result.stderr
    return result


def labeled(frame):
    complete = frame.dropna(subset="kind")
    return complete[FEATURES], complete["kind"].to_numpy(str)


def accuracy(*words):
    return json.loads(succeed("evaluate", *words, "--json"))["accuracy"]


@pytest.mark.parametrize("method", ["gaussian", "smoothed"])
def test_a_fit_by_em_says_what_it_does_and_treats_lda_alike(frame, paths, method):
    data, path = paths
    result = fit(data, "--missing", "em", "--method", method, "-o", path)
    X, y = labeled(frame)
    model = heterolda.load(path)
    kinds = {"gaussian": GaussianLinearDiscriminant, "smoothed": Smoothed}
    expected = kinds[method](missing="em").fit(X, y)
    assert model.missing == "em"
    both = model.statistics_, expected.statistics_
    assert_allclose(*(stats.means for stats in both), atol=1e-6)
    assert_allclose(*(stats.covariances() for stats in both), atol=1e-5)
    n_incomplete = X.isna().any(axis=1).sum()
    assert f"note: {n_incomplete} of 238 rows with missing values: EM" in result.stderr
    assert "2 of 240 rows have no label or no weight and were left out" in result.stderr
    assert "10-fold cross-validation (EM for both), 238 rows" in result.stdout
    judgement = held_out(expected, X.to_numpy(), y)[0]
    assert_allclose(astuple(model.fit_record_.judgement)[1:], astuple(judgement)[1:])


def test_predictions_are_those_of_the_model(frame, paths, tmp_path):
    data, path = paths
    fit(data, "--missing", "em", "--no-accuracy", "-o", path)
    model, out = heterolda.load(path), tmp_path / "out.csv"
    n_incomplete = frame[FEATURES].isna().any(axis=1).sum()
    result = invoke("predict", path, data, "--proba", "-o", out)
    note = f"note: {n_incomplete} rows with missing values: classified by"
    assert note in result.stderr
    table = pd.read_csv(out)
    assert table["prediction"].tolist() == model.predict(frame[FEATURES]).tolist()
    chances = table[[f"probability_{k}" for k in model.classes_]]
    assert_allclose(chances, model.predict_proba(frame[FEATURES]), atol=1e-9)
    result = invoke("predict", path, data, "--missing", "error", "-o", out)
    assert "is missing: fill it in, keep such rows with --missing em" in result.stderr
    assert_allclose(accuracy(path, data), model.score(*labeled(frame)), atol=1e-9)
    complete = model.score(*labeled(frame.dropna()))
    assert_allclose(accuracy(path, data, "--missing", "drop"), complete, atol=1e-9)
    frame.assign(x1=np.inf).to_csv(data, index=False)
    assert "column 'x1', row 1 is infinite" in invoke("predict", path, data).stderr


def test_other_models_take_missing_values_if_told_to_and_if_they_can(frame, paths):
    data, path = paths
    fit(data, "--missing", "drop", "-o", path)
    assert "--missing em, or leave" in invoke("evaluate", path, data).stderr
    model = heterolda.load(path).set_params(missing="em")
    expected = model.score(*labeled(frame))
    assert_allclose(accuracy(path, data, "--missing", "em"), expected, atol=1e-9)
    fit(data, "--missing", "drop", "--method", "search", "--no-accuracy", "-o", path)
    for command in ("predict", "evaluate"):
        result = invoke(command, path, data, "--missing", "em")
        assert result.exit_code == 2, result.stderr
        assert "--missing em needs a model that is not refined" in result.stderr
        assert "--missing em" not in invoke(command, path, data).stderr
    # A bound is on rows such as those of the fit.
    pair = frame[frame["kind"].isin(["east", "west"])]
    bound = "--max-error", "east=0.3", "--confidence", "0.9", "-o", path
    pair.fillna(dict.fromkeys(FEATURES, 0.0)).to_csv(data, index=False)
    bound = *bound, "--method", "gaussian"
    fit(data, *bound)
    pair.to_csv(data, index=False)
    assert invoke("evaluate", path, data, "--missing", "em").exit_code == 2
    fit(data, "--missing", "em", *bound)
    shown = succeed("predict", path, data)
    answers = [line.split(",")[-1] for line in shown.split()[1:]]
    assert answers == heterolda.load(path).predict(pair[FEATURES]).tolist()


@pytest.mark.parametrize(
    "command", ["fit", "fit --method search", "compare", "project"]
)
def test_messages_advise_what_the_command_can_do(paths, command):
    said = invoke(*command.split(), paths[0], "-t", "kind").stderr
    assert "--missing drop" in said
    assert ("--missing em" in said) == (command == "fit")


def test_na_strings_and_categories(frame, paths, rng):
    data, path = paths
    city = np.array(["Bonn", "Lyon", "Rome", "?"])[rng.integers(0, 4, len(frame))]
    rows = frame.fillna(dict.fromkeys(FEATURES, -999)).assign(city=city).dropna()
    rows.to_csv(data, index=False)
    options = "--na", "?,-999", "--categorical", "city", "--missing", "em", "-o", path
    options += "--method", "gaussian"
    result = fit(data, *options)
    assert "makes up" not in result.stderr  # what is filled in is not looked at
    assert "These also count as missing values: ?, -999.\n" in result.stdout
    model = heterolda.load(path)
    (category,) = model.fit_record_.categories
    dummies = [(rows["city"] == level) * 1.0 for level in category.levels]
    X = np.column_stack([rows[FEATURES].replace(-999, np.nan), *dummies])
    X[(rows["city"] == "?").to_numpy(), 3:] = np.nan  # missing in all of them
    plain = GaussianLinearDiscriminant(missing="em")
    plain.fit(X, rows["kind"].to_numpy(str))
    assert_allclose(model.means_, plain.means_, atol=1e-6)
    shown = succeed("predict", path, data)
    answers = [line.rsplit(",", 1)[1] for line in shown.split()[1:]]
    assert answers == plain.predict(X).tolist()
