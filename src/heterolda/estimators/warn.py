"""Warnings about what a fit had to work with and what it found."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.exceptions import (
    ModelMisfitWarning,
    PrecisionWarning,
    SearchInterruptedWarning,
    Setting,
    SmallClassWarning,
    TrivialRuleWarning,
)
from heterolda.foundations.types import Array, Index, Mask
from heterolda.foundations.wording import listed
from heterolda.solvers.hyperplanes import Hyperplanes

# Distance of neighbouring numbers, in standard deviations, that draws no warning.
_MOST_ROUNDING = 0.01
# Distance of the means, in deviations of both classes together, that is several.
_SEVERAL = 2.0
# Error of a rule that leaves nothing to be gained.
_LITTLE = 1e-3
# Rows of a class that are looked at, evenly spaced.
_MOST_ROWS = 1000
# Warnings point at the line that called fit, through fit, its decorator and _solve.
_STACKLEVEL = 5


def warn_of_weak_moments(
    classes: NDArray[Any],
    weights: Array,
    means: Array,
    covariances: Array,
    shrunk: bool,
) -> None:
    """Warn of classes with too few samples, unless shrunk, and of lost precision."""
    small = classes[weights < means.shape[1] + 1]
    if len(small) and not shrunk:
        warning = SmallClassWarning(
            f"classes {listed(small)} have fewer samples than features plus one, so "
            "their covariances are singular by accident and the fit may exploit it: "
            "use ",
            Setting("shrinkage", "auto"),
            ", or fewer features",
        )
        warnings.warn(warning, stacklevel=_STACKLEVEL)
    variances = np.einsum("kii->ki", covariances)
    coarse = np.spacing(np.abs(means)) > _MOST_ROUNDING * np.sqrt(variances)
    far = np.flatnonzero(np.any(coarse & (variances > 0), axis=0))
    if len(far):
        warnings.warn(
            f"features {listed(far)} vary by little more than float64 rounding at "
            "their magnitude: subtract a constant before converting them",
            PrecisionWarning,
            stacklevel=_STACKLEVEL,
        )


def warn_of_trivial_rules(
    classes: NDArray[Any], pairs: Index, *, costs: bool = False
) -> None:
    """Give one warning that names the pairs without a useful hyperplane.

    The index -1 stands for all other classes; given costs may be the reason.
    """
    if len(pairs):
        labels = [*map(repr, classes.tolist()), "the rest"]
        names = "; ".join(f"{labels[i]} and {labels[j]}" for i, j in pairs[:5])
        more = f" and {len(pairs) - 5} more" if len(pairs) > 5 else ""
        answer, remedy = (
            "choosing the likelier class",
            "Pass other priors if the rarer class matters more than its frequency says",
        )
        if costs:
            answer, remedy = (
                "giving the same answer, under these priors and costs,",
                "Pass less unequal costs, or other priors, if both answers matter",
            )
        warnings.warn(
            f"the solver found no hyperplane that beats always {answer} for: "
            f"{names}{more}. {remedy}",
            TrivialRuleWarning,
            stacklevel=_STACKLEVEL,
        )


def warn_of_raised_variances(
    classes: NDArray[Any], pairs: Index, planes: Hyperplanes, weights: Array
) -> None:
    """Give one warning that names classes without variance where others have some.

    `weights`, of the two classes of each pair, say which have too few rows for it to
    mean anything; of these there is a warning already.
    """
    if planes.floored is None:
        return
    floored = planes.floored & (weights > planes.coef.shape[1])
    if not floored.any():
        return
    labels = [*map(repr, classes.tolist()), "the rest"]
    k, first = (int(place) for place in np.argwhere(floored)[0])
    flat, varied = (labels[i] for i in pairs[k, [first, 1 - first]])
    others = np.count_nonzero(floored.any(axis=1)) - 1
    more = f" (and so in {others} more pairs of classes)" if others else ""
    warnings.warn(
        f"class {flat} has next to no variance in a direction in which {varied} "
        f"varies{more}, so the Gaussian model does not fit: the rule, bayes_error_ and "
        "gap_ are those of a model in which this variance is raised to 1e-7 of that of "
        "both classes. Use fit(X, y), which compares the rule with linear discriminant "
        "analysis on the rows, or leave out features that are constant in a class",
        ModelMisfitWarning,
        stacklevel=_STACKLEVEL,
    )


def warn_of_dropped_directions(
    classes: NDArray[Any],
    pairs: Index,
    planes: Hyperplanes,
    moments: tuple[Array, Array],
    solved: Index,
    rows: tuple[NDArray[Any], NDArray[Any]] | None,
) -> None:
    """Give one warning that names features whose differences were left out, but matter.

    Parameters
    ----------
    classes, pairs : ndarray
        Labels, and indices of the two classes of each rule; -1 means all others.
    planes : Hyperplanes
        The rules.
    moments, solved : tuple of (means, covariances), ndarray
        What was solved, and the places of the two classes of each rule in it.
    rows : tuple of (X, y) or None
        Rows, if there are any, tell the deviations that moments have lost.
    """
    dropped = planes.dropped
    if dropped is None or not dropped.any():
        return
    means, covariances = moments
    for k in np.flatnonzero(dropped.any(axis=1) & (planes.error > _LITTLE)):
        w, two = dropped[k], solved[k]
        distance = abs(float(w @ (means[two[0]] - means[two[1]])))
        if rows is not None:
            X, y = rows
            second = y == classes[pairs[k, 1]]
            first = ~second if pairs[k, 0] < 0 else y == classes[pairs[k, 0]]
            distance = _distance(X, first, second, w)
        if distance > _SEVERAL:
            break
    else:
        return
    names = [*map(repr, classes.tolist()), "the rest"]
    i, j = pairs[k]
    part = np.abs(w) * np.sqrt(np.einsum("kii->i", covariances[two]))
    features = np.flatnonzero(part > 0.1 * part.max())
    warnings.warn(
        f"features {listed(features)} depend on each other but for float64 rounding, "
        f"so their smallest differences were left out; yet {names[i]} and {names[j]} "
        "differ there by several standard deviations: subtract one of the nearly equal "
        "features from the other before fitting",
        PrecisionWarning,
        stacklevel=_STACKLEVEL,
    )


def _distance(X: NDArray[Any], first: Mask, second: Mask, w: Array) -> float:
    """Distance of the means of two classes along w, in deviations, from their rows."""
    scores = []
    origin = X[np.argmax(first)].astype(float)
    for of_class in (first, second):
        places = np.flatnonzero(of_class)
        some = places[:: -(-len(places) // _MOST_ROWS)]
        scores.append((X[some].astype(float) - origin) @ w)
    a, b = scores
    deviation = np.sqrt(a.var() + b.var())
    return float(abs(a.mean() - b.mean()) / deviation) if deviation else 0.0


def warn_of_interruption(n_done: int, n_pairs: int) -> None:
    """Say for how many of the pairs a search had ended when it was interrupted."""
    warnings.warn(
        f"interrupted after {n_done} of {n_pairs} pairs of classes: the others keep "
        "the best rule found so far, or their start; the estimator is fitted and "
        "usable",
        SearchInterruptedWarning,
        stacklevel=_STACKLEVEL,
    )
