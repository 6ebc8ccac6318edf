"""Display the contributions of the features to the log-odds of one row."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from heterolda.estimators.in_use import InUse
from heterolda.exceptions import ParameterError
from heterolda.inspection.displays.base import COLORS, GRAY, INK, Display, check_kind


class ExplanationDisplay(Display):
    """How the contributions of the features add up to the log-odds of a row.

    Attributes
    ----------
    explanation : Explanation
        What is shown.
    steps : list of tuples
        Names and sizes of the bars, from below.
    ax_, figure_
        The axes and the figure.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from heterolda import SmoothedLinearDiscriminant
    >>> from heterolda.inspection import ExplanationDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SmoothedLinearDiscriminant().fit(X, y)
    >>> display = ExplanationDisplay.from_estimator(model, X[:1])
    >>> len(display.steps)
    5
    """

    @classmethod
    def from_estimator(cls, estimator, X, *, n_features=10, ax=None):
        """Draw the explanation of one row.

        Parameters
        ----------
        estimator : classifier with the method `explain`
            Fitted.
        X : array-like of shape (1, n_features)
            The row.
        n_features : int, default=10
            How many of the largest contributions to show one by one.
        ax : matplotlib axes or None, default=None
            Axes to draw on; a new figure by default.

        Returns
        -------
        ExplanationDisplay
            The display.
        """
        check_kind(estimator, InUse)
        if not isinstance(n_features, Integral) or n_features < 1:
            raise ParameterError(
                "n_features", f"must be a positive integer, got {n_features!r:.50}"
            )
        display = cls()
        display.explanation = found = estimator.explain(X)
        if len(found) != 1:
            raise ValueError(f"X must be one row, got {len(found)}: pass X[:1]")
        given, names, values = found.contributions[0], found.features, found.values[0]
        order = np.argsort(-np.abs(given), kind="stable")[:n_features]
        steps = [("offset", float(found.offset[0]))]
        n_others = len(given) - len(order)
        if n_others:
            rest = float(given.sum() - given[order].sum())
            steps.append((f"{n_others} other features", rest))
        named = ((f"{names[i]} = {values[i]:.4g}", given[i]) for i in order[::-1])
        display.steps = [*steps, *named]
        return display.plot(ax=ax)

    def _draw(self, ax):
        ends = np.cumsum([size for _, size in self.steps])
        span = np.ptp(np.append(ends, 0.0)) or 1.0
        for k, ((_, size), end) in enumerate(zip(self.steps, ends, strict=True)):
            start = end - size
            ax.barh(k, size, left=start, color=COLORS[int(size < 0)], height=0.6)
            if k:
                ax.plot([start, start], [k - 0.7, k - 0.3], color=GRAY, lw=1)
            place = max(start, end) + 0.01 * span
            ax.text(place, k, f"{size:+.2f}", va="center", color=INK, fontsize="small")
        ax.axvline(0, color=GRAY, lw=1)
        ax.set_yticks(range(len(self.steps)), [name for name, _ in self.steps])
        low, high = min(0.0, ends.min()), max(0.0, ends.max())
        found = self.explanation
        ax.set(
            xlim=(low - 0.05 * span, high + 0.15 * span),
            xlabel=f"log-odds of {found.predicted[0]} over {found.rival[0]}: "
            f"{found.log_odds[0]:.2f}",
        )
