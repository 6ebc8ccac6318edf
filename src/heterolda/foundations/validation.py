"""Checks of arguments and labels, with messages that name the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from functools import cache
from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Count, Mask, Priors, on_host, xp_of
from heterolda.foundations.sklearn_private import validate_parameter_constraints
from heterolda.foundations.wording import listed, named

# Types that need no conversion before numbers are summed in float64.
NUMERIC_TYPES = [
    *(np.float64, np.float32, np.float16, np.bool_),
    *(np.int8, np.int16, np.int32, np.int64),
    *(np.uint8, np.uint16, np.uint32, np.uint64),
]
_NUMERIC = {np.dtype(kind) for kind in NUMERIC_TYPES}
LARGEST_WEIGHT = 1e100  # sums and squares of weights stay finite
# Integer labels below this are counted, which is four times as fast as sorting.
_FEW_LABELS = 1 << 12
# Dates and times: beginnings of types of data frames, and objects.
_TIME = ("date", "time", "duration", "period")
_TIMES = (date, timedelta, np.datetime64, np.timedelta64)
# Remedy for estimators without a parameter for missing values.
_REMEDY = "GaussianLinearDiscriminant(missing='em')"


def validate_parameters(estimator: Any) -> None:
    """Validate the parameters that differ from their defaults.

    Validating all of them, as scikit-learn does, takes a tenth of a small fit.
    """
    kind: Any = type(estimator)
    changed = {
        name: value
        for name, default in _defaults(kind).items()
        if (value := getattr(estimator, name)) is not default
    }
    for name, value in changed.items():
        if isinstance(value, Real) and np.asarray(value).dtype.kind == "O":
            raise ParameterError(
                name,
                f"is of type {type(value).__name__} and not a number of 64 bits: "
                "pass a float, or an integer below 2**63",
            )
    if changed:
        constraints = estimator._parameter_constraints
        validate_parameter_constraints(constraints, changed, kind.__name__)


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    """Return the default of each parameter of an estimator class."""
    parameters = signature(kind.__init__).parameters
    return {name: parameters[name].default for name in kind._get_param_names()}


def validate_rows(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    reset: bool = True,
    missing: str | None = None,
    **checks: Any,
) -> tuple[Any, NDArray[Any]]:
    """Validate training data with scikit-learn; the estimator may be None.

    Valid NumPy arrays, the most common case, skip this to save a third of a small fit.
    """
    if need_no_validation(X, y) and _has_features(estimator, X.shape[1], reset=reset):
        return X, y
    labels = label_array(y)
    missing = missing or getattr(estimator, "missing", None)
    with readable_rows(X), missing_values_as(missing) as finite:
        checks = {"dtype": NUMERIC_TYPES, **finite, **checks}
        checked: tuple[Any, NDArray[Any]]
        if estimator is None:
            checked = check_X_y(X, labels, **checks)
        else:
            checked = validate_data(estimator, X, labels, reset=reset, **checks)
    return checked


def _has_features(estimator: Any, n_features: int, *, reset: bool) -> bool:
    """Return whether the estimator expects these features, set first if `reset`."""
    if estimator is None:
        return True
    attributes = vars(estimator)
    if reset:
        attributes.pop("feature_names_in_", None)  # from an earlier fit
        attributes["n_features_in_"] = n_features
    has_names = "feature_names_in_" in attributes
    return attributes.get("n_features_in_") == n_features and not has_names


def validate_more_rows(estimator: Any, X: Any, **checks: Any) -> Any:
    """Validate rows passed to a fitted estimator.

    NumPy arrays that the caller checks for NaN skip scikit-learn's checks, which take
    half of a small prediction.
    """
    is_plain = type(X) is np.ndarray and X.ndim == 2 and X.size and X.dtype in _NUMERIC
    is_plain = is_plain and checks.get("ensure_all_finite") is False
    if is_plain and _has_features(estimator, X.shape[1], reset=False):
        return X
    with readable_rows(X):
        return validate_data(estimator, X, reset=False, **checks)


@contextmanager
def readable_rows(X: Any) -> Iterator[None]:
    """Reject rows that scikit-learn misreads, or that overflow while it checks them."""
    check_unmasked("X", X)
    if hasattr(X, "check_format"):
        try:
            X.check_format()  # wrong indices would crash the process
        except ValueError as error:
            raise ParameterError(
                "X", f"is a damaged sparse matrix ({error}): build it again"
            ) from error
    try:
        _check_no_dates(X)
        yield
    except OverflowError as error:
        raise ParameterError(
            "X",
            f"has numbers beyond the range of float64 ({error}): divide such features "
            "by a constant",
        ) from error


def _check_no_dates(X: Any) -> None:
    """Reject dates and times, which NumPy reads as numbers of days or nanoseconds."""
    kinds: dict[Any, str] = {}
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        kinds = dict(zip(X.columns, map(str, X.dtypes), strict=True))
    elif hasattr(X, "schema"):  # an Arrow table
        kinds = dict(zip(X.schema.names, map(str, X.schema.types), strict=True))
    times = [name for name, kind in kinds.items() if kind.lower().startswith(_TIME)]
    where = f"in {named(times)}" if times else ""
    is_object = isinstance(X, list | tuple) or (
        not times and "object" in kinds.values()
    )
    rows = np.asarray(X) if is_object else X
    if isinstance(rows, np.ndarray):
        if rows.dtype.kind in "mM":
            where = f"(dtype {rows.dtype})"
        elif rows.dtype.kind == "O" and any(isinstance(x, _TIMES) for x in rows.flat):
            where = "among its values"
    if where:
        raise ParameterError(
            "X",
            f"has dates or times {where}: replace them with numbers, such as the days "
            "since a start, or leave them out",
        )


@contextmanager
def missing_values_as(
    missing: str | None, remedy: str = _REMEDY
) -> Iterator[dict[str, Any]]:
    """Yield scikit-learn's argument for NaN, and reword its error about NaN."""
    try:
        yield {"ensure_all_finite": "allow-nan" if missing == "em" else True}
    except ValueError as error:
        if "contains NaN" not in str(error):
            raise
        remedy = "missing='em'" if missing else remedy
        use = f"use {remedy}, " if remedy else ""
        raise ParameterError(
            "X",
            f"contains NaN, which stands for a missing value: {use}fill "
            "such values in, or leave their rows out",
        ) from error


