"""Model files: what is loaded is what was saved, and nothing else is loaded."""

import copy
import dataclasses
import json
import os
import pickle
import random
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import heterolda
from fuzz.model_json import change, check, seeds
from heterolda import (
    BoundedErrorClassifier,
    ClassStatistics,
    SmoothedLinearDiscriminant,
    evaluate,
)
from heterolda import GaussianLinearDiscriminant as GLD
from heterolda import HeteroscedasticProjection as HP
from heterolda import LocalNeighborhoodSearch as LNS
from heterolda.estimators.fit_record import Category
from heterolda.estimators.votes import Committee
from heterolda.export import model_file
from heterolda.export.model_file import from_document, to_document
from heterolda.export.schema import statistics
from heterolda.inspection import FitRecord
from heterolda.inspection.evaluation_text import as_record
from heterolda.solvers import Fisher, FixedPoint, Global, Grid, RandomSearch

# Few rows of drawn classes: sometimes Fisher's rule is better by chance, or none helps.
pytestmark = [
    pytest.mark.filterwarnings("ignore::heterolda.exceptions.ModelMisfitWarning"),
    pytest.mark.filterwarnings("ignore::heterolda.exceptions.TrivialRuleWarning"),
]

METHODS = "predict", "decision_function", "predict_proba", "predict_log_proba"
PRIORS = {2: 0.1, 0: 0.25, 3: 0.25, 1: 0.4}
MODELS = {
    "global": GLD(solver=Global(gap=1e-5), priors=[0.1, 0.2, 0.3, 0.4]),
    "FixedPoint": GLD(solver=FixedPoint(max_iter=7, keep="last")),
    "Grid": GLD(solver=Grid(0.01), class_weight="balanced", shrinkage=None),
    "RandomSearch": GLD(solver=RandomSearch(2, low=0, high=1), random_state=7),
    "Fisher": GLD(solver=Fisher(), shrinkage=[0.25, 0.5]),
    "one-vs-rest": GLD(multiclass="ovr", priors=PRIORS),
    "costs": GLD(costs={0: {1: 5, 2: 0.5}, 3: {0: 0.0}}),
    "missing": GLD(missing="em", shrinkage="cv", priors=PRIORS),
    "search": LNS(GLD(shrinkage=0.5), max_iter=30),
    "powers": SmoothedLinearDiscriminant(0.5),
    "smoothed": SmoothedLinearDiscriminant(priors=PRIORS),
    "projection": HP(2, priors=PRIORS),
    "pipeline": make_pipeline(HP(3), HP(2, method="chernoff"), LNS(max_iter=20)),
    "frames": make_pipeline(HP(3), HP(2), SmoothedLinearDiscriminant()).set_output(
        transform="pandas"
    ),
}
OF_TWO_CLASSES = {
    "bound on the model": GLD(criterion="neyman-pearson", max_error={1: 0.05}),
    "bound": BoundedErrorClassifier(max_error={1: 0.2}, confidence=0.9),
    "bound, missing": BoundedErrorClassifier(
        GLD(missing="em", costs={0: {1: 5}}), max_error={1: 0.2}, confidence=0.9
    ),
}


def state(value):
    """All that an object holds, as text; parameters that are arrays become lists."""
    if isinstance(value, Committee):  # log-odds that are not computed before use
        held = value.__getstate__()
    elif dataclasses.is_dataclass(value):
        held = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    elif isinstance(value, BaseEstimator | ClassStatistics):
        held = vars(value)
    elif isinstance(value, dict):
        return repr(sorted((repr(key), state(item)) for key, item in value.items()))
    elif isinstance(value, list | tuple | np.ndarray):
        return repr([state(item) for item in value])
    else:
        return repr(value.item() if isinstance(value, np.generic) else value)
    items = [(key, state(held[key])) for key in sorted(held)]
    return repr((type(value).__name__, items))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


def copy_of(model, path, **options):
    """The model of a file; saved once more, it gives the same file."""
    heterolda.save(model, path, **options)
    content = path.read_bytes()
    loaded = heterolda.load(path)
    heterolda.save(loaded, path, **options)
    assert path.read_bytes() == content
    return loaded


def check_answers(model, other, X):
    rows = np.vstack([np.asarray(X), np.zeros(X.shape[1]), np.full(X.shape[1], 1e160)])
    if isinstance(X, pd.DataFrame):
        rows = pd.DataFrame(rows, columns=X.columns)
    for method in METHODS if hasattr(model, "predict") else ["transform"]:
        a, b = (np.asarray(getattr(m, method)(rows)) for m in (model, other))
        assert a.dtype.newbyteorder("=") == b.dtype
        np.testing.assert_array_equal(a, b)


