"""Model files: what is loaded is what was saved, and nothing else is loaded."""

import copy
import dataclasses
import json
import os
import pickle
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import heterolda
from heterolda import (
    BoundedErrorClassifier,
    ClassStatistics,
    Fisher,
    FitRecord,
    FixedPoint,
    GaussianLinearDiscriminant,
    Global,
    Grid,
    HeteroscedasticProjection,
    Judgement,
    LocalNeighborhoodSearch,
    RandomSearch,
    SmoothedLinearDiscriminant,
    recommended,
)
from heterolda.estimators.categories import Category
from heterolda.estimators.votes import Committee
from heterolda.export import model_file
from heterolda.export.model_file import from_document, to_document
from heterolda.export.models import TABLE

# Few rows of drawn classes: sometimes Fisher's rule is better by chance, or none helps.
pytestmark = [
    pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning"),
    pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning"),
]

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "deploy.md"
METHODS = "predict", "decision_function", "predict_proba", "predict_log_proba"

GLD, LNS = GaussianLinearDiscriminant, LocalNeighborhoodSearch
HP = HeteroscedasticProjection
BY_LABEL = {2: 1, 0: 2.5, 3: 3, 1: 4}
COSTS = pd.DataFrame(
    [[0, 1, 2, 3], [4, 0, 5, 6], [7, 8, 0, 9], [1, 1, 1, 0]], [2, 0, 3, 1], [2, 0, 3, 1]
)
FOUR_CLASSES = {
    "global": GLD(),
    "Global": GLD(solver=Global(gap=1e-5), priors=[0.1, 0.2, 0.3, 0.4]),
    "FixedPoint": GLD(solver=FixedPoint(max_iter=7, keep="last")),
    "Grid": GLD(solver=Grid(0.01), priors="equal"),
    "RandomSearch": GLD(solver=RandomSearch(2, low=0, high=1), random_state=7),
    "Fisher": GLD(solver=Fisher(), shrinkage=[0.25, 0.5]),
    "auto": GLD(shrinkage="auto", voting="majority"),
    "ova": GLD(multiclass="ova", priors=BY_LABEL),
    "costs": GLD(costs={0: {1: 5, 2: 0.5}, 3: {0: 0.0}}),
    "gaps": GLD(missing="em", shrinkage="cv", priors=BY_LABEL),
    "paper": LNS(max_iter=30),
    "powers": SmoothedLinearDiscriminant(0.5),
    "smoothed": recommended(priors=BY_LABEL),
    "projection": HP(2, priors=BY_LABEL),
    "twice": make_pipeline(HP(3), HP(2, method="chernoff"), LNS(max_iter=20)),
    "frames": make_pipeline(HP(3), HP(2), recommended()).set_output(transform="pandas"),
}
TWO_CLASSES = {
    "two": GLD(),
    "two ova": GLD(multiclass="ova"),
    "neyman-pearson": GLD(criterion="neyman-pearson", max_error={1: 0.05}),
    "bounded": BoundedErrorClassifier(max_error={1: 0.2}, confidence=0.9),
    "bounded gaps": BoundedErrorClassifier(
        GLD(missing="em", costs={0: {1: 5}}), max_error={1: 0.2}, confidence=0.9
    ),
}


def same(a, b):
    """Whether two objects are equal in all that they hold, types included.

    Parameters that are arrays are lists once they are loaded.
    """
    if {type(a), type(b)} == {np.ndarray, list}:
        a, b = np.asarray(a), np.asarray(b)
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        nan = a.dtype.kind == "f"
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=nan)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Committee):  # the temperature in place of rows
        return same(a.__getstate__(), b.__getstate__())
    if dataclasses.is_dataclass(a):
        names = [field.name for field in dataclasses.fields(a)]
        return all(same(getattr(a, n), getattr(b, n)) for n in names)
    if isinstance(a, BaseEstimator | ClassStatistics):
        one, two = vars(a), vars(b)
        return one.keys() == two.keys() and all(same(one[k], two[k]) for k in one)
    return a == b or (a != a and b != b)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


