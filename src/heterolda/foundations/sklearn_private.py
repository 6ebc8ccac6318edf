"""The private names of scikit-learn that this library relies on, all in one file.

None of them has a public name in scikit-learn 1.6 or later.
"""

# Checks parameters before a fit, unless scikit-learn's configuration skips that.
from sklearn.base import _fit_context as fit_context

# Among the names that `sklearn.utils` exports, in spite of the underscore.
from sklearn.utils import _safe_indexing as safe_indexing

# joblib.cpu_count() ignores OMP_NUM_THREADS, which joblib sets in its workers.
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as n_threads

# The language of `_parameter_constraints`, by which all estimators check parameters.
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)

# The public `validate_data` stores the names in an estimator, and statistics are none.
from sklearn.utils.validation import _get_feature_names as get_feature_names

__all__ = [
    "HasMethods",
    "Interval",
    "StrOptions",
    "fit_context",
    "get_feature_names",
    "n_threads",
    "safe_indexing",
    "validate_parameter_constraints",
]
