"""What models of the accuracy benchmark claim, beside the errors at rows held out."""

import math

import numpy as np
from numpy.testing import assert_allclose

from benchmarks.accuracy.honesty import ALL, honesty
from heterolda.experiments.results import Row


def fit(dataset, trial, fold, claimed, n_test, n_correct):
    hidden = {"fit_seconds": 1.0, "predict_seconds": 0.1, "iterations": math.nan}
    return Row(
        *(dataset, "recommended", trial, fold, 100, n_test, n_correct, claimed),
        **hidden,
    )


def test_claims_are_compared_with_errors_fit_by_fit(rng):
    rows = []
    for dataset, trials in (("haberman", 4), ("avila", 1), ("liver", 2)):
        for trial, fold in np.ndindex(trials, 5):
            claimed = math.nan if dataset == "liver" and trial else rng.random()
            n_correct = int(rng.integers(61))
            rows.append(fit(dataset, trial, fold, claimed, 60, n_correct))
    found = honesty(rows)
    assert list(found) == ["haberman", "avila", "liver", ALL]
    assert [one.n_fits for one in found.values()] == [20, 5, 5, 30]
    for dataset, one in found.items():
        mine = [
            (100 * r.bayes_error, 100 * (60 - r.n_correct) / 60)
            for r in rows
            if dataset == r.dataset and r.bayes_error == r.bayes_error
        ]
        if dataset == ALL:
            mine = [(found[d].claimed, found[d].error) for d in list(found)[:3]]
        assert_allclose([one.claimed, one.error], np.mean(mine, axis=0))
        gaps = np.subtract(*np.transpose(mine))
        if dataset == "haberman":
            gaps = gaps.reshape(4, 5).mean(axis=1)  # of shuffles, not of fits
        assert_allclose(one.difference, np.mean(gaps))
        assert_allclose(one.standard_error, np.std(gaps, ddof=1) / len(gaps) ** 0.5)
    assert math.isnan(honesty(rows[:1])["haberman"].standard_error)
    assert honesty([fit("haberman", 0, 0, math.nan, 60, 3)]) == {}
