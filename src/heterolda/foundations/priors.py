"""Class priors in all the forms that users give them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.exceptions import ParameterError
from heterolda.foundations.devices import on_host
from heterolda.foundations.types import Array, Priors
from heterolda.foundations.validation import check_finite
from heterolda.foundations.wording import listed, named


def check_priors(priors: Priors, classes: NDArray[Any], weights: Array) -> Array:
    """Positive class priors that sum to one.

    They may be given in proportion, in the order of the classes or by label, in a dict
    or a pandas Series, or as "equal"; relative frequencies if none are given.
    """
    if priors is None:
        frequencies: Array = weights / weights.sum()
        return frequencies
    if isinstance(priors, str):
        if priors != "equal":
            raise ParameterError(
                "priors",
                f"must be numbers, a dict by label, 'equal' or None, got {priors!r}",
            )
        return np.full(len(classes), 1 / len(classes))
    given: Any = on_host(priors)[0]
    numbers = given.to_dict() if hasattr(given, "to_dict") else given
    if isinstance(numbers, dict):
        if len(numbers) != len(given):
            raise ParameterError("priors", "have a label more than once")
        numbers = _by_label(numbers, classes)
    given = check_finite("priors", numbers, 1)
    if given.shape != classes.shape:
        raise ParameterError(
            "priors",
            f"must have one entry for each of the {len(classes)} classes, got "
            f"{len(given)}",
        )
    if not np.all(given > 0):
        raise ParameterError(
            "priors",
            f"must be positive, got {listed(given)}: leave a class that never occurs "
            "out of the data",
        )
    given /= given.max()  # so that their sum is finite
    shares: Array = given / given.sum()
    if not np.all(shares > 0):
        raise ParameterError(
            "priors", f"differ too much for float64, got {listed(given)}"
        )
    return shares


def _by_label(priors: dict[Any, float], classes: NDArray[Any]) -> list[float]:
    """Priors in the order of the classes, all of which must be there."""
    labels = classes.tolist()
    unknown = [label for label in priors if label not in labels]
    if unknown:
        raise ParameterError(
            "priors",
            f"have labels {named(unknown)} that are not among the classes "
            f"{named(labels, 10)}",
        )
    absent = [label for label in labels if label not in priors]
    if absent:
        raise ParameterError(
            "priors", f"lack the classes {named(absent)}: give each class a number"
        )
    return [priors[label] for label in labels]
