"""Checks of arguments and labels, with messages that name the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from functools import cache
from inspect import signature
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, issparse
from sklearn.utils import check_array, check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from heterolda.exceptions import ParameterError
from heterolda.foundations.devices import on_host
from heterolda.foundations.gaps import gaps_as
from heterolda.foundations.rounding import ROUGH_COVARIANCE
from heterolda.foundations.sklearn_private import validate_parameter_constraints
from heterolda.foundations.types import Array, Mask

# Real numbers that need no conversion before they are summed in float64.
NUMERIC_TYPES = [
    *(np.float64, np.float32, np.float16, np.bool_),
    *(np.int8, np.int16, np.int32, np.int64),
    *(np.uint8, np.uint16, np.uint32, np.uint64),
]
_NUMERIC = {np.dtype(kind) for kind in NUMERIC_TYPES}
_LARGEST_WEIGHT = 1e100
# Integer labels that span no more than this are looked up in a table.
_SMALL_RANGE = 1 << 16


def validate_parameters(estimator: Any) -> None:
    """What scikit-learn's `_validate_params` does; defaults need no validation."""
    kind: Any = type(estimator)
    changed = {
        name: value
        for name, default in _defaults(kind).items()
        if (value := getattr(estimator, name)) is not default
    }
    if changed:
        constraints = estimator._parameter_constraints
        validate_parameter_constraints(constraints, changed, kind.__name__)


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    """The parameters of a class of estimators with their defaults."""
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
    """Return training data as scikit-learn's `validate_data` does, or `check_X_y`.

    The latter is for no estimator, None. Plain arrays in which nothing can be wrong,
    which is the most common case, take a tenth of the time.
    """
    if sound_arrays(X, y) and _has_features(estimator, X.shape[1], reset=reset):
        return X, y
    labels = label_array(y)
    missing = missing or getattr(estimator, "missing", None)
    with readable_rows(X), gaps_as(missing) as finite:
        checks = {"dtype": NUMERIC_TYPES, **finite, **checks}
        checked: tuple[Any, NDArray[Any]]
        if estimator is None:
            checked = check_X_y(X, labels, **checks)
        else:
            checked = validate_data(estimator, X, labels, reset=reset, **checks)
    return checked


def _has_features(estimator: Any, n_features: int, *, reset: bool) -> bool:
    """Return whether an estimator, if any, expects so many features without names.

    With `reset`, it does from now on.
    """
    if estimator is None:
        return True
    attributes = vars(estimator)
    if reset:
        attributes.pop("feature_names_in_", None)  # of an earlier fit
        attributes["n_features_in_"] = n_features
    named = "feature_names_in_" in attributes
    return attributes["n_features_in_"] == n_features and not named


def validate_more_rows(estimator: Any, X: Any, **checks: Any) -> Any:
    """Return what `validate_data` of scikit-learn does, for rows after the fit."""
    with readable_rows(X):
        return validate_data(estimator, X, reset=False, **checks)


@contextmanager
def readable_rows(X: Any) -> Iterator[None]:
    """Refuse rows that scikit-learn would misread or crash on, while it checks them."""
    check_readable(X)
    try:
        yield
    except OverflowError as error:
        raise ParameterError(
            "X",
            f"has numbers beyond the range of float64 ({error}): divide such features "
            "by a constant",
        ) from error


def check_readable(X: Any) -> None:
    """Refuse masked entries, and sparse rows whose indices point outside of them."""
    check_unmasked("X", X)
    if not issparse(X):
        return
    try:
        if X.format == "coo":
            coo_array((X.data, X.coords), X.shape)  # which checks them
        else:  # a copy, because the check may replace arrays
            (copy(X) if hasattr(X, "check_format") else X.tocsr()).check_format()
    except ValueError as error:
        raise ParameterError(
            "X", f"is a broken sparse matrix ({error}): build it again from its entries"
        ) from error


def sound_arrays(X: Any, y: Any) -> bool:
    """Whether these are plain arrays of training data, with nothing to be refused."""
    if type(X) is not np.ndarray or type(y) is not np.ndarray:
        return False
    if X.ndim != 2 or y.shape != X.shape[:1] or not X.size or X.dtype not in _NUMERIC:
        return False
    if y.dtype.kind == "O" and not all_text(y):
        return False
    if y.dtype.kind not in "iubUfO" or (y.dtype.kind == "f" and not all_finite(y)):
        return False
    return X.dtype.kind != "f" or all_finite(X)


def all_finite(numbers: NDArray[Any]) -> bool:
    """Whether the sum of numbers is finite: if so, all of them are."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(numbers.sum()))


def check_unmasked(name: str, values: Any) -> None:
    """Refuse masked entries, also of rows in a list, which NumPy would uncover."""
    parts = values if isinstance(values, list | tuple) else [values]
    if any(np.ma.is_masked(part) for part in parts if np.ma.isMaskedArray(part)):
        raise ParameterError(
            name, "has masked entries: fill them in, or leave them out"
        )


def label_array(y: Any, name: str = "y") -> Any:
    """Labels as an array of the type that suits them; missing ones are refused.

    What is no array of labels at all is returned as it is, for scikit-learn to refuse.
    """
    (y,) = on_host(y)
    # NumPy makes text of numbers that are listed beside text, of NaN, too.
    labels = np.asarray(y, object if isinstance(y, (list, tuple)) else None)
    if labels.ndim == 0:
        return y
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
    """Whether a label stands for none."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    floating = float, np.floating, np.datetime64
    return isinstance(label, floating) and bool(label != label)


