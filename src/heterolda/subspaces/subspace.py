"""From moments of classes to components: the choice of a method and its results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array
from heterolda.foundations.threads import Progress, silent
from heterolda.foundations.wording import count
from heterolda.statistics.class_statistics import ClassStatistics, Coordinates
from heterolda.statistics.covariances import pooled_freedom
from heterolda.statistics.moments import check_range
from heterolda.statistics.wide import Span, outside_of
from heterolda.subspaces.bound import BhattacharyyaBound
from heterolda.subspaces.classes import WhitenedClasses
from heterolda.subspaces.methods import (
    chernoff,
    error,
    fisher,
    ordered_axes,
)

# Of covariances that are all the same a method learns nothing but Fisher's directions.
_NEARLY_ALL = 0.9
# Classes that are less apart than this, as a share of the bound, are the same.
_NOTHING = 1e-12

_CLOSED_FORMS = {"fisher": fisher, "chernoff": chernoff}


class TooFewDirectionsError(ParameterError):
    """Rows do not vary in as many directions as there shall be components."""


@dataclass(frozen=True)
class Subspace:
    """Components of features, and what they keep.

    Features, less the mean, times the scalings are the components. Within classes,
    these are uncorrelated and have variance one, by the pooled covariance. Components
    times the loadings, plus the mean, are the features that they predict best.
    """

    mean: Array  # the average of the class means, by the priors
    scalings: Array  # (n_features, n_components)
    loadings: Array  # (n_components, n_features)
    explained: Array  # share of the separation that each component adds

    def project(self, X: Array) -> Array:
        """Return components of rows."""
        return (X - self.mean) @ self.scalings

    def in_features(
        self, span: Span, statistics: ClassStatistics, priors: Array
    ) -> Subspace:
        """Return the subspace of features, if this is one of their span."""
        mean = priors @ statistics.means
        squares = statistics.squares.sum(axis=0) / pooled_freedom(statistics.weights)
        squares += priors @ (statistics.means - mean) ** 2
        scalings = span.basis @ self.scalings
        signs = _signs(scalings, squares)
        loadings = (signs[:, None] * self.loadings) @ span.basis.T * span.units**2
        return Subspace(mean, scalings * signs, loadings, self.explained)


def find_subspace(
    means: Array,
    covariances: Array,
    priors: Array,
    weights: Array,
    n_components: int | None = None,
    method: str = "error",
    progress: Progress = silent,
    to_pooled: float = 0.0,
    coordinates: Coordinates | None = None,
) -> Subspace:
    """Return components of Gaussian classes by one of the methods.

    By default there are as many as linear discriminant analysis has, but at least two.
    The method looks at covariances that are moved towards the pooled one, by a weight;
    with 1, the components of linear discriminant analysis come first. What components
    explain is a figure of the classes as they are. Moments that are in `coordinates`
    have subspaces of these.
    """
    total = _total_covariance(means, covariances, priors, weights)
    classes = WhitenedClasses.from_moments(means, covariances, priors, weights)
    n = _number(n_components, method, classes, coordinates)
    directions = np.empty((classes.rank, 0))
    if to_pooled == 1:
        directions = fisher(classes, min(n, len(priors) - 1))
    if directions.shape[1] < n:
        looked_at = (
            classes.shrunk(min(to_pooled, _NEARLY_ALL)) if to_pooled else classes
        )
        if method == "error":
            others = error(looked_at, n, progress)
            others = others @ ordered_axes(classes.within(others))
        else:
            others = _CLOSED_FORMS[method](looked_at, n)
        directions = np.column_stack([directions, others])
    A = np.linalg.qr(directions)[0][:, :n]  # the same first 1, 2, ... directions
    scalings = classes.basis @ A
    scalings = scalings * _signs(scalings, np.diag(total))
    onto = total @ scalings
    return Subspace(
        mean=priors @ means,
        scalings=scalings,
        loadings=np.linalg.solve(scalings.T @ onto, onto.T),
        explained=_explained(
            BhattacharyyaBound(classes), A, _outside(covariances, classes, coordinates)
        ),
    )


def _signs(scalings: Array, variances: Array) -> Array:
    """Return signs that make the largest entry, in deviations, positive."""
    sizes = scalings * np.sqrt(variances)[:, None]
    largest = np.abs(sizes).argmax(axis=0)
    signs: Array = np.sign(sizes[largest, np.arange(scalings.shape[1])])
    return signs


def _total_covariance(
    means: Array, covariances: Array, priors: Array, weights: Array
) -> Array:
    """Return the covariance of all classes; refuse one beyond float64."""
    freedom = np.maximum(weights - 1, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        shifts = means - priors @ means
        total: Array = np.tensordot(freedom / freedom.sum(), covariances, axes=1)
        total += (shifts.T * priors) @ shifts
    check_range(np.diag(total))
    return total


def _number(
    n: int | None,
    method: str,
    classes: WhitenedClasses,
    coordinates: Coordinates | None,
) -> int:
    """Return how many components there shall be."""
    k, rank = len(classes.priors), classes.rank
    if not rank:
        raise TooFewDirectionsError(
            "X",
            ": no feature varies, within classes or between them: no direction "
            "separates the classes",
        )
    most = min(k - 1, rank) if method == "fisher" else rank
    if n is None:
        return min(max(k - 1, 2), most)
    if n <= most:
        return n
    d, name = len(classes.basis), "n_components"
    why = f"some of the {d} features are constant or depend on others"
    if coordinates is not None:
        d = coordinates.n_features
        why = f"there are fewer rows than the {d} features"
    if n > d:
        raise ParameterError(name, f"={n} is more than the number of features, {d}")
    if n > rank:
        raise TooFewDirectionsError(
            name,
            f"={n} is more than the {count(rank, 'direction')} in which rows vary: "
            f"{why}",
        )
    raise ParameterError(
        name,
        f"={n} is too many: the means of {k} classes differ in at most "
        f"{count(most, 'direction')}, and method='fisher' finds no others; choose "
        "fewer, or method='error'",
    )


def _outside(
    covariances: Array, classes: WhitenedClasses, coordinates: Coordinates | None
) -> Array:
    """Return distances of pairs by directions outside of the coordinates."""
    n, variances = outside_of(coordinates, covariances)
    own = np.where(variances.all(), variances, 1.0)[classes.pairs]
    distances: Array = 0.5 * n * (np.log(own.mean(axis=1)) - np.log(own).mean(axis=1))
    return distances


def _explained(bound: BhattacharyyaBound, A: Array, outside: Array) -> Array:
    r"""Return the share of the separation that each component adds.

    .. math:: (E_{c-1} - E_c) / (E_0 - E_d)

    with the bound :math:`E_c` on the errors of the pairs in the first c components,
    :math:`E_0` by the priors alone and :math:`E_d` with all features, to which those
    `outside` of the classes' coordinates add distances of the pairs.
    """
    logs = bound.logs(A)
    # In units of the bound by the priors alone.
    left = np.minimum.accumulate(np.exp(logs - logs[0]))
    every = logsumexp(bound.pair_terms(np.eye(len(A)))[:, -1] - outside)
    whole = -np.expm1(every - logs[0])
    whole = max(whole, 1.0 - left[-1])  # all features tell no less, but for rounding
    if whole < _NOTHING:
        return np.zeros(A.shape[1])
    shares: Array = (left[:-1] - left[1:]) / whole
    return shares
