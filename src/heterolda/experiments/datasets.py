"""Data sets of the paper that can be generated.

D1 and D2 are the paper's artificial sets, drawn with the parameters that its
equations (42) and (43) print: Gaussian classes with S1 = I and a diagonal S2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

__all__ = ["make_d1", "make_d2"]

_D1 = {
    "mean2": [3.86, 3.10, 0.84, 0.84, 1.64, 1.08, 0.26, 0.01],
    "variance2": [8.41, 12.06, 0.12, 0.22, 1.49, 1.77, 0.35, 2.73],
    "shift": 0.3,
    "counts": (1000, 2000),
}
_D2 = {
    "mean2": [-1.5, -0.75, 0.75, 1.5],
    "variance2": [0.25, 0.75, 1.25, 1.75],
    "shift": 0.75,
    "counts": (2000, 4000),
}


def make_d1(random_state=None):
    """Draw the paper's D1: 3000 points in 8 dimensions, two classes.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None
        For the draw.

    Returns
    -------
    X : ndarray of shape (3000, 8)
        Points.
    y : ndarray of shape (3000,)
        Labels 1 and 2, the paper's classes.

    Examples
    --------
    >>> from heterolda.experiments.datasets import make_d1
    >>> X, y = make_d1(random_state=0)
    >>> X.shape
    (3000, 8)
    """
    return _draw(**_D1, random_state=random_state)


def make_d2(random_state=None):
    """Draw the paper's D2: 6000 points in 4 dimensions, two classes.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None
        For the draw.

    Returns
    -------
    X : ndarray of shape (6000, 4)
        Points.
    y : ndarray of shape (6000,)
        Labels 1 and 2, the paper's classes.

    Notes
    -----
    The accuracies that the paper reports for D2 do not follow from the parameters it
    prints; this is the set as printed.

    Examples
    --------
    >>> from heterolda.experiments.datasets import make_d2
    >>> X, y = make_d2(random_state=0)
    >>> X.shape
    (6000, 4)
    """
    return _draw(**_D2, random_state=random_state)


def _draw(mean2, variance2, shift, counts, random_state) -> tuple[NDArray, NDArray]:
    """Class 1 is N(mean2 - shift, I), class 2 is N(mean2, diag(variance2))."""
    rng = check_random_state(random_state)
    d = len(mean2)
    first = rng.normal(np.array(mean2) - shift, 1.0, (counts[0], d))
    second = rng.normal(mean2, np.sqrt(variance2), (counts[1], d))
    return np.concatenate([first, second]), np.repeat([1, 2], counts)
