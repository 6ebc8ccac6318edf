"""Linear classification when the classes have unequal covariances."""

from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heterolda.discriminant import GaussianLinearDiscriminant
    from heterolda.exceptions import (
        MissingRowsWarning,
        PrecisionWarning,
        SearchInterruptedWarning,
        SimilarLabelsWarning,
        SmallClassWarning,
        TrivialRuleWarning,
    )
    from heterolda.export import load, save
    from heterolda.frontier import Frontier
    from heterolda.heteroscedasticity import (
        BoxTest,
        HeteroscedasticityReport,
        heteroscedasticity_report,
    )
    from heterolda.local_search import LocalNeighborhoodSearch
    from heterolda.operating_points import OperatingPoint
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
    "PrecisionWarning",
    "ProjectionDisplay",
    "RandomSearch",
    "SearchInterruptedWarning",
    "SimilarLabelsWarning",
    "SmallClassWarning",
    "TrivialRuleWarning",
    "heteroscedasticity_report",
    "load",
    "recommended",
    "save",
]

__version__ = "0.1.0"

# Where the names are, which are imported when they are first used: scikit-learn takes
# seconds, and a command that prints its help should not.
_PLACES = {
    "discriminant": ["GaussianLinearDiscriminant"],
    "displays.boundary": ["BoundaryDisplay"],
    "displays.error_curve": ["ErrorCurveDisplay"],
    "displays.frontier_curve": ["FrontierDisplay"],
    "displays.projection": ["ProjectionDisplay"],
    "exceptions": [
        "MissingRowsWarning",
        "PrecisionWarning",
        "SearchInterruptedWarning",
        "SimilarLabelsWarning",
        "SmallClassWarning",
        "TrivialRuleWarning",
    ],
    "export": ["load", "save"],
    "frontier": ["Frontier"],
    "heteroscedasticity": [
        "BoxTest",
        "HeteroscedasticityReport",
        "heteroscedasticity_report",
    ],
    "local_search": ["LocalNeighborhoodSearch"],
    "operating_points": ["OperatingPoint"],
    "recipes": ["recommended"],
    "solvers": ["Fisher", "FixedPoint", "Global", "Grid", "RandomSearch"],
    "statistics": ["ClassStatistics"],
}
_PLACE = {name: place for place, names in _PLACES.items() for name in names}
# One import at a time: threads that enter scikit-learn's circle of imports at
# different places wait for each other, and Python ends that with an error.
_IMPORTING = RLock()


def __getattr__(name: str) -> Any:
    if name not in _PLACE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _IMPORTING:
        value = getattr(import_module(f"heterolda.{_PLACE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
