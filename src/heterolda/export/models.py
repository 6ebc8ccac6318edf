"""Both estimators as JSON values, and back."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.local_search import LocalNeighborhoodSearch
from heterolda.export.fields import Fields, check_floats, check_list, check_text
from heterolda.export.parameters import (
    estimator_from_json,
    labels_from_json,
    labels_to_json,
    parameters_to_json,
)
from heterolda.export.rules import (
    rules_from_json,
    rules_to_json,
    statistics_from_json,
    statistics_to_json,
    without_nan,
)
from heterolda.statistics.shrinkage import Shrinkage

DISCRIMINANT = GaussianLinearDiscriminant.__name__
SEARCH = LocalNeighborhoodSearch.__name__

# Keys of a model, and those that only a discriminant or only a search has.
_KEYS = "estimator", "parameters", "classes", "features", "rules", "committee"
_OF_DISCRIMINANT = (
    *("priors", "error_rates", "risk"),
    *("shrinkage", "fitted_with", "statistics"),
)
_OF_SEARCH = (
    *("start", "n_errors", "n_errors_start", "n_errors_held_out"),
    *("selection", "history"),
)
_CANDIDATE = "loss", "bandwidth", "anchor", "voting", "error"


class NotKept(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Stands for the start of a search of which a model file keeps the name only.

    Parameters
    ----------
    name : str
        Name of its class.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Say that another start is needed."""
        raise ValueError(
            f"estimator was of the class {self.name}, of which the model file keeps "
            "nothing but the name: use set_params(estimator=...) before fit"
        )


def model_to_json(model: Any, *, statistics: bool) -> dict[str, Any]:
    """A fitted model as a JSON value.

    Parameters
    ----------
    model : GaussianLinearDiscriminant or LocalNeighborhoodSearch
        The model.
    statistics : bool
        Whether to include class statistics.

    Returns
    -------
    dict
        A JSON value.
    """
    names = getattr(model, "feature_names_in_", None)
    content = {
        "estimator": type(model).__name__,
        "parameters": parameters_to_json(model.get_params(deep=False), model.classes_),
        "classes": labels_to_json(model.classes_),
        "features": {
            "count": int(model.n_features_in_),
            "names": None if names is None else [str(name) for name in names],
        },
        **rules_to_json(model),
    }
    if type(model) is GaussianLinearDiscriminant:
        return content | _discriminant_to_json(model, statistics)
    content["parameters"]["estimator"] = _start_parameter(model)
    return content | _search_to_json(model, statistics)


def model_from_json(value: Any, where: str, options: tuple[str, ...]) -> Any:
    """The inverse of `model_to_json`.

    Parameters
    ----------
    value : object
        A JSON value.
    where : str
        Its place, for messages.
    options : tuple of str
        Estimators that it may be.

    Returns
    -------
    GaussianLinearDiscriminant or LocalNeighborhoodSearch
        The fitted model.
    """
    kind = value.get("estimator") if isinstance(value, dict) else None
    search = check_text(kind, f"{where}.estimator", options) == SEARCH
    content = Fields(value, where, _KEYS + (_OF_SEARCH if search else _OF_DISCRIMINANT))
    classes = labels_from_json(content["classes"], content.name("classes"))
    n_features, names = _features(content)
    pairs, committee = rules_from_json(content, len(classes), n_features)
    planes = committee.planes
    fitted = {
        "classes_": classes,
        "n_features_in_": n_features,
        "pairs_": pairs,
        "coef_": planes.coef,
        "intercept_": planes.intercept,
        "n_iter_": planes.n_iter,
        "_committee": committee,
    }
    if names is not None:
        fitted["feature_names_in_"] = names
    read = _read_search if search else _read_discriminant
    return read(content, fitted)


def _features(content: Fields) -> tuple[int, NDArray[Any] | None]:
    """Number and names of the features."""
    features = content.fields("features", ("count", "names"))
    count = features.integer("count", 1)
    if features["names"] is None:
        return count, None
    where = features.name("names")
    names = check_list(features["names"], where, count)
    for name in names:
        check_text(name, where)
    return count, np.array(names, dtype=object)


