"""Model files: what they hold, and the tables that they need."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone

from heterolda.data.files import STANDARD_STREAM
from heterolda.data.formats import Format
from heterolda.data.labels import ClassFinder
from heterolda.data.table import Table
from heterolda.estimators.bounded_error import linear_form
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.fit_record import raw_columns
from heterolda.exceptions import ParameterError
from heterolda.export import load
from heterolda.foundations.wording import count, named


def load_classifier(path: Path) -> Any:
    """Load a classifier or a pipeline that ends in one; reject a projection."""
    model = linear_form(load(path))
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"{path} holds a projection, which does not predict classes: save a "
            "classifier, or a pipeline of the projection and a classifier"
        )
    return model


def _takes_missing(model: Any) -> bool:
    """Return whether rows with missing values can be classified.

    A bound is on rows such as those of the fit: incomplete, if these may have been.
    """
    plain = isinstance(model, GaussianLinearDiscriminant)
    as_in_fit = not hasattr(model, "bound_") or model.missing == "em"
    return plain and as_in_fit and hasattr(model, "statistics_")


def missing_for(model: Any, missing: str | None) -> str:
    """Return what to do with missing values, by default what the model was fitted for.

    The model is set to it.
    """
    can = _takes_missing(model)
    if missing is None:
        return model.missing if can else "error"
    if missing == "em" and not can:
        raise ParameterError(
            "missing",
            "='em' needs a model that is not refined, and a bounded model fitted "
            "with it: choose missing='drop'",
        )
    if can:
        model.set_params(missing="em" if missing == "em" else "error")
    return missing


def missing_notes(n_incomplete: int) -> list[str]:
    """Return how many incomplete rows were classified, if any."""
    if not n_incomplete:
        return []
    rows = count(n_incomplete, "row")
    return [f"{rows} with missing values: classified by the values they have"]


def model_table(model: Any, data: list[str], text: Format, **settings: Any) -> Table:
    """Return the table that a model needs, read as that of its fit.

    Options about the format come first.
    """
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            "the model file has no feature names: set the attribute feature_names_in_ "
            "of the model, and save it again"
        )
    record = getattr(model, "fit_record_", None)
    if record is not None:
        n, na = record.n_columns, tuple(dict.fromkeys([*record.marks, *text.na]))
        text = replace(text, na=na, header=text.header and n is None)
        settings["categories"] = record.categories
        if n is not None:
            # New files may lack the labels if that moves no other column.
            is_last = record.target == f"column_{n}"
            text = replace(text, n_columns=(n, n - 1) if is_last else (n,))
    return Table(
        source=STANDARD_STREAM if data == [STANDARD_STREAM] else data,
        columns=raw_columns(map(str, names), settings.get("categories", ())),
        format=text,
        takes_missing=_takes_missing(model),
        **settings,
    )


def labelled(model: Any, classes: NDArray[Any]) -> Any:
    """Return an unfitted copy, with labels in place of their text in parameters."""
    finder = ClassFinder(classes)
    params = {
        name: _by_label(name.rpartition("__")[2], value, finder)
        for name, value in model.get_params().items()
        if isinstance(value, dict)
    }
    return clone(model).set_params(**params)


def _by_label(parameter: str, given: Any, finder: ClassFinder) -> Any:
    """Return dictionaries by labels instead of their text; other values as they are."""
    if not isinstance(given, dict):
        return given
    labels, by_labels = finder.classes.tolist(), {}
    for text, value in given.items():
        k = finder.find(text)
        if k < 0:
            raise ParameterError(
                parameter, f": {text!r} is not one of the classes {named(labels, 10)}"
            )
        by_labels[labels[k]] = _by_label(parameter, value, finder)
    return by_labels
