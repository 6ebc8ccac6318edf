"""The arc of admissible rules of a pair of classes.

With a = sin(theta), b = cos(theta), the rules

    w(theta) = V (c / g),   g_i = alpha_i cos(theta) + beta_i sin(theta)
    w0(theta) = w.m1 - cos(theta) sigma1^2 = w.m2 + sin(theta) sigma2^2

for which every g_i > 0 form an open arc of theta, and every admissible linear rule
for two Gaussians is one of them (Anderson and Bahadur 1962). Along it

    y1 = sigma1 cos(theta) falls,   y2 = sigma2 sin(theta) grows

so the errors e1 = Phi(-y1) and e2 = Phi(-y2) trade off monotonically; and
sigma1 / sigma2 grows, because larger theta shifts the weights u_i^2 of
sigma1^2 / (sigma1^2 + sigma2^2) = sum alpha_i u_i^2 / sum u_i^2 to larger alpha_i.

A point of the arc is given by x = ln(p / q), where p and q are its distances from
the low and the high end. Near an end one g_i vanishes; measured from that end it
keeps its relative precision, and equal steps of x approach the end geometrically.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_ndtr

from heterolda.pencil import Pencil

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# In the hard case c_i = 0 at the end of the arc and the admissible rules go on as
# w(end) + eta V_i. Lifting c_i to this share of |c| lets the arc itself make that
# turn, without any visible change to the problem.
_LIFT = 1e-30


class ArcPoints(NamedTuple):
    """Points on arcs, and the quantities that are monotone along them.

    Attributes
    ----------
    x : ndarray of shape (m,)
        Positions; -inf and inf are the ends.
    log_error1, log_error2 : ndarray of shape (m,)
        ln(p1 e1) and ln(p2 e2).
    y1, y2 : ndarray of shape (m,)
        Distances of the threshold from the class means, in standard deviations.
    log_ratio : ndarray of shape (m,)
        ln(sigma1 / sigma2).
    """

    x: Array
    log_error1: Array
    log_error2: Array
    y1: Array
    y2: Array
    log_ratio: Array

    @property
    def log_error(self) -> Array:
        """ln(p1 e1 + p2 e2)."""
        total: Array = np.logaddexp(self.log_error1, self.log_error2)
        return total

    def take(self, index: Index | NDArray[np.bool_]) -> ArcPoints:
        """Select points by index or mask."""
        return ArcPoints(*(column[index] for column in self))

    @staticmethod
    def concatenate(parts: list[ArcPoints]) -> ArcPoints:
        """Join lists of points."""
        return ArcPoints(*map(np.concatenate, zip(*parts, strict=True)))


@dataclass(frozen=True)
class Arc:
    """The arcs of a batch of pairs, ready to be evaluated anywhere.

    Attributes
    ----------
    alpha, beta, c : ndarray of shape (n_pairs, n_features)
        From the pencil; c is lifted in the hard case.
    radius : ndarray of shape (n_pairs, n_features)
        r_i = hypot(alpha_i, beta_i), so that g_i = r_i cos(theta - phi_i).
    from_low, from_high : ndarray of shape (n_pairs, n_features)
        Distances of the zeros of g_i from the two ends, beyond the arc.
    low, high : ndarray of shape (n_pairs,)
        The ends lie at theta = -low and theta = pi/2 + high.
    log_priors : ndarray of shape (n_pairs, 2)
        ln p1 and ln p2.
    """

    alpha: Array
    beta: Array
    c: Array
    radius: Array
    from_low: Array
    from_high: Array
    low: Array
    high: Array
    log_priors: Array

    @classmethod
    def from_pencil(cls, pencil: Pencil) -> Arc:
        """Find the ends of the arcs of a batch of pairs."""
        alpha, beta, c = pencil.alpha, pencil.beta, pencil.c.copy()
        psi, phi = np.arctan2(alpha, beta), np.arctan2(beta, alpha)  # sum to pi/2
        rows = np.arange(len(c))
        lift = _LIFT * np.max(np.abs(c), axis=1)
        lift[lift == 0] = _LIFT
        for pole in (np.argmin(psi, axis=1), np.argmin(phi, axis=1)):
            small = np.abs(c[rows, pole]) < lift
            sign = np.where(c[rows, pole] < 0, -1.0, 1.0)
            c[rows, pole] = np.where(small, sign * lift, c[rows, pole])
        low, high = psi.min(axis=1), phi.min(axis=1)
        return cls(
            alpha=alpha,
            beta=beta,
            c=c,
            radius=np.hypot(alpha, beta),
            from_low=psi - low[:, None],
            from_high=phi - high[:, None],
            low=low,
            high=high,
            log_priors=np.log(pencil.priors),
        )

    def coordinates(self, pair: Index, x: Array) -> tuple[Array, Array, Array]:
        """Coordinates u of w = V u at points of the arcs.

        Parameters
        ----------
        pair : ndarray of shape (m,)
            Which arc each point lies on.
        x : ndarray of shape (m,)
            Positions.

        Returns
        -------
        u : ndarray of shape (m, n_features)
            c / g.
        cos, sin : ndarray of shape (m,)
            The weights b = cos(theta) of S1 and a = sin(theta) of S2.
        """
        low, high = self.low[pair], self.high[pair]
        length = low + 0.5 * np.pi + high
        p, q = length * expit(x), length * expit(-x)
        near_low = (p <= q)[:, None]
        # g_i = r_i sin(p + psi_i - low) = r_i sin(q + phi_i - high)
        angle = np.where(
            near_low,
            p[:, None] + self.from_low[pair],
            q[:, None] + self.from_high[pair],
        )
        u = self.c[pair] / (self.radius[pair] * np.sin(angle))
        return u, np.sin(q - high), np.sin(p - low)

    def evaluate(self, pair: Index, x: Array) -> ArcPoints:
        """Errors at points of the arcs; arguments as for `coordinates`."""
        u, cos, sin = self.coordinates(pair, x)
        with np.errstate(over="ignore", invalid="ignore"):
            square = u**2
            sigma1 = np.sqrt(np.einsum("mi,mi->m", square, self.alpha[pair]))
            sigma2 = np.sqrt(np.einsum("mi,mi->m", square, self.beta[pair]))
            y1, y2 = sigma1 * cos, sigma2 * sin
            # Where squares overflow the ratio is unknown: no sign of the slope is.
            log_ratio = np.log(sigma1 / sigma2)
        return ArcPoints(
            x=x,
            log_error1=self.log_priors[pair, 0] + log_ndtr(-y1),
            log_error2=self.log_priors[pair, 1] + log_ndtr(-y2),
            y1=y1,
            y2=y2,
            log_ratio=log_ratio,
        )

    def ends(self, pair: Index) -> tuple[ArcPoints, ArcPoints]:
        """The limits at the two ends: each class in turn is always right."""
        log1, log2 = self.log_priors[pair].T
        infinity = np.full(len(pair), np.inf)
        unknown = np.full(len(pair), np.nan)
        low = ArcPoints(-infinity, -infinity, log2, infinity, -infinity, unknown)
        high = ArcPoints(infinity, log1, -infinity, -infinity, infinity, unknown)
        return low, high

    def slope(self, pair: Index, points: ArcPoints) -> Array:
        """A number with the sign of d p_e / d theta (condition (29) is slope = 0)."""
        log1, log2 = self.log_priors[pair].T
        with np.errstate(invalid="ignore"):  # NaN at the ends: no sign is known
            squares = points.y1**2 - points.y2**2
        slope: Array = log1 - log2 - points.log_ratio - 0.5 * squares
        return slope

    def slope_bounds(
        self, pair: Index, a: ArcPoints, b: ArcPoints
    ) -> tuple[Array, Array]:
        """Bounds of `slope` on the pieces from a to b, by monotonicity."""
        log1, log2 = self.log_priors[pair].T
        with np.errstate(invalid="ignore"):
            y1_most = np.maximum(np.abs(a.y1), np.abs(b.y1))
            y1_least = np.maximum(np.maximum(b.y1, -a.y1), 0.0)
            y2_most = np.maximum(np.abs(a.y2), np.abs(b.y2))
            y2_least = np.maximum(np.maximum(a.y2, -b.y2), 0.0)
            prior = log1 - log2
            lower = prior - b.log_ratio - 0.5 * (y1_most**2 - y2_least**2)
            upper = prior - a.log_ratio - 0.5 * (y1_least**2 - y2_most**2)
        return lower, upper
