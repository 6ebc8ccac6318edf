"""Display rules in the plane of the normal and of the largest spread across it."""

from __future__ import annotations

import numpy as np

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.foundations.threads import no_warnings
from heterolda.foundations.wording import percent
from heterolda.inspection.displays.base import (
    COLORS,
    INK,
    PairDisplay,
    ellipse_of,
    errors_of,
    limits_of,
    quadratic_grid,
    subsample,
)
from heterolda.search.algorithm2 import paper_search
from heterolda.solvers import SOLVERS

_STYLES = {
    "LDA": {"color": INK, "lw": 1.6, "ls": (0, (5, 3))},
    "this rule": {"color": INK, "lw": 2.4, "ls": "-"},
    "Algorithm 2": {"color": "#2e8b57", "lw": 1.8, "ls": (0, (6, 2, 1, 2))},
}
_QUADRATIC = "#8a4fbf"
_STEP = 1e-4  # of a derivative, in deviations
_GRID = 121  # points of each axis at which the quadratic rule is evaluated


class BoundaryDisplay(PairDisplay):
    """Rows, classes and rules of a pair of classes in a plane.

    The plane goes through the midpoint of the means. It is spanned by the normal of
    the rule and by the principal direction of the pooled covariance orthogonal to it,
    in units of the pooled deviations of the features. Rows and ellipses (one and two
    standard deviations) are projected onto it, and the quadratic boundary is that of
    the projected classes; other rules are drawn where they cut the plane. With more
    than two features, only the rule of the discriminant itself divides the projected
    rows exactly as it divides the rows.

    Given training rows, the display adds the rule that the paper's Algorithm 2 finds
    from that rule. Rules that do not cut the plane are left out, and so is LDA if it
    always gives the same answer.

    If a :class:`SmoothedLinearDiscriminant` transforms features, the plane is one of
    the original features of the rows, where its boundary is a curve; without rows, it
    is one of the transformed features.

    Attributes
    ----------
    means : ndarray of shape (2, 2)
        Projected means.
    covariances : ndarray of shape (2, 2, 2)
        Projected covariances.
    rules : dict
        For each name (a, b, c): the line a s + b t + c = 0; a positive value means
        the second class.
    errors : dict
        Label of each rule.
    priors : ndarray of shape (2,)
        Class probabilities within the pair.
    classes : ndarray of shape (2,)
        Labels.
    points : list of two ndarray of shape (n_k, 2) or None
        Projected rows.
    ax_, figure_
        The axes and the figure.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from heterolda import GaussianLinearDiscriminant
    >>> from heterolda.inspection import BoundaryDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GaussianLinearDiscriminant().fit(X, y)
    >>> display = BoundaryDisplay.from_estimator(model, X, y)
    >>> display.ax_.get_title()
    '0 or 1'
    """

    _shows_features = True

    def _measure(self, estimator, k, rows):
        error = errors_of(estimator, k)
        if self._score is not None:  # the plane and the ellipses are those of the rows
            if not all(map(len, rows)):
                raise ValueError(f"y needs rows of both {self.classes.tolist()}")
            y = np.repeat([0, 1], [*map(len, rows)])
            with no_warnings():
                estimator = GaussianLinearDiscriminant(choose_on="model")
                estimator.fit(np.concatenate(rows), y)
            k = 0
        if estimator.n_features_in_ < 2:
            raise ValueError("a plane needs at least two features, but there is only 1")
        if estimator.trivial_[k]:
            raise ValueError(
                f"the rule of {self.classes.tolist()} always chooses the same class "
                "and so has no normal: choose another pair, other priors or other costs"
            )
        frontier = estimator.frontier_[k]
        pencil, span = frontier.pencil, frontier.span

        def inner(*rule):  # in the coordinates of the pencil
            return rule if span is None else span.rules_inside(*rule)

        hyperplanes, self.errors = {}, {}
        fisher = SOLVERS["fisher"].solve(pencil, np.random.default_rng(0))
        if not fisher.trivial[0]:
            hyperplanes["LDA"] = fisher.coef[0], fisher.intercept[0]
            self.errors["LDA"] = f"LDA: error if normal {percent(fisher.error[0])}"
        coef, intercept = estimator.coef_[k], estimator.intercept_[k]
        if self._score is not None:
            coef, intercept = _tangent(self._score, estimator.statistics_)
        hyperplanes["this rule"] = inner(coef, intercept)
        self.errors["this rule"] = f"this rule: {error}"
        if rows is not None and all(map(len, rows)) and self._score is None:
            X = np.ascontiguousarray(np.concatenate(rows))
            first = np.arange(len(X)) < len(rows[0])
            search = paper_search(X, first, None, np.append(intercept, -coef))
            hyperplanes["Algorithm 2"] = inner(-search.v[1:], search.v[0])
            self.errors["Algorithm 2"] = (
                f"Algorithm 2: {int(search.errors)} errors on the rows, this rule: "
                f"{int(search.errors_start)}"
            )
        scale, plane_axes = _plane(pencil, hyperplanes["this rule"][0])
        origin = pencil.means[0].mean(axis=0)
        axes, dual_axes = plane_axes / scale[:, None], plane_axes * scale[:, None]
        # Points of the plane, as rows of features.
        self._features = lambda plane: origin + plane @ dual_axes.T
        self.points = None
        if rows is not None:
            shown = [subsample(part) for part in rows]
            shown = shown if span is None else [span.coordinates(x) for x in shown]
            self.points = [(part - origin) @ axes for part in shown]
        self.priors, self.means = pencil.priors[0], (pencil.means[0] - origin) @ axes
        self.covariances = axes.T @ pencil.covariances[0] @ axes
        # The line where each hyperplane cuts the plane.
        self.rules = {
            name: (*(w @ dual_axes), w @ origin + w0)
            for name, (w, w0) in hyperplanes.items()
        }

    def _draw(self, ax):
        for k, color in enumerate(COLORS):
            if self.points is not None:
                style = {"s": 7, "color": color, "alpha": 0.35, "linewidths": 0}
                ax.scatter(*self.points[k].T, **style)
            for radius in (1, 2):
                shape = self.means[k], self.covariances[k], radius
                ax.add_patch(ellipse_of(*shape, color=color, lw=1.5))
            style = {"color": color, "mec": "white", "ms": 8, "ls": ""}
            ax.plot(*self.means[k], marker="o", label=str(self.classes[k]), **style)
        limits = limits_of(self.means, self.covariances)
        for name, (a, b, c) in self.rules.items():
            length = np.hypot(a, b)
            if name == "this rule" and self._score is not None:
                s, t = np.meshgrid(*(np.linspace(*ends, _GRID) for ends in limits))
                plane = self._features(np.column_stack([s.ravel(), t.ravel()]))
                style = _STYLES[name]
                values = self._score(plane).reshape(s.shape)
                ax.contour(s, t, values, [0.0], colors=INK, linewidths=style["lw"])
                ax.plot([], [], **style, label=self.errors[name])
            elif length > 0:
                foot = -c / length**2 * np.array([a, b])
                other = foot + np.array([-b, a]) / length
                ax.axline(foot, other, **_STYLES[name], label=self.errors[name])
        classes = self.means, self.covariances, self.priors
        logs = quadratic_grid(*classes, limits, _GRID)
        odds = logs[..., 1] - logs[..., 0]
        if odds.min() < 0 < odds.max():
            axes = (np.linspace(*ends, _GRID) for ends in limits)
            ax.contour(*axes, odds, levels=[0.0], colors=_QUADRATIC, linewidths=1.6)
            ax.plot([], [], color=_QUADRATIC, lw=1.6, label="quadratic boundary")
        self._finish(
            ax,
            xlim=limits[0],
            ylim=limits[1],
            xlabel="along the normal of the rule",
            ylabel="direction of largest spread within the rule",
        )


def _tangent(score, stats):
    """Return the plane that touches a score at the midpoint of the means."""
    middle = stats.means.mean(axis=0)
    steps = _STEP * np.sqrt(stats.squares.sum(axis=0) / stats.weights.sum())
    steps[steps == 0] = 1.0
    ends = [score(middle + sign * np.diag(steps)) for sign in (1, -1)]
    coef = (ends[0] - ends[1]) / (2 * steps)
    return coef, float(score(middle[None])[0] - coef @ middle)


def _plane(pencil, coef):
    """Return units for the features, and two axes of the plane in these units."""
    cov, weights = pencil.covariances[0], pencil.weights[0]
    pooled = np.tensordot(weights / weights.sum(), cov, axes=1)
    variance = np.diag(pooled)
    scale = np.sqrt(np.where(variance > 0, variance, 1.0))
    normal = coef * scale
    normal = normal / np.linalg.norm(normal)
    others = np.eye(len(coef)) - np.outer(normal, normal)
    within = others @ (pooled / np.outer(scale, scale)) @ others
    # Make the normal the narrowest direction, even if nothing else varies.
    widest = np.linalg.eigh(within - np.outer(normal, normal))[1][:, -1]
    return scale, np.column_stack([normal, widest])
