"""Linear classification when the classes have unequal covariances."""

import heterolda.data  # noqa: F401  (registers Dask collections)
from heterolda.foundations import lazy_names

_MODULES = {
    "estimators.bounded_error": ["BoundedErrorClassifier"],
    "estimators.discriminant": ["GaussianLinearDiscriminant"],
    "estimators.local_search": ["LocalNeighborhoodSearch"],
    "estimators.projection": ["HeteroscedasticProjection"],
    "estimators.smoothed": ["SmoothedLinearDiscriminant"],
    "export": ["load", "save", "to_c", "to_onnx"],
    "inspection": [
        "compare",
        "evaluate",
        "heteroscedasticity_report",
        "show_versions",
    ],
    "statistics.class_statistics": ["ClassStatistics"],
}
__all__ = sorted(name for names in _MODULES.values() for name in names)
__version__ = "1.0.0rc1"
__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
