"""Checks of rows, labels and priors."""

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import validate_data

from heterolda import (
    BoundedErrorClassifier,
    ClassStatistics,
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
    compare,
)
from heterolda.exceptions import ParameterError
from heterolda.foundations.validation import (
    NUMERIC_TYPES,
    check_priors,
    label_array,
    validate_rows,
)

X = np.arange(12.0).reshape(6, 2)
y = np.array([0, 1, 0, 1, 0, 1])
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
    "nan": (np.where(X == 3, np.nan, X), y),
    "infinite": (np.where(X == 3, np.inf, X), y),
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
    """Return what a check returns and sets, or its error, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            arrays = function(estimator, rows, labels, **checks)
            result = [(a.dtype, a.shape, a.tolist()) for a in arrays]
        except (ValueError, TypeError) as error:
            result = type(error), str(error)
    state = {name: np.array(v).tolist() for name, v in vars(estimator).items()}
    return result, state, [str(w.message) for w in caught]


@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("before", ["plain", "frame"])
def test_rows_are_validated_as_by_sklearn(before, reset):
    """Plain arrays skip scikit-learn's checks, with the same results."""
    for name, rows in ROWS.items():
        results = []
        for function in (validate_rows, validate_data):
            estimator = BaseEstimator()
            validate_data(estimator, *ROWS[before])
            checks = {"dtype": NUMERIC_TYPES, "reset": reset}
            results.append(outcome(function, estimator, *rows, **checks))
        if name == "nan":  # ours names a remedy that scikit-learn does not know
            (kind, message), *state = results.pop(0)
            assert issubclass(kind, ValueError)
            assert "GaussianLinearDiscriminant(missing='em')" in message
            results.insert(0, (results[0][0], *state))
        assert repr(results[0]) == repr(results[1]), name
    arrays = validate_rows(BaseEstimator(), X, y)
    assert arrays[0] is X  # plain arrays are not copied
    assert arrays[1] is y


TEXT = np.array(list("abcd") * 3, dtype=object)
HOLES = np.where(TEXT == "c", None, TEXT)


def test_missing_labels_of_any_form_are_counted():
    import polars as pl
    import pyarrow as pa

    numbers = np.array([0, 1, None, 3] * 3, dtype=object)
    for labels in (
        *(np.where(TEXT == "c", x, TEXT) for x in (None, np.nan, pd.NA, pd.NaT)),
        numbers.astype(float),
        numbers.astype(float).astype("M8[s]"),
        [np.nan if x == "c" else x for x in TEXT],
        np.ma.array(TEXT, mask=TEXT == "c"),
        HOLES[:, None],
        *(pd.Series(HOLES, dtype=kind) for kind in ("string[pyarrow]", "category")),
        pd.Series(numbers, dtype="Int64"),
        pl.Series(HOLES.tolist()),
        pa.chunked_array([numbers.tolist()]),
    ):
        with pytest.raises(ParameterError, match=r"^y has missing labels \(3 of 12\)"):
            label_array(labels)


def test_missing_labels_are_rejected_everywhere():
    rows = np.arange(24.0).reshape(12, 2)
    for fit in (GaussianLinearDiscriminant().fit, ClassStatistics.from_data, compare):
        with pytest.raises(ValueError, match=r"^y has missing labels \(3 of 12\): dr"):
            fit(rows, HOLES)
    with pytest.raises(ValueError, match=r"^classes has missing labels \(3 of 12\)"):
        ClassStatistics.from_moments(HOLES, [2], rows, rows)


def test_masked_entries_and_numbers_beyond_float64_are_rejected(make_classes):
    """What is under a mask was used as if it were there."""
    X, y = make_classes(n_classes=2, d=3)
    masked, huge = np.ma.array(X, mask=X[:, :1] < X), X.astype(object)
    huge[3, 1] = 10**400
    model = GaussianLinearDiscriminant().fit(np.ma.array(X), np.ma.array(y))
    for method in (lambda X: clone(model).fit(X, y), model.predict):
        with pytest.raises(ParameterError, match="X has masked entries: fill them in"):
            method(masked)
        with pytest.raises(ParameterError, match="X has numbers beyond the range of"):
            method(huge)
    for bad in (np.ma.array(np.ones(len(y)), mask=y == 1), 10**400, huge[:, 1]):
        with pytest.raises(ParameterError, match="sample_weight must be finite"):
            GaussianLinearDiscriminant().fit(X, y, bad)
    hidden = np.ma.array([1.0, 2.0], mask=[False, True])
    with pytest.raises(ParameterError, match="priors has masked entries"):
        GaussianLinearDiscriminant(priors=hidden).fit(X, y)


