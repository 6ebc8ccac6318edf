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
class Judged:
    """Components, and the errors of the quadratic rule on training rows in them."""

    subspace: Subspace
    added: float  # weight of the pooled covariance that was added; 1 for those of LDA
    error: float  # with the priors in force
    fisher_error: float  # in the components of LDA
    deviation: float  # standard error of the difference

    @property
    def is_worse(self) -> bool:
        """True if linear discriminant analysis is better."""
        return self.error > (1 + MORE) * self.fisher_error

    @property
    def is_clear(self) -> bool:
        """True if the difference is beyond chance."""
        return abs(self.error - self.fisher_error) > _CLEARLY * self.deviation


def judged_subspaces(
    moments: tuple[Array, Array, Array, Array],
    n_components: int | None,
    method: str,
    progress: Progress,
    rows: Rows,
) -> list[Judged]:
    """Return the components of a method and, if they separate rows badly, others.

    `moments` are means, covariances, priors and weights of the classes. Covariances
    are shrunk towards the pooled one, in steps, until the components are no worse than
    those of linear discriminant analysis, which are the last resort. The first entry
    is that of the method, the last the one to use: if all are worse, one with nearly
    the fewest errors.
    """
    means, covariances, priors, _ = moments
    subspace = find_subspace(*moments, n_components, method, progress)
    n = subspace.scalings.shape[1]
    fisher = find_subspace(*moments, min(n, len(priors) - 1), "fisher")
    judge = _Judge(rows, means, covariances, priors, fisher)
    tried = [judge(subspace, 0.0)]
    for added in _STEPS:
        if not tried[-1].is_worse:
            return tried
        subspace = find_subspace(*moments, n, method, progress, added)
        tried.append(judge(subspace, added))
    if tried[-1].is_worse:
        most = (1 + MORE) * min(one.error for one in tried)
        tried.append([one for one in tried if one.error <= most][-1])
    return tried


class _Judge:
    """Classify training rows in components, and compare with Fisher's."""

    def __init__(
        self,
        rows: Rows,
        means: Array,
        covariances: Array,
        priors: Array,
        fisher: Subspace,
    ):
        self._classes = means, covariances, priors
        self._rows = [rows.of_class(k) for k in range(len(priors))]
        self._fisher_wrong = self._wrong(fisher)

    def __call__(self, subspace: Subspace, added: float) -> Judged:
        errors, variance = np.zeros(2), 0.0
        both = zip(self._wrong(subspace), self._fisher_wrong, strict=True)
        for k, wrong in enumerate(both):
            share = self._rows[k].frequencies
            share = share / (share.sum() or 1.0)  # a class may have no rows
            rates = np.array(wrong) @ share
            prior = self._classes[2][k]
            errors += prior * rates
            apart = (wrong[0] ^ wrong[1]) @ share - (rates[0] - rates[1]) ** 2
            variance += prior**2 * max(float(apart), 0.0) * float(share @ share)
        ours, fisher = errors.tolist()
        return Judged(subspace, added, ours, fisher, float(np.sqrt(variance)))

    def _wrong(self, subspace: Subspace) -> list[Mask]:
        """Return which rows of each class the quadratic rule gets wrong."""
        A, (means, covariances, priors) = subspace.scalings, self._classes
        rule = QuadraticRule(subspace.project(means), A.T @ covariances @ A, priors)
        return [
            rule.winners(subspace.project(rows.X)) != k
            for k, rows in enumerate(self._rows)
        ]


def warn_of_bad_components(statistics: ClassStatistics, tried: list[Judged]) -> None:
    """Warn that the model misleads, and say what the guard did about it.

    There is no warning if the difference may be chance.
    """
    first, last = tried[0], tried[-1]
    if not (first.is_worse and first.is_clear):
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