def check_sample_weight(sample_weight: ArrayLike | None, n: int) -> Array | None:
    """Validate sample weights, one finite, non-negative number for each of n rows.

    A single number stands for n equal ones.
    """
    if sample_weight is None or _sound_weight(sample_weight, n):
        return sample_weight
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n, sample_weight)
    (sample_weight,) = on_host(sample_weight)
    check_unmasked("sample_weight", sample_weight)
    try:
        weight: Array = check_array(
            sample_weight,
            dtype=np.float64,
            ensure_2d=False,
            ensure_min_samples=0,
            input_name="sample_weight",
        )
    except (ValueError, OverflowError) as error:
        raise ParameterError(
            "sample_weight", f"must be finite numbers, one for each row of X: {error}"
        ) from error
    if weight.shape != (n,):
        raise ParameterError(
            "sample_weight",
            f"must have one entry for each of the {n} rows of X, got shape "
            f"{weight.shape}",
        )
    if np.any(weight < 0):
        raise ParameterError(
            "sample_weight",
            "has negative values: weights are frequencies, use 0 to leave a row out",
        )
    if n and weight.max() > _LARGEST_WEIGHT:
        raise ParameterError(
            "sample_weight",
            f"has values above {_LARGEST_WEIGHT:g}: divide by a constant",
        )
    return weight


def _sound_weight(weight: Any, n: int) -> TypeGuard[Array]:
    """Whether this is a plain array of weights, with nothing to be refused."""
    if type(weight) is not np.ndarray or weight.dtype != np.float64:
        return False
    if weight.shape != (n,) or not n:
        return False
    return bool(weight.min() >= 0 and weight.max() <= _LARGEST_WEIGHT)


def check_finite(name: str, value: ArrayLike, ndim: int) -> Array:
    """A finite float64 copy of an argument with so many dimensions."""
    check_unmasked(name, value)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ParameterError(name, f"must be an array of numbers: {error}") from error
    if array.dtype.kind not in "biuf":
        raise ParameterError(name, f"must be real numbers, got dtype {array.dtype}")
    array = array.astype(np.float64)
    if array.ndim != ndim:
        raise ParameterError(name, f"must have {ndim} dimensions, got {array.ndim}")
    if not np.all(np.isfinite(array)):
        raise ParameterError(
            name, "contains NaN or infinity: every entry must be finite"
        )
    return array


def check_covariance(label: object, cov: Array) -> None:
    """Refuse a matrix that is not symmetric and positive semi-definite.

    Deviations of the order of rounding errors pass.
    """
    variance = np.diag(cov)
    if np.any(variance < 0):
        raise ValueError(
            f"covariances: the matrix of class {label!r} has a negative variance at "
            f"feature {int(np.argmax(variance < 0))}; a covariance must be positive "
            "semi-definite"
        )
    scale = np.sqrt(np.where(variance > 0, variance, 1.0))
    with np.errstate(over="ignore"):
        # Beyond one the matrix is indefinite, however far.
        correlation = np.clip(cov / scale / scale[:, None], -2.0, 2.0)
    if np.any(np.abs(correlation - correlation.T) > ROUGH_COVARIANCE):
        raise ValueError(
            f"covariances: the matrix of class {label!r} is not symmetric; pass "
            "(C + C.T) / 2 if the difference does not matter"
        )
    smallest = np.linalg.eigvalsh(0.5 * (correlation + correlation.T))[0]
    if smallest < -ROUGH_COVARIANCE:
        raise ValueError(
            f"covariances: the matrix of class {label!r} is indefinite (smallest "
            f"eigenvalue of its correlation form {smallest:.3g}); a covariance must be "
            "positive semi-definite"
        )


