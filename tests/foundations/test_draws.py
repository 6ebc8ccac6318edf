"""Draws of row numbers: even, repeatable, and the same for files and arrays."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from heterolda.foundations.draws import (
    RowDraws,
    drawn_of,
    folds_of,
    sample_of,
    seed_of,
    smallest,
)


def in_batches(draws, codes, rng):
    """Folds and keys of rows read in batches of random sizes, some of them empty."""
    ends = np.sort(rng.integers(len(codes), size=9))
    parts = np.split(codes, ends)
    folds = np.concatenate([draws.folds(part) for part in parts])
    return folds, np.concatenate([draws.keys(part) for part in parts])


def test_folds_are_even_in_each_class_and_do_not_depend_on_batches_or_names(rng):
    codes = rng.choice(5, size=203, p=[0.5, 0.2, 0.2, 0.09, 0.01])
    folds = folds_of(codes, 7, 3)
    for k in range(5):
        assert np.ptp(np.bincount(folds[codes == k], minlength=7)) <= 1
    batches, keys = in_batches(RowDraws(3, 7), codes, rng)
    assert_array_equal(batches, folds)
    assert_array_equal(keys, RowDraws(3).keys(codes))
    # Rows that are left out take no part.
    used = rng.random(203) < 0.7
    folds, keys = in_batches(RowDraws(3, 7), np.where(used, codes, -1), rng)
    assert_array_equal(folds[used], folds_of(codes[used], 7, 3))
    assert_array_equal(keys[used], RowDraws(3).keys(codes[used]))
    assert set(folds[~used]) == {-1}
    assert set(keys[~used]) == {1.0}
    folds = folds_of(codes, 7, 3)
    assert_array_equal(folds_of(rng.permutation(5)[codes], 7, 3), folds)
    assert not np.array_equal(folds_of(codes, 7, 4), folds)
    assert folds_of(codes[:0], 7).shape == (0,)


def test_each_fold_and_each_row_is_as_likely(rng):
    """Of 4,000 draws, counts of all rows within 4.5 standard errors of their mean."""
    codes, counts, sums = np.arange(20) % 4, np.zeros((20, 3)), np.zeros((2, 20))
    seeds = rng.integers(2**31, size=4000)
    for seed in seeds:
        counts[np.arange(20), folds_of(codes, 3, seed)] += 1
        sums[0, sample_of(codes, 2, seed)] += 1
        sums[1, drawn_of(20, 8, seed)] += 1
    for share, found in ((1 / 3, counts), (2 / 5, sums)):
        error = np.sqrt(4000 * share * (1 - share))
        assert np.abs(found - 4000 * share).max() < 4.5 * error


def test_samples_have_the_numbers_of_rows_asked_for(rng):
    codes = rng.integers(-1, 4, size=300)  # -1 is left out
    for most in (10, np.array([3, 0, 500, 20])):
        kept = sample_of(codes, most, 1)
        assert_array_equal(kept, np.unique(kept))
        counts = np.bincount(codes[codes >= 0])
        assert_array_equal(
            np.bincount(codes[kept], minlength=4), np.minimum(counts, most)
        )
    assert_array_equal(sample_of(codes, 300), np.flatnonzero(codes >= 0))
    keys = rng.random(30)
    for n in (0, 1, 29, 30, 99):
        assert_array_equal(smallest(keys, n), np.sort(keys.argsort()[:n]))


def test_seeds_are_those_of_scikit_learn():
    assert seed_of(np.int64(5)) == seed_of(5) == 5
    state = np.random.RandomState(2)
    assert seed_of(np.random.RandomState(2)) == seed_of(state) != seed_of(state)
    assert seed_of(None) != seed_of(None)
    with pytest.raises(ValueError, match="cannot be used to seed"):
        seed_of("a")