def _discriminant_to_json(model: Any, statistics: bool) -> dict[str, Any]:
    """What only a discriminant has."""
    chosen, kept = model.shrinkage_, None
    if chosen is not None:
        chosen = {
            "to_pooled": chosen.to_pooled.tolist(),
            "to_diagonal": float(chosen.to_diagonal),
        }
    if statistics and hasattr(model, "statistics_"):
        kept = statistics_to_json(model.statistics_)
    return {
        "priors": model.priors_.tolist(),
        "error_rates": model.error_rates_.tolist(),
        "risk": model.risk_.tolist(),
        "shrinkage": chosen,
        "fitted_with": parameters_to_json(model._settings, model.classes_),
        "statistics": kept,
    }


def _read_discriminant(content: Fields, fitted: dict[str, Any]) -> Any:
    """The inverse of `_discriminant_to_json`."""
    cls = GaussianLinearDiscriminant
    model = estimator_from_json(cls, content["parameters"], content.name("parameters"))
    model.__dict__.update(fitted)
    planes, k, n = model._committee.planes, len(model.classes_), len(model.pairs_)
    model.priors_ = content.floats("priors", (k,), 0, 1)
    if not (model.priors_ > 0).all() or abs(model.priors_.sum() - 1) > 1e-6:
        raise ValueError(f"{content.name('priors')} must be positive and sum to one")
    model.bayes_error_ = planes.error
    model.gap_ = planes.gap
    model.trivial_ = planes.trivial
    model.error_rates_ = content.floats("error_rates", (n, 2), 0, 1)
    model.risk_ = content.floats("risk", (n,), 0)
    model.shrinkage_ = None
    if content["shrinkage"] is not None:
        chosen = content.fields("shrinkage", ("to_pooled", "to_diagonal"))
        model.shrinkage_ = Shrinkage(
            chosen.floats("to_pooled", (k,), 0, 1), chosen.number("to_diagonal", 0, 1)
        )
    names = "solver", "shrinkage", "criterion", "costs"
    where = content.name("fitted_with")
    settings = estimator_from_json(cls, content["fitted_with"], where, names=names)
    model._settings = {name: getattr(settings, name) for name in names}
    if content["statistics"] is not None:
        names_in = fitted.get("feature_names_in_")
        model.statistics_ = statistics_from_json(
            content, model.classes_, model.n_features_in_, names_in
        )
    return model


def _search_to_json(model: Any, statistics: bool) -> dict[str, Any]:
    """What only a search has."""
    start, chosen = None, getattr(model, "selection_", None)
    fitted = getattr(model, "estimator_", None)
    if type(_bare(fitted)) is GaussianLinearDiscriminant:
        start = {
            "frozen": isinstance(fitted, FrozenEstimator),
            "model": model_to_json(_bare(fitted), statistics=statistics),
        }
    if chosen is not None:
        rows = [_candidate_to_json(row) for row in chosen["candidates"]]
        chosen = {**_candidate_to_json(chosen), "candidates": rows}
    held_out = getattr(model, "n_errors_held_out_", None)
    return {
        "start": start,
        "n_errors": model.n_errors_.tolist(),
        "n_errors_start": model.n_errors_start_.tolist(),
        "n_errors_held_out": None if held_out is None else held_out.tolist(),
        "selection": chosen,
        "history": [errors.tolist() for errors in model.history_],
    }


