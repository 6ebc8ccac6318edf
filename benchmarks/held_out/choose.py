"""The default, whose rows choose, compared with LDA and with the model alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benchmarks.accuracy.sets import MORE, STUDY, load
from benchmarks.held_out.runner import Fold, Study
from heterolda import GaussianLinearDiscriminant
from heterolda.experiments.datasets import CATALOG

CONDITION = "all rows"
METHODS = {
    "default": GaussianLinearDiscriminant,
    "LDA": LinearDiscriminantAnalysis,
    "model": partial(GaussianLinearDiscriminant, choose_on="model"),
}
FILES = [name for name in STUDY if CATALOG[name].kind == "file"]
FILES += sorted(MORE.keys() - {"plant_margin"})  # 100 classes


def dummies(first: float, second: float) -> tuple[np.ndarray, np.ndarray]:
    """Return three Gaussian features, and one that is 1 in shares of the classes."""
    rng = np.random.default_rng(0)
    y = np.arange(1000) % 2
    X = rng.normal(size=(1000, 4))
    X[:, :3] += 0.52 * y[:, None]
    X[:, 3] = rng.random(1000) < np.where(y == 0, first, second)
    return X, y


def fits(method: str, fold: Fold) -> Iterator[tuple[str, Any, Any]]:
    """Yield the fitted model."""
    yield CONDITION, METHODS[method]().fit(fold.X, fold.y), fold.X_test


CHOOSE = Study(
    "choose",
    {
        "dummy in 1 % and 0 %": partial(dummies, 0.01, 0.0),
        "dummy in 10 % and 1 %": partial(dummies, 0.1, 0.01),
        **{name: partial(load, name) for name in FILES},
    },
    tuple(METHODS),
    fits,
)