def union_of_labels(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Sorted union of two arrays of labels; numbers and strings do not mix."""
    if not len(a) or not len(b):
        return a if len(a) else b
    joined = np.concatenate([a, b])
    kinds = {"number" if x.dtype.kind in "biuf" else "text" for x in (a, b)}
    # Large int64 and uint64 labels meet only in float64, where they would collapse.
    lossy = joined.dtype.kind == "f" and not {a.dtype.kind, b.dtype.kind} & {"f"}
    if len(kinds) > 1 or lossy:
        raise TypeError(
            f"classes of the two statistics are of types {a.dtype} and {b.dtype}, "
            "which do not mix: convert the labels to one type"
        )
    return np.unique(joined)


def check_pair(pair: Any, classes: NDArray[Any]) -> list[int]:
    """Indices of two classes that are given by their labels, in that order."""
    labels = classes.tolist()
    wrong = f"pair must be two different labels of the classes {labels}, got {pair!r}"
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise ValueError(f"{wrong}: use pair=({labels[0]!r}, {labels[-1]!r}), say")
    for label in pair:
        if label not in labels:
            raise ValueError(f"{wrong}: {label!r} is not one of them")
    indices = [labels.index(label) for label in pair]
    if indices[0] == indices[1]:
        raise ValueError(f"{wrong}: both are the same")
    return indices


def check_class_weight(
    class_weight: dict[Any, float] | str | None, classes: NDArray[Any], totals: Array
) -> Array | None:
    """Positive weights of the classes; labels that are left out of a dict weigh 1.

    "balanced" makes the total weight of all classes the same.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        balanced: Array = totals.sum() / (len(classes) * totals)
        return balanced
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ParameterError(
            "class_weight",
            f"has labels {unknown} that are not among the classes {labels}",
        )
    weights = check_finite(
        "class_weight", [class_weight.get(label, 1.0) for label in labels], 1
    )
    if np.any(weights <= 0) or weights.max() > _LARGEST_WEIGHT:
        raise ParameterError(
            "class_weight",
            f"must be positive and at most {_LARGEST_WEIGHT:g}, got {class_weight}: "
            "leave a class that does not matter out of the data",
        )
    return weights


def check_number(
    name: str,
    value: object,
    low: float,
    high: float,
    *,
    integer: bool = False,
) -> None:
    """Refuse a setting that is not a number from `low` to `high`, both allowed."""
    number = isinstance(value, Integral if integer else Real)
    if not number or not low <= value <= high:  # type: ignore[operator]
        kind = "an integer" if integer else "a number"
        raise ParameterError(
            name, f"must be {kind} from {low:g} to {high:g}, got {value!r}"
        )


def check_several_classes(n_classes: int) -> None:
    """Refuse data of a single class, or of none."""
    if n_classes < 2:
        raise ValueError(
            f"at least 2 classes are needed, got {n_classes} "
            f"class{'' if n_classes else 'es'}: pass data of two classes or more"
        )


def check_labels(
    y: NDArray[Any], name: str = "y", *, warn: bool = True
) -> NDArray[Any]:
    """Distinct labels, sorted, of targets that must be class labels.

    With `warn`, scikit-learn warns if nearly every row has a class of its own, as the
    rows of a chunk well may.
    """
    if are_labels(y, name):
        # What is left of scikit-learn's check is the warning.
        labels = _distinct(y)
        if warn and 2 * len(labels) > len(y):
            check_classification_targets(y)
        return labels
    check_classification_targets(y)
    return np.unique(y)


def are_labels(y: NDArray[Any], name: str = "y") -> bool:
    """Whether an array has class labels for sure; objects must be text."""
    if y.ndim != 1 or not len(y):
        return False
    if y.dtype.kind == "f":
        return bool(np.all(np.isfinite(y) & (y == np.rint(y))))
    if y.dtype.kind == "O":
        if not all_text(y):
            types = sorted({type(label).__name__ for label in y})
            raise TypeError(
                f"Unknown label type: {name} is an array of objects of type "
                f"{' and '.join(types)}: convert them to text or numbers, for instance "
                f"with {name}.astype(str)"
            )
        return True
    return y.dtype.kind in "iubU"


def all_text(y: NDArray[Any]) -> bool:
    """Whether all objects are strings."""
    return all(issubclass(kind, str) for kind in set(map(type, y.tolist())))


def _distinct(y: NDArray[Any]) -> NDArray[Any]:
    """Sorted distinct labels; integers of a small range are counted, not sorted."""
    if y.dtype.kind in "iub" and len(y):
        wide = _wide(y)
        low = wide.min()
        if int(wide.max()) - int(low) < _SMALL_RANGE:
            present = np.flatnonzero(np.bincount((wide - low).astype(np.intp)))
            labels: NDArray[Any] = (present.astype(wide.dtype) + low).astype(y.dtype)
            return labels
    if y.dtype.kind == "O":
        y = np.array(list(set(y.tolist())), object)  # text has its hashes already
    return np.unique(y)


def _wide(y: NDArray[Any]) -> NDArray[Any]:
    """Integers or booleans in a type in which small differences do not overflow."""
    return y if y.dtype.itemsize == 8 else y.astype(np.int64)


def encode(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Index of the class of each label, in the smallest type that holds it.

    The distinct labels `classes` are sorted, and hold every label. Indices of one or
    two bytes sort in linear time.
    """
    small = np.min_scalar_type(max(len(classes) - 1, 0))
    if y.dtype.kind in "iub" and y.dtype == classes.dtype and len(classes):
        wide = _wide(classes)
        low = wide[0]
        if int(wide[-1]) - int(low) < _SMALL_RANGE:
            table = np.zeros(int(wide[-1]) - int(low) + 1, small)
            table[wide - low] = np.arange(len(classes))
            codes: NDArray[Any] = table[_wide(y) - low]
            return codes
    if y.dtype.kind == "O":
        place = {label: k for k, label in enumerate(classes.tolist())}
        return np.fromiter(map(place.__getitem__, y.tolist()), small, len(y))
    return np.searchsorted(classes, y).astype(small)
