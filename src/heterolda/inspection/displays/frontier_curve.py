"""Display the optimal linear ROC curve."""

from __future__ import annotations

import numpy as np

from heterolda.estimators.again import fitted_with, solve_again
from heterolda.foundations.threads import no_warnings
from heterolda.foundations.wording import percent
from heterolda.inspection.displays.base import COLORS, GRAY, INK, PairDisplay

_BLOCK = 2048  # rows scored at a time
# Marker, its size and its color.
_STYLES = {
    "model": ("*", 13, COLORS[1]),
    "rows": ("D", 8, INK),
    "minimax": ("o", 8, COLORS[1]),
}


class FrontierDisplay(PairDisplay):
    """Optimal linear ROC curve of a pair of classes, with operating points.

    The second class is the positive one. Given test rows of both classes, a second
    curve shows the rates of the same rules on these rows. Where the two differ, the
    classes are not normal, or there are too few rows. The optimum of the model is on
    the curve, even with costs or a bound, unless another solver found it. If left-out
    rows chose the rule, another point shows its rates on them.

    Attributes
    ----------
    fpr, tpr : ndarray of shape (n_points,)
        The curve: false and true positive rates.
    auc : float
        Area under it.
    points : dict
        Pairs of rates: of the rule of the model ("model"), of the estimator's rule on
        left-out rows ("rows"), if there are any, and of the rule with equal error rates
        ("minimax").
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
        model = estimator
        if estimator.chosen_on_rows_[k]:
            with no_warnings():  # the fit has already warned
                settings = fitted_with(estimator) | {"choose_on": "model"}
                model = solve_again(estimator, settings)
        rates = {
            "model": model.error_rates_[k],
            "rows": estimator.left_out_error_rates_[k],
            "minimax": frontier.at("minimax").error_rates,
        }
        self.points = {
            name: (e1, 1 - e2) for name, (e1, e2) in rates.items() if not np.isnan(e1)
        }
        self._names = {"model": "this rule if normal", "minimax": "minimax if normal"}
        self._names["rows"] = "this rule on left-out rows"
        if estimator.chosen_on_rows_[k]:
            self._names["model"] = "best if normal"
            self._names["rows"] = "this rule, chosen by left-out rows"

    def _draw(self, ax):
        ax.plot([0, 1], [0, 1], color=GRAY, lw=1, ls=(0, (1, 2)))
        label = f"optimal linear rules if normal, area {self.auc:.4f}"
        ax.plot(self.fpr, self.tpr, color=COLORS[0], lw=2.2, label=label)
        if self.empirical is not None:
            label = "the same rules, on the rows"
            ax.plot(*self.empirical, color=INK, lw=1, label=label)
        for name, (fpr, tpr) in self.points.items():
            marker, size, color = _STYLES[name]
            style = {"color": color, "mec": "white", "zorder": 4, "clip_on": False}
            label = f"{self._names[name]}: {percent(fpr)}, {percent(1 - tpr)}"
            ax.plot(fpr, tpr, marker, ms=size, label=label, **style)
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