def _read_search(content: Fields, fitted: dict[str, Any]) -> Any:
    """The inverse of `_search_to_json`."""
    start = None
    if content["start"] is not None:
        start = _read_start(content.fields("start", ("frozen", "model")), fitted)
    model = estimator_from_json(
        LocalNeighborhoodSearch,
        content["parameters"],
        content.name("parameters"),
        estimator=partial(_read_start_parameter, start=start),
    )
    model.__dict__.update(fitted)
    n = len(model.pairs_)
    if start is not None:
        model.estimator_ = start
    model.n_errors_ = content.numbers("n_errors", (n,), 0)
    model.n_errors_start_ = content.numbers("n_errors_start", (n,), 0)
    if content["n_errors_held_out"] is not None:
        model.n_errors_held_out_ = content.numbers("n_errors_held_out", (n,), 0)
    if content["selection"] is not None:
        found = content.fields("selection", (*_CANDIDATE, "candidates"))
        where = found.name("candidates")
        rows = [
            _candidate_from_json(Fields(row, where, _CANDIDATE))
            for row in check_list(found["candidates"], where)
        ]
        model.selection_ = {**_candidate_from_json(found), "candidates": rows}
    where = content.name("history")
    history = check_list(content["history"], where, n)
    model.history_ = [
        check_floats(errors, where, (length,), 0)
        for errors, length in zip(history, model.n_iter_.tolist(), strict=True)
    ]
    return model


def _read_start(found: Fields, fitted: dict[str, Any]) -> Any:
    """The fitted start of a search."""
    start = model_from_json(found["model"], found.name("model"), (DISCRIMINANT,))
    if (
        not np.array_equal(start.classes_, fitted["classes_"])
        or start.n_features_in_ != fitted["n_features_in_"]
    ):
        raise ValueError(f"{found.where} has other classes or features than the model")
    return FrozenEstimator(start) if found.boolean("frozen") else start


def _start_parameter(model: Any) -> dict[str, Any] | None:
    """The parameter `estimator` of a search: parameters, or a name."""
    given = model.estimator
    if given is None:
        return None
    bare = _bare(given)
    content = {
        "name": bare.name if isinstance(bare, NotKept) else type(bare).__name__,
        "frozen": isinstance(given, FrozenEstimator),
        "is_start": False,
        "parameters": None,
    }
    if type(bare) is GaussianLinearDiscriminant:
        # A search with prefit=True has one and the same model in both places.
        content["is_start"] = bare is _bare(getattr(model, "estimator_", None))
        content["parameters"] = parameters_to_json(bare.get_params(), model.classes_)
    return content


def _read_start_parameter(value: Any, where: str, start: Any) -> Any:
    """The inverse of `_start_parameter`."""
    if value is None:
        return None
    found = Fields(value, where, ("name", "frozen", "is_start", "parameters"))
    estimator: Any = NotKept(found.text("name"))
    if found["parameters"] is not None:
        found.text("name", [DISCRIMINANT])
        estimator = estimator_from_json(
            GaussianLinearDiscriminant, found["parameters"], found.name("parameters")
        )
    if found.boolean("is_start"):
        if start is None:
            raise ValueError(f"{where} is said to be the start, but there is none")
        estimator = _bare(start)
    return FrozenEstimator(estimator) if found.boolean("frozen") else estimator


def _candidate_to_json(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the table of candidates."""
    values = {name: row[name] for name in _CANDIDATE}
    bandwidth, error = without_nan(np.array([row["bandwidth"], row["error"]]))
    anchor = "Infinity" if row["anchor"] == np.inf else row["anchor"]
    return {**values, "bandwidth": bandwidth, "anchor": anchor, "error": error}


def _candidate_from_json(found: Fields) -> dict[str, Any]:
    """The inverse of `_candidate_to_json`."""
    infinite = found["anchor"] == "Infinity"
    return {
        "loss": found.text("loss", ["error", "logistic", "none"]),
        "bandwidth": _number_or_nan(found, "bandwidth"),
        "anchor": np.inf if infinite else found.number("anchor", 0),
        "voting": found.text("voting", ["weighted", "majority", "coupled"]),
        "error": _number_or_nan(found, "error"),
    }


def _number_or_nan(found: Fields, key: str) -> float:
    return np.nan if found[key] is None else found.number(key, 0)


def _bare(estimator: Any) -> Any:
    """What is in a `FrozenEstimator`."""
    frozen = isinstance(estimator, FrozenEstimator)
    return estimator.estimator if frozen else estimator
