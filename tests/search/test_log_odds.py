"""Log-odds on the sides of rules: awkward rows, and any order of rules."""

import numpy as np

from heterolda.search.log_odds import sides_of_log_odds


def rows(rng, n, n_rules=3, n_folds=4):
    margins = rng.normal(0.7, 1, (n_rules, n))
    sign, weight = rng.choice([-1.0, 1.0], n), rng.integers(1, 4, n) * 1.0
    return margins, sign, weight, rng.integers(0, n_folds, n), n_folds


def check(*arrays):
    found = sides_of_log_odds(*arrays)
    assert found.shape == (2, 2, 3, 5)
    assert found.min() >= 0
    assert np.isfinite(found).all()


def test_few_rows(rng):
    for n in (0, 1, 2, 5, 40, 400):
        check(*rows(rng, n))


def test_awkward_margins(rng):
    margins, sign, weight, *folds = rows(rng, 60)
    for change in (
        np.zeros_like(margins),
        np.abs(margins),
        -np.abs(margins),
        np.round(margins),
        margins * 1e-120,
        margins * 1e120,
        np.where(margins > 2, np.inf, margins),
        np.where(rng.uniform(size=60) < 0.1, 1e9, margins),
    ):
        with np.errstate(all="ignore"):
            check(change, sign, weight, *folds)
    check(margins, np.ones(60), weight, *folds)
    check(margins, sign, 0 * weight, *folds)
    check(margins, sign, 1e-3 * weight, *folds)
