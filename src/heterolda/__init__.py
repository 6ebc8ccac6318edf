"""Linear classification when the classes have unequal covariances."""

from heterolda.solvers import Fisher, FixedPoint, Global, Grid, RandomSearch
from heterolda.statistics import ClassStatistics

__all__ = [
    "ClassStatistics",
    "Fisher",
    "FixedPoint",
    "Global",
    "Grid",
    "RandomSearch",
]

__version__ = "0.1.0"
