"""The data of the measurements of speed: real sets and Gaussian classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from heterolda.experiments.datasets import CATALOG, load_dataset, resolve_datasets


@dataclass(frozen=True)
class Shape:
    """Rows, features and classes of a set of the study, or of Gaussian classes.

    In "pixels", a tenth of the features are constant in a class, others in each.
    """

    n: int
    d: int
    n_classes: int
    name: str = ""
    pixels: bool = False

    @property
    def label(self) -> str:
        """For the tables."""
        size = f"{self.n:,} x {self.d:,}, {self.n_classes} classes"
        if self.pixels:
            size += ", some with constant pixels"
        return f"{self.name}: {size}" if self.name else size


PAPER_SHAPES = tuple(
    Shape(row.n, row.d, row.k, row.name)
    for row in map(CATALOG.__getitem__, resolve_datasets(["paper", "optdigits"]))
)
REAL_SHAPES = tuple(s for s in PAPER_SHAPES if CATALOG[s.name].kind == "file")
# The sets of scikit-learn, and a small drawn one.
SMALL_SHAPES = (
    *(
        Shape(CATALOG[name].n, CATALOG[name].d, CATALOG[name].k, name)
        for name in ("iris", "wine", "breast_cancer", "digits")
    ),
    Shape(300, 10, 2),
)
# Fewer rows than features, as microarrays have.
WIDE_SHAPES = Shape(62, 2_000, 2), Shape(100, 10_000, 2), Shape(200, 22_000, 4)


@lru_cache(maxsize=2)
def load(shape: Shape) -> tuple[Any, Any]:
    """Return rows, in C order, and labels."""
    return load_dataset(shape.name) if shape.name else gaussian_classes(shape)


def gaussian_classes(shape: Shape, dtype: Any = np.float64) -> tuple[Any, Any]:
    """Draw overlapping Gaussian classes with covariances of their own.

    The rows are drawn in small blocks: nothing but X takes much memory. With fewer
    rows than features, a few factors that all classes share take the place of the
    covariances.
    """
    n, d, k = shape.n, shape.d, shape.n_classes
    rng = np.random.default_rng([n, d, k])
    y = rng.permutation(np.repeat(np.arange(k), np.diff(n * np.arange(k + 1) // k)))
    if n < d:
        common, centers = rng.normal(size=(5, d)), rng.normal(size=(k, d)) / 5
        X = np.empty((n, d), dtype)
        for row, label in zip(X, y, strict=True):
            row[:] = rng.normal(size=d) + rng.normal(size=5) @ common + centers[label]
        return X, y
    factors = np.eye(d) + rng.normal(size=(k, d, d)) / np.sqrt(4 * d)
    centers = rng.normal(size=(k, d)) / np.sqrt(d)
    if shape.pixels:
        for c in range(k):
            constant = rng.choice(d, d // 10, replace=False)
            factors[c][:, constant] = centers[c, constant] = 0.0
    X = np.empty((n, d), dtype)
    for start in range(0, n, 4096):
        labels = y[start : start + 4096]
        block = rng.normal(size=(len(labels), d))
        for c in np.unique(labels):
            mask = labels == c
            block[mask] = block[mask] @ factors[c] + centers[c]
        X[start : start + 4096] = block
    return X, y
