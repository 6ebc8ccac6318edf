"""Display two classes along the normal of their hyperplane."""

from __future__ import annotations

import numpy as np

from heterolda.foundations.wording import percent
from heterolda.inspection.displays.base import COLORS, INK, PairDisplay, errors_of

_REACH = 3.5  # deviations around the means
_MAX_HEIGHT = 6.0  # times the lower peak; a higher one is cut off


class ProjectionDisplay(PairDisplay):
    """Both classes of a pair along the normal of its hyperplane.

    It shows the densities of the scores, each times its prior, histograms of the rows,
    the threshold, and the two areas of wrong decisions, which together are the error.

    Attributes
    ----------
    classes : ndarray of shape (2,)
        Labels.
    priors : ndarray of shape (2,)
        Class probabilities within the pair.
    means, deviations : ndarray of shape (2,)
        Means and standard deviations of the scores of each class.
    error_rates : ndarray of shape (2,)
        Share of each class that is misclassified.
    error : str
        Name and amount of the error of the rule.
    scores : list of two ndarray or None
        Scores of the rows of each class.
    answer : object or None
        The label that a trivial rule always gives.
    ax_, figure_
        The axes and the figure.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from heterolda import GaussianLinearDiscriminant
    >>> from heterolda.inspection import ProjectionDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GaussianLinearDiscriminant().fit(X, y)
    >>> display = ProjectionDisplay.from_estimator(model, X, y)
    >>> display.ax_.get_xlabel()
    'score, in mean deviations'
    """

    def _measure(self, estimator, k, rows):
        priors = estimator.priors_[estimator.pairs_[k]]
        planes = estimator._committee.planes
        coef, intercept = estimator.coef_[k], estimator.intercept_[k]
        self.priors = priors / priors.sum()
        self.means, self.deviations = planes.means[k], planes.deviations[k]
        self.error_rates = estimator.error_rates_[k]
        self.error = errors_of(estimator, k)
        self.scores = self.answer = None
        if estimator.trivial_[k]:
            self.answer = self.classes[int(intercept > 0)]
        elif rows is not None:
            self.scores = [x @ coef + intercept for x in rows]

    def _draw(self, ax):
        ax.spines["left"].set_visible(False)
        if self.answer is not None:
            text = f"always {self.answer}:\nno linear rule does better"
            ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes)
            self._finish(ax, f": {self.error}", xticks=[], yticks=[])
            return
        # Scores are shown in units of the mean deviation.
        unit = np.sqrt(np.mean(self.deviations**2))
        means, deviations = self.means / unit, self.deviations / unit
        low = min(*(means - _REACH * deviations), 0)
        high = max(*(means + _REACH * deviations), 0)
        # Enough points for the narrower class.
        around = means + deviations * np.linspace(-6, 6, 400)[:, None]
        x = np.unique([0.0, low, high, *around.ravel()])
        x = x[(low <= x) & (x <= high)]
        peaks = self.priors / (deviations * np.sqrt(2 * np.pi))
        tallest = peaks.max()
        for k, color in enumerate(COLORS):
            if self.scores is not None and len(self.scores[k]):
                scores = self.scores[k] / unit
                bins = np.clip(int(np.sqrt(len(scores))), 10, 60)
                height, edges = np.histogram(scores, bins, density=True)
                height *= self.priors[k]
                tallest = max(tallest, height.max())
                ax.stairs(height, edges, fill=True, color=color, alpha=0.2)
            density = peaks[k] * np.exp(-0.5 * ((x - means[k]) / deviations[k]) ** 2)
            label = f"{self.classes[k]}: {percent(self.error_rates[k])} wrong"
            ax.plot(x, density, color=color, lw=1.8, label=label)
            wrong = x >= 0 if k == 0 else x <= 0
            style = {"color": color, "alpha": 0.65, "lw": 0, "zorder": 3}
            ax.fill_between(x[wrong], density[wrong], **style)
        ax.axvline(0, color=INK, lw=1.2)
        top = 1.3 * min(tallest, _MAX_HEIGHT * peaks.min())  # with room for the legend
        self._finish(
            ax,
            f": {self.error}",
            xlim=(low, high),
            ylim=(0, top),
            yticks=[],
            xlabel="score, in mean deviations",
        )
