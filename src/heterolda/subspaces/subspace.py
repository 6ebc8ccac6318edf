"""Components of classes from their moments, by one of the methods."""

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
from heterolda.subspaces.methods import chernoff, error, fisher, ordered_axes

# Largest share of the pooled covariance: with equal covariances, methods would only
# find Fisher's directions.
_MAX_POOLED = 0.9
# A separation below this share of the bound is zero.
_NO_SEPARATION = 1e-12

_CLOSED_FORMS = {"fisher": fisher, "chernoff": chernoff}


class TooFewDirectionsError(ParameterError):
    """Report that rows vary in fewer directions than components were requested."""


@dataclass(frozen=True)
class Subspace:
    """Components of features, and the separation that they explain.

    Components are (features - mean) @ scalings. Within classes they are uncorrelated
    and have variance one, as measured by the pooled covariance. The best linear
    prediction of the features is components @ loadings + mean.
    """

    mean: Array  # average of the class means, by the priors
    scalings: Array  # (n_features, n_components)
    loadings: Array  # (n_components, n_features)
    explained: Array  # share of the separation that each component adds

    def project(self, X: Array) -> Array:
        """Return the components of rows."""
        return (X - self.mean) @ self.scalings

    def in_features(
        self, span: Span, statistics: ClassStatistics, priors: Array
    ) -> Subspace:
        """Convert a subspace of a span to one of features."""
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

    The method uses covariances with the share `to_pooled` of the pooled one; if it is
    1, the components of linear discriminant analysis come first. Given `coordinates`,
    the moments and the result are in coordinates of a span.
    """
    total = _total_covariance(means, covariances, priors, weights)
    classes = WhitenedClasses.from_moments(means, covariances, priors, weights)
    n = _number_of_components(n_components, method, classes, coordinates)
    directions = np.empty((classes.rank, 0))
    if to_pooled == 1:
        directions = fisher(classes, min(n, len(priors) - 1))
    if directions.shape[1] < n:
        share = min(to_pooled, _MAX_POOLED)
        shrunk = classes.shrunk(share) if share else classes
        if method == "error":
            axes = error(shrunk, n, progress)
            axes = axes @ ordered_axes(classes.within(axes))
        else:
            axes = _CLOSED_FORMS[method](shrunk, n)
        directions = np.column_stack([directions, axes])
    A = np.linalg.qr(directions)[0][:, :n]  # spans of the first 1, 2, ... are unchanged
    scalings = classes.basis @ A
    scalings = scalings * _signs(scalings, np.diag(total))
    projected = total @ scalings
    return Subspace(
        mean=priors @ means,
        scalings=scalings,
        loadings=np.linalg.solve(scalings.T @ projected, projected.T),
        explained=_explained(classes, A, covariances, coordinates),
    )


def _signs(scalings: Array, variances: Array) -> Array:
    """Return signs that make the largest entry of a column, in deviations, positive."""
    sizes = scalings * np.sqrt(variances)[:, None]
    largest = np.abs(sizes).argmax(axis=0)
    signs: Array = np.sign(sizes[largest, np.arange(scalings.shape[1])])
    return signs


def _total_covariance(
    means: Array, covariances: Array, priors: Array, weights: Array
) -> Array:
    """Return the covariance within plus between classes; reject one that overflows."""
    freedom = np.maximum(weights - 1, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        shifts = means - priors @ means
        total: Array = np.tensordot(freedom / freedom.sum(), covariances, axes=1)
        total += (shifts.T * priors) @ shifts
    check_range(np.diag(total))
    return total


def _number_of_components(
    n: int | None,
    method: str,
    classes: WhitenedClasses,
    coordinates: Coordinates | None,
) -> int:
    """Return the number of components; reject more than there can be."""
    k, rank = len(classes.priors), classes.rank
    if not rank:
        raise TooFewDirectionsError(
            "X",
            ": no feature varies within or between classes, so no direction separates "
            "the classes",
        )
    max_components = min(k - 1, rank) if method == "fisher" else rank
    if n is None:
        return min(max(k - 1, 2), max_components)
    if n <= max_components:
        return n
    d, name = len(classes.basis), "n_components"
    reason = f"some of the {d} features are constant or depend on others"
    if coordinates is not None:
        d = coordinates.n_features
        reason = f"there are fewer rows than the {d} features"
    if n > d:
        raise ParameterError(name, f"={n} is more than the number of features, {d}")
    if n > rank:
        raise TooFewDirectionsError(
            name,
            f"={n} is more than the {count(rank, 'direction')} in which rows vary: "
            f"{reason}",
        )
    raise ParameterError(
        name,
        f"={n} is too many: the means of {k} classes differ in at most "
        f"{count(max_components, 'direction')}, and method='fisher' finds no others; "
        "choose fewer, or method='error'",
    )


def _explained(
    classes: WhitenedClasses,
    A: Array,
    covariances: Array,
    coordinates: Coordinates | None,
) -> Array:
    r"""Return the share of the separation that each component adds.

    .. math:: (E_{c-1} - E_c) / (E_0 - E_d)

    with the bound :math:`E_c` on the errors of the pairs in the first c components,
    :math:`E_0` by the priors alone, and :math:`E_d` with all features, including the
    distances of pairs outside the coordinates.
    """
    n, variances = outside_of(coordinates, covariances)
    variances = np.where(variances.all(), variances, 1.0)[classes.pairs]
    outside = np.log(variances.mean(axis=1)) - np.log(variances).mean(axis=1)
    outside *= 0.5 * n
    bound = BhattacharyyaBound(classes)
    logs = bound.logs(A)
    # Relative to the bound by the priors alone.
    bounds = np.minimum.accumulate(np.exp(logs - logs[0]))
    all_features = logsumexp(bound.pair_terms(np.eye(len(A)))[:, -1] - outside)
    total = -np.expm1(all_features - logs[0])
    total = max(total, 1.0 - bounds[-1])  # smaller only by rounding
    if total < _NO_SEPARATION:
        return np.zeros(A.shape[1])
    shares: Array = (bounds[:-1] - bounds[1:]) / total
    return shares
