"""Rules on the optimal trade-off curve, and criteria to choose among them."""

from heterolda.tradeoff.frontier import Frontier
from heterolda.tradeoff.operating_points import OperatingPoint

__all__ = ["Frontier", "OperatingPoint"]
