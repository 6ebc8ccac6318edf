"""The quick checks say what scikit-learn's say."""

import warnings

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import validate_data

from heterolda import (
    BoundedErrorClassifier,
    ClassStatistics,
    FixedPoint,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
    ParameterError,
    compare,
)
from heterolda.foundations.validation import (
    NUMERIC_TYPES,
    check_priors,
    label_array,
    validate_rows,
)
from heterolda.inspection import BoundaryDisplay

X = np.arange(12.0).reshape(6, 2)
y = np.array([0, 1, 0, 1, 0, 1])
NAN, INF = np.where(X == 3, np.nan, X), np.where(X == 3, np.inf, X)
ROWS = {
    "plain": (X, y),
    "columns": (np.asfortranarray(X), y),
    "float32": (X.astype("f4"), y.astype("u1")),
    "integers": (X.astype("i2"), y.astype(str)),
    "swapped": (X.astype(">f8"), y),
    "objects": (X.astype(object), y.astype(str).astype(object)),
    "complex": (X.astype(complex), y),
    "text": (X.astype(str), y),
    "huge": (np.full((6, 2), 1e308), y),
    "nan": (NAN, y),
    "infinite": (INF, y),
    "mixed": (X, np.array(["a", 1, "b", 2, "a", "b"], dtype=object)),
    "column of labels": (X, y[:, None]),
    "fewer labels": (X, y[:5]),
    "no rows": (X[:0], y[:0]),
    "no features": (X[:, :0], y),
    "one row": (X[0], y),
    "lists": (X.tolist(), y.tolist()),
    "frame": (pd.DataFrame(X, columns=["a", "b"]), pd.Series(y)),
    "no labels": (X, None),
    "three features": (np.ones((6, 3)), y),
}


