"""Threads change no result and leave the linear algebra library as it was."""

import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_limits

from benchmarks.shapes import Shape, gaussian_classes
from heterolda import GaussianLinearDiscriminant, LocalNeighborhoodSearch
from heterolda.solvers import SOLVERS
from heterolda.threads import in_threads, library_threads


def test_parts_run_side_by_side_and_results_keep_their_order():
    meeting = threading.Barrier(2, timeout=30)

    def meet(part):
        meeting.wait()  # breaks unless two parts run at once
        return part, library_threads(), threading.get_ident()

    with threadpool_limits(2, user_api="blas"):
        met = in_threads(meet, [5, 3, 4, 6])
        assert library_threads() == 2
    assert [part for part, _, _ in met] == [5, 3, 4, 6]
    assert {limit for _, limit, _ in met} == {1}
    assert len({who for _, _, who in met}) == 2


def test_a_library_of_one_thread_means_one_thread():
    with threadpool_limits(1, user_api="blas"):
        who = in_threads(lambda part: threading.get_ident(), range(4))
    assert set(who) == {threading.get_ident()}


def test_concurrent_calls_leave_the_limit_as_it_was():
    """Each call restoring what it found would leave the first one's limit behind."""
    ready = threading.Barrier(3, timeout=30)

    def call(pause):
        ready.wait()
        in_threads(lambda part: time.sleep(pause), [0, 1])

    with threadpool_limits(2, user_api="blas"):
        calls = [threading.Thread(target=call, args=[p]) for p in (0.02, 0.1, 0.05)]
        for thread in calls:
            thread.start()
        for thread in calls:
            thread.join()
        assert library_threads() == 2


def test_an_error_in_a_part_is_raised_and_the_limit_lifted():
    def fail(part):
        raise ZeroDivisionError(part)

    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(ZeroDivisionError):
            in_threads(fail, [1, 2, 3])
        assert library_threads() == 2


@pytest.mark.parametrize("solver", SOLVERS)
def test_fits_and_predictions_do_not_depend_on_threads(solver):
    X, y = gaussian_classes(Shape(3_000, 30, 9))  # 36 pairs: shared out
    models = []
    for limit in (1, 2, 3):
        model = GaussianLinearDiscriminant(solver=solver, random_state=0)
        with threadpool_limits(limit, user_api="blas"):
            models.append(model.fit(X, y))
            models[-1].answers = [model.predict(X[:900]), model.predict_proba(X[:900])]
    for model in models[1:]:
        for name in ("coef_", "intercept_", "bayes_error_", "gap_", "n_iter_"):
            assert_array_equal(getattr(model, name), getattr(models[0], name))
        for mine, first in zip(model.answers, models[0].answers, strict=True):
            assert_array_equal(mine, first)


def test_blocks_of_rows_come_back_in_order():
    X, y = gaussian_classes(Shape(5_000, 4, 12))  # 66 pairs: three blocks
    for model in (GaussianLinearDiscriminant(), LocalNeighborhoodSearch(max_iter=3)):
        model.fit(X, y)
        for method in ("predict", "decision_function", "predict_proba"):
            whole = getattr(model, method)(X)
            rows = [getattr(model, method)(X[k : k + 1]) for k in range(0, 5_000, 611)]
            np.testing.assert_allclose(
                np.concatenate(rows), whole[::611], rtol=1e-9, atol=1e-12
            )
