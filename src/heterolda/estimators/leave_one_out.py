"""Leave-one-out in closed form: how often the rules err on rows they have not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.estimators._left_out_anew import winners_anew
from heterolda.estimators._left_out_class import ClassWithoutRows
from heterolda.estimators._left_out_fit import Fit, refuse_others
from heterolda.estimators._left_out_lda import lda_winners
from heterolda.estimators.few_rows import has_few_rows
from heterolda.estimators.placement import host_of
from heterolda.exceptions import ParameterError
from heterolda.foundations.devices import on_host
from heterolda.foundations.sparse_rows import dense
from heterolda.foundations.types import Array, Index
from heterolda.foundations.validation import encode, validate_rows
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.rows import check_frequencies
from heterolda.statistics.samples import row_hashes, smallest

MOST_ROWS = 20_000
# Rows are worked on in blocks of so many numbers.
_BLOCK_SIZE = 1 << 19


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Predictions of rows by the model fitted without them.

    Attributes
    ----------
    rows : ndarray of int of shape (n_rows,)
        Indices of the rows that were judged: all of positive weight, or an even sample.
    predictions : ndarray of shape (n_rows,)
        Labels that the model without the row predicts for it.
    error : float
        Share of the weight of these rows that is predicted wrong.
    standard_error : float
        Its standard error.
    lda_predictions : ndarray of shape (n_rows,)
        The same for linear discriminant analysis with the same priors.
    lda_error : float
        Share of the weight that it predicts wrong.
    n_solved_anew : int
        How many rules were not followed from the fit with all rows, but solved anew.
    """

    rows: Index
    predictions: NDArray[Any]
    error: float
    standard_error: float
    lda_predictions: NDArray[Any]
    lda_error: float
    n_solved_anew: int


def leave_one_out(model: Any, X: Any, y: Any, sample_weight: Any) -> LeaveOneOut:
    """Leave each row out of a fitted discriminant; X, y and weights are its rows.

    All of it is done in NumPy: a model and rows on a device are copied to the host.
    """
    model = host_of(model)
    refuse_others(model)
    rows, some, codes, weight = _judged(model, *on_host(X, y, sample_weight))
    winners, lda, n_solved_anew = winners_without(model, some, codes, weight)
    share = weight / weight.sum()
    error = min(float(share @ (winners != codes)), 1.0)
    return LeaveOneOut(
        rows=rows,
        predictions=model.classes_[winners],
        error=error,
        standard_error=float(np.sqrt(error * (1 - error) / weight.sum())),
        lda_predictions=model.classes_[lda],
        lda_error=min(float(share @ (lda != codes)), 1.0),
        n_solved_anew=n_solved_anew,
    )


def _judged(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, ...]:
    """Indices of the rows to judge, and the rows, places of classes and weights."""
    X, y = validate_rows(model, X, y, reset=False, accept_sparse="csr")
    weight = check_frequencies(sample_weight, len(y))
    weight = np.ones(len(y)) if weight is None else weight
    labels, codes = np.unique(y, return_inverse=True)
    totals: Array = np.bincount(codes, weight).astype(np.float64)
    means = np.zeros((len(labels), X.shape[1]))
    for k in np.flatnonzero(totals > 0):
        here = np.flatnonzero((codes == k) & (weight > 0))
        means[k] = X[here].T @ weight[here] / totals[k]
    there = totals > 0
    _check_same(model.statistics_, labels[there], totals[there], means[there])
    rows = np.flatnonzero(weight > 0)
    if len(rows) > MOST_ROWS:
        rows = rows[smallest(row_hashes(X)[rows], MOST_ROWS)]
    codes = encode(y[rows], model.classes_).astype(np.intp)
    return rows, dense(X[rows]), codes, weight[rows]


def winners_without(
    model: Any,
    X: NDArray[Any],
    codes: Index,
    weight: Array,
    n_folds: int | None = None,
) -> tuple[Index, Index, int]:
    """Classes of rows by a fitted discriminant and by LDA, each without that row.

    The rows are some of those that the model was fitted to, with the places of their
    classes. The last result is the number of rules that were solved anew. If there are
    fewer rows than features, they must be all, and may be left out in folds.
    """
    if has_few_rows(model):
        winners, lda = winners_anew(model, X, codes, weight, n_folds)
        return winners, lda, len(X) * len(model.pairs_)
    fit = Fit.of(model)
    winners = np.empty(len(X), np.intp)
    n_solved_anew = 0
    step = max(1, _BLOCK_SIZE // (X.shape[1] * max(1, len(fit.priors) - 1)))
    for k in range(len(fit.priors)):
        mine = np.flatnonzero(codes == k)
        judge = ClassWithoutRows(fit, k)
        for start in range(0, len(mine), step):
            at = mine[start : start + step]
            found, n_anew = judge.winners(X[at].astype(np.float64), weight[at])
            winners[at] = found
            n_solved_anew += n_anew
    lda = lda_winners(X, codes, weight, fit.statistics, fit.given_priors)
    return winners, lda, n_solved_anew


def _check_same(
    statistics: ClassStatistics, labels: NDArray[Any], totals: Array, means: Array
) -> None:
    """Refuse rows that the model was not fitted to, by their weights and means."""
    before = statistics.weights
    if not np.array_equal(labels, statistics.classes) or not np.allclose(
        totals, before
    ):
        raise ParameterError(
            "X",
            ", y and sample_weight must be those that the model was fitted to: the "
            f"class weights are {_by_class(labels, totals)}, but were "
            f"{_by_class(statistics.classes, before)} in the fit",
        )
    spread = np.sqrt(statistics.squares / totals[:, None])
    most = 1e-6 * spread + 1e-9 * np.abs(statistics.means)
    moved = (np.abs(means - statistics.means) > most).any(axis=1)
    if moved.any():
        raise ParameterError(
            "X",
            "must have the rows that the model was fitted to: the mean of class "
            f"{labels[moved][0]} differs",
        )


def _by_class(labels: NDArray[Any], totals: Array) -> str:
    """Weights of some classes, for a message."""
    named = zip(labels.tolist()[:5], totals.tolist(), strict=False)
    more = ", ..." if len(labels) > 5 else ""
    return ", ".join(f"{total:g} of {label!r}" for label, total in named) + more