def has_missing_values(X: Any) -> bool:
    """Return whether rows, validated except for NaN, have missing values."""
    values = X.data if issparse(X) else X
    if values.dtype.kind != "f" or all_finite(values) or not np.isnan(values).any():
        return False
    if issparse(X):
        raise ParameterError(
            "X",
            "is sparse and has missing values, but only dense rows may have them: "
            "pass X.toarray()",
        )
    return True


def need_no_validation(X: Any, y: Any) -> bool:
    """Return whether X and y are NumPy arrays that pass scikit-learn's checks."""
    if type(X) is not np.ndarray or type(y) is not np.ndarray:
        return False
    if X.ndim != 2 or y.shape != X.shape[:1] or not X.size or X.dtype not in _NUMERIC:
        return False
    if y.dtype.kind == "O" and not all_text(y):
        return False
    if y.dtype.kind not in "iubUfO" or (y.dtype.kind == "f" and not all_finite(y)):
        return False
    return X.dtype.kind != "f" or all_finite(X)


def all_finite(numbers: Any) -> bool:
    """Return whether the sum is finite, which implies that all numbers are."""
    xp = xp_of(numbers)
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(xp.isfinite(xp.sum(numbers)))


def check_unmasked(name: str, values: Any) -> None:
    """Reject masked entries, even in a list of rows; NumPy would drop the masks."""
    parts = values if isinstance(values, list | tuple) else [values]
    if any(np.ma.is_masked(part) for part in parts if np.ma.isMaskedArray(part)):
        raise ParameterError(
            name, "has masked entries: fill them in, or leave them out"
        )


