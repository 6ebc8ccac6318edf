"""Data that break classifiers. A maker returns data of a number of classes."""

from dataclasses import dataclass, field, replace
from functools import cache
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import hilbert


@dataclass(frozen=True, eq=False)
class Data:
    """Rows to fit, and rows to predict."""

    X: Any
    y: Any
    weight: Any = None
    settings: dict = field(default_factory=dict)  # of the discriminant, as priors
    rows: Any = None  # to predict, instead of X
    truth: Any = None  # their labels
    twin: Any = None  # the same in benign form: it must be answered in the same way
    parts: tuple | None = None  # indices of the rows of chunks, instead of thirds

    def but(self, **changes):
        """Return the same with changes, and with this as the twin."""
        return replace(self, **{"twin": self, **changes})

    @property
    def to_predict(self):
        return self.X if self.rows is None else self.rows

    @property
    def labels(self):
        return np.ravel(self.y if self.truth is None else self.truth)


@cache
def benign(k):
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


# Makers of makers.


def variant(**changes):
    """Benign data with changes, each a function of X and y; they are the twin."""

    def make(k):
        data = benign(k)
        return data.but(**{name: f(data.X, data.y) for name, f in changes.items()})

    return make


def given(change):
    """Benign data whose X is changed."""
    return variant(X=lambda X, y: change(X))


def labeled(change):
    """Benign data whose y is changed."""
    return variant(y=lambda X, y: change(y))


def named(*names, dtype=None):
    """Benign data whose classes have other names."""
    return labeled(lambda y: np.array(names, dtype)[y])


def weighted(others, second):
    """Benign data with a weight of class 1, and one of the other classes."""
    return variant(weight=lambda X, y: np.where(y == 1, float(second), float(others)))


def kept(mask):
    """Some rows of benign data, by a mask that depends on y; without a twin."""

    def make(k):
        X, y = benign(k).X, benign(k).y
        return Data(X[mask(y)], y[mask(y)])

    return make


def with_column(column):
    """Benign data with one more column, a function of X and y."""
    return variant(X=lambda X, y: np.insert(X, 1, column(X, y), axis=1))


def with_entry(row, value):
    """Benign data with one entry replaced."""

    def change(X):
        X = X.copy()
        X[row, 1] = value
        return X

    return given(change)


def typed(kind):
    """Data of another type; the twin has the same numbers in float64."""

    def make(k):
        data = benign(k)
        X = (data.X > 0.5) if kind is bool else (10 * data.X).astype(kind)
        return Data(X, data.y, twin=data.but(X=X.astype(np.float64)))

    return make


def prior_of(value):
    """Benign data with a prior of class 0; the others are equal."""
    return variant(settings=lambda X, y: priors(value, len(np.unique(y))))


def priors(value, k):
    return {"priors": [value, *[(1 - value) / (k - 1)] * (k - 1)]}


def normal(n, d, rows):
    """Rows made from n standard normal rows of each class in turn, and from labels."""

    def make(k):
        z = np.random.default_rng(7).normal(size=(n * k, d))
        y = np.arange(n * k) % k
        return Data(rows(z, y), y)

    return make


# Offsets; constant, dependent and ill-conditioned features.


def far(k):
    """Offset by 1e15, where numbers are 1/8 apart; the twin is rounded alike."""
    data, offset = benign(k), np.array([1e15, 0, 0])
    X = data.X + offset
    return data.but(X=X, twin=data.but(X=X - offset))


def telling_copy(size):
    """Features a and a + size * e, in which e separates all classes."""

    def rows(z, y):
        z[:, 2] = z[:, 0] + size * (z[:, 2] + 4 * y)
        return z

    return rows


def rank_one(z, y):
    X = z + y[:, None] * [0.5, 0.5]
    X[y == 0, 1] = 2 * X[y == 0, 0]
    return X


def different_ranges(z, y):
    """Class 0 varies along the first axis only, class 1 along the second."""
    z[y == 0, 1], z[y == 1, 0] = 0.0, 1.0
    z[y == 1, 1] += 0.5
    return z


def of_hilbert(k):
    """A linear map of condition 1e8, whose square is the Hilbert matrix."""
    values, axes = np.linalg.eigh(hilbert(12))
    root = (axes * np.sqrt(np.maximum(values, 0))) @ axes.T
    data = normal(
        100, 12, lambda z, y: (1 + 0.2 * y[:, None]) * z + 3 * np.outer(y, axes[:, -1])
    )(k)
    return data.but(X=data.X @ root)


def equal_means(k):
    """Every row and its opposite: all means are exactly zero."""
    data = normal(40, 2, lambda z, y: z * (1 + 2 * y[:, None]))(k)
    return Data(np.vstack([data.X, -data.X]), np.append(data.y, data.y))


# Classes and weights.


def imbalanced(k):
    """20000 rows against 2, which lie far outside."""
    X = np.random.default_rng(7).normal(size=(20002, 3))
    y = np.zeros(len(X), int)
    y[[5000, 15000]] = 1
    X[y == 1] += 12
    return Data(X, y)


def rare_but_apart(k):
    data = normal(40, 3, lambda z, y: z + 1e3 * y[:, None] * [1, 0, 0])(k)
    return replace(data, settings=priors(1e-300, k))


def one_class_less(k):
    """Weights of zero for class 1; the twin is without its rows."""
    data = benign(k)
    kept = data.y != 1
    twin = Data(data.X[kept], data.y[kept])
    return data.but(weight=kept.astype(float), rows=twin.X, truth=twin.y, twin=twin)


# Data that the Gaussian model does not fit, and optima that are hard to find.


def dummy(*shares):
    """Three features that overlap, and one that is 1 in a share of each class.

    Other rows are predicted than those that are fitted.
    """

    def draw(rng, n):
        y = np.arange(n) % 2
        X = rng.normal(size=(n, 4))
        X[:, :3] += 0.54 * y[:, None]
        X[:, 3] = rng.random(n) < np.array(shares)[y]
        return X, y

    def make(k):
        rng = np.random.default_rng(1)
        (X, y), (rows, truth) = draw(rng, 1000), draw(rng, 4000)
        return Data(X, y, rows=rows, truth=truth)

    return make


def trivial(k):
    """A rare class in the middle of a wide one."""
    y = (np.arange(200) % 10 == 0).astype(int)
    X = np.random.default_rng(7).normal(size=(200, 2))
    return Data(X * np.where(y == 1, 0.8, 2.0)[:, None] + 0.3 * y[:, None], y)


# Layouts and tables.


def mapped(X):
    with TemporaryFile() as file:
        file.write(X.tobytes())
        file.flush()
        return np.memmap(file, X.dtype, "r", shape=X.shape)


def other_columns(k):
    data = benign(k)
    frame = pd.DataFrame(data.X, columns=["a", "b", "c"])
    return data.but(X=frame, rows=frame[["b", "a", "c"]])
