"""Model files: a fitted model as JSON, without pickle."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from heterolda.discriminant import GaussianLinearDiscriminant
from heterolda.export.fields import Fields, check_list, check_text
from heterolda.export.json_file import read_json, write_json
from heterolda.export.parameters import (
    estimator_from_json,
    labels_from_json,
    labels_to_json,
    parameters_to_json,
    value_from_json,
    value_to_json,
)
from heterolda.export.rules import (
    rules_from_json,
    rules_to_json,
    statistics_from_json,
    statistics_to_json,
    without_nan,
)
from heterolda.files import unreadable
from heterolda.local_search import LocalNeighborhoodSearch
from heterolda.shrinkage import Shrinkage

FORMAT = "heterolda-model"
VERSION = 1

_MODEL = "estimator", "parameters", "classes", "features", "rules", "committee"
_DISCRIMINANT = (
    "priors",
    "error_rates",
    "risk",
    "shrinkage",
    "fitted_with",
    "statistics",
)
_SEARCH = (
    "start",
    "n_errors",
    "n_errors_start",
    "n_errors_held_out",
    "selection",
    "history",
)
_FITTED_WITH = "solver", "shrinkage", "criterion", "costs"
_CANDIDATE = "loss", "bandwidth", "anchor", "voting", "error"


class NotKept(ClassifierMixin, BaseEstimator):
    """Stands for the start of a search that a model file does not keep.

    Parameters
    ----------
    name : str
        Name of its class.
    """

    def __init__(self, name=""):
        self.name = name

    def fit(self, X, y, sample_weight=None):
        """Say that the start has to be set before the search is fitted again."""
        raise ValueError(
            f"estimator was a {self.name}, of which the model file keeps the name only:"
            " use set_params(estimator=...) before fit"
        )


def save(
    model: Any, path: str | os.PathLike[str], *, include_statistics: bool = True
) -> None:
    """Write a fitted model to a JSON file, whole or not at all.

    Parameters
    ----------
    model : GaussianLinearDiscriminant or LocalNeighborhoodSearch
        The model. Of the start of a search only a discriminant is kept, of others the
        name; of a random generator nothing.
    path : str or path-like
        The file, by custom with the ending ``.json``.
    include_statistics : bool, default=True
        Whether to write the class statistics: means and covariances. Predictions need
        none; `partial_fit`, `with_operating_point` and `frontier_` do.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import heterolda
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = heterolda.GaussianLinearDiscriminant().fit(X, y)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "wine.json"
    >>> heterolda.save(model, path)
    >>> bool((heterolda.load(path).predict(X) == model.predict(X)).all())
    True
    """
    document = to_document(model, include_statistics=include_statistics)
    from_document(document)
    write_json(path, document)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` has written. No file can execute code.

    Parameters
    ----------
    path : str or path-like
        The file, of at most 1 GiB.

    Returns
    -------
    GaussianLinearDiscriminant or LocalNeighborhoodSearch
        The fitted model; its predictions are the same to the last bit. A file that is
        damaged, or no model file, or one of a newer release, gives a ValueError that
        says why.
    """
    try:
        return from_document(read_json(path))
    except (ValueError, MemoryError) as error:
        raise unreadable(path, "a model", error) from error


def to_document(model, *, include_statistics=True):
    """A fitted model as a JSON value."""
    if type(model) not in (GaussianLinearDiscriminant, LocalNeighborhoodSearch):
        raise TypeError(
            "model must be a GaussianLinearDiscriminant or a LocalNeighborhoodSearch, "
            f"got {type(model).__name__}: of a pipeline or a search over parameters, "
            "save the classifier in it"
        )
    model._check_ready()
    return {
        "format": FORMAT,
        "version": VERSION,
        "heterolda": sys.modules["heterolda"].__version__,
        "model": _model_to_json(model, include_statistics),
    }


