"""Rows with gaps pass through scikit-learn's meta-estimators and tools."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from heterolda import GaussianLinearDiscriminant

pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.ModelMisfitWarning", "ignore::heterolda.TrivialRuleWarning"
)
OURS = GaussianLinearDiscriminant(missing="em")


@pytest.fixture
def with_gaps(make_classes, rng):
    X, y = make_classes(4)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, y


@pytest.mark.parametrize(
    "outer",
    [
        make_pipeline(StandardScaler(), OURS),
        OneVsRestClassifier(OURS),
        OneVsOneClassifier(OURS),
        CalibratedClassifierCV(OURS, cv=2),
        BaggingClassifier(OURS, n_estimators=2, random_state=0),
        VotingClassifier([("a", OURS), ("b", clone(OURS))], voting="soft"),
        StackingClassifier([("a", OURS)], cv=2),
        GridSearchCV(OURS, {"shrinkage": [None, 0.3]}, cv=2),
    ],
    ids=lambda outer: type(outer).__name__,
)
def test_meta_estimators_take_rows_with_gaps(outer, with_gaps):
    X, y = with_gaps
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert outer.fit(frame, y).score(frame, y) > 0.5  # of four classes