def fitted(name, make_classes):
    X, y = make_classes(4 if name in MODELS else 2)
    X = np.exp(3 * X) if name == "powers" else X
    if "missing" in name:
        X[::3, 0], X[::5, 1:] = np.nan, np.nan
    model = clone((MODELS | OF_TWO_CLASSES)[name]).fit(X, y)
    assert name != "powers" or model.transformation_ is not None
    return model, X


@pytest.mark.parametrize("name", [*MODELS, *OF_TWO_CLASSES])
def test_a_loaded_model_is_the_same_in_every_bit(make_classes, path, name):
    model, X = fitted(name, make_classes)
    loaded = copy_of(model, path)
    check_answers(model, loaded, X)
    assert state(loaded) == state(model)
    assert repr(loaded) == repr(model)


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
        check_answers(model, copy_of(model, path), X)
    X, y = make_classes(2)
    model = BoundedErrorClassifier(max_error={True: 0.2}).fit(X, y == 1)
    assert copy_of(model, path).bounds_[0].label is True


def test_parameters_are_plain_when_loaded(make_classes, path):
    X, y = make_classes(4)
    shares = pd.Series(y).value_counts()
    costs = pd.DataFrame(2.0 * (1 - np.eye(4)), [2, 0, 3, 1], [2, 0, 3, 1])
    costs.loc[0, 1] = 5.0
    for given, plain in [
        ({"costs": costs}, {"costs": costs.to_dict("index")}),
        ({"priors": shares}, {"priors": shares.to_dict()}),
        ({"priors": (0.1, 0.2, 0.3, 0.4)}, {"priors": [0.1, 0.2, 0.3, 0.4]}),
        ({"random_state": np.random.RandomState(3)}, {"random_state": None}),
        ({"solver": Grid(np.float32(0.5))}, {"solver": Grid(0.5)}),
    ]:
        model = GLD(**given).fit(X, y)
        loaded = copy_of(model, path)
        check_answers(model, loaded, X)
        (name,) = plain
        assert getattr(loaded, name) == plain[name]


def test_votes_stay_votes(make_classes, path):
    X, y = make_classes(4)
    for voting in ("weighted", "majority"):
        model = GLD(voting=voting).fit(X, y)
        loaded = copy_of(model, path)
        for method in ("predict", "decision_function"):
            answers = (getattr(m, method)(X) for m in (model, loaded))
            np.testing.assert_array_equal(*answers)
        assert not hasattr(loaded, "predict_proba")


def test_the_fit_is_kept_apart_from_what_was_set_later(make_classes, path):
    X, y = make_classes(4)
    model = GLD(shrinkage=0.3).fit(X, y)
    model.set_params(voting="weighted", shrinkage="auto", multiclass="ovr", priors=[1])
    model.coef_, model.intercept_ = 2 * model.coef_, model.intercept_ + 0.1
    loaded = copy_of(model, path)
    check_answers(model, loaded, X)
    assert loaded.frontier_[2].auc == model.frontier_[2].auc
    model.set_params(voting="loud")
    with pytest.raises(ValueError, match=r"cannot be saved.*voting"):
        heterolda.save(model, path)


def test_with_statistics_a_loaded_model_goes_on(make_classes, path):
    X, y = make_classes(2)
    for model in GLD(), HP(2):
        options = {"classes": [0, 1]} if isinstance(model, GLD) else {}
        model.partial_fit(X[:80], y[:80], **options)
        loaded = copy_of(model, path)
        both = [m.partial_fit(X[80:], y[80:]) for m in (loaded, model)]
        assert state(both[0]) == state(both[1])
    bound = {"criterion": "neyman-pearson", "max_error": {0: 0.1}}
    model = GLD().fit(X, y)
    points = [m.with_operating_point(**bound) for m in (copy_of(model, path), model)]
    assert state(points[0]) == state(points[1])
    model, X = fitted("missing", make_classes)
    few = model.for_features([0, 2])
    check_answers(few, copy_of(few, path), X[~np.isnan(X).any(axis=1)][:, [0, 2]])