def from_document(document):
    """The inverse of `to_document`."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f'it has no "format": "{FORMAT}"')
    version = document.get("version")
    if type(version) is not int or version < 1:
        raise ValueError("its version is no positive integer")
    if version > VERSION:
        raise ValueError(
            f"its version {version} is newer than {VERSION}, the newest that this "
            "release of heterolda knows: upgrade heterolda"
        )
    content = Fields(document, "document", ("format", "version", "heterolda", "model"))
    content.text("heterolda")
    return _model_from_json(content["model"], "model")


def _model_to_json(model, statistics):
    search = isinstance(model, LocalNeighborhoodSearch)
    names = getattr(model, "feature_names_in_", None)
    document = {
        "estimator": type(model).__name__,
        "parameters": parameters_to_json(model, model.classes_),
        "classes": labels_to_json(model.classes_),
        "features": {
            "count": int(model.n_features_in_),
            "names": None if names is None else [str(name) for name in names],
        },
        **rules_to_json(model),
    }
    if search:
        document["parameters"]["estimator"] = _start_parameter(model)
        return document | _search_to_json(model, statistics)
    return document | _discriminant_to_json(model, statistics)


def _model_from_json(value, where):
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be an object")
    options = ["GaussianLinearDiscriminant", "LocalNeighborhoodSearch"]
    kind = check_text(value.get("estimator"), f"{where}.estimator", options)
    search = kind == options[1]
    content = Fields(value, where, _MODEL + (_SEARCH if search else _DISCRIMINANT))
    classes = labels_from_json(content["classes"], content.name("classes"))
    features = content.fields("features", ("count", "names"))
    d = features.integer("count", 1)
    names = None
    if features["names"] is not None:
        listed = check_list(features["names"], features.name("names"))
        if len(listed) != d:
            raise ValueError(f"{features.name('names')} must have {d} entries")
        for name in listed:
            check_text(name, features.name("names"))
        names = np.array(listed, dtype=object)
    pairs, committee = rules_from_json(content, len(classes), d)
    read = _search_from_json if search else _discriminant_from_json
    model = read(content, classes, d, names, pairs, committee.planes)
    model.classes_ = classes
    model.n_features_in_ = d
    if names is not None:
        model.feature_names_in_ = names
    model.pairs_ = pairs
    model.coef_ = committee.planes.coef
    model.intercept_ = committee.planes.intercept
    model.n_iter_ = committee.planes.n_iter
    model._committee = committee
    return model


def _discriminant_to_json(model, statistics):
    costs = model._settings["costs"]
    if hasattr(costs, "columns"):
        from heterolda.criteria import check_costs

        model._settings["costs"] = check_costs(costs, model.classes_)
    chosen = model.shrinkage_
    keep = statistics and hasattr(model, "statistics_")
    return {
        "priors": model.priors_.tolist(),
        "error_rates": model.error_rates_.tolist(),
        "risk": model.risk_.tolist(),
        "shrinkage": chosen
        and {
            "to_pooled": chosen.to_pooled.tolist(),
            "to_diagonal": float(chosen.to_diagonal),
        },
        "fitted_with": {
            name: value_to_json(name, model._settings[name]) for name in _FITTED_WITH
        },
        "statistics": statistics_to_json(model.statistics_) if keep else None,
    }


def _discriminant_from_json(content, classes, d, names, pairs, planes):
    model = estimator_from_json(
        GaussianLinearDiscriminant, content["parameters"], content.name("parameters")
    )
    k, n = len(classes), len(pairs)
    model.priors_ = content.floats("priors", (k,), 0, 1)
    if not (model.priors_ > 0).all() or abs(model.priors_.sum() - 1) > 1e-6:
        raise ValueError(f"{content.name('priors')} must be positive and sum to one")
    model.shrinkage_ = None
    if content["shrinkage"] is not None:
        chosen = content.fields("shrinkage", ("to_pooled", "to_diagonal"))
        model.shrinkage_ = Shrinkage(
            chosen.floats("to_pooled", (k,), 0, 1), chosen.number("to_diagonal", 0, 1)
        )
    if content["statistics"] is not None:
        model.statistics_ = statistics_from_json(
            content["statistics"], content.name("statistics"), classes, d, names
        )
    fitted = content.fields("fitted_with", _FITTED_WITH)
    model._settings = {
        name: value_from_json(fitted[name], fitted.name(name)) for name in _FITTED_WITH
    }
    model.bayes_error_ = planes.error
    model.error_rates_ = content.floats("error_rates", (n, 2), 0, 1)
    model.risk_ = content.floats("risk", (n,), 0)
    model.gap_ = planes.gap
    model.trivial_ = planes.trivial
    return model


def _search_to_json(model, statistics):
    start = getattr(model, "estimator_", None)
    bare = _bare(start)
    kept = None
    if type(bare) is GaussianLinearDiscriminant:
        kept = {
            "frozen": bare is not start,
            "model": _model_to_json(bare, statistics),
        }
    held_out = getattr(model, "n_errors_held_out_", None)
    chosen = getattr(model, "selection_", None)
    if chosen is not None:
        chosen = _row(chosen) | {"candidates": [_row(c) for c in chosen["candidates"]]}
    return {
        "start": kept,
        "n_errors": model.n_errors_.tolist(),
        "n_errors_start": model.n_errors_start_.tolist(),
        "n_errors_held_out": None if held_out is None else held_out.tolist(),
        "selection": chosen,
        "history": [errors.tolist() for errors in model.history_],
    }


def _search_from_json(content, classes, d, names, pairs, planes):
    start = None
    if content["start"] is not None:
        kept = content.fields("start", ("frozen", "model"))
        start = _model_from_json(kept["model"], kept.name("model"))
        if kept["frozen"]:
            start = FrozenEstimator(start)
    parameters = dict(content["parameters"])
    estimator = _start_from_json(parameters.pop("estimator"), content, start)
    model = estimator_from_json(
        LocalNeighborhoodSearch,
        parameters,
        content.name("parameters"),
        estimator=estimator,
    )
    n = len(pairs)
    if start is not None:
        model.estimator_ = start
    model.n_errors_ = content.numbers("n_errors", (n,), 0)
    model.n_errors_start_ = content.numbers("n_errors_start", (n,), 0)
    if content["n_errors_held_out"] is not None:
        model.n_errors_held_out_ = content.numbers("n_errors_held_out", (n,), 0)
    if content["selection"] is not None:
        found = content.fields("selection", (*_CANDIDATE, "candidates"))
        model.selection_ = _candidate(found) | {
            "candidates": [
                _candidate(Fields(row, found.name("candidates"), _CANDIDATE))
                for row in check_list(found["candidates"], found.name("candidates"))
            ]
        }
    model.history_ = [np.array(h, dtype=float) for h in content["history"]]
    return model


def _row(row):
    values = {name: row[name] for name in _CANDIDATE}
    for name in ("bandwidth", "error"):
        (values[name],) = without_nan(np.array([values[name]]))
    if values["anchor"] == np.inf:
        values["anchor"] = "Infinity"
    return values


def _candidate(found):
    values = dict(found.value)
    values.pop("candidates", None)
    for name in ("bandwidth", "error"):
        if values[name] is None:
            values[name] = np.nan
    if values["anchor"] == "Infinity":
        values["anchor"] = np.inf
    return values


def _bare(estimator):
    """What is in a `FrozenEstimator`."""
    frozen = isinstance(estimator, FrozenEstimator)
    return estimator.estimator if frozen else estimator


def _start_parameter(model):
    given = model.estimator
    if given is None:
        return None
    bare = _bare(given)
    ours = type(bare) is GaussianLinearDiscriminant
    return {
        "name": bare.name if isinstance(bare, NotKept) else type(bare).__name__,
        "frozen": bare is not given,
        "is_start": ours and bare is _bare(getattr(model, "estimator_", None)),
        "parameters": parameters_to_json(bare, model.classes_) if ours else None,
    }


def _start_from_json(value, content, start):
    if value is None:
        return None
    found = Fields(
        value,
        content.name("parameters.estimator"),
        ("name", "frozen", "is_start", "parameters"),
    )
    if found["parameters"] is None:
        bare = NotKept(found.text("name"))
    elif found["is_start"]:
        bare = _bare(start)
    else:
        bare = estimator_from_json(
            GaussianLinearDiscriminant, found["parameters"], found.name("parameters")
        )
    return FrozenEstimator(bare) if found["frozen"] else bare