def label_array(y: Any, name: str = "y") -> Any:
    """Return labels as an array; reject missing ones."""
    (y,) = on_host(y)
    # As objects: NumPy turns NaN in a list with text into the text "nan".
    labels = np.asarray(y, object if isinstance(y, (list, tuple)) else None)
    if labels.ndim == 0:
        return y  # scikit-learn rejects it
    missing: Mask = np.ma.getmaskarray(y) if np.ma.isMA(y) else np.zeros(1, bool)
    if labels.dtype.kind in "fmM":
        missing = missing | np.isnan(labels)
    elif labels.dtype.kind == "O" and not all_text(labels):
        missing = missing.ravel() | [_is_missing(label) for label in labels.flat]
    if missing.any():
        raise ParameterError(
            name,
            f"has missing labels ({np.count_nonzero(missing)} of {len(labels)}): drop "
            f"{'these rows' if name == 'y' else 'them'}",
        )
    return np.asarray(y)


def _is_missing(label: object) -> bool:
    """Return whether a label is None, NaN, NaT or NA."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    floating = float, np.floating, np.datetime64
    return isinstance(label, floating) and bool(label != label)


def check_sample_weight(sample_weight: ArrayLike | None, n: int) -> Array | None:
    """Return weights, a finite, non-negative number for each of n rows or for all."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n, sample_weight)
    try:
        weight = check_finite("sample_weight", on_host(sample_weight)[0], 1)
    except ParameterError as error:
        problem = f"must be finite numbers, one for each row of X: it {error.args[1]}"
        raise ParameterError("sample_weight", problem) from error
    if len(weight) != n:
        raise ParameterError(
            "sample_weight",
            f"must have one entry for each of the {n} rows of X, got {len(weight)}",
        )
    if np.any(weight < 0):
        raise ParameterError(
            "sample_weight",
            "has negative values: weights are frequencies, use 0 to leave a row out",
        )
    if n and weight.max() > LARGEST_WEIGHT:
        raise ParameterError(
            "sample_weight",
            f"has values above {LARGEST_WEIGHT:g}: divide by a constant",
        )
    return weight


def check_finite(name: str, value: ArrayLike, ndim: int) -> Array:
    """Return a finite float64 copy of an argument with the given dimensions."""
    check_unmasked(name, value)
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(name, f"must be an array of numbers: {error}") from error
    if array.dtype.kind not in "biuf":
        raise ParameterError(name, f"must be real numbers, got dtype {array.dtype}")
    if array.ndim != ndim:
        raise ParameterError(name, f"must have {ndim} dimensions, got {array.ndim}")
    if not np.all(np.isfinite(array)):
        raise ParameterError(
            name, "contains NaN or infinity: every entry must be finite"
        )
    return array.astype(np.float64)


def check_priors(
    priors: Priors,
    classes: NDArray[Any],
    weights: Array,
    class_weight: dict[Any, float] | str | None = None,
) -> Array:
    """Return positive class priors times class weights, which sum to one.

    `priors` may be proportions in the order of the classes, a dict or pandas Series by
    label, "equal", or None for the relative frequencies. `class_weight` may be a dict,
    with 1 for labels that are left out, or "balanced" for inverse frequencies.
    """
    if priors is None:
        shares: Array = weights / weights.sum()
    elif not isinstance(priors, str):
        shares = _shares("priors", priors, classes)
    elif priors == "equal":
        shares = np.full(len(classes), 1 / len(classes))
    else:
        words = f"must be numbers, a dict by label, 'equal' or None, got {priors!r}"
        raise ParameterError("priors", words)
    if class_weight is None:
        return shares
    factors: Any = 1 / weights  # if balanced
    if not isinstance(class_weight, str):
        factors = dict.fromkeys(classes.tolist(), 1.0) | class_weight
    factors = _shares("class_weight", factors, classes)
    return _shares("class_weight", shares * factors, classes)


