"""Columns of categories: the same as features of zeros and ones made by others."""

import json

import numpy as np
import pandas as pd
import pytest
from onnxruntime import InferenceSession
from sklearn.preprocessing import OneHotEncoder

import heterolda
from helpers.cli import KINDS, invoke, rows_of, succeed
from heterolda import GaussianLinearDiscriminant

# Zeros and ones are not Gaussian, as the rows say.
pytestmark = [
    pytest.mark.filterwarnings("ignore::heterolda.exceptions.ModelMisfitWarning"),
    pytest.mark.filterwarnings("ignore:Found unknown categories"),  # of the encoder
]
# Three cities are too rare for a feature of their own, but not together.
FIT = "fit", "--no-accuracy", "--method", "gaussian"
CITIES = {"Lyon": 120, "Metz": 8, "Paris": 166, "Brest": 8, "Nice": 90, "Toul": 8}


def make_rows(rng):
    """Four classes that differ in numbers and in categories, shuffled."""
    city = np.repeat(list(CITIES), list(CITIES.values()))
    n = len(city)
    y = np.arange(n) % 4
    frame = pd.DataFrame(
        {
            "x0": rng.normal(size=n) * (1 + y) + y,
            "city": "",
            "x1": rng.normal(size=n) - y,
            "code": rng.integers(1, 4, n),
            "kind": np.array(KINDS)[y],
        }
    )
    frame.loc[np.argsort(3 * rng.normal(size=n) + y), "city"] = city
    return frame.iloc[rng.permutation(n)].reset_index(drop=True)


def encoded(frame, fitted_to=None):
    """Features by scikit-learn's encoder, in the order of the columns."""
    seen = frame if fitted_to is None else fitted_to
    parts = [frame["x0"]]
    for name in ("city", "code"):
        n_least = int(np.ceil(max(10, 0.01 * len(seen))))
        column, text = seen[[name]].astype(str), frame[[name]].astype(str)
        encoder = OneHotEncoder(
            drop=[column[name].value_counts().sort_index(kind="stable").idxmax()],
            min_frequency=n_least,
            handle_unknown="infrequent_if_exist",
            sparse_output=False,
        ).fit(column)
        names = encoder.get_feature_names_out([name])
        new = pd.DataFrame(encoder.transform(text), columns=names, index=frame.index)
        parts += [new, frame["x1"]] if name == "city" else [new]
    X = pd.concat(parts, axis=1)
    names = X.columns.str.replace("infrequent_sklearn", "other").str.replace("_", "=")
    return X.set_axis(names, axis=1)


def write(frame, kind, folder):
    """The rows as a source of this kind: arguments and standard input."""
    if kind == "parquet":
        typed = frame.assign(city=frame["city"].astype("category"))
        typed.astype({"code": float}).to_parquet(folder / "rows.parquet")
        return [folder / "rows.parquet"], None
    if kind == "stdin":
        return ["-"], frame.to_csv(index=False)
    # Blanks around, and whole numbers as some programs write them, mean nothing.
    spaced = frame.assign(city=" " + frame["city"], code=frame["code"].astype(float))
    spaced.to_csv(folder / "rows.csv", index=False)
    return [folder / "rows.csv"], None


def fit(folder, frame, *options, kind="csv", categorical="city,code"):
    data, stdin = write(frame, kind, folder)
    model, given = folder / "model.json", ["-t", "kind", "--categorical", categorical]
    succeed(*FIT, *data, *given, "-o", model, *options, stdin=stdin)
    return heterolda.load(model)


def assert_same(model, reference):
    assert model.feature_names_in_.tolist() == reference.feature_names_in_.tolist()
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        model.intercept_, reference.intercept_, rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize(
    ("kind", "shrinkage"),
    [("csv", "cv"), ("parquet", "auto"), ("stdin", "cv")],
)
def test_a_fit_is_that_to_features_of_an_encoder(kind, shrinkage, rng, tmp_path):
    frame = make_rows(rng)
    options = (
        ["--shrinkage", "cv"] if shrinkage == "cv" else []
    )  # in memory, or in passes
    model = fit(tmp_path, frame, *options, kind=kind)
    X = encoded(frame)
    assert list(X) == ["x0", "city=Lyon", "city=Nice", "city=other", "x1", *list(X)[5:]]
    reference = GaussianLinearDiscriminant(shrinkage=shrinkage).fit(X, frame["kind"])
    assert_same(model, reference)
    shown = " ".join(succeed("inspect", tmp_path / "model.json").split())
    assert "Needs the columns x0, city, x1, code." in shown
    assert "city: Paris (the reference), Lyon, Nice; any other counts as city" in shown

    # New rows, with an unseen city and another order of columns.
    new = make_rows(rng).head(80)
    new.loc[:4, "city"] = "Oslo"
    new.insert(0, "id", range(80))
    new = new[["code", "id", "kind", "city", "x1", "x0"]]
    data, stdin = write(new, kind, tmp_path)
    result = invoke("predict", tmp_path / "model.json", *data, stdin=stdin)
    head, *rows = rows_of(result.stdout)
    assert head == [*new, "prediction"]
    assert [row[-1] for row in rows] == reference.predict(encoded(new, frame)).tolist()
    assert [row[3].strip() for row in rows] == new["city"].tolist()
    assert "column 'city': 5 rows with values" in result.stderr.replace("\n", " ")
    assert "which count as city=other" in result.stderr
    scores = invoke("evaluate", tmp_path / "model.json", *data, "--json", stdin=stdin)
    accuracy = reference.score(encoded(new, frame), new["kind"])
    assert json.loads(scores.stdout)["accuracy"] == pytest.approx(accuracy)
    assert "5 rows with values that were not in the fit" in scores.stderr


