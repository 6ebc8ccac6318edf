"""The data that is measured: the study's shapes and Gaussian classes.

A shape that bears the name of a real set is read from the folder that HETEROLDA_DATA
names, or its subfolder `more`. Without it, Gaussian classes of the same size stand in.
"""

from __future__ import annotations

import csv
import gzip
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from heterolda.experiments import make_d1, make_d2


@dataclass(frozen=True)
class Shape:
    """Rows, features and classes of some data.

    Attributes
    ----------
    n, d : int
        Rows and features.
    classes : int or tuple of int
        Number of classes, or the rows of each.
    name : str
        One of the study's sets, or nothing.
    kind : {"round", "flat", "pixels"}
        For Gaussian classes: "round" ones have well-conditioned covariances, "flat"
        ones random factors with small eigenvalues. "pixels" are "round" but for a tenth
        of the features, which are constant in a class, others in each.
    """

    n: int
    d: int
    classes: int | tuple[int, ...]
    name: str = ""
    kind: str = "round"

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.classes if isinstance(self.classes, int) else len(self.classes)

    @property
    def label(self) -> str:
        """For the tables."""
        size = f"{self.n:,} x {self.d:,}, {self.n_classes} classes"
        if self.kind == "pixels":
            size += ", pixels constant in some"
        return f"{self.name}: {size}" if self.name else size


_DRAWN = {"D1": make_d1, "D2": make_d2}

PAPER_SHAPES = (
    Shape(3_000, 8, (1_000, 2_000), "D1"),
    Shape(6_000, 4, (2_000, 4_000), "D2"),
    Shape(345, 6, (145, 200), "liver"),
    Shape(58_000, 9, (45_586, 50, 171, 8_903, 3_267, 10, 13), "shuttle"),
    Shape(990, 10, 11, "vowels"),
    Shape(2_000, 47, 10, "zernike"),
    Shape(2_310, 19, 7, "segmentation"),
    Shape(4_601, 57, (2_788, 1_813), "spambase"),
    Shape(4_898, 11, (20, 163, 1_457, 2_198, 880, 175, 5), "wine_white"),
    Shape(5_620, 64, 10, "optdigits"),
    Shape(6_435, 36, (1_533, 703, 1_358, 626, 707, 1_508), "satellite"),
    Shape(10_992, 16, 10, "pendigits"),
    Shape(20_000, 16, 26, "letters"),
)
REAL_SHAPES = tuple(shape for shape in PAPER_SHAPES if shape.name not in _DRAWN)
# Fewer rows than features, as microarrays have.
WIDE_SHAPES = Shape(62, 2_000, 2), Shape(100, 10_000, 2), Shape(200, 22_000, 4)


@lru_cache(maxsize=2)
def load(shape: Shape):
    """Return rows, in C order, and labels."""
    if shape.name in _DRAWN:
        return _DRAWN[shape.name](random_state=0)
    if shape.name and os.environ.get("HETEROLDA_DATA"):
        folder = Path(os.environ["HETEROLDA_DATA"])
        places = [folder / f"{shape.name}.csv.gz", folder / f"more/{shape.name}.csv.gz"]
        path = next((path for path in places if path.exists()), places[0])
        with gzip.open(path, "rt", encoding="utf-8") as file:
            _, *rows = csv.reader(file)
        table = np.array(rows)
        X, y = table[:, :-1].astype(float), table[:, -1]
        if X.shape != (shape.n, shape.d):
            raise ValueError(f"{shape.name}: expected {shape.label}, got {X.shape}")
        return X, y
    return gaussian_classes(shape)


def gaussian_classes(shape: Shape, dtype=np.float64):
    """Draw overlapping Gaussian classes with covariances of their own.

    The rows are drawn in small blocks: nothing but X takes much memory. With fewer
    rows than features, a few factors that all classes share take the place of the
    covariances.
    """
    n, d, k = shape.n, shape.d, shape.n_classes
    rng = np.random.default_rng([n, d, k])
    sizes = np.diff(n * np.arange(k + 1) // k)
    counts = sizes if isinstance(shape.classes, int) else shape.classes
    y = rng.permutation(np.repeat(np.arange(k), counts))
    if n < d:
        common, centers = rng.normal(size=(5, d)), rng.normal(size=(k, d)) / 5
        X = np.empty((n, d), dtype)
        for row, label in zip(X, y, strict=True):
            row[:] = rng.normal(size=d) + rng.normal(size=5) @ common + centers[label]
        return X, y
    factors = rng.normal(size=(k, d, d)) / np.sqrt(4 * d)
    if shape.kind != "flat":
        factors += np.eye(d)
    centers = rng.normal(size=(k, d)) / np.sqrt(d)
    if shape.kind == "pixels":
        for c in range(k):
            constant = rng.choice(d, d // 10, replace=False)
            factors[c][:, constant] = centers[c, constant] = 0.0
    X = np.empty((n, d), dtype)
    for start in range(0, n, 4096):
        labels = y[start : start + 4096]
        block = rng.normal(size=(len(labels), d))
        for c in np.unique(labels):
            mine = labels == c
            block[mine] = block[mine] @ factors[c] + centers[c]
        X[start : start + 4096] = block
    return X, y