def test_dates_and_times_are_not_numbers():
    """They were read as numbers of days or nanoseconds."""
    days = np.datetime64("2024-01-01") + np.arange(6)
    times, objects = days - days[0], np.column_stack([X, days.astype(object)])
    fitted = GaussianLinearDiscriminant().fit(X, y)
    for rows, where in (
        (np.column_stack([days, days]), r"\(dtype datetime64\[D\]\)"),
        (np.column_stack([times, times]), r"\(dtype timedelta64\[D\]\)"),
        (objects, "among its values"),
        (objects.tolist(), "among its values"),
        (pd.DataFrame({"day": days, "x": 1.0, "t": times}), "in 'day', 't'"),
        (
            pd.DataFrame({"d": pd.Series(objects[:, 2], dtype=object)}),
            "among its values",
        ),
        (pa.table({"x": X[:, 0], "day": days}), "in 'day'"),
        (pl.DataFrame({"x": X[:, 0], "utc": days}), "in 'utc'"),
    ):
        message = f"^X has dates or times {where}: replace them with numbers"
        with pytest.raises(ParameterError, match=message):
            GaussianLinearDiscriminant().fit(rows, y)
        with pytest.raises(ParameterError, match=message):
            ClassStatistics.from_data(rows, y)
        with pytest.raises(ParameterError, match=message):
            fitted.predict(rows)
        with pytest.raises(ParameterError, match=message):
            compare(rows, y, cv=2)


def test_a_series_is_no_table_of_columns():
    """The check for dates read `columns`, which a series lacks."""
    with pytest.raises(ValueError, match=r"2-dimensional|2D"):
        GaussianLinearDiscriminant().fit(pd.Series(X[:, 0]), y)


def test_numbers_of_more_than_64_bits_are_rejected_by_name():
    beyond = [10**400, -(10**400), Fraction(10**400, 3), Fraction(1, 10**400)]
    for number in beyond:
        bounds = {"criterion": "neyman-pearson", "max_error": {0: number}}
        for model in (
            BoundedErrorClassifier(max_error={0: number}),
            BoundedErrorClassifier(max_error=number),
            BoundedErrorClassifier(max_error=0.1, confidence=number),
            GaussianLinearDiscriminant(**bounds),
            GaussianLinearDiscriminant(shrinkage=number),
            GaussianLinearDiscriminant(shrinkage=(number, -1)),
            GaussianLinearDiscriminant(priors=[number, -1]),
            SmoothedLinearDiscriminant(width=number),
        ):
            with pytest.raises(ValueError, match=r"max|conf|shrink|prior|width"):
                model.fit(X, y)
    statistics = ClassStatistics.from_data(X, y)
    for number in beyond[:3]:
        with pytest.raises(ParameterError, match="factor must be a number"):
            statistics.decayed(number)
    assert statistics.decayed(Fraction(1, 2)).weights.dtype == float
    LocalNeighborhoodSearch(max_iter=2, patience=2**63).fit(X, y)


@pytest.mark.parametrize(
    "classes", [np.array([3, 5, 7, 9], "i2"), np.array([*"abcd"], object)], ids=str
)
def test_priors_of_any_form_are_shares(classes):
    weights, expected = np.array([10.0, 20.0, 30.0, 20.0]), [0.1, 0.2, 0.3, 0.4]
    by_label = dict(zip(classes.tolist()[::-1], [8, 6, 4, 2], strict=True))
    huge = [4e307, 8e307, 1.2e308, 1.6e308]  # their sum is infinite
    for priors in (expected, [1, 2, 3, 4], huge, by_label, pd.Series(by_label)):
        np.testing.assert_allclose(check_priors(priors, classes, weights), expected)
    assert check_priors("equal", classes, weights).tolist() == [0.25] * 4
    assert check_priors(None, classes, weights).tolist() == [0.125, 0.25, 0.375, 0.25]
    label = classes[0].item() if classes.dtype.kind == "i" else "a"
    for bad, message in (
        ("even", "'equal' or None"),
        ({label: 1.0}, "must have each of the classes"),
        ({**by_label, "z": 1.0}, "must have each of the classes"),
        (pd.Series(1.0, index=[*classes, label]), "each of the classes .* once"),
        ([1, 2, 3], "one entry for each of the 4 classes"),
        ([1, 2, 3, 0], "must be positive"),
        ([1e-300, 1, 1, 1e300], "differ too much"),
    ):
        with pytest.raises(ParameterError, match=message):
            check_priors(bad, classes, weights)
