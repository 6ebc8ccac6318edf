"""Other points of the optimal curve than that of least error.

Public are the curve and its points; other names of the files are not.
"""

from heterolda.tradeoff.frontier import Frontier
from heterolda.tradeoff.operating_points import OperatingPoint

__all__ = ["Frontier", "OperatingPoint"]