def test_files_hold_no_rows_of_the_data(path, rng):
    """Not even where there are fewer rows than features; then they hold factors."""
    y = np.repeat([0, 1, 2], [12, 11, 1])
    X = rng.normal(size=(24, 130)) + y[:, None]
    model = GLD(shrinkage="auto").fit(X, y)
    loaded = copy_of(model, path)
    check_answers(model, loaded, X)
    kept, stats = loaded.statistics_, model.statistics_
    assert [part.shape for part in kept.factors] == [(11, 130), (10, 130), (0, 130)]
    np.testing.assert_allclose(kept.scatters, stats.scatters, atol=1e-11)
    document = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert document["heterolda"] == heterolda.__version__
    numbers = re.findall(r"-?\d+\.\d+(?:e-?\d+)?", path.read_text())
    assert len(numbers) > 300
    held = np.round([*map(float, numbers), *np.concatenate(kept.factors).flat], 9)
    for rows in (X, *stats.factors):
        assert not np.isin(np.round(rows, 9), held).any()


@pytest.mark.parametrize("name", ["search", "missing", "bound, missing", "frames"])
def test_without_statistics_a_model_predicts_and_says_what_it_lacks(
    name, make_classes, path
):
    model, X = fitted(name, make_classes)
    loaded = copy_of(model, path, include_statistics=False)
    check_answers(model, loaded, X[~np.isnan(X).any(axis=1)])
    part = loaded[0] if isinstance(loaded, Pipeline) else loaded
    part = getattr(part, "estimator_", part)
    assert not hasattr(part, "statistics_")
    lacking = [lambda: part.frontier_, lambda: part.with_operating_point()]
    if isinstance(part, HP):
        lacking = [lambda: part.partial_fit(X, np.arange(len(X)) % 2)]
    if "missing" in name:
        lacking.append(lambda: loaded.predict(X))
    for use in lacking:
        with pytest.raises(NotFittedError, match="include_statistics=True"):
            use()


def test_of_other_initial_estimators_only_the_name_is_kept(make_classes, path):
    X, y = make_classes(4)
    for start in (
        LogisticRegression(),
        FrozenEstimator(LogisticRegression().fit(X, y)),
        FrozenEstimator(GLD().fit(X[::2], y[::2])),
    ):
        search = LNS(start, max_iter=20).fit(X, y)
        loaded = copy_of(search, path)
        check_answers(search, loaded, X)
        assert hasattr(loaded, "estimator_") == ("Gaussian" in repr(start))
        for weight in (None, np.ones(len(y))):
            with pytest.raises(ValueError, match=r"\(.*\), and .*set_params"):
                loaded.fit(X, y, weight)
        np.testing.assert_array_equal(
            loaded.set_params(estimator=start).fit(X, y).coef_, search.coef_
        )


def test_the_record_of_the_fit_is_kept_until_the_next(make_classes, path):
    X, y = make_classes(4)
    frame = pd.DataFrame(X, columns=["Länge", "city=Lyon", "city=other"])
    model = GLD().fit(frame, y)
    city = Category("city", "Paris", ("Lyon",), ("Metz", "Nîmes"), "other")
    given = "kind", "größe.csv", "2026-11-30", 160.0, (city,), ("?",), 4
    model.fit_record_ = FitRecord(*given)
    model.evaluation_ = evaluate(model, X, y, cv=3)
    loaded = copy_of(model, path)
    assert loaded.fit_record_ == model.fit_record_
    assert as_record(loaded.evaluation_) == as_record(model.evaluation_)
    assert loaded.evaluation_.conclusion == model.evaluation_.conclusion
    assert loaded.feature_names_in_.tolist() == frame.columns.tolist()
    loaded.fit(frame, y)
    assert not hasattr(loaded, "fit_record_")
    assert not hasattr(loaded, "evaluation_")


class Derived(GLD):
    __init__ = GLD.__init__


class MySolver(Global):
    pass


