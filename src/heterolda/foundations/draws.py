"""Seeded draws of row numbers within each class.

The values of rows, their units and the names of classes play no part, so that what is
promised for rows drawn at random holds. The order of the rows matters. Rows of files
are numbered as they are read, in batches of any size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Index


def seed_of(random_state: Any) -> int:
    """Return a seed: an integer itself, or one drawn as scikit-learn does."""
    try:
        rng = check_random_state(random_state)
    except ValueError as error:
        raise ParameterError("random_state", f"is no seed: {error}") from error
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(rng.randint(2**31 - 1))


class RowDraws:
    """Draw for rows as they are read; rows whose class is -1 are left out.

    `part` numbers the parts of data that are read independently of each other.
    """

    def __init__(self, random_state: Any = 0, n_folds: int = 1, part: int = 0) -> None:
        seed = seed_of(random_state)
        self._keys, self._rounds = (
            np.random.default_rng([seed, part, purpose]) for purpose in range(2)
        )
        # Of each class: the folds that are left of the round that it has begun.
        self._left: dict[int, Index] = {}
        self._n_folds = n_folds

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
        folds, begins = np.full(len(codes), -1), np.zeros(len(codes), bool)
        none = np.zeros(0, np.intp)
        rows = {k: np.flatnonzero(codes == k) for k in np.unique(codes) if k >= 0}
        for k, index in rows.items():
            begins[index[len(self._left.get(k, none)) :: self._n_folds]] = True
        # Rounds are drawn in the order of the rows, so that names do not matter.
        drawn = self._rounds.random((np.count_nonzero(begins), self._n_folds))
        rounds, class_of = drawn.argsort(axis=1), codes[begins]
        for k, index in rows.items():
            dealt = np.append(self._left.get(k, none), rounds[class_of == k])
            folds[index], self._left[k] = dealt[: len(index)], dealt[len(index) :]
        return folds


def folds_of(codes: Index, n_folds: int, random_state: Any = 0) -> Index:
    """Return the fold of each row; each class is spread evenly over the folds."""
    return RowDraws(random_state, n_folds).folds(codes)


def group_folds_of(
    codes: Index, groups: Index, n_folds: int, random_state: Any = 0
) -> Index:
    """Return the fold of each row, with whole groups in a fold and classes balanced.

    This is the rule of scikit-learn's `StratifiedGroupKFold`: groups whose rows are
    most unevenly spread over the classes come first, in random order if they tie, each
    to the fold after which the shares of the classes vary least between folds.
    """
    n_groups, n_classes = int(groups.max()) + 1, int(codes.max()) + 1
    counts = np.bincount(groups * n_classes + codes, minlength=n_groups * n_classes)
    counts = counts.reshape(n_groups, n_classes)
    order = np.random.default_rng(seed_of(random_state)).permutation(n_groups)
    order = order[np.argsort(-counts[order].std(axis=1), kind="stable")]
    shares = counts / np.maximum(counts.sum(axis=0), 1)
    totals, sizes = np.zeros((n_folds, n_classes)), np.zeros(n_folds)
    fold_of = np.empty(n_groups, np.intp)
    for g in order:
        # Variances between folds, if the group goes to one of them.
        squares = (totals**2).sum(axis=0) + shares[g] * (2 * totals + shares[g])
        means = (totals.sum(axis=0) + shares[g]) / n_folds
        spread = np.sqrt(np.maximum(squares / n_folds - means**2, 0)).mean(axis=1)
        tied = np.flatnonzero(spread <= spread.min() * (1 + 1e-9) + 1e-12)
        k = tied[sizes[tied].argmin()]
        fold_of[g] = k
        totals[k] += shares[g]
        sizes[k] += counts[g].sum()
    return fold_of[groups]


def sample_of(codes: Index, max_rows: Any, random_state: Any = 0) -> Index:
    """Return sorted numbers of at most `max_rows` rows of each class.

    `max_rows` is a number, or has one for each class.
    """
    counts = np.bincount(codes[codes >= 0], minlength=np.size(max_rows))
    max_rows = np.broadcast_to(max_rows, counts.shape)
    if (counts <= max_rows).all():
        return np.flatnonzero(codes >= 0)
    keys = RowDraws(random_state).keys(codes)
    rows = {k: np.flatnonzero(codes == k) for k in np.flatnonzero(counts)}
    kept = [index[smallest(keys[index], max_rows[k])] for k, index in rows.items()]
    return np.sort(np.concatenate(kept))


def smallest(keys: Array, n: int) -> Index:
    """Return the positions of the n smallest keys, in increasing order."""
    if len(keys) <= n:
        return np.arange(len(keys))
    return np.sort(np.argpartition(keys, n - 1)[:n])


def drawn_of(n: int, n_drawn: int, random_state: Any = 0) -> Index:
    """Return sorted numbers of at most `n_drawn` of n rows."""
    rng = np.random.default_rng(seed_of(random_state))
    return np.sort(rng.choice(n, min(n, n_drawn), replace=False))
