"""A classifier for those who do not want to choose."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from typing import Any

from sklearn.frozen import FrozenEstimator

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.local_search import LocalNeighborhoodSearch


def recommended(**overrides: Any) -> LocalNeighborhoodSearch:
    """A linear classifier with settings that suit most data.

    ``strategy="smooth"`` of :class:`LocalNeighborhoodSearch`: the mean of the rules of
    a :class:`GaussianLinearDiscriminant` with some shrinkage, of refinements of them
    and of ridge rules, of all that cross-validation can hardly tell apart; with
    calibrated probabilities. Features that are not Gaussian within the classes are
    transformed by powers, unless rows held out are against it. Features need no
    scaling. After `fit`, ``selection_["error"]`` is the error at rows held out, which
    is to be expected at new rows, and ``selection_["reason"]`` says what was chosen.

    Parameters
    ----------
    **overrides
        Parameters of `LocalNeighborhoodSearch`, and those of the discriminant as
        ``estimator__shrinkage`` and so on.

    Returns
    -------
    LocalNeighborhoodSearch
        An estimator that is not fitted.

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
    fitted = search.prefit or isinstance(search.estimator, FrozenEstimator)
    if "transformation" not in overrides and search.strategy == "smooth" and not fitted:
        search.set_params(transformation="auto")
    return search
