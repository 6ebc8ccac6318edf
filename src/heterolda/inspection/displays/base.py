"""What the displays share: axes, rows to show, and one pair of classes."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.fit_record import fewer_rows_than_features
from heterolda.estimators.placement import host_of
from heterolda.estimators.thresholds import has_few_rows
from heterolda.foundations.arrays import refuse_device
from heterolda.foundations.validation import (
    check_labels,
    check_pair,
    label_array,
    missing_values_as,
    validate_more_rows,
)
from heterolda.solvers import Global, resolve_solver

COLORS = "#2a6fbb", "#d1602b"
INK = "0.15"
# Of thin lines and their keys: shows on white as on black, and when inverted.
GREY = "0.5"
# Rows of data that a picture shows; of more, a sample.
MOST_POINTS = 2000
_REACH = 2.8  # deviations of classes that a plane shows
_FEW_ROWS = "\nfewer rows than features: errors under the model mean nothing"


def pyplot():
    """Import matplotlib, or say how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        message = "pictures need matplotlib: pip install matplotlib"
        raise ImportError(message) from error
    return plt


def limits_of(means, covariances):
    """Return limits of both axes that show classes in the plane, as two rows."""
    reach = _REACH * np.sqrt(np.einsum("kii->ki", covariances))
    low, high = (means - reach).min(axis=0), (means + reach).max(axis=0)
    margin = 0.03 * (high - low) + 1e-9 * (high - low).max()
    return np.column_stack([low - margin, high + margin])


def ellipse_of(mean, covariance, radius, **style):
    """Return an ellipse of so many deviations around a mean, for `Axes.add_patch`."""
    from matplotlib.patches import Ellipse

    values, vectors = np.linalg.eigh(covariance)
    angle = np.degrees(np.arctan2(*vectors[::-1, 1]))
    width, height = 2 * radius * np.sqrt(np.maximum(values[::-1], 0))
    return Ellipse(mean, width, height, angle=angle, fill=False, **style)


