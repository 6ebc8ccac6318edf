"""Boosting, which weighs rows again, around our classifier."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier

from heterolda import GaussianLinearDiscriminant

pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.TrivialRuleWarning", "ignore::heterolda.SmallClassWarning"
)


def rows(rng, n_classes):
    """Classes behind one another with curved borders."""
    X = rng.normal(size=(1200, 2))
    height = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.normal(size=len(X))
    shares = np.arange(1, n_classes) / n_classes
    return X, np.searchsorted(np.quantile(height, shares), height)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_adaboost_goes_on_until_no_rule_beats_chance(rng, n_classes):
    X, y = rows(rng, n_classes)
    plain = GaussianLinearDiscriminant(guard=False).fit(X, y)
    boosted = AdaBoostClassifier(plain, n_estimators=20, random_state=0).fit(X, y)
    first, second, *_ = boosted.estimators_
    assert np.all(boosted.estimator_weights_[: len(boosted.estimators_)] > 0)
    assert boosted.score(X, y) > {2: 0.8, 4: 0.6}[n_classes]
    assert_allclose(boosted.predict_proba(X).sum(axis=1), 1)
    # The second rule is the one for rows of which the errors of the first weigh more.
    wrong = first.predict(X) != y
    weight = np.exp(boosted.estimator_weights_[0] * wrong)
    again = clone(plain).fit(X, y, sample_weight=weight / weight.sum())
    assert_allclose(second.coef_, again.coef_, rtol=1e-6)
    assert not np.allclose(second.coef_, first.coef_, rtol=0.1)
    # Weights that sum to one are taken as frequencies of a mean of one.
    total = first.statistics_.weights.sum()
    assert total == pytest.approx(len(X))
