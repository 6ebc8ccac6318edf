"""Dimension reduction: the accuracy that classifiers reach on a few components."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler

from benchmarks.accuracy.sets import load
from benchmarks.held_out.choose import FILES
from benchmarks.held_out.peers import hlda, save
from benchmarks.held_out.runner import Array, Fold, Study
from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
)
from heterolda.subspaces.classes import WhitenedClasses

# From training rows, labels and a number of components to their matrix.
Reduction = Callable[[Array, Array, int], Array]

# Nobody had looked at these sets when the guard of the projection was designed.
UNSEEN = (
    *("banknote", "biomed", "body", "cardiotocography_10", "cardiotocography_3"),
    *("climate_crashes", "ecoli", "new_thyroid", "oil_spill", "qsar_biodegradation"),
    *("ringnorm", "seeds", "twonorm", "wall_following_4"),
)
# Its time grows with the square of the rows.
NCA_ROWS, NCA_ITERATIONS = 500, 50
SQFA_NOISE = 0.01


def _whitened(X: Array, y: Array) -> tuple[ClassStatistics, WhitenedClasses]:
    """Return statistics, and the classes as `HeteroscedasticProjection` sees them."""
    stats = ClassStatistics.from_data(X, y)
    priors = stats.weights / stats.weights.sum()
    moments = stats.means, stats.covariances("auto"), priors, stats.weights
    return stats, WhitenedClasses.from_moments(*moments)


def _default(X: Array, y: Array, n: int) -> Array:
    rank = _whitened(X, y)[1].rank
    return HeteroscedasticProjection(min(n, rank)).fit(X, y).scalings_


def _of_statistics(method: str) -> Reduction:
    def reduce(X: Array, y: Array, n: int) -> Array:
        statistics, classes = _whitened(X, y)
        model = HeteroscedasticProjection(min(n, classes.rank), method=method)
        return model.fit_statistics(statistics).scalings_

    return reduce


def _of_moments(directions: Callable[[WhitenedClasses, int], Array]) -> Reduction:
    """Return components of unit variance within classes, as ours are."""

    def reduce(X: Array, y: Array, n: int) -> Array:
        classes = _whitened(X, y)[1]
        return classes.basis @ directions(classes, min(n, classes.rank))

    return reduce


def _lda(X: Array, y: Array, n: int) -> Array:
    model = LinearDiscriminantAnalysis().fit(X, y)
    return model.scalings_[:, : min(n, len(model.classes_) - 1)]


def _pca(X: Array, y: Array, n: int) -> Array:
    scaler = StandardScaler().fit(X)
    axes = PCA(n, svd_solver="full").fit(scaler.transform(X)).components_.T
    return axes / scaler.scale_[:, None]


def _nca(X: Array, y: Array, n: int) -> Array:
    if len(y) > NCA_ROWS:
        X, _, y, _ = train_test_split(
            X, y, train_size=NCA_ROWS, stratify=y, random_state=0
        )
    scaler = StandardScaler().fit(X)
    model = NeighborhoodComponentsAnalysis(n, max_iter=NCA_ITERATIONS, random_state=0)
    return model.fit(scaler.transform(X), y).components_.T / scaler.scale_[:, None]


def _sqfa(X: Array, y: Array, n: int) -> Array:
    """Supervised quadratic feature analysis, on standardized features."""
    import torch
    from sqfa.model import SQFA

    torch.set_num_threads(1)
    torch.manual_seed(0)
    scaler = StandardScaler().fit(X)
    rows = torch.as_tensor(scaler.transform(X), dtype=torch.float32)
    codes = torch.as_tensor(np.unique(y, return_inverse=True)[1])
    model = SQFA(X.shape[1], SQFA_NOISE, n)
    with contextlib.redirect_stdout(io.StringIO()):
        model.fit(rows, codes, show_progress=False)
    filters = model.filters.detach().numpy().T
    return filters.astype(np.float64) / scaler.scale_[:, None]


REDUCTIONS: dict[str, Reduction] = {
    "ours": _default,
    "ours, no guard": _of_statistics("error"),
    "ours, Chernoff": _of_statistics("chernoff"),
    "LDA": _lda,
    "PCA": _pca,
    "HLDA": _of_moments(hlda),
    "SAVE": _of_moments(save),
    "NCA": _nca,
    "SQFA": _sqfa,
}
CLASSIFIERS = {
    # Without this term scikit-learn rejects classes that do not vary in a component.
    "QDA": QuadraticDiscriminantAnalysis(reg_param=1e-3),
    "5-NN": KNeighborsClassifier(5),
    "GLD": GaussianLinearDiscriminant(),
}
FOLDS, MAX_ROWS = 5, 2000
# A sample keeps at least this many rows of a small class, or all of them.
MIN_ROWS = 2 * FOLDS


def fits(method: str, fold: Fold) -> Iterator[tuple[str, Any, Any]]:
    """Yield classifiers on two components."""
    n = min(2, fold.X.shape[1])
    axes = REDUCTIONS[method](fold.X, fold.y, n)
    mean = fold.X.mean(axis=0)
    rows, test = ((X - mean) @ axes for X in (fold.X, fold.X_test))
    for classifier, model in CLASSIFIERS.items():
        try:
            fitted = clone(model).fit(rows, fold.y)
        except np.linalg.LinAlgError:  # a class with too few rows for QDA
            continue
        yield f"{classifier}, 2", fitted, test


def sample(name: str) -> tuple[Array, Array]:
    """Return at most `MAX_ROWS` rows, of classes that have a row for every fold."""
    X, y = load(name)
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    share = min(1.0, MAX_ROWS / len(y))
    wanted = np.maximum(np.round(share * counts).astype(int), MIN_ROWS)
    rng = np.random.default_rng(0)
    kept = [
        rng.permutation(np.flatnonzero(codes == k))[: wanted[k]]
        for k in range(len(labels))
        if counts[k] >= FOLDS
    ]
    rows = np.sort(np.concatenate(kept))
    return X[rows], codes[rows]


PROJECTION = Study(
    "projection",
    {name: partial(sample, name) for name in ("D1", "D2", *FILES)},
    tuple(REDUCTIONS),
    fits,
    FOLDS,
)
