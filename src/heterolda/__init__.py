"""Linear classification when the classes have unequal covariances."""

from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heterolda.estimators.discriminant import GaussianLinearDiscriminant
    from heterolda.estimators.local_search import LocalNeighborhoodSearch
    from heterolda.estimators.recipes import recommended
    from heterolda.exceptions import (
        MissingRowsWarning,
        ParameterError,
        PrecisionWarning,
        SearchInterruptedWarning,
        SimilarLabelsWarning,
        SmallClassWarning,
        TrivialRuleWarning,
    )
    from heterolda.export import load, save
    from heterolda.inspection import (
        BoundaryDisplay,
        BoxTest,
        ErrorCurveDisplay,
        FrontierDisplay,
        HeteroscedasticityReport,
        ProjectionDisplay,
        heteroscedasticity_report,
    )
    from heterolda.solvers import Fisher, FixedPoint, Global, Grid, RandomSearch
    from heterolda.statistics.class_statistics import ClassStatistics
    from heterolda.tradeoff.frontier import Frontier
    from heterolda.tradeoff.operating_points import OperatingPoint

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
    "ParameterError",
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
    "estimators.discriminant": ["GaussianLinearDiscriminant"],
    "exceptions": [
        "MissingRowsWarning",
        "ParameterError",
        "PrecisionWarning",
        "SearchInterruptedWarning",
        "SimilarLabelsWarning",
        "SmallClassWarning",
        "TrivialRuleWarning",
    ],
    "export": ["load", "save"],
    "tradeoff.frontier": ["Frontier"],
    "inspection": [
        "BoundaryDisplay",
        "BoxTest",
        "ErrorCurveDisplay",
        "FrontierDisplay",
        "HeteroscedasticityReport",
        "ProjectionDisplay",
        "heteroscedasticity_report",
    ],
    "estimators.local_search": ["LocalNeighborhoodSearch"],
    "tradeoff.operating_points": ["OperatingPoint"],
    "estimators.recipes": ["recommended"],
    "solvers": ["Fisher", "FixedPoint", "Global", "Grid", "RandomSearch"],
    "statistics.class_statistics": ["ClassStatistics"],
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
    return [*__all__, "__version__"]
