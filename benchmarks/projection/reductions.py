"""Every reduction is a matrix: columns of features to a few components."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler

from benchmarks.projection.peers import hlda, save
from heterolda import ClassStatistics, HeteroscedasticProjection
from heterolda.subspaces.classes import WhitenedClasses

Array = np.ndarray
# Of training rows and numbers of components, for each number the matrix.
Reduction = Callable[[Array, Array, Sequence[int]], dict[int, Array]]

# Its time grows with the square of the rows.
NCA_ROWS, NCA_ITERATIONS = 500, 50


def _whitened(X: Array, y: Array) -> tuple[ClassStatistics, WhitenedClasses]:
    """Statistics, and the classes as `HeteroscedasticProjection` sees them."""
    found = ClassStatistics.from_data(X, y)
    moments = (
        found.means,
        found.covariances("auto"),
        found.weights / found.weights.sum(),
    )
    return found, WhitenedClasses.from_moments(*moments, found.weights)


def _default(X: Array, y: Array, numbers: Sequence[int]) -> dict[int, Array]:
    rank = _whitened(X, y)[1].rank
    models = {n: HeteroscedasticProjection(min(n, rank)) for n in numbers}
    return {n: model.fit(X, y).scalings_ for n, model in models.items()}


def _model(X: Array, y: Array, numbers: Sequence[int]) -> dict[int, Array]:
    statistics, classes = _whitened(X, y)
    models = {n: HeteroscedasticProjection(min(n, classes.rank)) for n in numbers}
    return {n: m.fit_statistics(statistics).scalings_ for n, m in models.items()}


def _chernoff(X: Array, y: Array, numbers: Sequence[int]) -> dict[int, Array]:
    statistics, classes = _whitened(X, y)
    most = min(max(numbers), classes.rank)
    model = HeteroscedasticProjection(most, method="chernoff")
    axes = model.fit_statistics(statistics).scalings_
    return {n: axes[:, :n] for n in numbers}


def _of_moments(directions: Callable[[WhitenedClasses, int], Array]) -> Reduction:
    """Components of unit variance within classes, uncorrelated there, as ours are."""

    def reduce(X: Array, y: Array, numbers: Sequence[int]) -> dict[int, Array]:
        classes = _whitened(X, y)[1]
        return {
            n: classes.basis @ directions(classes, min(n, classes.rank))
            for n in numbers
        }

    return reduce


def _lda(X: Array, y: Array, numbers: Sequence[int]) -> dict[int, Array]:
    model = LinearDiscriminantAnalysis().fit(X, y)
    most = min(model.scalings_.shape[1], len(model.classes_) - 1)
    return {n: model.scalings_[:, : min(n, most)] for n in numbers}


def _pca(X: Array, y: Array, numbers: Sequence[int]) -> dict[int, Array]:
    scaler = StandardScaler().fit(X)
    axes = PCA(max(numbers), svd_solver="full").fit(scaler.transform(X)).components_.T
    return {n: axes[:, :n] / scaler.scale_[:, None] for n in numbers}


def _nca(X: Array, y: Array, numbers: Sequence[int]) -> dict[int, Array]:
    if len(y) > NCA_ROWS:
        X, _, y, _ = train_test_split(
            X, y, train_size=NCA_ROWS, stratify=y, random_state=0
        )
    scaler = StandardScaler().fit(X)
    found = {}
    for n in numbers:
        model = NeighborhoodComponentsAnalysis(
            n, max_iter=NCA_ITERATIONS, random_state=0
        )
        axes = model.fit(scaler.transform(X), y).components_.T
        found[n] = axes / scaler.scale_[:, None]
    return found


DEFAULT = "default"
REDUCTIONS: dict[str, Reduction] = {
    DEFAULT: _default,
    "model": _model,
    "chernoff": _chernoff,
    "LDA": _lda,
    "PCA": _pca,
    "HLDA": _of_moments(hlda),
    "SAVE": _of_moments(save),
    "NCA": _nca,
}
PEERS = [name for name in REDUCTIONS if name != DEFAULT]
