"""Probabilities that fit rows held out, on arrays."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from heterolda.foundations.types import Array, Index

# Limits of the logarithm of the power that sharpens probabilities.
_MOST_LOG_POWER = 2.0


def power_of_probabilities(probabilities: Array, truth: Index, weight: Array) -> float:
    """Power that makes probabilities, scaled to sum to one, fit the classes best.

    It has the largest likelihood on rows held out, with positive `probabilities`.
    """
    logs = np.log(probabilities)
    logs -= logs.max(axis=1, keepdims=True)
    own = logs[np.arange(len(truth)), truth]

    def loss(log_power: float) -> float:
        power = np.exp(log_power)
        total = np.log(np.exp(power * logs).sum(axis=1))
        return float(weight @ (total - power * own))

    limits = (-_MOST_LOG_POWER, _MOST_LOG_POWER)
    return float(np.exp(minimize_scalar(loss, bounds=limits, method="bounded").x))
