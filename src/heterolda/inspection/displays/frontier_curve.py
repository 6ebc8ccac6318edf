"""Display the optimal linear ROC curve."""

from __future__ import annotations

import numpy as np

from heterolda.foundations.wording import percent
from heterolda.inspection.displays.base import (
    COLORS,
    GRAY,
    INK,
    PairDisplay,
    error_name,
)

_BLOCK = 2048  # rows scored at a time


class FrontierDisplay(PairDisplay):
    """Optimal linear ROC curve of a pair of classes, with operating points.

    The second class is the positive one. Given test rows of both classes, a second
    curve shows the rates of the same rules on these rows. Where the two differ, the
    classes are not normal, or there are too few rows. The rule of the estimator is on
    the curve, even with costs or a bound, unless another solver found it.

    Attributes
    ----------
    fpr, tpr : ndarray of shape (n_points,)
        The curve: false and true positive rates.
    auc : float
        Area under it.
    points : dict
        Pairs of rates: of the estimator's rule, and of the rule with equal error rates.
    classes : ndarray of shape (2,)
        Labels.
    empirical : list of two ndarray or None
        The same rates on rows.
    ax_, figure_
        The axes and the figure.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from heterolda import GaussianLinearDiscriminant
    >>> from heterolda.inspection import FrontierDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GaussianLinearDiscriminant().fit(X, y)
    >>> display = FrontierDisplay.from_estimator(model, X, y)
    >>> display.ax_.get_title()
    '0 or 1'
    """

    def _measure(self, estimator, k, rows):
        frontier = estimator.frontier_[k]
        x = frontier._curve(300)
        e1, e2 = frontier._rates(x)
        self.fpr, self.tpr, self.auc = e1, 1 - e2, frontier.auc
        self.empirical = None
        if rows is not None:
            if not all(map(len, rows)):
                raise ValueError(
                    f"y has no rows of one of {self.classes.tolist()}: pass rows of "
                    "both classes of the pair, or none"
                )
            rules = frontier._rules(x[1:-1])
            # At the ends all rows are assigned to one class.
            self.empirical = [
                np.concatenate([[0.0], _positive_shares(part, *rules), [1.0]])
                for part in rows
            ]
        left_out = "left-out" in error_name(estimator, k)
        rates = {
            "this rule" + ", left-out scores" * left_out: estimator.error_rates_[k],
            "minimax": frontier.at("minimax").error_rates,
        }
        self.points = {name: (e1, 1 - e2) for name, (e1, e2) in rates.items()}

    def _draw(self, ax):
        ax.plot([0, 1], [0, 1], color=GRAY, lw=1, ls=(0, (1, 2)))
        label = f"optimal linear rules if normal, area {self.auc:.4f}"
        ax.plot(self.fpr, self.tpr, color=COLORS[0], lw=2.2, label=label)
        if self.empirical is not None:
            label = "the same rules, on the rows"
            ax.plot(*self.empirical, color=INK, lw=1, label=label)
        for (name, (fpr, tpr)), marker in zip(self.points.items(), "*o", strict=True):
            style = {"color": COLORS[1], "mec": "white", "zorder": 4, "clip_on": False}
            style |= {"ms": 13 if marker == "*" else 8}
            label = f"{name}: {percent(fpr)}, {percent(1 - tpr)}"
            ax.plot(fpr, tpr, marker, label=label, **style)
        first, second = self.classes
        self._finish(
            ax,
            loc="lower right",
            xlim=(0, 1),
            ylim=(0, 1),
            aspect="equal",
            xlabel=f"error rate of {first}",
            ylabel=f"share of {second} found (1 - error rate)",
        )


def _positive_shares(rows, coef, intercept):
    """Return the share of the rows that each rule assigns to the second class."""
    counts = np.zeros(len(intercept))
    for part in np.array_split(rows, len(rows) // _BLOCK + 1):
        counts += np.count_nonzero(part @ coef.T + intercept > 0, axis=0)
    return counts / len(rows)
