"""scikit-learn's checks of every public estimator, with metadata routing or without."""

import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.covariance import LedoitWolf
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

import heterolda
from heterolda import (
    BoundedErrorClassifier,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
)
from heterolda.estimators.power_transformer import ClassPowerTransformer


def bounded(inside=None):
    return BoundedErrorClassifier(inside, max_error=0.3, confidence=0.5, set_aside=0.7)


ONE_OF_EACH = [
    GaussianLinearDiscriminant(),
    LocalNeighborhoodSearch(),
    SmoothedLinearDiscriminant(),
    HeteroscedasticProjection(method="chernoff"),
    bounded(),
]
OTHERS = [
    GaussianLinearDiscriminant(choose_on="model"),
    *(
        GaussianLinearDiscriminant(solver=solver)
        for solver in ("fixed-point", "c-hld", "r-hld-1", "r-hld-2", "fisher")
    ),
    GaussianLinearDiscriminant(multiclass="ovr"),
    GaussianLinearDiscriminant(solver="r-hld-1", multiclass="ovr"),
    GaussianLinearDiscriminant(voting="majority"),
    GaussianLinearDiscriminant(shrinkage="cv"),
    GaussianLinearDiscriminant(shrinkage=(0.3, 0.1), priors="equal"),
    GaussianLinearDiscriminant(criterion="minimax"),
    GaussianLinearDiscriminant(covariance_estimator=LedoitWolf()),
    GaussianLinearDiscriminant(missing="em"),
    LocalNeighborhoodSearch(LogisticRegression()),
    SmoothedLinearDiscriminant(0.3, transformation=None, priors="equal"),
    HeteroscedasticProjection(),
    HeteroscedasticProjection(method="fisher"),
    bounded(LogisticRegression(tol=1e-10)),
    bounded(LinearSVC(tol=1e-10)),
    bounded(GaussianLinearDiscriminant(missing="em")),
]


def test_every_public_estimator_is_checked():
    public = {
        kind
        for kind in (getattr(heterolda, name) for name in heterolda.__all__)
        if isinstance(kind, type) and issubclass(kind, BaseEstimator)
    }
    assert public == set(map(type, ONE_OF_EACH))


@pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.SmallClassWarning",
    "ignore::heterolda.exceptions.TrivialRuleWarning",
    "ignore::heterolda.exceptions.PrecisionWarning",
    "ignore::heterolda.exceptions.ModelMisfitWarning",
)
@pytest.mark.parametrize(
    ("estimator", "routing"),
    [(one, False) for one in (*ONE_OF_EACH, ClassPowerTransformer())]
    + [
        pytest.param(*case, marks=pytest.mark.check)
        for case in [(LocalNeighborhoodSearch(), True), (bounded(), True)]
        + [(one, False) for one in OTHERS]
    ],
    ids=lambda value: " ".join(repr(value).split()),
)
def test_common_checks(estimator, routing):
    # Where rows are drawn or left out, a row of weight 3 is one row: not so for the
    # projection, nor where the model alone decides.
    by_rows = not isinstance(estimator, HeteroscedasticProjection)
    by_rows &= getattr(estimator, "choose_on", "rows") == "rows"
    kinds = ["dense", "sparse"] if by_rows else []
    expected = {f"check_sample_weight_equivalence_on_{x}_data": "y" for x in kinds}
    # Their rules are not the best for such priors, or depend on none.
    if (
        getattr(estimator, "solver", "") == "c-hld"
        or getattr(estimator, "criterion", "bayes") == "minimax"
    ):
        expected["check_class_weight_classifiers"] = "y"
    with sklearn.config_context(enable_metadata_routing=routing):
        results = check_estimator(
            estimator, on_skip=None, on_fail="raise", expected_failed_checks=expected
        )
    assert len(results) > 40
    skipped = {r["check_name"] for r in results if r["status"] == "skipped"}
    # They need a variable of the environment: see test_arrays.
    arrays = ("input", "mixed_inputs", "same_namespace")
    assert skipped <= {f"check_array_api_{name}" for name in arrays}
