"""A classifier that needs no choices."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from typing import Any

from sklearn.frozen import FrozenEstimator

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.local_search import LocalNeighborhoodSearch


def recommended(**overrides: Any) -> LocalNeighborhoodSearch:
    """Return a linear classifier with settings that suit most data.

    This is a :class:`LocalNeighborhoodSearch` with ``strategy="smooth"``. Its
    candidates are the rules of a :class:`GaussianLinearDiscriminant` with shrinkage,
    refinements of them, and ridge rules; it averages those that cross-validation can
    hardly tell apart. Probabilities are calibrated. Features that are not Gaussian
    within the classes are transformed by powers, unless that makes held-out rows worse;
    they need no scaling. After `fit`, ``selection_["error"]`` estimates the error rate
    on new rows from held-out rows, and ``selection_["reason"]`` says what was chosen.

    Parameters
    ----------
    **overrides
        Parameters of `LocalNeighborhoodSearch`, and those of the discriminant as
        ``estimator__shrinkage`` and so on.

    Returns
    -------
    LocalNeighborhoodSearch
        An unfitted estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from heterolda import recommended
    >>> X, y = load_wine(return_X_y=True)
    >>> bool(cross_val_score(recommended(), X, y).mean() > 0.95)
    True
    >>> recommended(loss="logistic", estimator__shrinkage=0.1).loss
    'logistic'
    """
    start = GaussianLinearDiscriminant(shrinkage="cv")
    search = LocalNeighborhoodSearch(start, strategy="smooth").set_params(**overrides)
    fitted = isinstance(search.estimator, FrozenEstimator)
    if "transformation" not in overrides and search.strategy == "smooth" and not fitted:
        search.set_params(transformation="auto")
    return search
