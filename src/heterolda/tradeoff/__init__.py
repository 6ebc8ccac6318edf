"""Rules on the optimal curve other than that of minimum error."""

from heterolda.tradeoff.frontier import Frontier
from heterolda.tradeoff.operating_points import OperatingPoint

__all__ = ["Frontier", "OperatingPoint"]
