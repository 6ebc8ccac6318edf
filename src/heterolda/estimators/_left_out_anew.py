"""Fewer rows than features: the whole fit again without each row."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter as time
from typing import Any

import numpy as np
from sklearn.base import clone

from heterolda.estimators.few_rows import copies_of
from heterolda.estimators.pooled_lda import PooledLDA
from heterolda.exceptions import ParameterError
from heterolda.foundations.long_work import progress_of
from heterolda.foundations.sparse_rows import dense
from heterolda.foundations.threads import no_warnings
from heterolda.foundations.types import Array, Index
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.tradeoff.criteria import check_costs


def winners_anew(
    model: Any, X: Any, codes: Index, weight: Array, n_folds: int | None = None
) -> tuple[Index, Index]:
    """Classes of all rows of a discriminant by a fit without each, and so by LDA.

    Or by a fit without each of some folds, in which the hashes of rows put them. A
    class that is gone without its rows loses them to others.
    """
    if not np.isclose(weight.sum(), model.statistics_.weights.sum()):
        raise ParameterError("X", "must have all rows that the model was fitted to")
    again = clone(model).set_params(**model._settings)
    # Without rows, from statistics, nothing was chosen by default.
    asked = again.shrinkage is not None or model.shrinkage_ is not None
    costs = again.costs
    if costs is not None:
        costs = check_costs(costs, model.classes_)
    winners, lda = np.empty(len(codes), np.intp), np.empty(len(codes), np.intp)
    for out, w in _left_out(X, codes, weight, n_folds):
        rest = np.flatnonzero(w > 0)
        places, y = np.unique(codes[rest], return_inverse=True)
        if len(places) < 2 or np.bincount(y, w[rest]).max() <= 1:
            # Nothing can be fitted: the rows go to another class.
            winners[out] = lda[out] = places[places != codes[out[0]]][0]
            continue
        if again.priors is not None:
            again.priors = model.priors_[places]
        if costs is not None:
            again.costs = costs[np.ix_(places, places)]
        with no_warnings():
            if asked:
                again.fit(X[rest], y, None if (w[rest] == 1).all() else w[rest])
            else:
                known = ClassStatistics.from_data(X[rest], y, w[rest])
                again.fit_statistics(known)
        winners[out] = places[again.predict(X[out])]
        rival = PooledLDA(again.statistics_, again.priors_)
        lda[out] = places[rival.winners(dense(X[out]))]
    return winners, lda


def _left_out(
    X: Any, codes: Index, weight: Array, n_folds: int | None
) -> Iterator[tuple[Index, Array]]:
    """Rows that are left out together, and the weights of what is left.

    Copies of a row leave with it.
    """
    folds = copies_of(X, codes)  # class by class
    n = int(folds.max(initial=-1)) + 1
    if n_folds is not None and n_folds < n:
        folds, n = folds % n_folds, n_folds
    seconds = time()
    share = progress_of("", 0.0)
    for fold in range(n):
        out = np.flatnonzero(folds == fold)
        w = weight.copy()
        w[out] = 0.0
        yield out, w
        if fold == 0:
            share = progress_of("leaving rows out", n * (time() - seconds))
        share((fold + 1) / n)
