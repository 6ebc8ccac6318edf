"""Warnings about what a fit had to work with and what it found."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.exceptions import (
    PrecisionWarning,
    SearchInterruptedWarning,
    Setting,
    SmallClassWarning,
    TrivialRuleWarning,
)
from heterolda.foundations.types import Array, Index
from heterolda.foundations.wording import listed

# Distance of neighbouring numbers, in standard deviations, that draws no warning.
_MOST_ROUNDING = 0.01
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


def warn_of_interruption(n_done: int, n_pairs: int) -> None:
    """Say for how many of the pairs a search had ended when it was interrupted."""
    warnings.warn(
        f"interrupted after {n_done} of {n_pairs} pairs of classes: the others keep "
        "the best rule found so far, or their start; the estimator is fitted and "
        "usable",
        SearchInterruptedWarning,
        stacklevel=_STACKLEVEL,
    )
