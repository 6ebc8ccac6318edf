"""The private names of scikit-learn that this library relies on, all in one file."""

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._metadata_requests import _raise_for_params as raise_for_params
from sklearn.utils._metadata_requests import _routing_enabled as routing_enabled
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as n_threads
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.parallel import _get_threadpool_controller as threadpool_controller
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _get_feature_names as get_feature_names

# `make stamp` copies it from pyproject.toml.
DOCUMENTATION = "https://heterolda.example/docs"

__all__ = [
    "DOCUMENTATION",
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "check_method_params",
    "fit_context",
    "get_feature_names",
    "n_threads",
    "raise_for_params",
    "routing_enabled",
    "safe_indexing",
    "threadpool_controller",
    "validate_parameter_constraints",
]
