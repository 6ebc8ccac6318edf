"""Display the error along the arc of admissible rules."""

from __future__ import annotations

import numpy as np

from heterolda.foundations.roots import bracketed_roots
from heterolda.foundations.wording import percent
from heterolda.inspection.displays.base import COLORS, GRAY, INK, PairDisplay
from heterolda.solvers import SOLVERS

_METHODS = {"LDA": "fisher", "Algorithm 1": "fixed-point", "GLD": "global"}
_STYLES = {
    "LDA": {"marker": "s", "color": INK, "ms": 8, "zorder": 4},
    "Algorithm 1": {"marker": "x", "color": INK, "ms": 8, "mew": 1.4, "zorder": 4},
    "GLD": {"marker": "*", "color": COLORS[1], "ms": 17, "mew": 0, "zorder": 3},
}


class ErrorCurveDisplay(PairDisplay):
    """Error over the whole arc of admissible rules of a pair of classes.

    It also shows every local minimum, the rules that three methods find, and the proven
    lower bound of the error of any linear rule. It shows no rows.

    Attributes
    ----------
    theta, error : ndarray of shape (n_points,)
        The curve.
    minima : ndarray of shape (n_minima, 2)
        Positions and errors of the local minima.
    landings : dict
        For each method its position and error. LDA's rule has a normal of the arc, at
        45 degrees, but a different threshold, so it may lie off the curve.
    bound : float
        Proven lower bound of the error of any linear rule.
    trivial : float
        Error of always choosing the likelier class.
    classes : ndarray of shape (2,)
        Labels.
    ax_, figure_
        The axes and the figure.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from heterolda import GaussianLinearDiscriminant
    >>> from heterolda.inspection import ErrorCurveDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GaussianLinearDiscriminant().fit(X, y)
    >>> display = ErrorCurveDisplay.from_estimator(model)
    >>> sorted(display.landings)
    ['Algorithm 1', 'GLD', 'LDA']
    """

    def _measure(self, estimator, k, rows):
        frontier = estimator.frontier_[k]
        pencil, arc = frontier.pencil, frontier.arc
        p1, p2 = pencil.priors[0]
        # Points evenly spaced in theta, and points evenly spaced in the error rates.
        low, high = frontier.theta_range
        inner = np.linspace(low, high, 802)[1:-1]
        x = np.sort(np.append(frontier._positions(inner), frontier._curve(400)))
        e1, e2 = frontier._rates(x)
        minima = _local_minima(arc, x[1:-1] if not frontier.separable else x[:0])
        r1, r2 = frontier._rates(minima)
        self.theta, self.error = frontier._angles(x), p1 * e1 + p2 * e2
        self.minima = np.column_stack([frontier._angles(minima), p1 * r1 + p2 * r2])
        self.landings = {}
        for name, solver in _METHODS.items():
            rules = SOLVERS[solver].solve(pencil, np.random.default_rng(0))
            is_lda = name == "LDA" and not rules.trivial[0]
            theta = 0.25 * np.pi if is_lda else frontier._theta(rules)
            self.landings[name] = theta, float(rules.error[0])
        # The last of the methods is GLD, the global optimum.
        self.bound = float(rules.error[0] * (1 - rules.gap[0]))
        self.trivial = float(min(p1, p2))

    def _draw(self, ax):
        degrees = np.degrees(self.theta)
        ax.plot(degrees, self.error, color=COLORS[0], lw=2)
        style = {"facecolor": "none", "edgecolor": GRAY, "hatch": "////", "lw": 0}
        label = f"no linear rule below {percent(self.bound)}"
        ax.axhspan(0, self.bound, label=label, **style)
        style = {"color": GRAY, "lw": 1.2, "ls": (0, (1, 2))}
        ax.axhline(self.trivial, label="always the likelier class", **style)
        positions, errors = self.minima.T
        style = {"mfc": "white", "mec": COLORS[0], "ms": 11, "label": "local minima"}
        ax.plot(np.degrees(positions), errors, "o", **style)
        for name, (theta, error) in self.landings.items():
            style = {"ls": "", "label": f"{name}: {percent(error)}", "clip_on": False}
            ax.plot(np.degrees(theta), error, **style | _STYLES[name])
        errors = [error for _, error in self.landings.values()]
        highest = max(self.error.max(), self.trivial, *errors)
        self._finish(
            ax,
            xlim=(degrees.min(), degrees.max()),
            ylim=(0, 1.08 * highest),
            xlabel="position θ on the arc of admissible rules, in degrees",
            ylabel="error if the classes were normal",
        )


def _local_minima(arc, x):
    """Return the positions of local minima of the error between positions."""

    def slope_at(index, at):
        return arc.evaluate(np.zeros(len(index), np.intp), at).slope

    slope = slope_at(x, x)
    left = np.flatnonzero((slope[:-1] < 0) & (slope[1:] > 0))
    ends = x[left], x[left + 1]
    return bracketed_roots(slope_at, *ends, slope[left], slope[left + 1])
