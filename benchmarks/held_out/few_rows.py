"""Few rows of each class: shrinkage of ours and of scikit-learn's LDA."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benchmarks.accuracy.sets import load
from benchmarks.held_out.runner import Fold, Study
from heterolda import GaussianLinearDiscriminant

SETS = "wine", "liver", "vowels", "segmentation", "zernike", "digits", "satellite"
ROWS = 5, 10, 30
METHODS = {
    '"cv"': GaussianLinearDiscriminant(shrinkage="cv"),
    '"auto"': GaussianLinearDiscriminant(),
    "LDA": LinearDiscriminantAnalysis(),
    'LDA "auto"': LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
}


def fits(method: str, fold: Fold) -> Iterator[tuple[str, Any, Any]]:
    """Yield models of a few rows of each class, drawn from the training rows."""
    order = np.random.default_rng(fold.seed).permutation(len(fold.y))
    for n in ROWS:
        labels = fold.y[order]
        rows = np.concatenate([order[labels == k][:n] for k in np.unique(fold.y)])
        model = clone(METHODS[method]).fit(fold.X[rows], fold.y[rows])
        yield f"{n} rows", model, fold.X_test


FEW_ROWS = Study(
    "few rows", {n: partial(load, n) for n in SETS}, tuple(METHODS), fits, shuffles=3
)
