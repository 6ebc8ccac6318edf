"""Arc of admissible rules of a pair of classes.

With a = sin(theta), b = cos(theta), the rules

    w(theta) = V (c / g),   g_i = alpha_i cos(theta) + beta_i sin(theta)
    w0(theta) = w.m1 - cos(theta) sigma1^2 = w.m2 + sin(theta) sigma2^2

for which every g_i > 0 form an open arc of theta, and every admissible linear rule
for two Gaussians is one of them (Anderson and Bahadur 1962). Along it

    y1 = sigma1 cos(theta) decreases,   y2 = sigma2 sin(theta) increases

so the errors e1 = Phi(-y1) and e2 = Phi(-y2) trade off monotonically; and
sigma1 / sigma2 increases, because larger theta shifts the weights u_i^2 of
sigma1^2 / (sigma1^2 + sigma2^2) = sum alpha_i u_i^2 / sum u_i^2 to larger alpha_i.

A point of the arc has the position x = ln(p / q), where p and q are its distances from
the low and the high end. Near an end one g_i vanishes; measured from that end it
keeps its relative precision, and equal steps of x approach the end geometrically.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_ndtr

from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.rounding import LIFTED_COMPONENT, ZERO_SLOPE, ZERO_SUM
from heterolda.solvers.pencil import Pencil

# Rows of `ArcPoints` at the low and the high end, without the priors.
with np.errstate(divide="ignore", invalid="ignore"):
    _ENDS = np.array([[-1, -1, 0, 0, 1, -1, 0, 0], [1, 0, -1, 0, -1, 1, 0, 0]]) / 0.0


class _Row:
    """Attribute that reads a row of the table of `ArcPoints`."""

    def __init__(self, k: int) -> None:
        self.k = k

    def __get__(self, points: ArcPoints, owner: type) -> Array:
        row: Array = points.table[self.k]
        return row


@dataclass(frozen=True)
class ArcPoints:
    """Points on arcs, with errors and quantities that are monotone along arcs."""

    table: Array  # (8, m): one row per quantity, so that points are copied in one step

    x = _Row(0)  # positions; -inf and inf are the ends
    log_error1 = _Row(1)  # ln(p1 e1)
    log_error2 = _Row(2)  # ln(p2 e2)
    log_error = _Row(3)  # ln(p1 e1 + p2 e2)
    y1 = _Row(4)  # distance of the threshold from the mean of class 1, in deviations
    y2 = _Row(5)  # y of class 2
    log_ratio = _Row(6)  # ln(sigma1 / sigma2)
    slope = _Row(7)  # has the sign of d p_e / d theta; 0 where (29) holds

    def take(self, index: Index) -> ArcPoints:
        """Select points by index."""
        return ArcPoints(self.table.take(index, axis=1))

    @staticmethod
    def concatenate(points: list[ArcPoints]) -> ArcPoints:
        """Join several records of points."""
        return ArcPoints(np.concatenate([part.table for part in points], axis=1))


@dataclass(frozen=True)
class Arc:
    """Arcs of a batch of pairs.

    The ends are at theta = -low and theta = pi/2 + high. The forms are coefficients of
    g with respect to the sine and cosine of the distance from the low end, and from the
    high end. All are non-negative, so that g keeps its relative precision.
    """

    c: Array  # from the pencil, raised in the hard case, (n_pairs, n_features)
    diagonals: Array  # alpha and beta, (n_pairs, n_features, 2)
    forms: Array  # (n_pairs, 4, n_features)
    low: Array  # (n_pairs,)
    high: Array
    log_priors: Array  # ln p1 and ln p2, (2, n_pairs)

    @classmethod
    def from_pencil(cls, pencil: Pencil) -> Arc:
        """Find the ends of the arcs of a batch of pairs."""
        alpha, beta, c = pencil.alpha, pencil.beta, pencil.c.copy()
        diagonals = np.array([alpha, beta])
        zeros = np.arctan2(diagonals, diagonals[::-1])  # psi and phi: they sum to pi/2
        rows = np.arange(len(c))
        lift = LIFTED_COMPONENT * np.abs(c).max(axis=1)
        lift[lift == 0] = LIFTED_COMPONENT
        for pole in zeros.argmin(axis=2):
            at_pole, axis = c[rows, pole], pencil.basis[rows, :, pole]
            # If only rounding decides between two mirrored rules, choose the one whose
            # largest coefficient in this direction is positive.
            size = np.abs(axis)
            delta = np.abs(pencil.means[:, 0] - pencil.means[:, 1])
            small = np.abs(at_pole) < np.maximum(
                lift, ZERO_SUM * (size * delta).sum(axis=1)
            )
            if small.any():
                size *= np.sqrt(np.einsum("pkii->pi", pencil.covariances))
                sign = axis[rows, size.argmax(axis=1)]
                c[rows, pole] = np.where(small, np.copysign(lift, sign), at_pole)
        ends = zeros.min(axis=2)
        # With r_i = hypot(alpha_i, beta_i), at the distance p from the low end and q
        # from the high one, g_i = r_i sin(p + psi_i - low) = r_i sin(q + phi_i - high).
        beyond = zeros - ends[:, :, None]
        forms = np.stack([np.cos(beyond), np.sin(beyond)], axis=1).reshape(4, *c.shape)
        forms *= np.hypot(alpha, beta)
        return cls(
            c=c,
            diagonals=np.ascontiguousarray(diagonals.transpose(1, 2, 0)),
            forms=np.ascontiguousarray(forms.swapaxes(0, 1)),
            low=ends[0],
            high=ends[1],
            log_priors=np.log(pencil.priors.T),
        )

    def coordinates(self, pair: Index, x: Array) -> tuple[Array, Array, Array]:
        """Return coordinates u = c / g of w = V u at points x of the arcs of pairs.

        Also return the weights b = cos(theta) of S1 and a = sin(theta) of S2.
        """
        g, (cos, sin), _ = self._forms_at(pair, x[:, None])
        return self.c[pair] / g[:, 0], cos[:, 0], sin[:, 0]

    def rules(self, pair: Index, x: Array) -> tuple[Array, Array]:
        """Return coordinates u of w = V u at points x, and thresholds t.

        They have the scale of (11) where that exists, with weights that sum to one: for
        equal covariances the score is then the log-odds.
        """
        u, cos, sin = self.coordinates(pair, x)
        size = np.where(cos + sin > 0, cos + sin, 1.0)
        u *= size[:, None]
        variances = np.einsum("mi,mi->m", u * u, self.diagonals[pair, :, 1])
        t: Array = sin / size * variances
        return u, t

    def _forms_at(self, pair: Index, x: Array) -> tuple[Array, Array, Array]:
        """Return the g_i, the cosine and sine of theta, and d theta / dx."""
        low, high = self.low[pair, None], self.high[pair, None]
        length = low + high + 0.5 * np.pi
        is_low = x <= 0
        share = expit(-np.abs(x))
        near = length * share  # distance from the nearer end
        weights = np.empty((*x.shape, 4))
        sin = np.sin(near, out=weights[..., 2])
        cos = np.cos(near, out=weights[..., 3])
        np.multiply(sin, is_low, out=weights[..., 0])
        np.multiply(cos, is_low, out=weights[..., 1])
        weights[..., 2:] -= weights[..., :2]
        far = length - near
        circle = np.empty((2, *x.shape))
        np.subtract(np.where(is_low, far, near), high, out=circle[0])
        np.subtract(np.where(is_low, near, far), low, out=circle[1])
        g = weights @ self.forms[pair]
        return g, np.sin(circle, out=circle), near * (1 - share)

    def evaluate(self, pair: Index, x: Array) -> ArcPoints:
        """Return points x on the arcs of pairs, with their errors.

        If x has shape (m, k), with k points on each of m arcs, they are flattened.
        """
        table = np.empty((8, x.size))
        x = x[:, None] if x.ndim == 1 else x
        grid = table.reshape(8, *x.shape)
        g, circle, _ = self._forms_at(pair, x)
        with np.errstate(over="ignore", invalid="ignore"):
            u = np.divide(self.c[pair][:, None], g, out=g)
            u *= u
            variances = (u @ self.diagonals[pair]).transpose(2, 0, 1)
            grid[0] = x
            y = np.multiply(np.sqrt(variances), circle, out=grid[4:6])
            # Where squares overflow, the ratio and the slope are NaN.
            grid[6] = 0.5 * np.log(variances[0] / variances[1])
            log_priors = self.log_priors[:, pair, None]
            np.add(log_priors, log_ndtr(-y), out=grid[1:3])
            np.logaddexp(grid[1], grid[2], out=grid[3])
            squares = y * y
            slope = log_priors[0] - log_priors[1] - grid[6]
            slope -= 0.5 * (squares[0] - squares[1])
            # A slope that rounding cannot distinguish from zero marks a minimum.
            slope[np.abs(slope) < ZERO_SLOPE * (1 + squares[0] + squares[1])] = 0.0
            grid[7] = slope
        return ArcPoints(table)

    def speeds(self, pair: Index, x: Array) -> tuple[Array, Array, Array]:
        """Return y1, y2 and -dy1/dx at points x of the arcs of pairs."""
        g, circle, dtheta = self._forms_at(pair, x[:, None])
        g, (cos, sin), diagonals = g[:, 0], circle[:, :, 0], self.diagonals[pair]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            square = (self.c[pair] / g) ** 2
            v1, v2 = np.einsum("mi,mik->km", square, diagonals)
            # With T = sum of alpha beta u^2 / g, d y1 = -T/sigma1.
            T = (diagonals.prod(axis=2) * square / g).sum(axis=1)
            return np.sqrt(v1) * cos, np.sqrt(v2) * sin, dtheta[:, 0] * T / np.sqrt(v1)

    def ends(self, pair: Index) -> tuple[ArcPoints, ArcPoints]:
        """Return the limits at the ends, where one class is always classified right."""
        log1, log2 = self.log_priors[:, pair]
        low, high = np.repeat(_ENDS[:, :, None], len(pair), axis=2)
        low[2], low[3] = log2, log2
        high[1], high[3] = log1, log1
        return ArcPoints(low), ArcPoints(high)

    def slope_bounds(
        self, pair: Index, a: ArcPoints, b: ArcPoints
    ) -> tuple[Array, Array]:
        """Bound the slope on the pieces from a to b, by monotonicity."""
        log1, log2 = self.log_priors[:, pair]
        prior = log1 - log2
        sizes = np.abs(a.table[4:6]), np.abs(b.table[4:6])
        with np.errstate(invalid="ignore"):
            y1_max, y2_max = np.maximum(*sizes)
            y1_min = np.maximum(np.maximum(b.y1, -a.y1), 0.0)
            y2_min = np.maximum(np.maximum(a.y2, -b.y2), 0.0)
            lower = prior - b.log_ratio - 0.5 * (y1_max**2 - y2_min**2)
            upper = prior - a.log_ratio - 0.5 * (y1_min**2 - y2_max**2)
        return lower, upper