def copy_of(model, path, **options):
    """The model of a file; saved once more it gives the same file."""
    heterolda.save(model, path, **options)
    content = path.read_bytes()
    loaded = heterolda.load(path)
    heterolda.save(loaded, path, **options)
    assert path.read_bytes() == content
    return loaded


def check_predictions(model, other, X):
    rows = np.vstack([np.asarray(X), np.zeros(X.shape[1]), np.full(X.shape[1], 1e160)])
    if isinstance(X, pd.DataFrame):
        rows = pd.DataFrame(rows, columns=X.columns)
    for method in METHODS if hasattr(model, "predict") else ["transform"]:
        one, two = getattr(model, method)(rows), getattr(other, method)(rows)
        assert same(np.asarray(one), np.asarray(two)), method


def fitted(name, make_classes):
    """One of the models and the rows that it was fitted to."""
    X, y = make_classes(4 if name in FOUR_CLASSES else 2)
    X = np.exp(3 * X) if "powers" in name else X
    if "gaps" in name:
        X[::3, 0], X[::5, 1:] = np.nan, np.nan
    model = clone((FOUR_CLASSES | TWO_CLASSES)[name]).fit(X, y)
    assert "powers" not in name or model.transformation_ is not None
    return model, X


@pytest.mark.parametrize("name", [*FOUR_CLASSES, *TWO_CLASSES])
def test_a_loaded_model_is_the_same_in_every_bit(make_classes, path, name):
    model, X = fitted(name, make_classes)
    loaded = copy_of(model, path)
    check_predictions(model, loaded, X)
    assert same(loaded, model)
    assert repr(loaded) == repr(model)
    assert same(clone(loaded), clone(model))


def test_labels_keep_their_values_and_types(make_classes, path):
    X, y = make_classes(4)
    for labels in (
        np.array([1, 2**64 - 1, 3, 0], "u8"),
        np.array([1, 2, 3, 0], "f2"),
        np.array([7, 5, 9, 1], ">i4"),
        np.array(["d", "a", "ü\n", '"c']),
        np.array(["x", "y", "zz", "w" * 90], dtype=object),
    ):
        model = GLD().fit(X, labels[y])
        loaded = copy_of(model, path)
        native = model.classes_.dtype.newbyteorder("=")
        assert loaded.classes_.dtype == loaded.predict(X).dtype == native
        assert np.array_equal(loaded.predict(X), model.predict(X))


def test_parameters_are_plain_when_loaded(make_classes, path):
    X, y = make_classes(4)
    shares = pd.Series(y).value_counts()
    for given, kept in [
        ({"costs": COSTS}, {"costs": COSTS.to_dict("index")}),
        ({"priors": shares}, {"priors": shares.to_dict()}),
        ({"priors": (0.1, 0.2, 0.3, 0.4)}, {"priors": [0.1, 0.2, 0.3, 0.4]}),
        ({"random_state": np.random.RandomState(3)}, {"random_state": None}),
        ({"shrinkage": np.float64(0.25)}, {"shrinkage": 0.25}),
        (
            {"solver": RandomSearch(np.int64(2), low=np.float32(0.5))},
            {"solver": RandomSearch(2, low=0.5)},
        ),
    ]:
        model = GLD(**given).fit(X, y)
        loaded = copy_of(model, path)
        check_predictions(model, loaded, X)
        for name, value in kept.items():
            assert same(getattr(loaded, name), value)
        if "solver" not in given:
            assert same(clone(loaded).fit(X, y).coef_, model.coef_)


