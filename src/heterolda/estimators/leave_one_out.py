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
from heterolda.exceptions import ParameterError, Setting
from heterolda.foundations.sparse_rows import dense
from heterolda.foundations.types import Array, Index
from heterolda.foundations.validation import encode
from heterolda.kernels.row_hashes import row_hashes, smallest
from heterolda.statistics.class_statistics import ClassStatistics

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


def leave_one_out(
    model: Any, X: Any, y: NDArray[Any], weight: Array | None
) -> LeaveOneOut:
    """Leave each row out of a fitted discriminant; X, y and weight are its rows."""
    refuse_others(model)
    classes = model.classes_
    weight = _same_rows(model.statistics_, X, y, weight)
    rows = np.flatnonzero(weight > 0)
    if len(rows) > MOST_ROWS:
        rows = rows[smallest(row_hashes(X, rows), MOST_ROWS)]
    codes = encode(y[rows], classes).astype(np.intp)
    some = codes, weight[rows]
    winners, lda, n_solved_anew = winners_without(model, dense(X[rows]), *some)
    share = weight[rows] / weight[rows].sum()
    error = min(float(share @ (winners != codes)), 1.0)
    return LeaveOneOut(
        rows=rows,
        predictions=classes[winners],
        error=error,
        standard_error=float(np.sqrt(error * (1 - error) / weight[rows].sum())),
        lda_predictions=classes[lda],
        lda_error=min(float(share @ (lda != codes)), 1.0),
        n_solved_anew=n_solved_anew,
    )


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


def _same_rows(
    statistics: ClassStatistics, X: Any, y: NDArray[Any], weight: Array | None
) -> Array:
    """The weights of the rows; refuse rows that the model was not fitted to."""
    weight = np.ones(len(y)) if weight is None else weight
    labels, codes = np.unique(y, return_inverse=True)
    totals: Array = np.bincount(codes, weight).astype(np.float64)
    labels, totals = labels[totals > 0], totals[totals > 0]
    before = statistics.weights
    if not np.array_equal(labels, statistics.classes) or not np.allclose(
        totals, before
    ):
        raise ParameterError(
            Setting("X"),
            ", y and ",
            Setting("sample_weight"),
            " must be those that the model was fitted to: total weights of the classes "
            f"are {_by_class(labels, totals)}, in the fit they were "
            f"{_by_class(statistics.classes, before)}",
        )
    squares = statistics.squares
    for k, label in enumerate(labels):
        here = np.flatnonzero((y == label) & (weight > 0))
        mean = statistics.means[k]
        moved = X[here].T @ weight[here] / totals[k] - mean
        spread = np.sqrt(squares[k] / totals[k])
        if (np.abs(moved) > 1e-6 * spread + 1e-9 * np.abs(mean)).any():
            raise ParameterError(
                Setting("X"),
                f" must have the rows that the model was fitted to: the mean of class "
                f"{label} is another one",
            )
    return weight


def _by_class(labels: NDArray[Any], totals: Array) -> str:
    """Weights of some classes, for a message."""
    named = zip(labels.tolist()[:5], totals.tolist(), strict=False)
    more = ", ..." if len(labels) > 5 else ""
    return ", ".join(f"{total:g} of {label!r}" for label, total in named) + more
