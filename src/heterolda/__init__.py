"""Linear classification when the classes have unequal covariances."""

from heterolda.discriminant import GaussianLinearDiscriminant
from heterolda.exceptions import (
    SearchInterruptedWarning,
    SmallClassWarning,
    TrivialRuleWarning,
)
from heterolda.local_search import LocalNeighborhoodSearch
from heterolda.recipes import recommended
from heterolda.solvers import Fisher, FixedPoint, Global, Grid, RandomSearch
from heterolda.statistics import ClassStatistics

__all__ = [
    "ClassStatistics",
    "Fisher",
    "FixedPoint",
    "GaussianLinearDiscriminant",
    "Global",
    "Grid",
    "LocalNeighborhoodSearch",
    "RandomSearch",
    "SearchInterruptedWarning",
    "SmallClassWarning",
    "TrivialRuleWarning",
    "recommended",
]

__version__ = "0.1.0"