def test_what_was_fitted_is_kept_apart_from_parameters_that_were_set_later(
    make_classes, path
):
    X, y = make_classes(4)
    model = GLD(voting="majority", shrinkage=0.3).fit(X, y)
    model.set_params(voting="weighted", shrinkage=None, multiclass="ova", priors=[1])
    # Coefficients that somebody has changed are those that predict.
    model.coef_, model.intercept_ = 2 * model.coef_, model.intercept_ + 0.1
    loaded = copy_of(model, path)
    check_predictions(model, loaded, X)
    assert loaded.frontier_[2].auc == model.frontier_[2].auc
    model.set_params(voting="loud")
    with pytest.raises(ValueError, match=r"cannot be saved.*voting"):
        heterolda.save(model, path)


def test_with_statistics_a_loaded_model_goes_on(make_classes, path):
    X, y = make_classes(2)
    more = X[80:], y[80:]
    for model in (
        GLD().partial_fit(X[:80], y[:80], classes=[0, 1]),
        HP(2).partial_fit(X[:80], y[:80]),
    ):
        loaded = copy_of(model, path)
        if isinstance(model, GLD):
            bound = {"criterion": "neyman-pearson", "max_error": {0: 0.1}}
            assert same(*(m.with_operating_point(**bound) for m in (model, loaded)))
        assert same(loaded.partial_fit(*more), model.partial_fit(*more))
    model, X = fitted("gaps", make_classes)
    few = model.for_features([0, 2])
    check_predictions(few, copy_of(few, path), X[~np.isnan(X).any(axis=1)][:, [0, 2]])


def test_few_rows_of_many_features_are_kept_as_factors(path, rng):
    y = np.repeat([0, 1, 2], [12, 11, 1])
    X = rng.normal(size=(24, 130)) + y[:, None]
    X[:, :2], X[:, 3] = 7, X[:, 2]  # constant, and a copy
    model = GLD(shrinkage="auto").fit(X, y)
    loaded = copy_of(model, path)
    check_predictions(model, loaded, X)
    kept, stats = loaded.statistics_, model.statistics_
    assert [part.shape for part in kept.factors] == [(11, 130), (10, 130), (0, 130)]
    np.testing.assert_allclose(kept.scatters, stats.scatters, atol=1e-11)
    # Not a row of the data, nor of the deviations.
    numbers = np.round(kept.factors[0], 9)
    for rows in (X, *stats.factors):
        assert not np.isin(np.round(rows[rows != 0], 9), numbers).any()
    points = [m.with_operating_point(priors="equal") for m in (model, loaded)]
    np.testing.assert_allclose(points[0].coef_, points[1].coef_, atol=1e-7)


@pytest.mark.parametrize("name", ["smoothed", "gaps", "bounded gaps", "frames"])
def test_without_statistics_a_model_predicts_and_says_what_it_lacks(
    name, make_classes, path
):
    model, X = fitted(name, make_classes)
    loaded = copy_of(model, path, include_statistics=False)
    check_predictions(model, loaded, X[~np.isnan(X).any(axis=1)])
    part = loaded[0] if isinstance(loaded, Pipeline) else loaded
    part = getattr(part, "estimator_", part)
    assert not hasattr(part, "statistics_")
    lacking = [lambda: part.partial_fit(X, np.arange(len(X)) % 2)]
    if isinstance(part, GLD):
        assert not hasattr(part, "frontier_")
        lacking = [lambda: part.frontier_, part.with_operating_point]
    for use in lacking:
        with pytest.raises(NotFittedError, match="include_statistics=True"):
            use()
    if "gaps" in name:
        with pytest.raises(NotFittedError, match="missing values needs"):
            loaded.predict(X)
    if isinstance(part, HP):
        back = part.inverse_transform(np.eye(len(part.explained_)))
        assert same(back, part.loadings_ + part.mean_)


def test_of_other_initial_estimators_only_the_name_is_kept(make_classes, path):
    X, y = make_classes(4)
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    for start in (LogisticRegression(), frozen):
        search = LNS(start, max_iter=20).fit(X, y)
        loaded = copy_of(search, path)
        check_predictions(search, loaded, X)
        assert not hasattr(loaded, "estimator_")
        for weight in (None, np.ones(len(y))):
            with pytest.raises(ValueError, match=r"LogisticRegression.*set_params"):
                loaded.fit(X, y, weight)
        loaded.set_params(estimator=start)
        assert same(loaded.fit(X, y).coef_, search.coef_)


