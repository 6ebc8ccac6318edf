"""What a classifier is given, and the benign data that most cases are made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Data:
    """What is fitted, and what is predicted then.

    Attributes
    ----------
    X, y, weight : Any
        Arguments of `fit`.
    settings : dict
        Parameters of the discriminant, for instance `priors`.
    rows, truth : Any
        Rows to predict and their labels; None means X and y.
    twin : Data or None
        The same in benign form: it must be answered in the same way.
    parts : tuple of arrays of indices or None
        How the rows come in chunks; None leaves it to the way of fitting.
    """

    X: Any
    y: Any
    weight: Any = None
    settings: dict[str, Any] = field(default_factory=dict)
    rows: Any = None
    truth: Any = None
    twin: Data | None = None
    parts: tuple[Any, ...] | None = None

    def but(self, **changes: Any) -> Data:
        """The same with changes, and with this as the twin."""
        return replace(self, **{"twin": self, **changes})

    @property
    def to_predict(self) -> Any:
        """Rows to predict."""
        return self.X if self.rows is None else self.rows

    @property
    def labels(self) -> Any:
        """Labels of the rows to predict."""
        return np.ravel(self.y if self.truth is None else self.truth)


@cache
def benign(k: int) -> Data:
    """Gaussian classes of unequal covariance in three features, not far apart."""
    rng = np.random.default_rng(7)
    n = 60 if k == 2 else 40
    means = np.array([[0, 0, 0], [1, 0.5, -0.5], [-1, 1, 0.5], [0.5, -1.5, 1]])[:k]
    shapes = np.array(
        [
            [[1, 0.3, 0], [0, 0.7, 0.2], [0, 0, 0.9]],
            [[0.5, 0, 0.2], [0.4, 1.5, 0], [0, 0, 0.6]],
            [[0.8, 0, 0], [0.5, 0.6, 0], [0.1, 0.2, 1.2]],
            [[0.6, 0.1, 0.3], [0, 0.9, 0], [0, 0.5, 0.7]],
        ]
    )[:k]
    y = np.arange(n * k) % k
    X = (rng.normal(size=(len(y), 1, 3)) @ shapes[y])[:, 0] + means[y]
    return Data(X, y)


def variant(**changes: Callable[[Data], Any]) -> Callable[[int], Data]:
    """Makes benign data with changes, each computed from it; it is the twin."""

    @cache
    def make(k: int) -> Data:
        data = benign(k)
        return data.but(**{name: change(data) for name, change in changes.items()})

    return make


def grouped(k: int, n: int, d: int, seed: int = 7) -> tuple[Any, Any, Any]:
    """Standard normal rows of k classes in turn, and the generator they came from."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n * k, d)), np.arange(n * k) % k, rng


def exact_moments(z: Any, mean: Any, cov: Any) -> Any:
    """Rows moved so that they have a given mean and covariance, but for rounding."""
    z = z - z.mean(axis=0)
    root = np.linalg.cholesky(np.cov(z.T, ddof=1).reshape(len(cov), -1))
    return np.linalg.solve(root, z.T).T @ np.linalg.cholesky(cov).T + mean
