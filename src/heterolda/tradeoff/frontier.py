"""Optimal trade-off between the two error rates of a pair of classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Amount, Array, Index, Priors
from heterolda.foundations.validation import check_priors
from heterolda.solvers import Global
from heterolda.solvers.arc import Arc
from heterolda.solvers.pencil import Moments, Pencil
from heterolda.solvers.rules import Rules
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.wide import Span, in_span
from heterolda.tradeoff.criteria import Criterion
from heterolda.tradeoff.operating_points import OperatingPoint, positions

_PAIR = np.array([[0, 1]])
# Largest normal deviate of the curve when it is drawn and integrated.
_REACH = 9.0
# Largest step of the quadrature in x, at which all g_i are smooth.
_STEP = 0.25


@dataclass(frozen=True, eq=False)
class Frontier:
    r"""Optimal ROC curve of two Gaussian classes: all admissible linear rules.

    For every :math:`\theta` in an open interval, the error rate of the first class
    under the rule

    .. math::
        w = (\sin\theta\, S_2 + \cos\theta\, S_1)^{-1} (m_1 - m_2), \quad
        w_0 = w \cdot m_2 + \sin\theta\, w' S_2 w

    increases with :math:`\theta`, and that of the second decreases. No other linear
    rule is better in both (Anderson and Bahadur 1962). They include rules with
    :math:`\sin\theta + \cos\theta < 0`, for which one class has a large error rate.

    Attributes
    ----------
    classes : ndarray of shape (2,)
        Labels of the first and the second class.
    pencil : Pencil
        Both classes in diagonal form, a batch of one.
    span : Span or None
        Coordinates of the pencil, if there are fewer rows than features.

    Notes
    -----
    If the difference of the means has no component along an extreme direction of the
    two covariances, part of the curve corresponds to a single :math:`\theta`, an end of
    the interval. `at` and `roc_curve` include this part; `error_rates` cannot.

    If a direction without variance separates the classes, its hyperplane is the rule
    for every :math:`\theta` inside the interval, with error rates of zero.

    References
    ----------
    T. W. Anderson and R. R. Bahadur (1962), "Classification into two multivariate
    normal distributions with different covariance matrices", The Annals of
    Mathematical Statistics 33, 420-431.

    Examples
    --------
    >>> from heterolda import ClassStatistics
    >>> from heterolda.inspection import Frontier
    >>> moments = ClassStatistics.from_moments(
    ...     ["sick", "well"], [50, 50], [[0, 0], [2, 1]], [[[1, 0], [0, 1]]] * 2
    ... )
    >>> frontier = Frontier.from_statistics(moments)
    >>> round(frontier.auc, 3)
    0.943
    >>> point = frontier.at("neyman-pearson", max_error={"sick": 0.01})
    >>> point.error_rates.round(3)
    array([0.01 , 0.536])
    """

    classes: NDArray[Any]
    pencil: Pencil
    span: Span | None = None

    @classmethod
    def from_statistics(
        cls,
        statistics: ClassStatistics,
        pair: tuple[Any, Any] | None = None,
        *,
        priors: Priors = None,
        shrinkage: Amount = "auto",
    ) -> Frontier:
        """Create the frontier of two classes from class statistics.

        Parameters
        ----------
        statistics : ClassStatistics
            Weights, means and covariances.
        pair : tuple of two labels or None, default=None
            The first and the second class. Not needed if there are only two.
        priors : array-like of shape (n_classes,), dict, "equal" or None, default=None
            Priors of all classes, as for :class:`GaussianLinearDiscriminant`.
        shrinkage : float in [0, 1], pair of floats, "auto" or None, default="auto"
            As for :meth:`ClassStatistics.covariances`.

        Returns
        -------
        Frontier
            The frontier.
        """
        if not isinstance(statistics, ClassStatistics):
            raise TypeError(
                "statistics must be a ClassStatistics object, got "
                f"{type(statistics).__name__}: use ClassStatistics.from_data(X, y)"
            )
        if pair is None and statistics.n_classes != 2:
            raise ValueError(
                "a frontier has two classes: choose two labels from "
                f"{statistics.classes.tolist()} with pair=(label, label)"
            )
        indices = [0, 1] if pair is None else check_pair(pair, statistics.classes)
        shares = check_priors(priors, statistics.classes, statistics.weights)
        stats, span = in_span(statistics, shrinkage)
        return cls._of_pair(stats, stats.covariances(shrinkage), shares, indices, span)

    @classmethod
    def _of_pair(
        cls,
        statistics: ClassStatistics,
        covariances: Array,
        priors: Array,
        indices: Index | list[int],
        span: Span | None,
    ) -> Frontier:
        """Return the frontier of two classes, given the covariances of all."""
        shares = priors[indices] / priors[indices].sum()
        moments = statistics.means[indices], covariances[indices], shares
        batch = [part[None] for part in (*moments, statistics.weights[indices])]
        return cls(statistics.classes[indices], Pencil.from_moments(*batch), span)

    def __repr__(self) -> str:
        n_features = self.pencil.means.shape[-1]
        if self.span is not None:
            n_features = len(self.span.origin)
        return f"Frontier(classes={self.classes.tolist()!r}, {n_features=})"

    @cached_property
    def arc(self) -> Arc:
        """Return the arc of admissible rules."""
        return Arc.from_pencil(self.pencil)

    @property
    def theta_range(self) -> tuple[float, float]:
        """Return the ends of the interval of theta."""
        return -float(self.arc.low[0]), 0.5 * np.pi + float(self.arc.high[0])

    @property
    def separable(self) -> bool:
        """Return whether a direction without variance separates the classes."""
        return bool(self.pencil.separation.any())

    def error_rates(self, theta: ArrayLike) -> tuple[Array, Array]:
        """Return error rates of both classes along the curve.

        Parameters
        ----------
        theta : float or array-like
            Positions within `theta_range`, ends included.

        Returns
        -------
        e1, e2 : ndarray of the shape of `theta`
            Error rates of the first and the second class.
        """
        angle = np.asarray(theta, dtype=np.float64)
        e1, e2 = self._rates(self._positions(angle))
        return e1.reshape(angle.shape), e2.reshape(angle.shape)

    def at(
        self,
        criterion: str = "bayes",
        *,
        priors: Priors = None,
        costs: ArrayLike | dict[Any, Any] | None = None,
        max_error: dict[Any, float] | None = None,
    ) -> OperatingPoint:
        """Return the rule that is optimal for a criterion.

        Parameters
        ----------
        criterion : {"bayes", "minimax", "neyman-pearson"}, default="bayes"
            What to minimize: the error or expected cost; the larger of the two error
            rates; or the error rate of one class while the other's is bounded.
        priors : array-like of shape (2,), dict, "equal" or None, default=None
            Priors of the two classes. If None, those of the frontier.
        costs : array-like of shape (2, 2), dict of dict or None, default=None
            For "bayes": ``costs[i][j]`` is the cost of predicting j when i is true.
        max_error : dict or None, default=None
            For "neyman-pearson": ``{label: q}``, a bound under the Gaussian model.

        Returns
        -------
        OperatingPoint
            The rule, computed from the moments alone.
        """
        goal = Criterion.resolve(criterion, costs, max_error, self.classes, Global())
        pencil = self.pencil
        if priors is not None:
            pair_priors = check_priors(priors, self.classes, np.ones(2))
            pencil = replace(pencil, priors=pair_priors[None])
        p = pencil.priors[0]
        shares = goal.cost_weighted_priors(p, _PAIR)
        if shares is not None:
            pencil = replace(pencil, priors=shares / shares.sum())
        rules = goal.solver.solve(pencil, np.random.default_rng())
        moments = Moments(
            pencil.means[0],
            pencil.covariances[0],
            pencil.priors[0],
            pencil.weights[0],
            _PAIR,
        )
        rules, rates, cost = goal.rate(rules.with_rounding(moments), p, _PAIR)
        coef, intercept = self._in_features(rules.coef, rules.intercept)
        return OperatingPoint(
            criterion=criterion,
            theta=self._theta(rules),
            coef=coef[0],
            intercept=float(intercept[0]),
            error_rates=rates[0],
            error=float(rules.error[0]),
            expected_cost=float(cost[0]),
            gap=float(rules.gap[0]),
        )

    def roc_curve(self, n_points: int = 200) -> tuple[Array, Array, Array]:
        """Return the optimal linear ROC curve; the second class is the positive one.

        Parameters
        ----------
        n_points : int, default=200
            Number of points between the two ends. Half are evenly spaced in the normal
            deviates of one error rate, half in those of the other.

        Returns
        -------
        fpr : ndarray of shape (n_points + 2,)
            False positive rates, increasing: error rates of the first class.
        tpr : ndarray of shape (n_points + 2,)
            True positive rates: one minus the error rates of the second class.
        theta : ndarray of shape (n_points + 2,)
            Positions on the arc, in place of thresholds.
        """
        x = self._curve(n_points)
        e1, e2 = self._rates(x)
        return e1, 1 - e2, self._angles(x)

    @cached_property
    def auc(self) -> float:
        """Return the area under the optimal linear ROC curve, to about 12 digits."""
        if self.separable:
            return 1.0
        # 1 - area = integral of e2 de1, de1 = phi(y1) (-dy1/dx) dx. Between nodes, y1
        # and y2 change by at most 0.5, and x by at most _STEP.
        y = np.arange(-_REACH, _REACH + 0.1, 0.5)
        x = self._nodes(y, y)
        parts = np.maximum(np.ceil(np.diff(x) / _STEP), 1).astype(int)
        widths = np.repeat(np.diff(x) / parts, parts)
        count = np.arange(len(widths)) - np.repeat(np.cumsum(parts) - parts, parts)
        left = np.repeat(x[:-1], parts) + count * widths
        nodes, weights = np.polynomial.legendre.leggauss(10)
        points = left[:, None] + widths[:, None] * 0.5 * (nodes + 1)
        zeros = np.zeros(points.size, np.intp)
        y1, y2, speed = self.arc.speeds(zeros, points.ravel())
        values = ndtr(-y2) * np.exp(-0.5 * y1 * y1) / np.sqrt(2 * np.pi) * speed
        sums = values.reshape(points.shape) @ weights
        return float(1 - 0.5 * sums @ widths)

    def _nodes(self, y1: Array, y2: Array) -> Array:
        """Return the sorted positions at which y1 or y2 has one of the given values."""
        x1 = positions(self.arc, np.zeros(len(y1), np.intp), 0, y1)
        x2 = positions(self.arc, np.zeros(len(y2), np.intp), 1, y2)
        return np.sort(np.append(x1, x2))

    def _curve(self, n_points: int) -> Array:
        """Return positions for a smooth plot of the curve, including both ends."""
        if not isinstance(n_points, Integral) or n_points < 2:
            raise ValueError(f"n_points must be an integer >= 2, got {n_points!r}")
        halves = (n_points + 1) // 2, n_points // 2
        x = self._nodes(*(np.linspace(-_REACH, _REACH, count) for count in halves))
        return np.concatenate([[-np.inf], x, [np.inf]])

    def _rates(self, x: Array) -> tuple[Array, Array]:
        """Return error rates at positions x."""
        inside = np.isfinite(x)
        e1, e2 = (x > 0).astype(float), (x < 0).astype(float)
        points = self.arc.evaluate(np.zeros(inside.sum(), np.intp), x[inside])
        e1[inside], e2[inside] = ndtr(-points.y1), ndtr(-points.y2)
        if self.separable:
            e1[inside], e2[inside] = 0.0, 0.0
        return e1, e2

    def _rules(self, x: Array) -> tuple[Array, Array]:
        """Return normals and offsets at finite positions x."""
        pencil = self.pencil
        u, t = self.arc.rules(np.zeros(x.size, np.intp), x)
        w = u @ pencil.basis[0].T
        if self.separable:
            w, t = np.tile(pencil.separation, (x.size, 1)), np.ones(x.size)
        return self._in_features(-w, w @ pencil.means[0, 1] + t)

    def _in_features(self, coef: Array, intercept: Array) -> tuple[Array, Array]:
        """Convert rules from the coordinates of the pencil to features."""
        if self.span is None:
            return coef, intercept
        return self.span.rules(coef, intercept)

    def _positions(self, theta: Array) -> Array:
        """Return positions x = ln(p / q), with the distances p and q from the ends."""
        low, high = self.theta_range
        angle = theta.ravel()
        if not np.all((low <= angle) & (angle <= high)):
            raise ValueError(
                f"theta must lie in theta_range, from {low:.6g} to {high:.6g}, where "
                "the rules are admissible"
            )
        with np.errstate(divide="ignore"):
            x: Array = np.log(angle - low) - np.log(high - angle)
        return x

    def _angles(self, x: Array) -> Array:
        """Return angles at positions, the inverse of `_positions`."""
        low, high = self.theta_range
        with np.errstate(over="ignore"):
            near = (high - low) / (1 + np.exp(np.abs(x)))
        return np.where(x <= 0, low + near, high - near)

    def _theta(self, rules: Rules) -> float:
        """Return the position of a rule on the arc."""
        low, high = self.theta_range
        if rules.trivial[0]:
            return high if rules.intercept[0] > 0 else low
        if self.separable:
            return 0.25 * np.pi
        # The error rate that is farther from its tail determines theta better.
        y = [-1, 1] * rules.means[0] / rules.deviations[0]
        k = int(np.abs(y).argmin())
        x = positions(self.arc, np.zeros(1, np.intp), k, y[k : k + 1])
        return float(self._angles(x)[0])


def check_pair(pair: Any, classes: NDArray[Any]) -> list[int]:
    """Return the class indices of two labels, in the order given."""
    labels = classes.tolist()
    names = [] if isinstance(pair, str) or not hasattr(pair, "__len__") else list(pair)
    indices = [labels.index(label) for label in names if label in labels]
    if len(names) != 2 or len(set(indices)) != 2:
        raise ParameterError(
            "pair",
            f"must be two different labels from {labels}, got {pair!r}",
        )
    return indices