def test_a_frozen_discriminant_is_kept_as_such(make_classes, path):
    X, y = make_classes(4)
    start = GLD(shrinkage="cv").fit(X[::2], y[::2])
    search = LNS(FrozenEstimator(start), max_iter=20).fit(X, y)
    loaded = copy_of(search, path)
    assert same(loaded, search)
    assert same(loaded.fit(X, y), search)  # from the discriminant of the file
    X, y = make_classes(2)
    frame = pd.DataFrame(X, columns=["Größe", "a, b", "1"])
    frozen = FrozenEstimator(GLD().fit(frame[::2], y[::2] == 1))
    model = BoundedErrorClassifier(frozen, max_error={True: 0.2})
    model.fit(frame[1::2], y[1::2] == 1)
    loaded = copy_of(model, path)
    assert same(loaded, model)
    assert loaded.bound_.label is True
    bare = copy_of(model, path, include_statistics=False)
    check_predictions(model, bare, frame)
    for inside in (LogisticRegression(), type("Own", (GLD,), {})()):
        model.set_params(estimator=inside).fit(X, y == 1)
        with pytest.raises(TypeError, match="not a subclass"):
            heterolda.save(model, path)


def test_the_record_of_the_fit_is_kept_until_the_next(make_classes, path):
    X, y = make_classes(4)
    frame = pd.DataFrame(X, columns=["Länge", "city=Lyon", "city=other"])
    model = GLD().fit(frame, y)
    model.fit_record_ = FitRecord(
        "kind",
        "größe.csv",
        "2026-11-30",
        160.0,
        Judgement("leave-one-out", 160.0, 0.875, 0.85, 0.0125),
        categories=(Category("city", "Paris", ("Lyon",), ("Metz", "Nîmes"), "other"),),
        marks=("?", "-999"),
        n_columns=4,
    )
    loaded = copy_of(model, path)
    assert same(loaded, model)
    assert not hasattr(loaded.fit(frame, y), "fit_record_")


class Derived(GaussianLinearDiscriminant):
    __init__ = GaussianLinearDiscriminant.__init__


class MySolver(Global):
    pass


def test_what_cannot_be_kept_is_refused(make_classes, path):
    X, y = make_classes(4)
    scaled = make_pipeline(StandardScaler(), HP(2), GLD()).fit(X, y)
    logistic = make_pipeline(HP(2), LogisticRegression()).fit(X, y)
    passing = Pipeline([("none", "passthrough"), ("rules", GLD())]).fit(X, y)
    tuned = GridSearchCV(GLD(), {"shrinkage": [0.1, 0.2]}, cv=2).fit(X, y)
    dates, surrogate = GLD().fit(X, y), GLD().fit(X, np.array([*"abc", "\ud800"])[y])
    dates.classes_ = dates.classes_.astype("datetime64[s]")
    partial = GLD().partial_fit(X[y < 3], y[y < 3], classes=[0, 1, 2, 3])
    wrong = "must be a GaussianLinearDiscriminant, a"
    step = "model has the step {}, but.* or save .* skops"
    for model, error, message in [
        (scaled, TypeError, step.format("'standardscaler', StandardScaler")),
        (logistic, TypeError, step.format("'logisticregression', Logistic.*")),
        (passing, TypeError, step.format("'none', 'passthrough'")),
        *((one, TypeError, wrong) for one in (tuned, LogisticRegression(), "m", GLD)),
        (Derived().fit(X, y), TypeError, wrong),
        *((m, NotFittedError, "not fitted yet") for m in (GLD(), LNS(), HP())),
        (make_pipeline(HP(), GLD()), NotFittedError, "not fitted yet"),
        (clone(TWO_CLASSES["bounded"]), NotFittedError, "not fitted yet"),
        (partial, NotFittedError, r"classes \[3\] still"),
        (GLD(solver=MySolver()).fit(X, y), ValueError, "parameter solver cannot be"),
        (dates, ValueError, "classes must be numbers, booleans or text"),
        (surrogate, ValueError, "valid text"),
    ]:
        with pytest.raises(error, match=message):
            heterolda.save(model, path)
    with pytest.raises(TypeError, match="include_statistics must be True or False"):
        heterolda.save(GLD().fit(X, y), path, include_statistics="no")
    assert os.listdir(path.parent) == []


