"""Linear classification when the classes have unequal covariances."""

from importlib import import_module
from typing import Any

from heterolda.discriminant import GaussianLinearDiscriminant
from heterolda.exceptions import (
    MissingRowsWarning,
    SearchInterruptedWarning,
    SmallClassWarning,
    TrivialRuleWarning,
)
from heterolda.frontier import Frontier
from heterolda.local_search import LocalNeighborhoodSearch
from heterolda.recipes import recommended
from heterolda.solvers import Fisher, FixedPoint, Global, Grid, RandomSearch
from heterolda.statistics import ClassStatistics

__all__ = [
    "BoundaryDisplay",
    "BoxTest",
    "ClassStatistics",
    "ErrorCurveDisplay",
    "Fisher",
    "FixedPoint",
    "Frontier",
    "FrontierDisplay",
    "GaussianLinearDiscriminant",
    "Global",
    "Grid",
    "HeteroscedasticityReport",
    "LocalNeighborhoodSearch",
    "MissingRowsWarning",
    "OperatingPoint",
    "ProjectionDisplay",
    "RandomSearch",
    "SearchInterruptedWarning",
    "SmallClassWarning",
    "TrivialRuleWarning",
    "heteroscedasticity_report",
    "load",
    "recommended",
    "save",
]

__version__ = "0.1.0"

# Names that are imported when they are first used.
_LAZY = {
    "BoundaryDisplay": "displays.boundary",
    "BoxTest": "heteroscedasticity",
    "ErrorCurveDisplay": "displays.error_curve",
    "FrontierDisplay": "displays.frontier_curve",
    "HeteroscedasticityReport": "heteroscedasticity",
    "OperatingPoint": "operating_points",
    "ProjectionDisplay": "displays.projection",
    "heteroscedasticity_report": "heteroscedasticity",
    "load": "export",
    "save": "export",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"heterolda.{_LAZY[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
