"""The classes along the normals of the hyperplanes."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from heterolda.foundations.wording import percent
from heterolda.inspection.displays.base import (
    COLORS,
    INK,
    PairDisplay,
    check_estimator,
    check_rows,
    choose_pair,
    error_name,
    rows_of_pair,
)

_REACH = 3.5  # deviations that a panel shows
_TALLEST = 6.0  # times the lower peak: a higher one is cut off, or hides all else


class ProjectionDisplay(PairDisplay):
    """Both classes of a pair along the normal of its hyperplane.

    It shows the densities of the scores, each times its prior, histograms of the data,
    the threshold, and the two areas of wrong decisions, which together are the error.
    With more than two classes there is a panel for each pair, worst pairs first.

    Parameters
    ----------
    panels : list of dict
        For each pair `classes`, `priors`, `means` and `deviations` of the scores,
        `error_rates`, `error` and its name, `error_name`; `scores` of the data or None;
        for a trivial rule `answer`, the label that it always gives, else None.

    Attributes
    ----------
    ax_ : matplotlib axes or ndarray of axes
        One, or one for each panel.
    figure_
        Where it was drawn.
    lines_, areas_, histograms_ : list of lists
        For each panel the densities, the shaded areas and the histograms.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_breast_cancer
    >>> from heterolda import ProjectionDisplay, GaussianLinearDiscriminant
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GaussianLinearDiscriminant().fit(X, y)
    >>> display = ProjectionDisplay.from_estimator(model, X, y)
    >>> display.figure_.axes[0].get_xlabel()
    'score, in mean deviations'
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(self, *, panels):
        self.panels = panels

    @classmethod
    def from_estimator(
        cls, estimator, X=None, y=None, *, pair=None, max_panels=9, ax=None
    ):
        """Draw the classes along the rules of a fitted discriminant.

        Parameters
        ----------
        estimator : GaussianLinearDiscriminant
            Fitted.
        X : array-like of shape (n_samples, n_features) or None, default=None
            Data for the histograms.
        y : array-like of shape (n_samples,) or None, default=None
            Their labels.
        pair : tuple of two labels or None, default=None
            Only this pair; all by default.
        max_panels : int, default=9
            Most panels, at least 1.
        ax : matplotlib axes, array of axes or None, default=None
            Where to draw, one for each panel.

        Returns
        -------
        ProjectionDisplay
            The display.
        """
        estimator = check_estimator(estimator)
        if not isinstance(max_panels, Integral) or max_panels < 1:
            raise ValueError(
                f"max_panels must be an integer of at least 1, got {max_panels!r}: use "
                "pair=(label, label) to draw a single pair"
            )
        order = np.argsort(-estimator.bayes_error_, kind="stable")[:max_panels]
        if pair is not None:
            order = [choose_pair(estimator, pair)]
        X, y = check_rows(estimator, X, y)
        rows = [rows_of_pair(estimator, k, X, y) for k in order]
        panels = [_panel(estimator, *one) for one in zip(order, rows, strict=True)]
        return cls(panels=panels).plot(ax=ax)

    def _panels(self):
        self.lines_, self.areas_, self.histograms_ = [], [], []
        self._size = (6.4, 4.2) if len(self.panels) == 1 else (4.2, 3.2)
        return self.panels

    def _draw(self, ax, panel):
        lines, areas, histograms = [], [], []
        self.lines_.append(lines)
        self.areas_.append(areas)
        self.histograms_.append(histograms)
        first, second = panel["classes"]
        title = f"{first} or {second}: {panel['error_name']} {percent(panel['error'])}"
        ax.set(title=title, yticks=[])
        ax.spines["left"].set_visible(False)
        if panel["answer"] is not None:
            text = f"always {panel['answer']}:\nno linear rule does better"
            ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes)
            ax.set(xticks=[])
            return
        # Scores are shown in units of the mean deviation.
        unit = np.sqrt(np.mean(panel["deviations"] ** 2))
        means, deviations = panel["means"] / unit, panel["deviations"] / unit
        low = min(*(means - _REACH * deviations), 0)
        high = max(*(means + _REACH * deviations), 0)
        # Enough points for the narrower of the two.
        around = means + deviations * np.linspace(-6, 6, 400)[:, None]
        x = np.unique([0.0, low, high, *around.ravel()])
        x = x[(low <= x) & (x <= high)]
        peaks = panel["priors"] / (deviations * np.sqrt(2 * np.pi))
        tallest = peaks.max()
        for k, color in enumerate(COLORS):
            if panel["scores"] is not None and len(panel["scores"][k]):
                scores = panel["scores"][k] / unit
                bins = np.clip(int(np.sqrt(len(scores))), 10, 60)
                height, edges = np.histogram(scores, bins, density=True)
                height *= panel["priors"][k]
                tallest = max(tallest, height.max())
                bars = ax.stairs(height, edges, fill=True, color=color, alpha=0.2)
                histograms.append(bars)
            density = peaks[k] * np.exp(-0.5 * ((x - means[k]) / deviations[k]) ** 2)
            label = f"{panel['classes'][k]}: {percent(panel['error_rates'][k])} wrong"
            lines += ax.plot(x, density, color=color, lw=1.8, label=label)
            wrong = x >= 0 if k == 0 else x <= 0
            style = {"color": color, "alpha": 0.65, "lw": 0, "zorder": 3}
            areas.append(ax.fill_between(x[wrong], density[wrong], **style))
        ax.axvline(0, color=INK, lw=1.2)
        top = 1.3 * min(tallest, _TALLEST * peaks.min())  # with room for the legend
        ax.set(xlim=(low, high), ylim=(0, top), xlabel="score, in mean deviations")
        ax.legend(fontsize="small", framealpha=0.9, edgecolor="0.8")


def _panel(estimator, k, rows):
    """Return what the panel of pair k shows."""
    classes = estimator.classes_[estimator.pairs_[k]]
    priors, planes = estimator.priors_[estimator.pairs_[k]], estimator._committee.planes
    coef, intercept = estimator.coef_[k], estimator.intercept_[k]
    trivial = bool(estimator.trivial_[k])
    has_scores = rows is not None and not trivial
    return {
        "classes": classes,
        "priors": priors / priors.sum(),
        "means": planes.means[k],
        "deviations": planes.deviations[k],
        "error_rates": estimator.error_rates_[k],
        "error": estimator.bayes_error_[k],
        "error_name": error_name(estimator, k),
        "scores": [part @ coef + intercept for part in rows] if has_scores else None,
        "answer": classes[int(intercept > 0)] if trivial else None,
    }
