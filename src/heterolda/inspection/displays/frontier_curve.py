"""The optimal linear ROC curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from heterolda.foundations.wording import percent
from heterolda.inspection.displays.base import (
    COLORS,
    GREY,
    INK,
    PairDisplay,
    is_of_left_out_scores,
)
from heterolda.kernels.ordered_scores import linear_scores

# Rows whose scores under all rules of the curve are formed together.
_BLOCK = 2048


@dataclass(kw_only=True, eq=False, repr=False)
class FrontierDisplay(PairDisplay):
    """Optimal linear ROC curve of a pair of classes, with operating points.

    The second class is the positive one. Given test data of both classes, a second
    curve shows the rates of the same rules on these data. Where the two differ, the
    data are not normal, or there are too few. The rule of the estimator has its own
    point unless it is that of least error or minimax. With costs or a bound it lies on
    the curve; found by another solver, it usually lies below.

    Parameters
    ----------
    fpr, tpr : ndarray of shape (n_points,)
        The curve: false and true positive rates.
    auc : float
        Area under it.
    points : dict
        Pairs of rates of some operating points.
    classes : ndarray of shape (2,)
        Labels.
    empirical : tuple of two ndarray or None, default=None
        The same rates on data.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    line_, empirical_line_ : matplotlib lines
        The curves; the second is None without data.
    points_ : dict
        The markers.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_breast_cancer
    >>> from heterolda import FrontierDisplay, GaussianLinearDiscriminant
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GaussianLinearDiscriminant().fit(X, y)
    >>> display = FrontierDisplay.from_estimator(model, X, y)
    >>> display.ax_.get_title()
    '0 or 1'
    >>> matplotlib.pyplot.close(display.figure_)
    """

    fpr: Any
    tpr: Any
    auc: Any
    points: Any = None
    classes: Any
    empirical: Any = None
    _legend = "lower right"

    @classmethod
    def _values(cls, estimator, k, rows):
        frontier = estimator.frontier_[k]
        x = frontier._curve(300)
        e1, e2 = frontier._rates(x)
        empirical = None
        if rows is not None:
            labels = frontier.classes.tolist()
            absent = [labels[i] for i in (0, 1) if not len(rows[i])]
            if absent:
                raise ValueError(
                    f"y has no rows of the classes {absent}, so their rates on the "
                    "data are unknown: pass data of both classes of the pair, or none"
                )
            rules = frontier._rules(x[1:-1])
            shares = [_positive_shares(part, *rules) for part in rows]
            # At the ends all rows are of one class.
            empirical = tuple(np.concatenate([[0.0], s, [1.0]]) for s in shares)
        points = {}
        for criterion, name in (("bayes", "least error"), ("minimax", "minimax")):
            first, second = frontier.at(criterion).error_rates
            points[name] = first, 1 - second
        first, second = estimator.error_rates_[k]
        rates = first, 1 - second
        # Not a second time, where the rule is one of these points.
        if not np.isclose([*points.values()], rates, rtol=0.01, atol=1e-9).all(1).any():
            left_out = is_of_left_out_scores(estimator, k)
            points["this rule" + ", left-out scores" * left_out] = rates
        return {
            "fpr": e1,
            "tpr": 1 - e2,
            "auc": frontier.auc,
            "points": points,
            "classes": frontier.classes,
            "empirical": empirical,
        }

    def _draw_pair(self, ax):
        ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls=(0, (1, 2)))
        label = f"optimal linear rules if normal, area {self.auc:.4f}"
        style = {"color": COLORS[0], "lw": 2.2, "label": label}
        (self.line_,) = ax.plot(self.fpr, self.tpr, **style)
        self.empirical_line_ = None
        if self.empirical is not None:
            (self.empirical_line_,) = ax.plot(
                *self.empirical, color=INK, lw=1, label="the same rules, on the data"
            )
        self.points_ = {}
        for (name, (fpr, tpr)), marker in zip(self.points.items(), "*os", strict=False):
            style = {"color": COLORS[1], "mec": "white", "zorder": 4, "clip_on": False}
            style |= {"ms": 13 if marker == "*" else 8}
            label = f"{name}: {percent(fpr)}, {percent(1 - tpr)}"
            (self.points_[name],) = ax.plot(fpr, tpr, marker, label=label, **style)
        first, second = self.classes
        ax.set(
            xlim=(0, 1),
            ylim=(0, 1),
            aspect="equal",
            xlabel=f"error rate of {first}",
            ylabel=f"share of {second} found (1 - error rate)",
        )


def _positive_shares(rows, coef, intercept):
    """Return the share of the rows that each rule gives to the second class."""
    normals, parts = coef.T.copy(), np.array_split(rows, len(rows) // _BLOCK + 1)
    scores = (linear_scores(part, normals, intercept) for part in parts)
    return sum(np.count_nonzero(part > 0, axis=0) for part in scores) / len(rows)
