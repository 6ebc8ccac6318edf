"""Describe models and data in text and pictures; `heterolda` exports these names."""

from heterolda.inspection.box import BoxTest
from heterolda.inspection.comparison import Comparison, compare
from heterolda.inspection.displays.boundary import BoundaryDisplay
from heterolda.inspection.displays.class_map import ClassMapDisplay
from heterolda.inspection.displays.error_curve import ErrorCurveDisplay
from heterolda.inspection.displays.frontier_curve import FrontierDisplay
from heterolda.inspection.displays.projection import ProjectionDisplay
from heterolda.inspection.report import (
    HeteroscedasticityReport,
    heteroscedasticity_report,
)
from heterolda.inspection.versions import show_versions

__all__ = [
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
]
