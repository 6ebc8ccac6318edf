"""The private names of scikit-learn that this library relies on, all in one file."""

from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    make_constraint,
)
from sklearn.utils.parallel import _get_threadpool_controller as threadpool_controller
from sklearn.utils.validation import _get_feature_names as get_feature_names

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where there are no callbacks."""


__all__ = [
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "fit_context",
    "get_feature_names",
    "make_constraint",
    "threadpool_controller",
]
