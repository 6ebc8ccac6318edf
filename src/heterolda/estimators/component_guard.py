"""Check on rows whether components separate classes as well as those of LDA.

Components minimize a bound on the error of the Gaussian model. Where features are far
from Gaussian, variances may differ without helping to separate the classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heterolda.estimators.guard import MORE
from heterolda.estimators.warn import leading_features, warn
from heterolda.exceptions import ModelMisfitWarning
from heterolda.foundations.arrays import Array, Mask
from heterolda.foundations.threads import Progress
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.rows import Rows
from heterolda.subspaces import QuadraticRule, Subspace, find_subspace

# Weights of the pooled covariance, tried in this order.
_STEPS = (0.1, 0.3, 0.9, 1.0)
# A difference of more standard errors than this is beyond chance.
_CLEARLY = 3.0


@dataclass(frozen=True)
class Trial:
    """Components, and the errors of the quadratic rule on training rows in them."""

    subspace: Subspace
    added: float  # weight of the pooled covariance that was added; 1 for those of LDA
    error: float  # with the priors in force
    fisher_error: float  # in the components of LDA
    deviation: float  # standard error of the difference

    @property
    def is_worse(self) -> bool:
        """Return whether linear discriminant analysis is better."""
        return self.error > (1 + MORE) * self.fisher_error


def try_components(
    moments: tuple[Array, Array, Array, Array],
    n_components: int | None,
    method: str,
    progress: Progress,
    rows: Rows,
) -> list[Trial]:
    """Return the components of a method and, if they separate rows badly, others.

    `moments` are means, covariances, priors and weights of the classes. Covariances
    are shrunk towards the pooled one, in steps, until the components are no worse than
    those of linear discriminant analysis, which are the last resort. The first entry
    is that of the method, the last the one to use: if all are worse, one with nearly
    the fewest errors.
    """
    means, covariances, priors, _ = moments
    classes = [rows.of_class(k) for k in range(len(priors))]
    shares = [part.frequencies / (part.frequencies.sum() or 1.0) for part in classes]

    def wrong(subspace: Subspace) -> list[Mask]:
        """Return which rows of each class the quadratic rule gets wrong."""
        A = subspace.scalings
        rule = QuadraticRule(subspace.project(means), A.T @ covariances @ A, priors)
        return [
            rule.winners(subspace.project(part.X)) != k
            for k, part in enumerate(classes)
        ]

    def tried(subspace: Subspace, added: float) -> Trial:
        errors, variance = np.zeros(2), 0.0
        both = zip(wrong(subspace), fisher_wrong, priors, shares, strict=True)
        for wrong_here, wrong_fisher, prior, share in both:
            rates = np.array([wrong_here @ share, wrong_fisher @ share])
            errors += prior * rates
            square = (wrong_here ^ wrong_fisher) @ share - (rates[0] - rates[1]) ** 2
            variance += prior**2 * max(float(square), 0.0) * float(share @ share)
        ours, fishers = errors.tolist()
        return Trial(subspace, added, ours, fishers, float(np.sqrt(variance)))

    subspace = find_subspace(*moments, n_components, method, progress)
    n = subspace.scalings.shape[1]
    fisher_wrong = wrong(find_subspace(*moments, min(n, len(priors) - 1), "fisher"))
    trials = [tried(subspace, 0.0)]
    for added in _STEPS:
        if not trials[-1].is_worse:
            return trials
        subspace = find_subspace(*moments, n, method, progress, added)
        trials.append(tried(subspace, added))
    if trials[-1].is_worse:
        most = (1 + MORE) * min(trial.error for trial in trials)
        trials.append([trial for trial in trials if trial.error <= most][-1])
    return trials


def warn_of_bad_components(statistics: ClassStatistics, trials: list[Trial]) -> None:
    """Warn that the model misleads beyond chance, and say what the guard did."""
    first, last = trials[0], trials[-1]
    excess = first.error - first.fisher_error
    if not first.is_worse or excess <= _CLEARLY * first.deviation:
        return
    done = "The class covariances were shrunk towards the pooled one"
    if last.added == 1:
        done = "The components of linear discriminant analysis now come first"
    elif last is first:
        done = "Shrinking covariances towards the pooled one does not help"
    remedy = ", or use fewer components" if last.is_worse else ""
    features = leading_features(statistics, first.subspace.scalings[:, 0])
    warn(
        "the classes are not Gaussian: more training rows are misclassified in the "
        "components of the Gaussian model than in those of linear discriminant "
        f"analysis. {done}. Check {features}, on which the model relies: transform "
        f"such features or leave them out{remedy}",
        ModelMisfitWarning,
    )
