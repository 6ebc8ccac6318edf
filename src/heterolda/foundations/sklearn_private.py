"""The private names of scikit-learn that this library relies on, all in one file."""

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as n_threads
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.parallel import _get_threadpool_controller as threadpool_controller
from sklearn.utils.validation import _get_feature_names as get_feature_names

__all__ = [
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "fit_context",
    "get_feature_names",
    "n_threads",
    "safe_indexing",
    "threadpool_controller",
    "validate_parameter_constraints",
]