def _shares(name: str, given: Any, classes: NDArray[Any]) -> Array:
    """Return a parameter with a positive number for each class, divided by its sum."""
    values: Any = on_host(given)[0]
    numbers = values.to_dict() if hasattr(values, "to_dict") else values
    if isinstance(numbers, dict):
        labels = classes.tolist()
        if len(numbers) != len(values) or set(numbers) != set(labels):
            raise ParameterError(
                name,
                f"must have each of the classes {named(labels, 10)} once, got "
                f"{named(list(values.keys()), 10)}",
            )
        numbers = [numbers[label] for label in labels]
    values = check_finite(name, numbers, 1)
    if values.shape != classes.shape:
        raise ParameterError(
            name,
            f"must have one entry for each of the {len(classes)} classes, got "
            f"{len(values)}",
        )
    if not np.all(values > 0):
        raise ParameterError(
            name,
            f"must be positive, got {listed(values)}: leave a class that never occurs "
            "out of the data",
        )
    values /= values.max()  # keeps the sum finite
    shares: Array = values / values.sum()
    if not np.all(shares > 0):
        raise ParameterError(name, f"differ too much for float64, got {listed(values)}")
    return shares


def check_number(
    name: str,
    value: object,
    low: float,
    high: float,
    *,
    integer: bool = False,
) -> None:
    """Reject a parameter that is not a number in the closed interval [low, high]."""
    is_number = isinstance(value, Integral if integer else Real)
    if not is_number or not low <= value <= high:  # type: ignore[operator]
        kind = "an integer" if integer else "a number"
        raise ParameterError(
            name, f"must be {kind} from {low:g} to {high:g}, got {value!r}"
        )


def check_type(name: str, value: object, kind: Any, words: str) -> None:
    """Reject an argument that is not an instance of a class or of one of several."""
    if not isinstance(value, kind):
        raise ParameterError(name, f"must be {words}, got {value!r:.80}")


def check_several_classes(n_classes: int) -> None:
    """Reject data with fewer than two classes."""
    if n_classes < 2:
        raise ValueError(
            f"at least 2 classes are needed, got {n_classes} "
            f"class{'' if n_classes else 'es'}: pass data of two classes or more"
        )


def check_labels(
    y: NDArray[Any], name: str = "y", *, warn: bool = True
) -> NDArray[Any]:
    """Return the sorted distinct labels; reject targets that are not class labels.

    With `warn`, scikit-learn warns if nearly every row has a different label, which is
    normal in a small chunk.
    """
    kind = y.dtype.kind
    if kind == "O" and y.ndim == 1 and not all_text(y):
        types = sorted({type(label).__name__ for label in y})
        raise TypeError(
            f"Unknown label type: {name} is an array of objects of type "
            f"{' and '.join(types)}: convert them to text or numbers, for instance "
            f"with {name}.astype(str)"
        )
    is_whole = kind == "f" and bool(np.all(np.isfinite(y) & (y == np.rint(y))))
    is_plain = y.ndim == 1 and len(y) > 0 and (kind in "iubUO" or is_whole)
    if not is_plain:
        with np.errstate(invalid="ignore"):  # it rejects infinite labels
            check_classification_targets(y)
    labels: NDArray[Any]
    if kind == "i" and is_plain and y.min() >= 0 and y.max() < _FEW_LABELS:
        labels = np.flatnonzero(np.bincount(y)).astype(y.dtype)
    elif kind == "O":  # strings cache their hashes
        labels = np.unique(np.array(list(set(y.tolist())), object))
    else:
        labels = np.unique(y)
    if is_plain and warn and 2 * len(labels) > len(y):  # may warn
        check_classification_targets(y)
    return labels


def all_text(y: NDArray[Any]) -> bool:
    """Return whether all objects are strings."""
    return all(issubclass(kind, str) for kind in set(map(type, y.tolist())))


def encode(y: NDArray[Any], classes: NDArray[Any]) -> Count:
    """Return the index of each label in the sorted classes."""
    if y.dtype.kind == "O":
        code = {label: k for k, label in enumerate(classes.tolist())}
        return np.fromiter(map(code.__getitem__, y.tolist()), np.int64, len(y))
    return np.searchsorted(classes, y)
