"""Model files: what is loaded is what was saved, and nothing else is loaded."""

import copy
import dataclasses
import json
import os
import pickle
import re
import tracemalloc
from base64 import b64encode
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
from heterolda.export import json_file
from heterolda.export.model_file import from_document, to_document
from heterolda.export.models import TABLE
from heterolda.solvers import SOLVERS

# Few rows of drawn classes: sometimes Fisher's rule is better by chance, or none helps.
pytestmark = [
    pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning"),
    pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning"),
]

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guide" / "deploy.md"
METHODS = "predict", "decision_function", "predict_proba", "predict_log_proba"

GLD, LNS = GaussianLinearDiscriminant, LocalNeighborhoodSearch
HP = HeteroscedasticProjection
BY_LABEL = {2: 1, 0: 2.5, 3: 3, 1: 4}
COSTS = pd.DataFrame(
    [[0, 1, 2, 3], [4, 0, 5, 6], [7, 8, 0, 9], [1, 1, 1, 0]], [2, 0, 3, 1], [2, 0, 3, 1]
)
FOUR_CLASSES = {
    **{name: GLD(solver=name) for name in SOLVERS},
    "Global": GLD(solver=Global(gap=1e-5), priors=np.array([0.1, 0.2, 0.3, 0.4])),
    "FixedPoint": GLD(solver=FixedPoint(max_iter=7, tol_norm=1e-3, keep="last")),
    "Grid": GLD(solver=Grid(0.01), priors=(0.1, 0.2, 0.3, 0.4)),
    "RandomSearch": GLD(solver=RandomSearch(2, low=0, high=1), random_state=7),
    "Fisher": GLD(solver=Fisher(), shrinkage=(0.25, 0.5)),
    "auto": GLD(shrinkage="auto", voting="majority", priors="equal"),
    "cv": GLD(shrinkage="cv"),
    "ova": GLD(multiclass="ova", priors=BY_LABEL),
    "costs": GLD(costs={0: {1: 5, 2: 0.5}, 3: {0: 0.0}}),
    "minimax": GLD(criterion="minimax"),
    "gaps": GLD(missing="em", shrinkage="cv", priors=BY_LABEL),
    "paper": LNS(max_iter=30),
    "powers": SmoothedLinearDiscriminant(0.5),
    "weights": LNS(GLD(shrinkage=0.1), max_iter=20, class_weight={0: 2.5, 3: 1}),
    "smoothed": recommended(priors=BY_LABEL),
    "width": SmoothedLinearDiscriminant(1, transformation=None, shrinkage=(0.2, 1.0)),
    "balanced": LNS(max_iter=20, class_weight="balanced"),
    "projection": HP(2, priors=BY_LABEL),
    "fisher projection": HP(
        1, method="fisher", shrinkage=None, priors=[0.4] + 3 * [0.2]
    ),
    "all components": HP(3, method="chernoff", shrinkage=(0.2, 1.0), verbose=True),
    "only a projection": make_pipeline(HP(2)),
    "in components": make_pipeline(HP(2), GLD(shrinkage=0.1), verbose=True),
    "twice": make_pipeline(HP(3), HP(2, method="chernoff"), LNS(max_iter=20)),
    "frames": make_pipeline(HP(3), HP(2), recommended()).set_output(transform="pandas"),
}
TWO_CLASSES = {
    "two": GLD(),
    "two ova": GLD(multiclass="ova"),
    "neyman-pearson": GLD(criterion="neyman-pearson", max_error={1: 0.05}),
    "paper two": LNS(max_iter=20),
    "powers two": SmoothedLinearDiscriminant(0.5, n_jobs=2),
    "bounded": BoundedErrorClassifier(max_error={1: 0.2}, confidence=0.9),
    "bounded gaps": BoundedErrorClassifier(
        GLD(missing="em", costs={0: {1: 5}}), max_error={1: 0.2}, confidence=0.9
    ),
    "bounded fisher": BoundedErrorClassifier(
        GLD(solver=Fisher(), priors=[0.2, 0.8]), max_error=0.2, random_state=3
    ),
}


