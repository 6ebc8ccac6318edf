"""What the displays share: matplotlib on demand, colours, the choice of a pair."""

from __future__ import annotations

import numpy as np

from heterolda.discriminant import GaussianLinearDiscriminant

COLOURS = "#2a6fbb", "#d1602b"
INK = "0.15"
# Rows of data that a picture shows; of more, a sample.
MOST_POINTS = 2000


def pyplot():
    """Matplotlib, or a word on how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "displays need matplotlib: pip install 'heterolda[plot]'"
        ) from error
    return plt


def axes_or_new(ax):
    """The given axes, or those of a new figure."""
    if ax is None:
        ax = pyplot().subplots(figsize=(6.4, 4.6), layout="constrained")[1]
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def fit_pairs(statistics, priors, shrinkage):
    """The discriminant of some statistics."""
    model = GaussianLinearDiscriminant(priors=priors, shrinkage=shrinkage)
    return model.fit_statistics(statistics)


def check_estimator(estimator):
    """Refuse what is not a fitted discriminant with a rule for each pair."""
    if not isinstance(estimator, GaussianLinearDiscriminant):
        raise TypeError(
            "estimator must be a GaussianLinearDiscriminant, got "
            f"{type(estimator).__name__}: use from_statistics for anything else"
        )
    estimator._check_ready()
    if estimator.pairs_[0, 0] < 0:
        raise ValueError(
            "displays are about pairs of classes: fit with multiclass='ovo'"
        )
    return estimator


def choose_pair(estimator, pair):
    """Index of the pair with these two labels, or of the pair of largest error."""
    if pair is None:
        return int(estimator.bayes_error_.argmax())
    labels = estimator.classes_.tolist()
    try:
        places = sorted(labels.index(label) for label in pair)
    except (TypeError, ValueError):
        places = []
    rows = [row.tolist() for row in estimator.pairs_]
    if places not in rows:
        raise ValueError(
            f"pair must be two different labels of the classes {labels}, got {pair!r}"
        )
    return rows.index(places)


def rows_of_pair(estimator, k, X, y):
    """The rows of the two classes of pair k, as two arrays, or None without data."""
    if X is None:
        return None
    if y is None:
        raise ValueError("X without y: pass the labels of the rows, too")
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    shape = len(y), estimator.n_features_in_
    if X.shape != shape:
        raise ValueError(
            f"X must have a row for each of the {shape[0]} labels of y and the "
            f"{shape[1]} features of the fit, got shape {X.shape}"
        )
    return [X[y == label] for label in estimator.classes_[estimator.pairs_[k]]]


def thin(rows):
    """Rows for a picture: all, or a sample that is the same each time."""
    if len(rows) <= MOST_POINTS:
        return rows
    return rows[np.random.default_rng(0).choice(len(rows), MOST_POINTS, replace=False)]


def percent(share):
    """A share as a short text."""
    value = 100 * share
    if 0 < value < 0.0005:
        return "< 0.001 %"
    digits = 1 if value >= 1 or value == 0 else 2 if value >= 0.1 else 3
    return f"{value:.{digits}f} %"