def test_weights_are_copies_and_incomplete_rows_do_not_count(rng, tmp_path):
    frame = make_rows(rng)
    frame["n"] = rng.integers(1, 4, len(frame))
    repeated = frame.loc[frame.index.repeat(frame["n"])].drop(columns="n")
    # Toul is frequent enough only by rows that are left out.
    incomplete = frame.assign(city="Toul").head(60)
    incomplete.loc[:19, "x1"] = incomplete.loc[20:39, "code"] = incomplete.loc[
        40:, "kind"
    ] = None
    incomplete.loc[0, "city"] = None
    mixed = pd.concat([incomplete, frame]).sample(frac=1, random_state=0)
    model = fit(tmp_path, mixed, "--sample-weight", "n", "--missing", "drop")
    X = encoded(repeated)
    X = X[~X.index.duplicated()].loc[frame.index]
    expected = GaussianLinearDiscriminant().fit(X, frame["kind"], frame["n"])
    assert_same(model, expected)
    small = mixed.assign(n=0.02)
    names = fit(tmp_path, small, "--sample-weight", "n", "--missing", "drop")
    assert names.feature_names_in_.tolist() == list(encoded(frame))


def test_project_and_cross_validation_take_the_same_features(rng, tmp_path):
    frame = make_rows(rng)
    X = encoded(frame)
    plain = tmp_path / "plain.csv"
    pd.concat([X, frame["kind"]], axis=1).to_csv(plain, index=False)
    (data,), _ = write(frame, "csv", tmp_path)
    options = ["-t", "kind", "--categorical", "code,city"]
    projected = succeed("project", data, *options, "-o", "-")
    assert projected == succeed("project", plain, "-t", "kind", "-o", "-")
    fits = [
        succeed("fit", data, *options, "--cv", "3"),
        succeed("fit", plain, "-t", "kind", "--cv", "3"),
    ]
    lines = [[k for k in text.splitlines() if "ccuracy" in k] for text in fits]
    assert lines[0] == lines[1] != []


def test_rare_levels_and_names_that_clash(rng, tmp_path):
    frame = make_rows(rng)
    frame["city"] = np.where(np.arange(400) % 3 == 0, "other", "town")
    frame.loc[:19, "city"] = [f"rare{k}" for k in range(20)]
    model = fit(tmp_path, frame)
    names = ["x0", "city=other", "city=(other)", "x1"]
    assert model.feature_names_in_.tolist()[:4] == names
    # Too few even together, they count as the reference, and so do unseen ones.
    frame.loc[5:19, "city"] = "town"
    model = fit(tmp_path, frame)
    assert model.feature_names_in_.tolist()[:3] == ["x0", "city=other", "x1"]
    X = frame[["x0", "x1", "code"]].copy()
    X.insert(1, "city=other", (frame["city"] == "other").astype(float))
    codes = pd.get_dummies(frame["code"].astype(str), prefix="code", prefix_sep="=")
    X = X.drop(columns="code").join(codes[model.feature_names_in_[3:]].astype(float))
    assert_same(model, GaussianLinearDiscriminant().fit(X, frame["kind"]))
    frame = make_rows(rng).assign(**{"city=Lyon": 1.0})
    (data,), _ = write(frame, "csv", tmp_path)
    result = invoke(*FIT, data, "-t", "kind", "--categorical", "city")
    assert "two features would be named 'city=Lyon'" in result.stderr


def test_hostile_levels_reach_models_headers_and_graphs(rng, tmp_path):
    levels = ["a=b", 'c,"d"', "*/ int x; /*", "line\nfeed\tü", "=", "??/"]
    frame = make_rows(rng)
    frame["city"] = np.repeat(levels, [100, 60, 60, 60, 60, 60])
    frame = frame.iloc[rng.permutation(len(frame))]
    model = fit(tmp_path, frame, categorical="city")
    new = frame.head(50)
    X = pd.get_dummies(new["city"]).reindex(columns=sorted(levels)).astype(float)
    X.columns = [f"city={level}" for level in X]
    X = pd.concat([new[["x0"]], X, new[["x1", "code"]]], axis=1)[
        model.feature_names_in_
    ]
    new.to_csv(tmp_path / "new.csv", index=False)
    path = tmp_path / "model.json"
    _, *rows = rows_of(succeed("predict", path, tmp_path / "new.csv"))
    expected = model.predict(X).tolist()
    assert [row[-1] for row in rows] == expected
    assert [row[1] for row in rows] == new["city"].tolist()

    shown = succeed("export", path, "-o", tmp_path / "m.onnx", "--dtype", "float64")
    assert f"city={levels[2]}: 1 if city is " in shown
    assert "city=line\\nfeed" in shown
    session = InferenceSession(tmp_path / "m.onnx")
    assert session.run(None, {"X": X.to_numpy()})[0].tolist() == expected
    meanings = json.loads(session.get_modelmeta().custom_metadata_map["features"])
    assert meanings[0] == "x0"
    assert '1 if city is "line\\nfeed\\tü", else 0' in meanings

    succeed("export", path, "-o", tmp_path / "m.h", "--dtype", "double")
    header = (tmp_path / "m.h").read_text()
    assert " *     x[1]: 1 if city is " in header
    assert header.count("*/") == header.count("/*")
