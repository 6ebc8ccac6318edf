"""Private parts of scikit-learn that this library relies on, all in one place."""

from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.parallel import _get_threadpool_controller as threadpool_controller
from sklearn.utils.validation import _get_feature_names as get_feature_names

__all__ = [
    "Interval",
    "StrOptions",
    "fit_context",
    "get_feature_names",
    "threadpool_controller",
]
