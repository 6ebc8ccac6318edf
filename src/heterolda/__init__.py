"""Linear classification when the classes have unequal covariances."""

from typing import TYPE_CHECKING

import heterolda.data  # noqa: F401  (registers Dask collections)
from heterolda.foundations import lazy_names

if TYPE_CHECKING:
    from heterolda.estimators.bounded_error import BoundedErrorClassifier
    from heterolda.estimators.discriminant import GaussianLinearDiscriminant
    from heterolda.estimators.error_bound import ErrorBound
    from heterolda.estimators.fit_record import FitRecord, Judgement
    from heterolda.estimators.local_search import LocalNeighborhoodSearch
    from heterolda.estimators.projection import HeteroscedasticProjection
    from heterolda.estimators.smoothed import SmoothedLinearDiscriminant, recommended
    from heterolda.exceptions import (
        MissingRowsWarning,
        ModelMisfitWarning,
        ParameterError,
        PrecisionWarning,
        ReadingWarning,
        SimilarLabelsWarning,
        SmallClassWarning,
        TrivialRuleWarning,
    )
    from heterolda.export import load, save
    from heterolda.inspection import (
        BoundaryDisplay,
        BoxTest,
        ClassMapDisplay,
        Comparison,
        ErrorCurveDisplay,
        FrontierDisplay,
        HeteroscedasticityReport,
        ProjectionDisplay,
        compare,
        heteroscedasticity_report,
        show_versions,
    )
    from heterolda.solvers import Fisher, FixedPoint, Global, Grid, RandomSearch
    from heterolda.statistics.class_statistics import ClassStatistics
    from heterolda.tradeoff.frontier import Frontier
    from heterolda.tradeoff.operating_points import OperatingPoint

__all__ = [
    "BoundaryDisplay",
    "BoundedErrorClassifier",
    "BoxTest",
    "ClassMapDisplay",
    "ClassStatistics",
    "Comparison",
    "ErrorBound",
    "ErrorCurveDisplay",
    "Fisher",
    "FitRecord",
    "FixedPoint",
    "Frontier",
    "FrontierDisplay",
    "GaussianLinearDiscriminant",
    "Global",
    "Grid",
    "HeteroscedasticProjection",
    "HeteroscedasticityReport",
    "Judgement",
    "LocalNeighborhoodSearch",
    "MissingRowsWarning",
    "ModelMisfitWarning",
    "OperatingPoint",
    "ParameterError",
    "PrecisionWarning",
    "ProjectionDisplay",
    "RandomSearch",
    "ReadingWarning",
    "SimilarLabelsWarning",
    "SmallClassWarning",
    "SmoothedLinearDiscriminant",
    "TrivialRuleWarning",
    "compare",
    "heteroscedasticity_report",
    "load",
    "recommended",
    "save",
    "show_versions",
]

__version__ = "1.0.0rc1"

__getattr__ = lazy_names(
    __name__,
    {
        "estimators.bounded_error": ["BoundedErrorClassifier"],
        "estimators.error_bound": ["ErrorBound"],
        "estimators.discriminant": ["GaussianLinearDiscriminant"],
        "exceptions": [
            "MissingRowsWarning",
            "ModelMisfitWarning",
            "ParameterError",
            "PrecisionWarning",
            "ReadingWarning",
            "SimilarLabelsWarning",
            "SmallClassWarning",
            "TrivialRuleWarning",
        ],
        "export": ["load", "save"],
        "tradeoff.frontier": ["Frontier"],
        "inspection": [
            "BoundaryDisplay",
            "BoxTest",
            "ClassMapDisplay",
            "Comparison",
            "ErrorCurveDisplay",
            "FrontierDisplay",
            "HeteroscedasticityReport",
            "ProjectionDisplay",
            "compare",
            "heteroscedasticity_report",
            "show_versions",
        ],
        "estimators.fit_record": ["FitRecord", "Judgement"],
        "estimators.local_search": ["LocalNeighborhoodSearch"],
        "tradeoff.operating_points": ["OperatingPoint"],
        "estimators.projection": ["HeteroscedasticProjection"],
        "estimators.smoothed": ["SmoothedLinearDiscriminant", "recommended"],
        "solvers": ["Fisher", "FixedPoint", "Global", "Grid", "RandomSearch"],
        "statistics.class_statistics": ["ClassStatistics"],
    },
)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