class Display:
    """A picture of one panel or more.

    A display adds `_panels`, what `_draw` is to draw on each of its axes.
    """

    _size = 6.4, 4.6  # of a panel

    def plot(self, ax=None):
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes, array of axes or None, default=None
            Where to draw, one for each panel; a new figure by default.

        Returns
        -------
        display
            The display itself.
        """
        panels = self._panels()
        axes = self._new_axes(len(panels)) if ax is None else np.ravel(ax)
        if len(axes) != len(panels):
            raise ValueError(
                f"ax must have one axes for each of the {len(panels)} panels, got "
                f"{len(axes)}"
            )
        for one, panel in zip(axes, panels, strict=True):
            one.spines[["top", "right"]].set_visible(False)
            self._draw(one, panel)
        self.ax_ = axes[0] if len(axes) == 1 else axes
        self.figure_ = axes[0].figure
        return self

    def _new_axes(self, n):
        """Return n axes of a new figure, in at most three columns."""
        rows, columns = -(-n // 3), min(n, 3)
        size = self._size[0] * columns, self._size[1] * rows
        grid = {"figsize": size, "squeeze": False, "layout": "constrained"}
        axes = pyplot().subplots(rows, columns, **grid)[1].ravel()
        for empty in axes[n:]:
            empty.set_axis_off()
        return axes[:n]


class PairDisplay(Display):
    """A picture of one pair of classes.

    A display adds `_values`, the arguments of its constructor for a pair, and
    `_draw_pair`.
    """

    _legend = None  # where the legend is, if matplotlib should not choose
    _note = ""  # a second line of the title

    @classmethod
    def from_estimator(cls, estimator, X=None, y=None, *, pair=None, ax=None):
        """Draw a pair of classes of a fitted discriminant.

        Parameters
        ----------
        estimator : GaussianLinearDiscriminant
            Fitted.
        X : array-like of shape (n_samples, n_features) or None, default=None
            Data to show beside the model.
        y : array-like of shape (n_samples,) or None, default=None
            Their labels.
        pair : tuple of two labels or None, default=None
            The pair of classes; the one of largest error by default.
        ax : matplotlib axes or None, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display
            The display.
        """
        estimator = check_estimator(estimator)
        k = choose_pair(estimator, pair)
        rows = rows_of_pair(estimator, k, *check_rows(estimator, X, y))
        display = cls(**cls._values(estimator, k, rows))
        if fewer_rows_than_features(estimator, estimator.statistics_):
            display._note = _FEW_ROWS
        return display.plot(ax=ax)

    @classmethod
    def from_statistics(
        cls, statistics, *args, priors=None, shrinkage=None, **settings
    ):
        """Draw the best rules for class statistics.

        Parameters
        ----------
        statistics : ClassStatistics
            Weights, means and covariances.
        *args, **settings
            As for `from_estimator`.
        priors, shrinkage
            As for `GaussianLinearDiscriminant`.

        Returns
        -------
        display
            The display.
        """
        model = GaussianLinearDiscriminant(priors=priors, shrinkage=shrinkage)
        model.fit_statistics(statistics)
        return cls.from_estimator(model, *args, **settings)

    def _panels(self):
        return [self.classes]

    def _draw(self, ax, classes):
        self._draw_pair(ax)
        first, second = classes
        ax.set_title(f"{first} or {second}{self._note}")
        ax.legend(loc=self._legend, fontsize="small", framealpha=0.95, edgecolor="0.8")


def inside(estimator):
    """Return where the discriminant of a search is, and which rows it sees."""
    given = getattr(estimator, "transformation_", None)
    rows = "" if given is None else " with the rows model.transformation_.apply(X)"
    return f"pass the one inside, model.estimator_{rows}, or use from_statistics"


def check_estimator(estimator):
    """Return a fitted discriminant with a rule for each pair, or refuse it."""
    if not isinstance(estimator, GaussianLinearDiscriminant):
        raise TypeError(
            "estimator must be a GaussianLinearDiscriminant, got "
            f"{type(estimator).__name__}: {inside(estimator)}"
        )
    estimator._check_ready()
    if estimator.pairs_[0, 0] < 0:
        raise ValueError("displays show pairs of classes: fit with multiclass='ovo'")
    return host_of(estimator)


def choose_pair(estimator, pair):
    """Return the index of the pair with these labels, or of the largest error."""
    if pair is None:
        return int(estimator.bayes_error_.argmax())
    places = sorted(check_pair(pair, estimator.classes_))
    return estimator.pairs_.tolist().index(places)


def is_of_left_out_scores(estimator, k):
    """Return whether the error of pair k is that of scores of rows left out of the fit.

    That is so if there are few, by default; other solvers never have a gap.
    """
    chosen = has_few_rows(estimator) and estimator.shrinkage_ is not None
    solver = resolve_solver(estimator._settings["solver"])
    return chosen and isinstance(solver, Global) and bool(np.isnan(estimator.gap_[k]))


def error_name(estimator, k):
    """Return what the error of pair k is called."""
    left_out = is_of_left_out_scores(estimator, k)
    return "error of left-out scores" if left_out else "error if normal"


def check_rows(estimator, X, y):
    """Return data and labels, checked as `predict` does, or None twice."""
    if X is None and y is None:
        return None, None
    if X is None or y is None:
        given = "y without X" if X is None else "X without y"
        raise ValueError(f"{given}: pass both rows and labels, or neither")
    refuse_device(X, "a display of rows")
    with missing_values_as(None, "rows that have all values"):
        X = validate_more_rows(estimator, X, dtype=np.float64)
    y = column_or_1d(label_array(y))
    check_consistent_length(X, y)
    classes = estimator.classes_.tolist()
    unseen = [label for label in check_labels(y).tolist() if label not in classes]
    if unseen:
        raise ValueError(
            f"y has labels {unseen} that are not among the classes {classes} of the "
            "fit: leave these rows out"
        )
    return X, y


def rows_of_pair(estimator, k, X, y):
    """Return the rows of the two classes of pair k, or None without data."""
    if X is None:
        return None
    return [X[y == label] for label in estimator.classes_[estimator.pairs_[k]]]


def thin(rows, most=MOST_POINTS):
    """Return rows for a picture: all, or a sample that is the same each time."""
    if len(rows) <= most:
        return rows
    return rows[np.random.default_rng(0).choice(len(rows), most, replace=False)]
