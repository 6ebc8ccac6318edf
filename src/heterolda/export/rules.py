"""Rules, committees and class statistics as JSON values, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.estimators.posterior import LogOdds, SidedLogOdds
from heterolda.estimators.votes import Binary, OneVsAll, OneVsOne
from heterolda.export.fields import Fields, check_list, check_text
from heterolda.foundations.validation import check_covariance
from heterolda.solvers.hyperplanes import Hyperplanes, Status
from heterolda.statistics.class_statistics import ClassStatistics

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_VOTINGS = ["weighted", "majority", "coupled"]
_RULES = (
    *("pairs", "status", "intercept", "coef"),
    *("error", "gap", "n_iter", "means", "deviations"),
)
_COMMITTEE = "multiclass", "voting", "sharpness", "log_odds"
_STATISTICS = "weights", "means", "scatters"
_NAMES = {status.name.lower().replace("_", "-"): status for status in Status}


def rules_to_json(model: Any) -> dict[str, Any]:
    """The rules of a fitted model and how they decide together.

    Parameters
    ----------
    model : estimator
        A fitted model.

    Returns
    -------
    dict
        JSON values, by key of the document.
    """
    committee = model._committee
    planes = committee.planes
    names = {int(status): name for name, status in _NAMES.items()}
    log_odds = getattr(committee, "log_odds", None)
    if log_odds is not None:
        log_odds = {
            "offset": log_odds.offset.tolist(),
            "slope": log_odds.slope.tolist(),
        }
    return {
        "rules": {
            "pairs": model.pairs_.tolist(),
            "status": [names[int(status)] for status in planes.status],
            "intercept": model.intercept_.tolist(),
            "coef": model.coef_.tolist(),
            "error": planes.error.tolist(),
            "gap": without_nan(planes.gap),
            "n_iter": planes.n_iter.tolist(),
            "means": planes.means.tolist(),
            "deviations": planes.deviations.tolist(),
        },
        "committee": {
            "multiclass": "ova" if isinstance(committee, OneVsAll) else "ovo",
            "voting": getattr(committee, "voting", None),
            "sharpness": float(getattr(committee, "sharpness", 1.0)),
            "log_odds": log_odds,
        },
    }


def rules_from_json(
    content: Fields, n_classes: int, n_features: int
) -> tuple[Index, Binary | OneVsOne | OneVsAll]:
    """The inverse of `rules_to_json`.

    Parameters
    ----------
    content : Fields
        The document.
    n_classes, n_features : int
        Numbers of classes and features.

    Returns
    -------
    pairs : ndarray of shape (n_pairs, 2)
        Classes of the rules.
    committee : Binary, OneVsOne or OneVsAll
        The rules, in a form that can be relied on: no prediction is NaN.
    """
    k = n_classes
    rest = content.fields("committee", _COMMITTEE)
    one_vs_all = rest.text("multiclass", ["ovo", "ova"]) == "ova"
    n = k if one_vs_all else k * (k - 1) // 2
    found = content.fields("rules", _RULES)
    pairs = found.integers("pairs", (n, 2), -1)
    # Only now it is sure that there is room for all pairs of so many classes.
    if one_vs_all:
        expected = np.column_stack([np.full(k, -1), np.arange(k)])
    else:
        expected = np.column_stack(np.triu_indices(k, 1))
    if (one_vs_all and k == 2) or not np.array_equal(pairs, expected):
        raise ValueError(f"{found.name('pairs')} are not those of {k} classes")
    planes = _planes(found, n, n_features)
    log_odds = _log_odds(rest, n)
    if log_odds is None:
        _check_gaussian(planes, found.where)
    sharpness = rest.number("sharpness", 1e-9, 1e9)
    if k == 2 or one_vs_all:
        if rest["voting"] is not None or sharpness != 1:
            raise ValueError(f"{rest.where} has a voting, but there are no votes")
        if k == 2:
            return pairs, Binary(planes, log_odds)
        if log_odds is not None:
            raise ValueError(f"{rest.name('log_odds')} must be null for 'ova'")
        return pairs, OneVsAll(planes)
    voting = rest.text("voting", _VOTINGS)
    return pairs, OneVsOne(planes, pairs, k, voting, log_odds, sharpness)


def _planes(found: Fields, n: int, n_features: int) -> Hyperplanes:
    """The record of the rules."""
    status = check_list(found["status"], found.name("status"), n)
    for name in status:
        check_text(name, found.name("status"), _NAMES)
    planes = Hyperplanes(
        coef=found.floats("coef", (n, n_features)),
        intercept=found.floats("intercept", (n,)),
        error=found.floats("error", (n,), 0, 1),
        gap=found.floats("gap", (n,), nan=True),
        n_iter=found.integers("n_iter", (n,), 0),
        status=np.array([int(_NAMES[name]) for name in status]),
        means=found.floats("means", (n, 2)),
        deviations=found.floats("deviations", (n, 2), 0),
    )
    with np.errstate(over="ignore"):
        reach = np.abs(planes.coef).sum(axis=1) + np.abs(planes.intercept)
    if not np.isfinite(reach).all():
        raise ValueError(f"{found.name('coef')} has numbers that are too large")
    return planes


def _check_gaussian(planes: Hyperplanes, where: str) -> None:
    """Refuse means and deviations from which no probabilities can be computed."""
    if not (planes.trivial | (planes.deviations > 0).all(axis=1)).all():
        raise ValueError(f"{where}.deviations must be positive")
    with np.errstate(all="ignore"):
        odds = LogOdds.from_hyperplanes(planes)
    usable = np.isfinite(odds.bend) & np.isfinite(odds.slope) & (odds.low <= odds.high)
    if not usable.all():
        raise ValueError(f"{where}.means and deviations are too far apart")


def _log_odds(rest: Fields, n: int) -> SidedLogOdds | None:
    """The log-odds of the rules, if they are not those of the Gaussian model."""
    if rest["log_odds"] is None:
        return None
    found = rest.fields("log_odds", ("offset", "slope"))
    shape = 2, n
    return SidedLogOdds(
        found.floats("offset", shape, 0), found.floats("slope", shape, 0)
    )


def statistics_to_json(statistics: ClassStatistics) -> dict[str, Any]:
    """Class statistics, without what the model tells in any case."""
    arrays = {name: getattr(statistics, name).tolist() for name in _STATISTICS}
    return {"named": statistics.feature_names is not None, **arrays}


def statistics_from_json(
    content: Fields,
    classes: NDArray[Any],
    n_features: int,
    feature_names: NDArray[Any] | None,
) -> ClassStatistics:
    """The inverse of `statistics_to_json`.

    Parameters
    ----------
    content : Fields
        A model.
    classes : ndarray of shape (n_classes,)
        Its labels.
    n_features : int
        Number of features.
    feature_names : ndarray of shape (n_features,) or None
        Their names.

    Returns
    -------
    ClassStatistics
        The statistics.
    """
    found = content.fields("statistics", ("named", *_STATISTICS))
    k, d = len(classes), n_features
    weights = found.floats("weights", (k,))
    if not (weights > 1).all():
        raise ValueError(f"{found.name('weights')} must exceed 1")
    means = found.floats("means", (k, d))
    scatters = found.floats("scatters", (k, d, d))
    for label, scatter in zip(classes.tolist(), scatters, strict=True):
        check_covariance(label, scatter)
    names = feature_names if found.boolean("named") else None
    return ClassStatistics(classes, weights, means, scatters, names)


def without_nan(values: Array) -> list[float | None]:
    """Numbers as a list, with None for NaN."""
    return [None if value != value else value for value in values.tolist()]