def same(a, b):
    """Whether two objects are equal in all that they hold, types included."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        nan = a.dtype.kind == "f"
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=nan)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
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
    assert same(pickle.loads(pickle.dumps(loaded)), pickle.loads(pickle.dumps(model)))


@pytest.mark.parametrize(
    "labels",
    [
        np.array([1, 2**64 - 1, 3, 0], "u8"),
        np.array([-1.0, 2, 3, 0]),
        np.array([1, 2, 3, 0], "f2"),
        np.array([7, 5, 9, 1], ">i4"),
        np.array(["d", "a", "ü\n", '"c']),
        np.array(["x", "y", "zz", "w" * 90], dtype=object),
    ],
    ids=str,
)
def test_labels_keep_their_values_and_types(make_classes, path, labels):
    X, y = make_classes(4)
    model = GLD().fit(X, labels[y])
    loaded = copy_of(model, path)
    native = model.classes_.dtype.newbyteorder("=")
    assert loaded.classes_.dtype == loaded.predict(X).dtype == native
    assert np.array_equal(loaded.classes_, model.classes_)
    assert np.array_equal(loaded.predict(X), model.predict(X))


def test_parameters_are_plain_when_loaded(make_classes, path):
    X, y = make_classes(4)
    model = GLD(costs=COSTS).fit(X, y)
    loaded = copy_of(model, path)
    assert model.costs is COSTS
    assert loaded.costs == COSTS.to_dict("index")
    assert same(clone(loaded).fit(X, y).coef_, model.coef_)
    inside = copy_of(LNS(GLD(costs=COSTS), max_iter=3).fit(X, y), path)
    assert inside.estimator.costs == COSTS.to_dict("index")
    shares, numbered = pd.Series(y).value_counts(), pd.DataFrame(1 - np.eye(4))
    for given, kept in [
        ({"priors": shares}, {"priors": shares.to_dict()}),
        ({"costs": numbered}, {"costs": numbered.to_numpy()}),
        ({"random_state": np.random.RandomState(3)}, {"random_state": None}),
        ({"shrinkage": np.float64(0.25)}, {"shrinkage": 0.25}),
        (
            {"solver": RandomSearch(np.int64(2), low=np.float32(0.5))},
            {"solver": RandomSearch(2, low=0.5)},
        ),
    ]:
        model = GLD(**given).fit(
            X, np.array(["d", "c", "b", "a"])[y] if "costs" in given else y
        )
        loaded = copy_of(model, path)
        check_predictions(model, loaded, X)
        for name, value in kept.items():
            assert same(getattr(loaded, name), value)


def test_what_was_fitted_is_kept_apart_from_parameters_that_were_set_later(
    make_classes, path
):
    X, y = make_classes(4)
    model = GLD(voting="majority", shrinkage=0.3).fit(X, y)
    model.set_params(voting="weighted", shrinkage=None, multiclass="ova", priors=[1])
    loaded = copy_of(model, path)
    assert same(loaded, model)
    check_predictions(model, loaded, X)
    assert loaded.frontier_[2].auc == model.frontier_[2].auc
    # Coefficients that somebody has changed are those that predict, and are kept.
    model.coef_, model.intercept_ = 2 * model.coef_, model.intercept_ + 0.1
    loaded = copy_of(model, path)
    assert same([loaded.coef_, loaded.intercept_], [model.coef_, model.intercept_])
    check_predictions(model, loaded, X)
    model.set_params(voting="loud")
    with pytest.raises(ValueError, match=r"cannot be saved.*voting"):
        heterolda.save(model, path)


def test_with_statistics_a_loaded_model_goes_on(make_classes, path):
    X, y = make_classes(2)
    rest = X[80:], y[80:]
    for model in (
        GLD().partial_fit(X[:80], y[:80], classes=[0, 1]),
        HP(2).partial_fit(X[:80], y[:80]),
    ):
        loaded = copy_of(model, path)
        if isinstance(model, GLD):
            bound = {"criterion": "neyman-pearson", "max_error": {0: 0.1}}
            assert same(*(m.with_operating_point(**bound) for m in (model, loaded)))
        assert same(loaded.partial_fit(*rest), model.partial_fit(*rest))
    model, X = fitted("gaps", make_classes)
    few = model.for_features([0, 2])
    check_predictions(few, copy_of(few, path), X[~np.isnan(X).any(axis=1)][:, [0, 2]])


def test_few_rows_of_many_features_are_kept_as_factors(path):
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1, 2], [12, 11, 1])
    X = rng.normal(size=(24, 130)) + y[:, None]
    X[:, :2], X[:, 3] = 7, X[:, 2]  # constant, and a copy
    model = GLD(shrinkage="auto").fit(X, y)
    loaded = copy_of(model, path)
    check_predictions(model, loaded, X)
    kept, stats = loaded.statistics_, model.statistics_
    assert [part.shape for part in kept.factors] == [(11, 130), (10, 130), (0, 130)]
    np.testing.assert_allclose(kept.scatters, stats.scatters, atol=1e-11)
    # Not a row of the data, nor of the deviations; in any order of rows the same.
    numbers = np.array(kept.factors[0])
    for rows in (X, *stats.factors):
        assert not np.isin(np.round(rows[rows != 0], 9), np.round(numbers, 9)).any()
    mixed = rng.permutation(24)
    other = copy_of(GLD(shrinkage="auto").fit(X[mixed], y[mixed]), path)
    np.testing.assert_allclose(other.statistics_.factors[0], numbers, atol=1e-10)
    points = [m.with_operating_point(priors="equal") for m in (model, loaded)]
    np.testing.assert_allclose(points[0].coef_, points[1].coef_, atol=1e-7)
    more = rng.normal(size=(9, 130)), np.arange(9) % 3
    after = [m.partial_fit(*more).statistics_ for m in (model, loaded)]
    np.testing.assert_allclose(after[0].scatters, after[1].scatters, atol=1e-11)


@pytest.mark.parametrize(
    "name", ["auto", "smoothed", "gaps", "bounded gaps", "projection", "frames"]
)
def test_without_statistics_a_model_predicts_and_says_what_it_lacks(
    name, make_classes, path
):
    model, X = fitted(name, make_classes)
    loaded = copy_of(model, path, include_statistics=False)
    assert "scatters" not in path.read_text()
    check_predictions(model, loaded, X[~np.isnan(X).any(axis=1)])
    assert same(copy_of(loaded, path), loaded)
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
        needed = "which the prediction of rows with missing values needs: save it with"
        with pytest.raises(NotFittedError, match=needed):
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
        assert "LogisticRegression" in repr(loaded)
        assert same(copy_of(loaded, path), loaded)
        lost = r"LogisticRegression.*set_params|estimator is not fitted"
        for weight in (None, np.ones(len(y))):
            with pytest.raises(ValueError, match=lost):
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
    model.fit_record_ = FitRecord("kind", "größe.csv", "2026-11-30", 60.0)
    loaded = copy_of(model, path)
    assert same(loaded, model)
    assert loaded.bound_.label is True
    bare = copy_of(model, path, include_statistics=False)
    check_predictions(model, bare, frame)
    for one in (loaded, bare):
        assert one.estimator.estimator is one.estimator_.estimator
    assert hasattr(model.estimator_.estimator, "statistics_")
    for inside in (LogisticRegression(), type("Own", (GLD,), {})()):
        model.set_params(estimator=inside).fit(X, y == 1)
        text = f"around {type(inside).__name__};.*not a subclass.*skops"
        with pytest.raises(TypeError, match=text):
            heterolda.save(model, path)


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
    one_class = HP().partial_fit(X[y < 1], y[y < 1])
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
        (one_class, NotFittedError, "cannot transform yet"),
        (partial, NotFittedError, r"classes \[3\] still"),
        (GLD(solver=MySolver()).fit(X, y), ValueError, "parameter solver cannot be"),
        (dates, ValueError, "classes must be numbers, booleans or text"),
        (surrogate, ValueError, "valid Unicode"),
    ]:
        with pytest.raises(error, match=message):
            heterolda.save(model, path)
    with pytest.raises(TypeError, match="include_statistics must be True or False"):
        heterolda.save(GLD().fit(X, y), path, include_statistics="no")
    assert os.listdir(path.parent) == []


def test_a_file_is_written_whole_or_not_at_all(make_classes, path, monkeypatch):
    model = GLD().fit(*make_classes(4))
    link = path.with_name("link.json")
    path.write_text("old")
    path.chmod(0o600)
    link.symlink_to(path)
    heterolda.save(model, link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.read_bytes()
    with pytest.raises(FileNotFoundError, match="folder"):
        heterolda.save(model, path.parent / "none" / "model.json")
    monkeypatch.setattr(json_file, "MOST_BYTES", 1000)
    with pytest.raises(ValueError, match="the model is too large"):
        heterolda.save(model, path)
    assert path.read_bytes() == before
    assert sorted(os.listdir(path.parent)) == [link.name, path.name]


def test_files_are_json_that_people_can_read_without_rows_of_data(make_classes, path):
    X, y = make_classes(4)
    model = GLD(solver="fisher").fit(X, y)
    heterolda.save(model, path)
    text = path.read_text(encoding="utf-8")
    document = json.loads(text, parse_constant=pytest.fail)
    assert document["format"] == "heterolda-model"
    assert document["heterolda"] == heterolda.__version__
    lines = [line.strip().rstrip(",") for line in text.splitlines()]
    for row in [*model.coef_.tolist(), *model.statistics_.scatters[2].tolist()]:
        assert json.dumps(row) in lines
    assert document["model"]["rules"]["gap"] == [None] * 6
    assert text.isascii()
    assert text.endswith("}\n")
    assert max(map(len, lines)) < 200
    heterolda.save(recommended().fit(X, y), path)
    numbers = set(re.findall(r"-?\d+\.\d{6,}(?:e-?\d+)?", path.read_text()))
    assert len(numbers) > 100
    assert not numbers & {repr(value) for value in X.ravel().tolist()}


def test_the_guide_has_the_table_of_the_schema():
    rows = {}
    for cls, fields in TABLE.items():
        for key, kind in fields.items():
            rows.setdefault(f"| `{key}` | {kind.words} |", []).append(cls.__name__)
    table = "\n".join(f"{row} {', '.join(names)} |" for row, names in rows.items())
    assert table in GUIDE.read_text(encoding="utf-8"), table


def hostile_files():
    """Name, content and what the message says."""
    deep = 100_000
    model = b'{"format": "heterolda-model", "version": 1, "heterolda": "0", "model": '
    keys = b",".join(b'"%d":0' % k for k in range(100_000))
    yield "empty", b"", "not JSON"
    yield "binary", bytes(range(256)) * 4000, "UTF-8"
    yield "pickle", pickle.dumps({"format": "heterolda-model"}), "UTF-8"
    yield "BOM", b'\xef\xbb\xbf{"format": "heterolda-model"}', "BOM"
    yield "lists", b"[" * deep + b"]" * deep, "nested too deeply"
    yield "open lists", b"[" * 10**6, "nested too deeply"
    yield "deep model", model + b"[" * 900 + b"]" * 900 + b"}", "estimator"
    yield "keys", b"{" + keys + b"}", "format"
    yield "many lists", model + b"[" + b"[]," * 300_000 + b"[]]}", "estimator"
    yield "same keys", b"{" + b'"a":1,' * 150_000 + b'"a":1}', "'a' twice"
    yield "NaN", model + b"NaN}", "NaN is not a JSON number"
    yield "digits", model + b"1" * 10**6 + b"}", "integer of 1000000 digits"
    yield "exponent", model + b"1e" + b"9" * 10**6 + b"}", "estimator"
    yield "array", b"[1, 2]", "format"
    yield "other", b'{"format": "other", "version": 1}', "format"
    yield "trailing", model + b"{}} {}", "Extra data"
    for version in (b'"1"', b"1.0", b"true", b"null", b"0", b"7", b"[]"):
        content = b'{"format": "heterolda-model", "version": %s}' % version
        yield f"version {version.decode()}", content, "reads only version 1"
    yield "no model", model + b"null}", "model.estimator"
    yield "no keys", b'{"format": "heterolda-model", "version": 1}', "lacks heterolda"
    yield "more", model + b'{}, "extra": 1}', "unknown key 'extra'"


@pytest.mark.parametrize(
    ("content", "reason"),
    [pytest.param(*case[1:], id=case[0]) for case in hostile_files()],
)
def test_hostile_files_are_refused_cheaply(path, content, reason):
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
            patch.setitem(json_file.MOST_MARKS, mark, count)
            with pytest.raises(ValueError, match="it has no"):
                heterolda.load(path)
            patch.setitem(json_file.MOST_MARKS, mark, count - 1)
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
    for wrong in (0, None, 1.5):
        with pytest.raises(TypeError):
            heterolda.load(wrong)


def nested_solver(depth):
    """Settings of a solver within settings within settings."""
    rest = {"tol_error": None, "tol_norm": None, "patience": 1, "keep": "best"}
    solver = None
    for _ in range(depth):
        solver = {"FixedPoint": {"max_iter": 1, "tol": solver, **rest}}
    return solver


def packed(numbers):
    return b64encode(np.array(numbers, "<f8").tobytes()).decode()


TOO_MANY = "must have 1000000000000 entries"
ODDS = {"offset": [[1] * 6] * 2, "slope": [[-1] * 6] * 2}
# By the name of a model: where, what to put there, and what the message says.
EDITS = {
    "global": [
        ("estimator", "Ridge", "must be one of"),
        ("parameters", [], "parameters must be an object"),
        ("parameters.solver", "newton", "solver must be one of"),
        ("parameters.solver", {"Global": {"gap": 9.0}}, "gap must be"),
        ("parameters.solver", {"os.system": {}}, "must be one of"),
        ("parameters.solver", {"Fisher": {"x": 1}}, "unknown key 'x'"),
        ("parameters.solver", nested_solver(300), "nested too deeply"),
        ("parameters.solver", {"not_kept": "Mine()"}, "solver must be"),
        ("parameters.shrinkage", 2, "'shrinkage' parameter"),
        ("parameters.priors", {}, "must be one of"),
        ("parameters.priors", {"map": [[[], 1]]}, "pairs of label and value"),
        ("parameters.max_error", {"map": [[1, 1], [1.0, 2]]}, "a label twice"),
        ("parameters.costs", {"array": [[1, 2], [3]]}, "must have 2 entries"),
        ("parameters.random_state", 2**70, "too large"),
        ("parameters.voting", "\ud800", "valid Unicode"),
        ("parameters.missing", "drop", "'missing' parameter"),
        ("parameters.priors", "even", "priors"),
        ("parameters.covariance_estimator", 1, "covariance_estimator"),
        ("classes_.labels", [0, 1, 3, 2], "sorted and distinct"),
        ("classes_.labels", [0, 1, 2], "priors_ must have 3 entries"),
        ("classes_.labels", list(range(100_000)), "must have 100000 entries"),
        ("classes_.labels", [0], "two or more"),
        ("classes_.labels", [], "one entry or more"),
        ("classes_.labels", [0, 1, 2, 2**63], "labels of int64"),
        ("classes_.labels", [False, 1, 2, 3], "labels of int64"),
        ("classes_", {"type": "float64", "labels": [0.0, 1.0, 2.0, np.inf]}, "float64"),
        ("classes_", {"type": "float64", "labels": [0.0, 0.5, 1.0, 2.0]}, "float64"),
        ("classes_.type", "str", "must be text"),
        ("classes_", {"type": "str", "labels": [*"abc", "d" * 2**23]}, "too long"),
        ("classes_", {"type": "str", "labels": [*"abc", "d\0"]}, "labels of str"),
        ("classes_", {"type": "S1", "labels": [*"abcd"]}, "must be one of"),
        ("n_features_in_", 0, "integer from 1"),
        ("n_features_in_", 10**12, TOO_MANY),
        ("feature_names_in_", ["a", "b", 3], "must be text"),
        ("rules.coef", [[0.0] * 3] * 5, "must have 6 entries, got 5"),
        ("rules.coef.0.0", float("inf"), "finite"),
        ("rules.coef.0.0", "0.1", "numbers only, got '0.1'"),
        ("rules.coef.0.0", True, "numbers only"),
        ("rules.coef.0", [1e308, 1e308, 1e308], "too large"),
        ("rules.n_iter.0", 1.5, "integers only"),
        ("pairs_", [[0, 1]] * 6, "pairs_ are not those of 4 classes"),
        ("pairs_.0", [1, 0], "pairs_ are not those of 4 classes"),
        ("pairs_", [[-1, k] for k in range(4)], "must have 4 entries, got 6"),
        ("rules.error.0", 1.5, "from 0 to 1"),
        ("rules.status.0", "lucky", "must be one of"),
        ("rules.deviations.0.0", 0, "positive"),
        ("rules.deviations.0.0", -1, "from 0 to"),
        ("votes.voting", None, "must say how to vote"),
        ("votes.temperature", 0, "temperature must be"),
        ("votes.log_odds", ODDS, "slope"),
        ("priors_", [0.5, 0.5, 0.5, 0.5], "sum to one"),
        ("priors_", [0.0, 0.5, 0.25, 0.25], "positive"),
        ("risk_.0", -1.0, "from 0 to"),
        ("shrinkage_", {"to_pooled": [0, 0, 0, 2], "to_diagonal": 0}, "from 0 to 1"),
        ("fitted_with.criterion", "best", "criterion"),
        ("fitted_with.shrinkage", [0.5, 2], "two numbers in"),
        ("fitted_with.solver", None, "solver must be"),
        ("guarded_.0", 1, "true or false"),
        ("statistics_.weights.0", 0, "must be positive"),
        ("statistics_.given", 0, "true or false"),
        ("statistics_.scatters.0.0.0", -1.0, "negative variance"),
        ("statistics_.scatters.0.1.0", 1e9, "not symmetric"),
        ("statistics_.scatters.0", [[1, 2, 0], [2, 1, 0], [0, 0, 1]], "indefinite"),
    ],
    "ova": [("votes.voting", "weighted", "must be null")],
    "wide": [
        ("statistics_.factors", None, "either scatters or factors"),
        ("statistics_.scatters", np.zeros((3, 8, 8)).tolist(), "either scatters or"),
        ("statistics_.factors", [], "one entry or more"),
        ("statistics_.factors.0", None, "must be text"),
        ("statistics_.factors.0", "AAAA*AAA", "rows of 8 numbers in base64"),
        ("statistics_.factors.0", packed([0.0] * 7), "rows of 8 numbers in base64"),
        ("statistics_.factors.0", packed([np.nan] * 8), "finite numbers, got nan"),
        ("statistics_.factors.0", packed([1e160] * 8), "of feature 0 are so large"),
    ],
    "paper": [
        ("estimator_.frozen", None, "true or false"),
        ("estimator_.model.classes_.labels", [0, 1, 2, 4], "other classes"),
        ("estimator_.model.estimator", "LocalNeighborhoodSearch", "must be one of"),
        ("parameters.estimator", {"frozen": None}, "frozen, and not saved"),
        ("parameters.estimator", {"GaussianLinearDiscriminant": {}}, "lacks solver"),
        ("parameters.step", 2, "step"),
        ("n_errors_.0", -1, "from 0"),
        ("history_.0", [1.0] * 999, "entries"),
        ("history_", [], "one entry or more"),
    ],
    "powers": [
        ("estimator_", None, "must be an object"),
        ("estimator_.model.classes_.labels", [0, 1, 2, 4], "other classes"),
        ("parameters.width", 2, "width"),
        ("parameters.transformation", "log", "transformation"),
        ("transformation_.centre", [0.0], "entries"),
        ("transformation_.scale.1", 0.0, "finite numbers from"),
        ("transformation_.lambdas.1", 4.5, "from -2 to 4"),
        ("priors_.0", 0.0, "positive"),
        ("width_", 1.5, "from 0 to 1"),
        ("held_out_error_", "NaN", "a number"),
        ("path_.0", [], "must be an object"),
        ("path_.0.weight", 1.5, "from 0 to 1"),
    ],
    "bounded": [
        ("bound_.rank", 999, "rank that is larger"),
        ("bound_.label", "third", "label must be"),
        ("estimator_.model.rules.intercept", [-1.7e308], "threshold_ is too large"),
        ("parameters.confidence", 2, "confidence"),
    ],
    "frames": [
        ("parameters.verbose", 1, "true or false"),
        ("steps", [], "one entry or more"),
        ("steps.1.name", "heteroscedasticprojection-1", "distinct names"),
        ("steps.1.name", "a__b", "distinct names"),
        ("steps.1.name", "memory", "distinct names"),
        ("steps.2.model.feature_names_in_", ["one", "two"], "not those of components"),
        ("steps.0.model.parameters.method", "best", "'method' parameter"),
        ("steps.0.model.parameters.n_components", 0, "'n_components' parameter"),
        ("steps.0.model.n_features_in_", 10**12, TOO_MANY),
        ("steps.0.model.output", "numpy", "must be one of"),
        ("steps.0.model.priors_", [0.5] * 4, "sum to one"),
        (
            "steps.0.model.scalings_",
            [[1e308] * 3] * 3,
            "scalings_ has numbers that are",
        ),
        (
            "steps.0.model.loadings_",
            [[1e308] * 3] * 3,
            "loadings_ has numbers that are",
        ),
        ("steps.0.model.explained_.0", -0.1, "from 0 to"),
        ("steps.0.model.explained_.0", 1.1, "at most one in all"),
    ],
}


def golden(name):
    file = ROOT / "tests" / "golden" / f"model_{name}.json"
    return json.loads(file.read_text(encoding="utf-8"))


def place(document, where):
    """The container of a place in the model of a document, and its key there."""
    *way, last = [int(key) if key.isdigit() else key for key in where.split(".")]
    container = document["model"]
    for key in way:
        container = container[key]
    return container, last


def check_refused(document, where, value, message):
    """A document with another value in one place of its model is refused."""
    changed = copy.deepcopy(document)
    container, key = place(changed, where)
    container[key] = value
    with pytest.raises(ValueError, match=message):
        from_document(changed)


@pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning")
@pytest.mark.parametrize("name", EDITS)
def test_what_does_not_fit_together_is_refused(name, make_classes):
    if name == "wide":
        document = golden(name)
    else:
        document = to_document(fitted(name, make_classes)[0])
    if name == "bounded":
        document["model"]["threshold_"] = 1.7e308
    from_document(copy.deepcopy(document))
    for edit in EDITS[name]:
        check_refused(document, *edit)


def test_steps_that_do_not_follow_each_other_are_refused(make_classes):
    document = to_document(fitted("frames", make_classes)[0])
    steps = document["model"]["steps"]
    for value, message in [
        (steps[1:] + steps[:1], r"steps\[2\] follows a step that is not"),
        ([steps[0], steps[2]], r"steps\[1\].* must be 3, the number of comp"),
        ([*steps[:2], {"name": "in", "model": document["model"]}], "must be one of"),
    ]:
        check_refused(document, "steps", value, message)
    wide = steps[0]["model"]
    wide |= {"scalings_": [[1.0] * 4] * 3, "loadings_": [[1.0] * 3] * 4}
    document["model"] = wide | {"explained_": [0] * 4}
    with pytest.raises(ValueError, match="more than there are features"):
        from_document(document)


@pytest.mark.parametrize("name", ["global", "twice"])
def test_no_key_may_be_missing(make_classes, name):
    def keys(value, where=()):
        items = enumerate(value) if isinstance(value, list) else value.items()
        for key, item in items:
            if isinstance(value, dict):
                yield (*where, key)
            if isinstance(item, dict | list):
                yield from keys(item, (*where, key))

    document = to_document(fitted(name, make_classes)[0])
    every = list(keys(document))
    assert len(every) > 40
    for *way, last in every:
        changed = container = json.loads(json.dumps(document))
        for key in way:
            container = container[key]
        del container[last]
        with pytest.raises(ValueError, match=r"lacks|version|format|must be"):
            from_document(changed)


def test_messages_are_short_whatever_the_file_says(make_classes, path):
    document = to_document(fitted("global", make_classes)[0])
    document["model"]["parameters"]["shrinkage"] = list(range(9999))
    path.write_bytes(json_file.json_text(document))
    with pytest.raises(ValueError, match="shrinkage") as caught:
        heterolda.load(path)
    assert len(str(caught.value)) < 500 + len(str(path))


@pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning")
@pytest.mark.check
def test_skops_needs_the_types_of_the_guide_and_no_others(make_classes, path):
    text = GUIDE.read_text(encoding="utf-8")
    trusted = re.findall(r'^\.\.\.     "(heterolda[\w.]+)",$', text, re.M)
    needed = set()
    for name in (*FOUR_CLASSES, *TWO_CLASSES):
        model, X = fitted(name, make_classes)
        data = skops.io.dumps(model)
        needed.update(skops.io.get_untrusted_types(data=data))
        check_predictions(skops.io.loads(data, trusted=trusted), model, X)
    X, y = make_classes(2)
    search = copy_of(LNS(LogisticRegression(), max_iter=10).fit(X, y), path)
    judgement = Judgement("leave-one-out", 80.0, 0.9, 0.8, 0.01)
    city = Category("city", "Paris", ("Lyon",))
    search.fit_record_ = FitRecord("y", "data", "2026", 80.0, judgement, (city,))
    data = skops.io.dumps(search)
    needed.update(skops.io.get_untrusted_types(data=data))
    assert same(skops.io.loads(data, trusted=trusted), search)
    assert sorted(needed) == trusted


def test_pickles_before_and_after_predictions_are_the_same(make_classes):
    # Seventy classes: their votes are counted by sparse matrices, which are cached.
    X, y = make_classes(70, n=5, d=2)
    model = GLD(solver="fisher").fit(X, y)
    before = pickle.dumps(model)
    expected = model.predict(X)
    assert pickle.dumps(model) == before
    assert np.array_equal(pickle.loads(before).predict(X), expected)
    # What was solved for rows with missing values is not part of it.
    X, y = make_classes(2)
    X[::3, 0] = np.nan
    model = GLD(missing="em").fit(X, y)
    before = pickle.dumps(model)
    check_predictions(pickle.loads(before), model, X)
    check_predictions(copy.deepcopy(model), model, X)
    assert pickle.dumps(model) == before
    assert skops.io.dumps(model)


def test_the_record_of_the_fit_is_kept_until_the_next(make_classes, path):
    X, y = make_classes(4)
    judgement = Judgement("leave-one-out", 160.0, 0.875, 0.85, 0.0125)
    for model in (GLD(), LNS(max_iter=5)):
        model.fit(X, y)
        for found in (None, judgement):
            record = FitRecord("kind", "größe.csv", "2026-11-30", 160.0, found)
            model.fit_record_ = record
            loaded = copy_of(model, path)
            assert loaded.fit_record_ == record
            assert same(loaded, model)
        assert not hasattr(loaded.fit(X, y), "fit_record_")


def test_columns_of_categories_must_be_features_of_the_model():
    document = golden("discriminant")
    city = Category("city", "Paris", ("Lyon",), ("Metz", "Nîmes"), "other")
    record = from_document(copy.deepcopy(document)).fit_record_
    assert record.categories == (city,)
    assert record.marks == ("?", "-999")
    one = dict(vars(city), levels=["Lyon"], merged=["Metz"])
    for key, value, message in [
        ("categories", [one, one], "must be different columns"),
        ("categories", [one | {"column": "town"}], "not those of the categories"),
        ("categories", [one | {"levels": ["Paris"]}], "each level once"),
        ("categories", [one | {"other": "Lyon"}], "each level once"),
        ("categories", [one | {"merged": ["a", "a"]}], "each level once"),
        ("categories", [one | {"levels": [], "other": None}], "have a feature"),
        ("n_columns", 0, "from 1 on"),
        ("n_rows", -1, "from 0 to"),
        ("target", None, "must be text"),
        ("judgement.accuracy", 1.5, "from 0 to 1"),
    ]:
        check_refused(document, f"fit_record_.{key}", value, message)