def outcome(function, estimator, rows, labels, **checks):
    """What a check returns and sets, or its error and warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function(estimator, rows, labels, **checks)
            result = [(a.dtype, a.shape, a.tolist()) for a in found]
        except (ValueError, TypeError) as error:
            result = type(error), str(error)
    state = {name: np.array(v).tolist() for name, v in vars(estimator).items()}
    return result, state, [str(w.message) for w in caught]


@pytest.mark.parametrize(
    ("before", "reset"),
    [
        (None, True),
        ("plain", True),
        ("plain", False),
        ("frame", True),
        ("frame", False),
    ],
)
def test_rows_are_validated_as_by_sklearn(before, reset):
    for name, rows in ROWS.items():
        results = []
        for function in (validate_rows, validate_data):
            estimator = BaseEstimator()
            if before:
                validate_data(estimator, *ROWS[before])
            checks = {"dtype": NUMERIC_TYPES, "reset": reset}
            results.append(outcome(function, estimator, *rows, **checks))
        if name == "nan":  # ours names a way out that scikit-learn does not know
            (kind, message), *state = results.pop(0)
            assert issubclass(kind, ValueError)
            assert "GaussianLinearDiscriminant(missing='em')" in message
            results.insert(0, (results[0][0], *state))
        assert repr(results[0]) == repr(results[1]), name
    found = validate_rows(BaseEstimator(), X, y)
    assert found[0] is X  # plain arrays are not copied
    assert found[1] is y


TEXT = np.array(list("abcd") * 3, dtype=object)
HOLES = np.where(TEXT == "c", None, TEXT)
NUMBERS = np.array([0, 1, None, 3] * 3, dtype=object)
MISSING = {
    **{str(hole): np.where(TEXT == "c", hole, TEXT) for hole in (None, np.nan, pd.NA)},
    "NaT": np.where(TEXT == "c", pd.NaT, TEXT),
    "float": NUMBERS.astype(float),
    "float32": NUMBERS.astype("f4"),
    "dates": np.where(TEXT == "c", np.datetime64("NaT"), np.datetime64("2026-11-16")),
    "integers and None": NUMBERS,
    "list of text and NaN": [np.nan if x == "c" else x for x in TEXT],
    "tuple of numbers": tuple(NUMBERS),
    "masked": np.ma.array(TEXT, mask=TEXT == "c"),
    "masked numbers": np.ma.array(np.arange(12) % 4, mask=TEXT == "c"),
    "column": HOLES[:, None],
    **{
        f"pandas {kind}": pd.Series(HOLES, dtype=kind)
        for kind in ("str", "string", "string[pyarrow]", "category", object)
    },
    **{
        f"pandas {kind}": pd.Series(NUMBERS, dtype=kind)
        for kind in ("Int64", "Float64", "int64[pyarrow]")
    },
    "nullable booleans": pd.array([True, False, None, True] * 3, dtype="boolean"),
    "polars": pl.Series(HOLES.tolist()),
    "polars numbers": pl.Series(NUMBERS.tolist()),
    "arrow": pa.array(HOLES.tolist()),
    "arrow chunks": pa.chunked_array([NUMBERS.tolist()]),
}


def test_missing_labels_of_any_form_are_counted():
    for kind, labels in MISSING.items():
        with pytest.raises(ParameterError) as caught:
            label_array(labels)
        assert str(caught.value).startswith("y has missing labels (3 of 12): dr"), kind


def test_missing_labels_are_refused_everywhere():
    rows, labels = np.arange(24.0).reshape(12, 2), HOLES
    model, search = GaussianLinearDiscriminant(), LocalNeighborhoodSearch()
    for fit in (
        lambda: model.fit(rows, labels),
        lambda: model.partial_fit(rows, labels, classes=[0, 1, 2, 3]),
        lambda: model.fit(da.from_array(rows, chunks=-1), labels),
        lambda: search.fit(rows, labels),
        lambda: ClassStatistics.from_data(rows, labels),
        lambda: compare(rows, labels),
    ):
        with pytest.raises(ValueError, match=r"^y has missing labels \(3 of 12\): dr"):
            fit()
    with pytest.raises(ValueError, match=r"^classes has missing labels \(3 of 12\)"):
        model.partial_fit(rows, [0] * 12, classes=labels)
    with pytest.raises(ValueError, match=r"^classes has missing labels \(3 of 12\)"):
        ClassStatistics.from_moments(labels, [2], rows, rows)


def test_masked_entries_are_refused(make_classes):
    """What is under a mask was used as if it were there."""
    X, y = make_classes(n_classes=2, d=3)
    masked = np.ma.array(X, mask=X[:, :1] < X)
    ones = np.ma.array(np.ones(len(y)))
    model = GaussianLinearDiscriminant().fit(np.ma.array(X), np.ma.array(y), ones)
    projection = HeteroscedasticProjection(2).fit(X, y)
    bounded = BoundedErrorClassifier(LogisticRegression(), max_error={0: 0.2})
    bounded.fit(X, y)
    for method in (
        lambda X: GaussianLinearDiscriminant().fit(X, y),
        model.predict,
        model.predict_proba,
        model.decision_function,
        projection.transform,
        bounded.predict,
        lambda X: projection.inverse_transform(X[:, 1:]),
        lambda X: model.score(X, y),
        lambda X: BoundaryDisplay.from_estimator(model, X, y),
        lambda X: compare(X, y),
    ):
        with pytest.raises(ParameterError, match="X has masked entries: fill them in"):
            method(masked)
    weight = np.ma.array(np.ones(len(y)), mask=y == 1)
    with pytest.raises(ParameterError, match="sample_weight has masked entries"):
        model.score(X, y, weight)
    with pytest.raises(ValueError, match=r"sample_weight .*: it has masked entries"):
        GaussianLinearDiscriminant().fit(X, y, weight)
    hidden = np.ma.array([1.0, 2.0], mask=[False, True])
    with pytest.raises(ParameterError, match="priors has masked entries"):
        GaussianLinearDiscriminant(priors=hidden).fit(X, y)
    with pytest.raises(ParameterError, match="X has masked entries"):
        model.predict(list(masked))
    assert model.predict(np.ma.array(X)).tolist() == model.predict(X).tolist()


def test_numbers_beyond_float64_are_refused(make_classes):
    X, y = make_classes(n_classes=2, d=3)
    model = GaussianLinearDiscriminant().fit(X, y)
    projection = HeteroscedasticProjection(2).fit(X, y)
    huge = X.astype(object)
    huge[3, 1] = 10**400
    for method in (
        lambda X: GaussianLinearDiscriminant().fit(X, y),
        lambda X: ClassStatistics.from_data(X, y),
        lambda X: compare(X, y),
        model.predict,
        projection.transform,
        lambda X: projection.inverse_transform(X[:, 1:]),
    ):
        with pytest.raises(ParameterError, match="X has numbers beyond the range of"):
            method(huge)
    for weight in (10**400, huge[:, 1]):
        with pytest.raises(ParameterError, match="sample_weight must be finite"):
            GaussianLinearDiscriminant().fit(X, y, weight)
    with pytest.raises(ParameterError, match="max_iter must be an integer from 1 to"):
        FixedPoint(max_iter=10**400)


def test_sparse_rows_with_wrong_indices_are_refused(make_classes):
    """They crashed the process."""
    X, y = make_classes(n_classes=2, d=3)
    model = GaussianLinearDiscriminant().fit(X, y)
    bounded = BoundedErrorClassifier(LogisticRegression(), max_error={0: 0.2})
    for kind, name, value in (
        ("csr", "indptr", 10**8),
        ("csc", "indptr", -1),
        ("bsr", "indices", 10**8),
        ("coo", "row", 10**8),
        ("lil", "rows", [10**8]),
    ):
        broken = csr_array(X).asformat(kind)
        getattr(broken, name)[2] = value
        if kind == "lil":
            broken.data[2] = [1.0]
        for method in (
            model.predict,
            lambda X: GaussianLinearDiscriminant().fit(X, y),
            lambda X: ClassStatistics.from_data(X, y),
            lambda X: bounded.fit(X, y),
        ):
            with pytest.raises(ParameterError, match=r"X is a broken sparse matrix \("):
                method(broken)
    sound = csr_array(X)
    before = vars(sound).copy()
    model.predict(sound)
    assert all(vars(sound)[name] is value for name, value in before.items())


def test_labels_keep_their_type():
    codes = np.arange(12) % 4
    text = np.array(list("dbca"))[codes]
    for labels, kind in (
        (pd.Series(codes, dtype="Int64"), "i"),
        (pd.Series(codes, dtype="uint8[pyarrow]"), "u"),
        (pd.Series(codes, dtype="Float64"), "f"),
        (pd.Series(codes > 1, dtype="boolean"), "b"),
        (pd.Series(codes > 1, dtype="bool[pyarrow]"), "b"),
        (pd.Series(codes, dtype="category"), "i"),
        (pl.Series(codes), "i"),
        (pa.array(codes), "i"),
        (pd.Series(text), "O"),
        (pd.Series(text, dtype="string[pyarrow]"), "O"),
        (pd.Series(text, dtype=pd.ArrowDtype(pa.string())), "O"),
        (pd.Series(text, dtype="category"), "O"),
        (pl.Series(text.tolist(), dtype=pl.Categorical), "O"),
        (pa.array(text.tolist()), "O"),
        (text.tolist(), "U"),
    ):
        found = label_array(labels)
        assert found.dtype.kind == kind
        assert found.tolist() == list(np.asarray(labels))


def test_parameters_are_validated_where_they_are_not_the_default():
    class Child(GaussianLinearDiscriminant):
        def __init__(self, *, guard=False, more=None):
            super().__init__(guard=guard)
            self.more = more

    for bad in ({"guard": 1}, {"voting": "loud"}, {"shrinkage": 2.0}):
        model = GaussianLinearDiscriminant(**bad)
        (name,) = bad
        with pytest.raises(InvalidParameterError, match=f"The '{name}' parameter of"):
            model.fit(X, y)
    model = GaussianLinearDiscriminant(guard=np.bool_(False), shrinkage="auto")
    assert model.fit(X, y).shrinkage == "auto"
    Child(more="anything")._validate_params()


@pytest.mark.parametrize(
    "classes", [np.array([3, 5, 7, 9], "i2"), np.array([*"abcd"], object)], ids=str
)
def test_priors_of_any_form_are_shares(classes):
    weights, expected = np.array([10.0, 20.0, 30.0, 20.0]), [0.1, 0.2, 0.3, 0.4]
    by_label = dict(zip(classes[::-1], [8, 6, 4, 2], strict=True))
    given = [expected, [1, 2, 3, 4], np.array([5.0, 10, 15, 20]), by_label]
    given.append(dict(zip(classes.tolist(), expected, strict=True)))
    given.append(pd.Series(by_label))
    for priors in given:
        np.testing.assert_allclose(check_priors(priors, classes, weights), expected)
    assert check_priors("equal", classes, weights).tolist() == [0.25] * 4
    assert check_priors(None, classes, weights).tolist() == [0.125, 0.25, 0.375, 0.25]
    assert given[2].tolist() == [5, 10, 15, 20]  # left as it was
    with pytest.raises(ParameterError, match="by label, 'equal' or None"):
        check_priors("even", classes, weights)