def test_what_cannot_be_kept_is_rejected_and_nothing_is_written(make_classes, path):
    path.write_text("old")
    X, y = make_classes(4)
    dates = GLD().fit(X, y)
    dates.classes_ = dates.classes_.astype("datetime64[s]")
    surrogate = GLD().fit(X, np.array([*"abc", "\ud800"])[y])
    partial = GLD().partial_fit(X[y < 3], y[y < 3], classes=[0, 1, 2, 3])
    tuned = GridSearchCV(GLD(), {"shrinkage": [0.1, 0.2]}, cv=2).fit(X, y)
    scaled = make_pipeline(StandardScaler(), HP(2), GLD()).fit(X, y)
    bounded = BoundedErrorClassifier(LogisticRegression(), max_error={True: 0.2})
    for model, error, message in [
        (scaled, TypeError, "has the step 'standardscaler', Standard.* with skops"),
        (bounded.fit(X, y == 1), TypeError, "around a GaussianLinearDiscriminant, not"),
        *(
            (m, TypeError, "must be a Gaussian")
            for m in (tuned, GLD, Derived().fit(X, y))
        ),
        *((m, NotFittedError, "not fitted yet") for m in (GLD(), make_pipeline(HP()))),
        (partial, NotFittedError, r"classes \[3\] still"),
        (GLD(solver=MySolver()).fit(X, y), ValueError, "parameter solver cannot be"),
        (dates, ValueError, "classes must be numbers, booleans or text"),
        (surrogate, ValueError, "classes_.labels.* valid text"),
    ]:
        with pytest.raises(error, match=message):
            heterolda.save(model, path)
        assert path.read_text() == "old"
        assert os.listdir(path.parent) == [path.name]


