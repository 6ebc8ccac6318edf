"""Base classes of the displays, and what they share."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d

from heterolda.estimators.again import as_discriminant
from heterolda.estimators.base import host_of
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.fit_record import fewer_rows_than_features
from heterolda.estimators.gathering import check_has_statistics
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant
from heterolda.foundations.arrays import reject_device
from heterolda.foundations.validation import (
    check_labels,
    label_array,
    missing_values_as,
    validate_more_rows,
)
from heterolda.foundations.wording import percent
from heterolda.subspaces import QuadraticRule
from heterolda.tradeoff.frontier import check_pair

COLORS = "#2a6fbb", "#d1602b"
INK = "0.15"
# For thin lines: visible on white and black, and when inverted.
GRAY = "0.5"
_MAX_POINTS = 2000  # of a picture
_REACH = 2.8  # deviations around the means in a plane


def pyplot():
    """Import matplotlib, or say how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        message = "pictures need matplotlib: pip install matplotlib"
        raise ImportError(message) from error
    return plt


def limits_of(means, covariances):
    """Return the limits of both axes for classes in the plane, as two rows."""
    reach = _REACH * np.sqrt(np.einsum("kii->ki", covariances))
    low, high = (means - reach).min(axis=0), (means + reach).max(axis=0)
    margin = 0.03 * (high - low) + 1e-9 * (high - low).max()
    return np.column_stack([low - margin, high + margin])


def ellipse_of(mean, covariance, radius, **style):
    """Return an ellipse `radius` deviations from a mean, for `Axes.add_patch`."""
    from matplotlib.patches import Ellipse

    values, vectors = np.linalg.eigh(covariance)
    angle = np.degrees(np.arctan2(*vectors[::-1, 1]))
    width, height = 2 * radius * np.sqrt(np.maximum(values[::-1], 0))
    return Ellipse(mean, width, height, angle=angle, fill=False, **style)


def quadratic_grid(means, covariances, priors, limits, n):
    """Return log priors plus log densities of classes at n x n points of a plane."""
    s, t = np.meshgrid(*(np.linspace(*ends, n) for ends in limits))
    rule = QuadraticRule(means, covariances, priors)
    logs = rule.log_densities(np.column_stack([s.ravel(), t.ravel()]))
    return logs.reshape(n, n, -1)


class Display:
    """Base class of displays; a subclass defines `_draw`, which draws on axes."""

    _size = 6.4, 4.6

    def plot(self, ax=None):
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Axes to draw on; a new figure by default.

        Returns
        -------
        display
            The display itself.
        """
        if ax is None:
            ax = pyplot().subplots(figsize=self._size, layout="constrained")[1]
        self._draw(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class PairDisplay(Display):
    """Base class of displays of one pair of classes of a discriminant.

    A subclass defines `_measure`, which sets its attributes for a pair, and `_draw`.
    """

    _shows_features = False  # whether rows are shown before they are transformed

    _note = ""  # a second line of the title
    _score = None  # of features before they are transformed

    @classmethod
    def from_estimator(cls, estimator, X=None, y=None, *, pair=None, ax=None):
        """Draw a pair of classes of a fitted discriminant.

        Parameters
        ----------
        estimator : GaussianLinearDiscriminant or SmoothedLinearDiscriminant
            Fitted. Of the latter, the display shows the transformed features.
        X : array-like of shape (n_samples, n_features) or None, default=None
            Rows to show in addition to the model.
        y : array-like of shape (n_samples,) or None, default=None
            Their labels.
        pair : tuple of two labels or None, default=None
            The pair of classes; by default the pair with the largest error.
        ax : matplotlib axes or None, default=None
            Axes to draw on; a new figure by default.

        Returns
        -------
        display
            The display.
        """
        check_kind(estimator, GaussianLinearDiscriminant, SmoothedLinearDiscriminant)
        if estimator.pairs_[0, 0] < 0:
            raise ValueError("displays show pairs: fit with multiclass='ovo'")
        check_has_statistics(estimator)
        given = host_of(estimator)
        X, y = check_rows(given, X, y)
        estimator, powers = as_discriminant(given), given._rules[2]
        k = int(estimator.model_error_.argmax())
        if pair is not None:
            places = sorted(check_pair(pair, estimator.classes_))
            k = estimator.pairs_.tolist().index(places)
        display = cls()
        display.classes, rows = estimator.classes_[estimator.pairs_[k]], None
        if powers is not None and (X is None or not display._shows_features):
            display._note = "\nof the transformed features"
            X = None if X is None else powers.apply(X)
        elif powers is not None:
            plane = estimator.coef_[k], estimator.intercept_[k]
            display._score = lambda X: powers.apply(X) @ plane[0] + plane[1]
        if X is not None:
            rows = [X[y == label] for label in display.classes]
        display._measure(estimator, k, rows)
        if fewer_rows_than_features(estimator, estimator.statistics_):
            display._note += (
                "\nfewer rows than features: errors under the model mean nothing"
            )
        return display.plot(ax=ax)

    def _finish(self, ax, more="", *, loc=None, **settings):
        """Add the title, the legend and settings for `Axes.set`."""
        first, second = self.classes
        ax.set(title=f"{first} or {second}{more}{self._note}", **settings)
        if ax.get_legend_handles_labels()[0]:
            ax.legend(loc=loc, fontsize="small", framealpha=0.95, edgecolor="0.8")


def check_kind(estimator, *kinds):
    """Reject estimators of other types and unfitted ones."""
    if not isinstance(estimator, kinds):
        names = " or a ".join(kind.__name__ for kind in kinds)
        raise TypeError(
            f"estimator must be a {names}, got {type(estimator).__name__}: fit one, or "
            "pass the estimator_ of a search"
        )
    estimator._check_ready()


def errors_of(estimator, k):
    """Return the errors of pair k in words: under the model, and on left-out rows."""
    text = f"error if normal {percent(estimator.model_error_[k])}"
    left_out = estimator.left_out_error_[k]
    return text if np.isnan(left_out) else f"{text}, left out {percent(left_out)}"


def check_rows(estimator, X, y):
    """Return rows and labels, checked as `predict` does, or None twice."""
    if X is None and y is None:
        return None, None
    if X is None or y is None:
        raise ValueError("X and y belong together: pass both, or neither")
    reject_device(X, "a display of rows")
    with missing_values_as(None, "rows that have all values"):
        X = validate_more_rows(estimator, X, dtype=np.float64)
    y = column_or_1d(label_array(y))
    check_consistent_length(X, y)
    unseen = sorted(set(check_labels(y).tolist()) - set(estimator.classes_.tolist()))
    if unseen:
        raise ValueError(
            f"y has labels {unseen} that are not classes of the model: leave these "
            "rows out"
        )
    return X, y


def subsample(rows, max_rows=_MAX_POINTS):
    """Return all rows, or a fixed sample of them."""
    if len(rows) <= max_rows:
        return rows
    return rows[np.random.default_rng(0).choice(len(rows), max_rows, replace=False)]
