"""Neither threads of the linear algebra library nor blocks of rows change results."""

import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_limits

from benchmarks.shapes import Shape, gaussian_classes
from heterolda import GaussianLinearDiscriminant


@pytest.mark.parametrize("solver", ["global", "fixed-point", "c-hld"])
def test_fits_and_predictions_do_not_depend_on_threads(solver):
    X, y = gaussian_classes(Shape(2_000, 30, 9))  # 36 pairs: shared out
    models = []
    for limit in (1, 3):
        model = GaussianLinearDiscriminant(solver=solver, random_state=0)
        with threadpool_limits(limit, user_api="blas"):
            models.append(model.fit(X, y))
            models[-1].answers = [model.predict(X[:900]), model.predict_proba(X[:900])]
    for model in models[1:]:
        for name in ("coef_", "intercept_", "model_error_", "gap_", "n_iter_"):
            assert_array_equal(getattr(model, name), getattr(models[0], name))
        for answer, first in zip(model.answers, models[0].answers, strict=True):
            assert_array_equal(answer, first)
