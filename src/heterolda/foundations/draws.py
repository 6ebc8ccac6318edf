"""Seeded draws of row numbers within each class.

The values of rows, their units and the names of classes play no part, so that what is
promised for rows drawn at random holds. The order of the rows matters. Rows of files
are numbered as they are read, in batches of any size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from heterolda.foundations.arrays import Array, Index


def seed_of(random_state: Any) -> int:
    """Return a seed: an integer itself, or one drawn as scikit-learn does."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


class RowDraws:
    """Draw for rows as they are read; rows whose class is -1 are left out.

    `part` numbers the parts of data that are read independently of each other.
    """

    def __init__(self, random_state: Any = 0, n_folds: int = 1, part: int = 0) -> None:
        seed = seed_of(random_state)
        self._keys, self._rounds = (
            np.random.default_rng([seed, part, purpose]) for purpose in range(2)
        )
        # Of each class: the number of rows so far, and the order of the folds in the
        # round that it has begun.
        self._seen = np.zeros(0, np.intp)
        self._begun = np.zeros((0, n_folds), np.intp)

    def keys(self, codes: Index) -> Array:
        """Return uniform keys of the next rows: the smallest are a random sample."""
        keys = np.ones(len(codes))
        used = codes >= 0
        keys[used] = self._keys.random(np.count_nonzero(used))
        return keys

    def folds(self, codes: Index) -> Index:
        """Return the folds of the next rows, -1 for rows left out.

        In each round every fold gets one row of a class, in a random order.
        """
        folds = np.full(len(codes), -1)
        kept = np.flatnonzero(codes >= 0)
        codes = codes[kept]
        n_new = int(codes.max(initial=-1)) + 1 - len(self._seen)
        if n_new > 0:
            self._seen = np.pad(self._seen, (0, n_new))
            self._begun = np.pad(self._begun, ((0, n_new), (0, 0)))
        n_classes, n_folds = self._begun.shape
        order = np.argsort(codes, kind="stable")
        by_class, counts = codes[order], np.bincount(codes, minlength=n_classes)
        first = np.cumsum(counts) - counts
        place = np.arange(len(codes)) + (self._seen - first)[by_class]
        begins = np.flatnonzero(place % n_folds == 0)
        # Rounds are drawn in the order of the rows, so that names do not matter.
        drawn = self._rounds.random((len(begins), n_folds)).argsort(axis=1)
        rounds = np.concatenate([self._begun, drawn])
        round_of = by_class.astype(np.intp)
        round_of[begins[np.argsort(order[begins])]] = range(n_classes, len(rounds))
        last, used = np.zeros(len(codes), np.intp), np.flatnonzero(counts)
        last[first[used]], last[begins] = first[used], begins
        round_of = round_of[np.maximum.accumulate(last)]
        folds[kept[order]] = rounds[round_of, place % n_folds]
        self._seen += counts
        self._begun[used] = rounds[round_of[(first + counts - 1)[used]]]
        return folds


def folds_of(codes: Index, n_folds: int, random_state: Any = 0) -> Index:
    """Return the fold of each row; each class is spread evenly over the folds."""
    return RowDraws(random_state, n_folds).folds(codes)


def sample_of(codes: Index, max_rows: Any, random_state: Any = 0) -> Index:
    """Return sorted numbers of at most `max_rows` rows of each class.

    `max_rows` is a number, or has one for each class.
    """
    counts = np.bincount(codes[codes >= 0], minlength=np.size(max_rows))
    max_rows = np.broadcast_to(max_rows, counts.shape)
    if (counts <= max_rows).all():
        return np.flatnonzero(codes >= 0)
    keys = RowDraws(random_state).keys(codes)
    kept = [
        rows if len(rows) <= n else rows[smallest(keys[rows], n)]
        for rows, n in (
            (np.flatnonzero(codes == k), max_rows[k]) for k in np.flatnonzero(counts)
        )
    ]
    return np.sort(np.concatenate(kept))


def smallest(keys: Array, n: int) -> Index:
    """Return the positions of the n smallest keys, in increasing order."""
    if len(keys) <= n:
        return np.arange(len(keys))
    return np.sort(np.argpartition(keys, n - 1)[:n]) if n > 0 else np.zeros(0, np.intp)


def drawn_of(n: int, n_drawn: int, random_state: Any = 0) -> Index:
    """Return sorted numbers of at most `n_drawn` of n rows."""
    rng = np.random.default_rng(seed_of(random_state))
    return np.sort(rng.choice(n, min(n, n_drawn), replace=False))