def test_a_file_is_written_whole_or_not_at_all(make_classes, path, monkeypatch):
    model = GLD().fit(*make_classes(4))
    path.write_text("old")
    with pytest.raises(FileNotFoundError, match="folder"):
        heterolda.save(model, path.parent / "none" / "model.json")
    monkeypatch.setattr(model_file, "MOST_BYTES", 1000)
    with pytest.raises(ValueError, match=r"cannot be saved.* larger than"):
        heterolda.save(model, path)
    assert path.read_text() == "old"
    assert os.listdir(path.parent) == [path.name]


def test_files_are_readable_and_hold_no_rows_of_data(make_classes, path):
    X, y = make_classes(4)
    model = recommended().fit(X, y)
    heterolda.save(model, path)
    text = path.read_text(encoding="utf-8")
    document = json.loads(text, parse_constant=pytest.fail)
    assert document["heterolda"] == heterolda.__version__
    lines = [line.strip().rstrip(",") for line in text.splitlines()]
    for row in model.coef_.tolist():
        assert json.dumps(row) in lines
    numbers = set(re.findall(r"-?\d+\.\d{6,}(?:e-?\d+)?", text))
    assert len(numbers) > 100
    assert not numbers & {repr(value) for value in X.ravel().tolist()}


def test_the_guide_has_the_table_of_the_schema():
    rows = {}
    for cls, fields in TABLE.items():
        for key, kind in fields.items():
            rows.setdefault(f"| `{key}` | {kind.words} |", []).append(cls.__name__)
    table = "\n".join(f"{row} {', '.join(names)} |" for row, names in rows.items())
    assert table in GUIDE.read_text(encoding="utf-8"), table


