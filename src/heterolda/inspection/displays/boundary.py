"""Rules in the plane of the discriminant and of the widest direction within it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from heterolda.foundations.rounding import RANK_TOLERANCE
from heterolda.foundations.wording import percent
from heterolda.inspection.displays.base import (
    COLORS,
    INK,
    PairDisplay,
    ellipse_of,
    error_name,
    is_of_left_out_scores,
    limits_of,
    thin,
)
from heterolda.search.algorithm2 import paper_search
from heterolda.solvers import (
    SOLVERS,
    Fisher,
    FixedPoint,
    Global,
    Grid,
    RandomSearch,
    resolve_solver,
)
from heterolda.statistics.wide import outside_of

_STYLES = {
    "LDA": {"color": INK, "lw": 1.6, "ls": (0, (5, 3))},
    "GLD": {"color": INK, "lw": 2.4, "ls": "-"},
    "LNS": {"color": "#2e8b57", "lw": 1.8, "ls": (0, (6, 2, 1, 2))},
}
_NAMES = {
    Fisher: "LDA",
    FixedPoint: "Algorithm 1",
    Global: "GLD",
    Grid: "C-HLD",
    RandomSearch: "R-HLD",
}


@dataclass(kw_only=True, eq=False, repr=False)
class BoundaryDisplay(PairDisplay):
    """Data, classes and rules of a pair of classes in a plane.

    The plane goes through the midpoint of the means. It is spanned by the normal of
    the rule and by the principal direction of the pooled covariance orthogonal to it,
    in units of the pooled deviations of the features. Data and ellipses (one and two
    standard deviations) are projected onto it; rules and the quadratic boundary are
    drawn where they cut it. So with more than two features only the rule of the
    discriminant itself divides the projected data exactly as it divides the data.

    That rule is called "GLD", or by the name of its solver. Given training data, the
    display adds the rule that the paper's Algorithm 2 finds from it, "LNS". Rules that
    do not cut the plane are left out, and LDA where it always gives the same answer.

    Parameters
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
    quadratic : tuple of three ndarray or None
        Two axes and the log-odds of the second class on their grid.
    classes : ndarray of shape (2,)
        Labels.
    points : list of two ndarray of shape (n_k, 2) or None, default=None
        Projected data.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    lines_ : dict
        The lines of the rules.
    ellipses_, scatters_ : lists
        Of the classes.
    quadratic_ : matplotlib contour or None
        The quadratic boundary.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_breast_cancer
    >>> from heterolda import BoundaryDisplay, GaussianLinearDiscriminant
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GaussianLinearDiscriminant().fit(X, y)
    >>> display = BoundaryDisplay.from_estimator(model, X, y)
    >>> display.ax_.get_title()
    '0 or 1'
    >>> matplotlib.pyplot.close(display.figure_)
    """

    means: Any
    covariances: Any
    rules: Any
    errors: Any
    quadratic: Any
    classes: Any
    points: Any = None

    @classmethod
    def _values(cls, estimator, k, rows):
        if estimator.n_features_in_ < 2:
            raise ValueError("a plane needs at least two features, but there is only 1")
        if estimator.trivial_[k]:
            labels = estimator.classes_[estimator.pairs_[k]].tolist()
            raise ValueError(
                f"the rule of {labels} always chooses the same class and so has no "
                "normal: choose another pair, other priors or other costs"
            )
        frontier = estimator.frontier_[k]
        pencil, span = frontier.pencil, frontier.span
        coef, intercept = estimator.coef_[k], estimator.intercept_[k]

        def inner(*rule):  # in the coordinates of the pencil
            return rule if span is None else span.rules_inside(*rule)

        hyperplanes, errors = {}, {}
        fisher = SOLVERS["fisher"].solve(pencil, np.random.default_rng(0))
        if not fisher.trivial[0]:
            hyperplanes["LDA"] = fisher.coef[0], fisher.intercept[0]
            errors["LDA"] = f"LDA: error if normal {percent(fisher.error[0])}"
            if is_of_left_out_scores(estimator, k):
                errors["LDA"] = "LDA"  # its error is known under the model only
        name = _name(estimator._settings)
        hyperplanes[name] = inner(coef, intercept)
        error = percent(estimator.bayes_error_[k])
        errors[name] = f"{name}: {error_name(estimator, k)} {error}"
        if rows is not None and min(map(len, rows)) > 0:
            X = np.ascontiguousarray(np.concatenate(rows))
            first = np.arange(len(X)) < len(rows[0])
            search = paper_search(X, first, None, np.append(intercept, -coef))
            hyperplanes["LNS"] = inner(-search.v[1:], search.v[0])
            before, after = int(search.errors_start), int(search.errors)
            errors["LNS"] = f"Algorithm 2: {after} errors on the data, {name}: {before}"
        plane = _Plane(pencil, hyperplanes[name][0])
        points = None
        if rows is not None:
            shown = [thin(part) for part in rows]
            shown = shown if span is None else [span.coordinates(x) for x in shown]
            points = [plane.project(part) for part in shown]
        return {
            "means": plane.project(pencil.means[0]),
            "covariances": plane.axes.T @ pencil.covariances[0] @ plane.axes,
            "rules": {key: plane.cut(*rule) for key, rule in hyperplanes.items()},
            "errors": errors,
            "quadratic": plane.quadratic(pencil, span and span.statistics.coordinates),
            "classes": frontier.classes,
            "points": points,
        }

    def _draw_pair(self, ax):
        self.scatters_, self.ellipses_, self.lines_ = [], [], {}
        for k, color in enumerate(COLORS):
            if self.points is not None:
                dots = {"s": 7, "color": color, "alpha": 0.35, "linewidths": 0}
                self.scatters_.append(ax.scatter(*self.points[k].T, **dots))
            for radius in (1, 2):
                shape = self.means[k], self.covariances[k], radius
                ellipse = ellipse_of(*shape, color=color, lw=1.5)
                self.ellipses_.append(ax.add_patch(ellipse))
            (mean,) = ax.plot(*self.means[k], "o", color=color, mec="white", ms=8)
            mean.set_label(str(self.classes[k]))
        (left, right), (low, high) = limits_of(self.means, self.covariances)
        # Far outside, so that lines of any direction cross the picture.
        far = 4 * np.hypot(right - left, high - low)
        middle = np.array([0.5 * (left + right), 0.5 * (low + high)])
        for name, (a, b, c) in self.rules.items():
            if not np.hypot(a, b) > 0:
                continue
            normal = np.array([a, b]) / np.hypot(a, b)
            foot = middle - (normal @ middle + c / np.hypot(a, b)) * normal
            ends = foot + far * np.array([[-1], [1]]) * [-normal[1], normal[0]]
            style = _STYLES.get(name, _STYLES["GLD"]) | {"label": self.errors[name]}
            (self.lines_[name],) = ax.plot(*ends.T, **style)
        self.quadratic_ = None
        odds = 0.0 if self.quadratic is None else self.quadratic[2]
        if np.min(odds) < 0 < np.max(odds):
            style = {"levels": [0.0], "colors": "#8a4fbf", "linewidths": 1.6}
            self.quadratic_ = ax.contour(*self.quadratic, **style)
            ax.plot([], [], color="#8a4fbf", lw=1.6, label="quadratic boundary")
        ax.set(
            xlim=(left, right),
            ylim=(low, high),
            xlabel="along the normal of the rule",
            ylabel="widest direction within the rule",
        )


def _name(settings):
    """Return what the rule of a discriminant is called."""
    solver = resolve_solver(settings["solver"])
    name = _NAMES.get(type(solver), type(solver).__name__)
    if settings["costs"] is not None:
        name += " with costs"
    if settings["criterion"] != "bayes":
        name += f", {settings['criterion']}"
    return name


class _Plane:
    """The plane through the midpoint of the means, with two axes in it."""

    def __init__(self, pencil, coef):
        cov, weights = pencil.covariances[0], pencil.weights[0]
        pooled = np.tensordot(weights / weights.sum(), cov, axes=1)
        variance = np.diag(pooled)
        scale = np.sqrt(np.where(variance > 0, variance, 1.0))
        normal = coef * scale
        normal = normal / np.linalg.norm(normal)
        others = np.eye(len(coef)) - np.outer(normal, normal)
        within = others @ (pooled / np.outer(scale, scale)) @ others
        # The normal itself comes last, also where nothing else varies.
        widest = np.linalg.eigh(within - np.outer(normal, normal))[1][:, -1]
        self.origin = pencil.means[0].mean(axis=0)
        self.inside = scale[:, None] * np.column_stack([normal, widest])
        self.axes = np.column_stack([normal, widest]) / scale[:, None]
        ends = limits_of(self.project(pencil.means[0]), self.axes.T @ cov @ self.axes)
        self.grid = [np.linspace(*limits, 201) for limits in ends]

    def project(self, rows):
        """Return coordinates in the plane."""
        return (rows - self.origin) @ self.axes

    def cut(self, coef, intercept):
        """Return the line in which a hyperplane cuts the plane."""
        return (*(coef @ self.inside), coef @ self.origin + intercept)

    def quadratic(self, pencil, coordinates):
        """Return log-odds of the second class on a grid; None if infinite."""
        s, t = np.meshgrid(*self.grid)
        terms, odds = np.stack([np.ones_like(s), s, t]), []
        for mean, cov, prior in zip(
            pencil.means[0], pencil.covariances[0], pencil.priors[0], strict=True
        ):
            scale = np.sqrt(np.diag(cov))
            if not np.all(scale > 0):
                return None
            values, axes = np.linalg.eigh(cov / np.outer(scale, scale))
            if values[0] <= RANK_TOLERANCE * values[-1]:
                return None
            # The distance from the mean is a polynomial in s and t.
            z = np.vstack([self.origin - mean, self.inside.T]) / scale @ axes
            distance = np.einsum("ixy,ij,jxy->xy", terms, (z / values) @ z.T, terms)
            log_det = np.log(values).sum() + 2 * np.log(scale).sum()
            odds.append(np.log(prior) - 0.5 * (distance + log_det))
        # Classes have variances outside of all rows, too, where the plane does not go.
        n, (first, second) = outside_of(coordinates, pencil.covariances[0])
        return s, t, odds[1] - odds[0] - 0.5 * n * np.log(second / first)
