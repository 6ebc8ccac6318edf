"""Check on rows whether components separate classes as well as those of LDA.

Components minimize a bound on the error of the Gaussian model. Where features are far
from Gaussian, variances may differ without helping to separate the classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heterolda.estimators.warn import leading_features, warn
from heterolda.exceptions import ModelMisfitWarning
from heterolda.foundations.arrays import Array, Mask
from heterolda.foundations.threads import Progress
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.rows import Rows
from heterolda.subspaces import QuadraticRule, Subspace, find_subspace

# Weights of the pooled covariance, tried in this order.
_STEPS = (0.1, 0.3, 0.9, 1.0)
# Share of errors by which those of LDA's components may be exceeded.
_MAX_EXCESS = 0.03
# Differences beyond this many standard errors are significant.
_MIN_STANDARD_ERRORS = 3.0
_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Trial:
    """Components, and training errors of the quadratic rule in them."""

    subspace: Subspace
    added: float  # weight of the pooled covariance that was added; 1 for those of LDA
    error: float  # weighted by the priors
    fisher_error: float  # in the components of LDA
    deviation: float  # standard error of the difference

    @property
    def is_worse(self) -> bool:
        """Return whether linear discriminant analysis is better."""
        return self.error > (1 + _MAX_EXCESS) * self.fisher_error


def try_components(
    moments: tuple[Array, Array, Array, Array],
    n_components: int | None,
    method: str,
    progress: Progress,
    rows: Rows,
) -> list[Trial]:
    """Try the components of a method and, if they separate rows badly, others.

    `moments` are means, covariances, priors and weights of the classes. Covariances
    are shrunk toward the pooled one, in steps, until the components are no worse than
    those of linear discriminant analysis, which are the last resort. The first trial
    is that of the method, and the last is the one to use. If all are worse than linear
    discriminant analysis, the last trial is one with nearly the fewest errors.
    """
    means, covariances, priors, _ = moments
    rows = rows.take(rows.by_class[0])  # of positive weight
    unit = (priors / np.maximum(rows.totals, _TINY))[rows.codes]
    weights = rows.frequencies * unit

    def wrong(subspace: Subspace) -> Mask:
        """Return a mask of the rows that the quadratic rule gets wrong."""
        A = subspace.scalings
        rule = QuadraticRule(subspace.project(means), A.T @ covariances @ A, priors)
        is_wrong: Mask = rule.winners(subspace.project(rows.X)) != rows.codes
        return is_wrong

    def trial_of(subspace: Subspace, added: float) -> Trial:
        is_wrong = wrong(subspace)
        variance = (weights * unit) @ (is_wrong != fisher_wrong)
        errors = weights @ is_wrong, weights @ fisher_wrong
        return Trial(subspace, added, *map(float, (*errors, np.sqrt(variance))))

    subspace = find_subspace(*moments, n_components, method, progress)
    n = subspace.scalings.shape[1]
    fisher_wrong = wrong(find_subspace(*moments, min(n, len(priors) - 1), "fisher"))
    trials = [trial_of(subspace, 0.0)]
    for added in _STEPS:
        if not trials[-1].is_worse:
            return trials
        subspace = find_subspace(*moments, n, method, progress, added)
        trials.append(trial_of(subspace, added))
    if trials[-1].is_worse:
        limit = (1 + _MAX_EXCESS) * min(trial.error for trial in trials)
        trials.append([trial for trial in trials if trial.error <= limit][-1])
    return trials


def warn_of_bad_components(statistics: ClassStatistics, trials: list[Trial]) -> None:
    """Warn if the components of the model are worse than LDA's beyond chance."""
    first = trials[0]
    excess = first.error - first.fisher_error
    if not first.is_worse or excess <= _MIN_STANDARD_ERRORS * first.deviation:
        return
    features = leading_features(statistics, first.subspace.scalings[:, 0])
    warn(
        "the classes are not Gaussian: more training rows are misclassified in the "
        "components of the Gaussian model than in those of linear discriminant "
        "analysis, toward which they were moved (see guarded_). Transform or leave out "
        f"{features}, on which the model relies, or use fewer components",
        ModelMisfitWarning,
    )