HEAD = b'{"format": "heterolda-model", "version": 1, "heterolda": "0", "model": '
HOSTILE = {
    "empty": (b"", "not JSON"),
    "binary": (bytes(range(256)) * 4000, "UTF-8"),
    "pickle": (pickle.dumps({"format": "heterolda-model"}), "UTF-8"),
    "lists": (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    "keys": (b'{"1":0' + b',"1":0' * 100_000 + b"}", "format"),
    "NaN": (HEAD + b"NaN}", "estimator"),
    "digits": (HEAD + b"1" * 10**6 + b"}", "estimator"),
    "other": (b'{"format": "other", "version": 1}', "format"),
    "trailing": (HEAD + b"{}} {}", "Extra data"),
    "no keys": (b'{"format": "heterolda-model", "version": 1}', "lacks heterolda"),
    "more": (HEAD + b'{}, "extra": 1}', "unknown key 'extra'"),
    "version 7": (HEAD.replace(b"1", b"7", 1) + b"{}}", "reads only version 1"),
    "version": (HEAD.replace(b"1", b"true", 1) + b"{}}", "reads only version 1"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_cheaply(path, name):
    content, reason = HOSTILE[name]
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="model.json.*" + reason) as caught:
            heterolda.load(path)
        assert tracemalloc.get_traced_memory()[1] < 2**28
    finally:
        tracemalloc.stop()
    assert len(str(caught.value)) < 500 + len(str(path))


def test_files_that_are_too_large_or_not_regular_are_not_read(path, monkeypatch):
    with open(path, "wb") as file:
        file.truncate(2**31)
    with pytest.raises(ValueError, match="larger than 1024 MiB"):
        heterolda.load(path)
    path.write_bytes(b'{"format": [["a", "b", "c"], {}]}')
    for mark, count in ((",", 3), ('"', 8), ("[", 2), ("{", 2)):
        with monkeypatch.context() as patch:
            patch.setitem(model_file.MOST_MARKS, mark, count)
            with pytest.raises(ValueError, match="it has no"):
                heterolda.load(path)
            patch.setitem(model_file.MOST_MARKS, mark, count - 1)
            with pytest.raises(ValueError, match=f"more than {count - 1} of the char"):
                heterolda.load(path)
    pipe = path.with_name("pipe")
    if hasattr(os, "mkfifo"):
        os.mkfifo(pipe)
        for place in (path.parent, pipe, "/dev/zero"):
            with pytest.raises(ValueError, match="not a regular file"):
                heterolda.load(place)
    with pytest.raises(FileNotFoundError):
        heterolda.load(path.with_name("none.json"))
    with pytest.raises(TypeError):
        heterolda.load(0)


def nested_solver(depth):
    """Settings of a solver within settings within settings."""
    others = {"keep": "best"}
    solver = None
    for _ in range(depth):
        solver = {"FixedPoint": {"max_iter": 1, "tol": solver, **others}}
    return solver


TOO_MANY = "must have 1000000000000 entries"
ODDS = {"offset": [[1] * 6] * 2, "slope": [[-1] * 6] * 2}
# By the name of a model: where, what to put there, and what the message says.
EDITS = {
    "global": [
        ("estimator", "Ridge", "must be one of"),
        ("parameters", [], "parameters must be an object"),
        ("parameters.solver", "newton", "solver must be one of"),
        ("parameters.solver", {"Global": {"gap": 9.0}}, "gap must be"),
        ("parameters.solver", nested_solver(300), "nested too deeply"),
        ("parameters.priors", {"map": [[[], 1]]}, "have labels"),
        ("parameters.random_state", 2**70, "random_state"),
        ("classes_.labels", [0, 1, 3, 2], "sorted and distinct"),
        ("classes_.labels", list(range(100_000)), "must have 100000 entries"),
        ("classes_.labels", [0], "two or more"),
        ("classes_.labels", [0, 1, 2, 2**63], "labels of int64"),
        ("classes_", {"type": "float64", "labels": [0.0, 1.0, 2.0, np.inf]}, "float64"),
        ("classes_", {"type": "str", "labels": [*"abc", "d" * 2**23]}, "too long"),
        ("classes_", {"type": "str", "labels": [*"abc", "d\0"]}, "labels of str"),
        ("n_features_in_", 10**12, TOO_MANY),
        ("feature_names_in_", ["a", "b", 3], "must be valid text"),
        ("rules.coef", [[0.0] * 3] * 5, "must have 6 entries, got 5"),
        ("rules.coef.0.0", float("inf"), "finite"),
        ("rules.coef.0.0", "0.1", "numbers only, got '0.1'"),
        ("rules.coef.0", [1e308, 1e308, 1e308], "too large"),
        ("rules.error.0", 1.5, "from 0 to 1"),
        ("rules.status.0", "lucky", "must be one of"),
        ("rules.deviations.0.0", 0, "no probabilities"),
        ("votes.voting", None, "not those of 4 classes"),
        ("statistics_", "AAAA*AAA", "statistics_: "),
        ("votes.temperature", 0, "temperature must be"),
        ("votes.log_odds", ODDS, "slope"),
        ("shrinkage_", {"to_pooled": [0, 0, 0, 2], "to_diagonal": 0}, "from 0 to 1"),
    ],
    "ova": [("votes.voting", "weighted", "not those of 4 classes")],
    "two": [("votes.voting", "weighted", "not those of 2 classes")],
    "paper": [
        ("estimator_.frozen", None, "true or false"),
        ("estimator_.model.classes_.labels", [0, 1, 2, 4], "other classes"),
        ("estimator_.model.estimator", "LocalNeighborhoodSearch", "must be one of"),
        ("parameters.estimator", {"frozen": None}, "frozen, and not saved"),
        ("parameters.estimator", {"GaussianLinearDiscriminant": {}}, "lacks solver"),
        ("history_", [], "one entry or more"),
    ],
    "powers": [
        ("estimator_.model.classes_.labels", [0, 1, 2, 4], "other classes"),
        ("transformation_.scale.1", 0.0, "finite numbers from"),
        ("transformation_.lambdas.1", 4.5, "from -2 to 4"),
        ("path_.0.weight", 1.5, "from 0 to 1"),
    ],
    "bounded": [
        ("bound_.label", "third", "label must be"),
        ("estimator_.model.rules.intercept", [-1.7e308], "threshold_"),
    ],
    "frames": [
        ("steps.1.name", "heteroscedasticprojection-1", "steps: "),
        ("steps.1.name", "a__b", "steps: "),
        ("steps.0.model.n_features_in_", 10**12, TOO_MANY),
        (
            "steps.0.model.scalings_",
            [[1e308] * 3] * 3,
            "scalings_ has numbers that are",
        ),
        ("steps.0.model.explained_.0", -0.1, "from 0 to"),
    ],
}


def place(document, where):
    """The container of a place in the model of a document, and its key there."""
    *keys, last = [int(key) if key.isdigit() else key for key in where.split(".")]
    container = document["model"]
    for key in keys:
        container = container[key]
    return container, last


def check_refused(document, where, value, message):
    """A document with another value in one place of its model is refused."""
    changed = copy.deepcopy(document)
    container, key = place(changed, where)
    container[key] = value
    with pytest.raises(ValueError, match=message):
        from_document(changed)


@pytest.mark.parametrize("name", EDITS)
def test_what_does_not_fit_together_is_refused(name, make_classes):
    document = to_document(fitted(name, make_classes)[0])
    if name == "bounded":
        document["model"]["threshold_"] = 1.7e308
    from_document(copy.deepcopy(document))
    for edit in EDITS[name]:
        check_refused(document, *edit)


def test_parts_of_another_model_are_refused(make_classes):
    document = to_document(fitted("frames", make_classes)[0])
    steps = document["model"]["steps"]
    for value, message in [
        (steps[1:] + steps[:1], "steps"),
        ([steps[0], steps[2]], r"steps\[1\].* must be 3, the components"),
        ([*steps[:2], {"name": "in", "model": document["model"]}], "must be one of"),
    ]:
        check_refused(document, "steps", value, message)
    document = to_document(fitted("global", make_classes)[0])
    other = to_document(GLD().fit(*make_classes(3)))["model"]["statistics_"]
    check_refused(document, "statistics_", other, "other classes or features")
    city = {"column": "city", "reference": "", "levels": ["a"], "merged": []}
    record = {"target": "y", "data": "", "date": "", "n_rows": 1, "judgement": None}
    record |= {"marks": [], "n_columns": None}
    record["categories"] = [city | {"other": None}]
    check_refused(document, "fit_record_", record, "not those of the categories")


@pytest.mark.check
def test_skops_needs_the_types_of_the_guide_and_no_others(make_classes, path):
    text = GUIDE.read_text(encoding="utf-8")
    trusted = re.findall(r'^\.\.\.     "(heterolda[\w.]+)",$', text, re.M)
    models = [fitted(name, make_classes) for name in (*FOUR_CLASSES, *TWO_CLASSES)]
    X, y = make_classes(2)
    search = copy_of(LNS(LogisticRegression(), max_iter=10).fit(X, y), path)
    judgement = Judgement("leave-one-out", 80.0, 0.9, 0.8, 0.01)
    city = Category("city", "Paris", ("Lyon",))
    search.fit_record_ = FitRecord("y", "data", "2026", 80.0, judgement, (city,))
    needed = set()
    for model, rows in [*models, (search, X)]:
        data = skops.io.dumps(model)
        needed.update(skops.io.get_untrusted_types(data=data))
        check_predictions(skops.io.loads(data, trusted=trusted), model, rows)
    assert sorted(needed) == trusted
