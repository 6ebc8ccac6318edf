"""Describe models and data in text and pictures: displays, records and tests."""

from heterolda.foundations import lazy_names

_MODULES = {
    "heterolda.estimators.error_bound": ["ErrorBound"],
    "heterolda.estimators.fit_record": ["FitRecord"],
    "heterolda.estimators.reasons": ["Explanation"],
    "heterolda.export": ["CHeader"],
    "heterolda.inspection.box": ["BoxTest"],
    "heterolda.inspection.comparison": ["Comparison", "compare"],
    "heterolda.inspection.evaluation": ["Evaluation", "evaluate"],
    "heterolda.inspection.displays.boundary": ["BoundaryDisplay"],
    "heterolda.inspection.displays.class_map": ["ClassMapDisplay"],
    "heterolda.inspection.displays.error_curve": ["ErrorCurveDisplay"],
    "heterolda.inspection.displays.frontier_curve": ["FrontierDisplay"],
    "heterolda.inspection.displays.projection": ["ProjectionDisplay"],
    "heterolda.inspection.displays.waterfall": ["ExplanationDisplay"],
    "heterolda.inspection.monitoring": ["Monitoring", "monitor"],
    "heterolda.inspection.report": [
        "HeteroscedasticityReport",
        "heteroscedasticity_report",
    ],
    "heterolda.inspection.versions": ["show_versions"],
    "heterolda.statistics.frequencies": ["Frequencies"],
    "heterolda.tradeoff.frontier": ["Frontier"],
    "heterolda.tradeoff.operating_points": ["OperatingPoint"],
}
# `heterolda` itself exports the functions.
__all__ = sorted(
    name
    for names in _MODULES.values()
    for name in names
    if name[0].isupper() or name == "monitor"
)
__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return __all__
