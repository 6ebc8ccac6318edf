"""Values and gradients of the smooth count where the rows are.

L-BFGS itself works on a few numbers, on the host: there it is the one of
:mod:`heterolda.kernels.lbfgs`, on all problems at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.devices import Device, to_host
from heterolda.foundations.types import Array


class DescentRows:
    """Rows on a device: coordinates Z (n, r), margins at the start, and weights."""

    def __init__(self, device: Device, Z: Any, start: Array, weight: Array):
        self.device, self.Z = device, Z
        self.start, self.weight = device.put(start), device.put(weight)

    def objective(
        self, loss: NDArray[np.str_], h: Array, penalty: Array, u: Array
    ) -> tuple[Array, Array]:
        """Values and gradients of problems at u, of shape (n_problems, r)."""
        value, gradient = np.empty(len(u)), np.empty(u.shape)
        with np.errstate(all="ignore"):
            for name in np.unique(loss).tolist():
                own = loss == name
                value[own], gradient[own] = self._sums(name, h[own], u[own])
        value += penalty * np.einsum("pi,pi->p", u, u)
        return value, gradient / h[:, None] + 2 * penalty[:, None] * u

    def _sums(self, loss: str, h: Array, u: Array) -> tuple[Array, Array]:
        """Means of the loss, and of its derivative times coordinates."""
        xp = self.device.xp
        x = xp.matmul(self.device.put(u), self.Z.T)
        x += self.start
        x *= self.device.put(1 / h)[:, None]
        q = 1.0 / (xp.exp(x) + 1.0)
        if loss == "error":
            value, slope = q, q * (q - 1.0)
        else:
            value = xp.where(x < 0.0, -x, xp.zeros_like(x))
            value = value - xp.log(xp.where(q < 0.5, 1.0 - q, q))
            slope = -q
        slope *= self.weight
        sums = xp.matmul(value, self.weight)[:, None]
        found = to_host(xp.concat([sums, xp.matmul(slope, self.Z)], axis=1))
        return found[:, 0], found[:, 1:]

    def cost(self, costs: Array, u: Array) -> float:
        """The costs of all wrong rows at u, of shape (r,)."""
        xp = self.device.xp
        margins = self.start + xp.matmul(self.Z, self.device.put(u))
        return float(costs[to_host(margins <= 0.0)].sum())