HEAD = b'{"format": "heterolda-model", "version": 1, "heterolda": "0", "model": '
HOSTILE = {
    "empty": (b"", "not JSON"),
    "pickle": (pickle.dumps({"format": "heterolda-model"}), "UTF-8"),
    "lists": (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    "keys": (b'{"1":0' + b',"1":0' * 100_000 + b"}", "format"),
    "NaN": (HEAD + b"NaN}", "estimator"),
    "digits": (HEAD + b"1" * 10**6 + b"}", "estimator"),
    "no keys": (b'{"format": "heterolda-model", "version": 1}', "lacks heterolda"),
    "more": (HEAD + b'{}, "extra": 1}', "unknown key 'extra'"),
    "version 7": (HEAD.replace(b"1", b"7", 1) + b"{}}", "reads only version 1"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_rejected_cheaply(path, name):
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
        for most, reason in (
            (count, "it has no"),
            (count - 1, f"more than {count - 1}"),
        ):
            monkeypatch.setattr(model_file, "MAX_COUNTS", {mark: most})
            with pytest.raises(ValueError, match=reason):
                heterolda.load(path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(pipe := path.with_name("pipe"))
        for place in (path.parent, pipe, "/dev/zero"):
            with pytest.raises(ValueError, match="not a regular file"):
                heterolda.load(place)


DEEP = None
for _ in range(300):
    DEEP = {"FixedPoint": {"max_iter": 1, "tol": DEEP, "keep": "best"}}
TOO_MANY = "must have 1000000000000 entries"
FLOATS, TEXTS = {"type": "float64"}, {"type": "str"}
OTHER = statistics.write(ClassStatistics.from_data(np.eye(8, 2), np.arange(8) % 4))
# By the name of a model: where, what to put there, and what the message says.
EDITS = {
    "global": [
        ("estimator", "Ridge", "must be one of"),
        ("parameters", [], "parameters must be an object"),
        ("parameters.solver", "newton", "solver must be one of"),
        ("parameters.solver", {"Global": {"gap": 9.0}}, "gap must be"),
        ("parameters.solver", DEEP, "nested too deeply"),
        ("parameters.costs", {"GaussianLinearDiscriminant": {}}, "lacks solver"),
        ("parameters.priors", {"map": [[[], 1]]}, "be a label"),
        ("classes_.labels", [0, 1, 3, 2], "sorted and distinct"),
        ("classes_.labels", [0], "two or more"),
        ("classes_.labels", [0, 1, 2, 9], "statistics_ has other classes"),
        ("classes_", FLOATS | {"labels": [0.0, 1.0, 2.0, np.inf]}, "float64"),
        ("classes_", TEXTS | {"labels": [*"abc", "d" * 2**23]}, "too long"),
        ("classes_", TEXTS | {"labels": [*"abc", "d\0"]}, "labels of str"),
        ("n_features_in_", 10**12, TOO_MANY),
        ("feature_names_in_", ["a", "b", 3], "must be valid text"),
        ("rules.coef", [[0.0] * 3] * 5, "must have 6 entries, got 5"),
        ("rules.coef.0.0", "0.1", "numbers only, got '0.1'"),
        ("rules.coef.0", [1e308, 1e308, 1e308], "too large"),
        ("rules.error.0", 1.5, "from 0 to 1"),
        ("rules.status.0", 9, "from 0 to 8"),
        ("chosen_on_rows_.0", 1, "true or false only"),
        ("votes.voting", None, "not those of 4 classes"),
        ("votes.log_odds.slope.0.0", -1, "slope"),
        ("votes.log_odds.high.0", 0, "above 0"),
        ("weights.5", [0, -1], "weights are not those of directions"),
        ("weights.5", [1.7e308, 1e308], "weights are not those of directions"),
        ("statistics_", "AAAA*AAA", "statistics_: "),
        ("statistics_", OTHER, "other classes or features"),
    ],
    "search": [
        ("estimator_.classes_.labels", [0, 1, 2, 4], "other classes"),
        ("estimator_.estimator", "LocalNeighborhoodSearch", "must be one of"),
        ("history_", [], "one entry or more"),
    ],
    "powers": [
        ("transformation_.scale.1", 0.0, "finite numbers above 0"),
        ("widths_.0", 0.0, "above 0 to 1"),
        ("ridge_weights_.0", 0.6, "from 0 to 0.5"),
        ("left_out_error_", [0.5], "must have 6 entries"),
    ],
    "bound on the model": [
        ("votes.voting", "weighted", "not those of 2 classes"),
        ("rows_curve.F.0.0", [], "F must have"),
        ("rows_curve.F.0.1.2.80", 1.5, "from 0 to 1"),
        ("rows_curve.F.0.1.2.0", 1.0, "F must not fall"),
        ("rows_curve.optimum", [99], "their optimum"),
        ("rows_curve.step", [0.0], "above 0"),
        ("rows_curve.low", [1e308], "too large"),
        ("rows_curve.weights.0.1", lambda w: [-1] * len(w), "not those of dir"),
    ],
    "bound": [
        ("bounds_.0.label", "third", "bounds_ must be those of"),
        ("bounds_.0.n_rows", 0, "be a positive integer"),
        ("threshold_", 1.7e308, "threshold_"),
        ("thresholds_", [9e9, -9e9], "enclose threshold_"),
    ],
    "frames": [
        ("steps", lambda steps: steps[1:] + steps[:1], "steps: "),
        ("steps", lambda steps: steps[::2], r"steps\[1\].* be 3, the components"),
        ("steps.1.name", "heteroscedasticprojection-1", "steps: "),
        ("steps.0.model.scalings_", [[1e308] * 3] * 3, "scalings_ has numbers that"),
        ("steps.0.model.loadings_", [[1e308] * 3] * 3, "loadings_ has numbers that"),
    ],
}


@pytest.mark.parametrize("name", EDITS)
def test_what_does_not_fit_together_is_rejected(name, make_classes):
    document = to_document(fitted(name, make_classes)[0])
    edits = [*EDITS[name]]
    if name == "bound":
        document["model"]["estimator_"]["rules"]["intercept"] = [-1e308]
        four = to_document(fitted("global", make_classes)[0])["model"]
        edits.append(("estimator_", four, "must have two classes"))
    from_document(copy.deepcopy(document))
    for where, value, message in edits:
        changed = copy.deepcopy(document)
        *keys, last = [int(key) if key.isdigit() else key for key in where.split(".")]
        container = changed["model"]
        for key in keys:
            container = container[key]
        container[last] = value(container[last]) if callable(value) else value
        with pytest.raises(ValueError, match=message):
            from_document(changed)


def test_changed_files_are_rejected_or_hold_a_model_that_predicts_numbers(request):
    rng = random.Random(request.config.getoption("--seed"))
    for content in 20 * seeds():
        for _ in range(rng.randint(1, 4)):
            content = change(content, rng)
        check(content)


@pytest.mark.check
def test_skops_needs_the_types_of_the_guide_and_no_others(make_classes, path):
    import skops.io  # takes seconds

    guide = Path(__file__).parents[2] / "docs" / "guide" / "deploy.md"
    text = guide.read_text(encoding="utf-8")
    trusted = re.findall(r'^\.\.\.     "(heterolda[\w.]+)",$', text, re.M)
    models = [fitted(name, make_classes) for name in (*MODELS, *OF_TWO_CLASSES)]
    X, y = make_classes(2)
    search = copy_of(LNS(LogisticRegression(), max_iter=10).fit(X, y), path)
    city = Category("city", "Paris", ("Lyon",))
    search.fit_record_ = FitRecord("y", "data", "2026", 80.0, (city,))
    search.evaluation_ = evaluate(GLD(), X, y)
    needed = set()
    for model, rows in [*models, (search, X)]:
        data = skops.io.dumps(model)
        needed.update(skops.io.get_untrusted_types(data=data))
        check_answers(skops.io.loads(data, trusted=trusted), model, rows)
    assert sorted(needed) == trusted
