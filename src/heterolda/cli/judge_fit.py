"""How well a fit does on rows left out of it, beside LDA: as its settings allow."""

from __future__ import annotations

import warnings

import numpy as np

from heterolda.cli.cross_validation import (
    NotJudgedError,
    cross_validate_files,
    cross_validate_lda,
    cross_validate_rows,
)
from heterolda.cli.fit_files import MOST_NUMBERS, FitSettings, Fitted
from heterolda.cli.progress import StatusLine
from heterolda.data.table import Table
from heterolda.estimators.fit_record import Judgement
from heterolda.exceptions import SearchInterruptedWarning
from heterolda.inspection.judging import judge_by_leave_one_out, judge_by_some_rows

_FOLDS = 5


def judge_fit(
    settings: FitSettings,
    fitted: Fitted,
    data: Table,
    n_folds: int | None,
    status: StatusLine,
) -> Judgement:
    """Judge a fit by leave-one-out where that is known, else by cross-validation.

    `n_folds` asks for cross-validation. Warnings about fits without some rows are left
    out, as they do not concern the model.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", SearchInterruptedWarning)
        if n_folds is not None:
            return _cross_validate(fitted, data, n_folds, status)
        if settings.confidence is not None:
            raise NotJudgedError(
                "fits to fewer rows set fewer aside and are stricter than this one"
            )
        if fitted.n_gaps and fitted.size > MOST_NUMBERS:
            raise NotJudgedError("refitting so many rows with gaps takes too long")
        if settings.has_leave_one_out and not fitted.n_gaps:
            status.rows("leaving rows out")
            return _leave_one_out(fitted)
        if settings.strategy == "smooth":
            return _own_estimate(fitted)
        if settings.strategy is not None and fitted.size > MOST_NUMBERS:
            raise NotJudgedError("the search takes too long on so many rows")
        return _cross_validate(fitted, data, _FOLDS, status)


def _leave_one_out(fitted: Fitted) -> Judgement:
    """Leave out each row of those in memory, all of them or a sample."""
    if fitted.sample is None:
        return judge_by_leave_one_out(fitted.model, *(fitted.rows or ()))
    X, y, weight = fitted.sample.in_proportion()
    codes = np.searchsorted(fitted.model.classes_, y)
    return judge_by_some_rows(fitted.model, X, codes, weight)


def _cross_validate(
    fitted: Fitted, data: Table, n_folds: int, status: StatusLine
) -> Judgement:
    share = status.share("cross-validating")
    if fitted.rows is None:
        return cross_validate_files(fitted.model, data, n_folds, fitted.n_rows, share)
    return cross_validate_rows(fitted.model, fitted.rows, n_folds, share)


def _own_estimate(fitted: Fitted) -> Judgement:
    """What a search found by cross-validation of its own, beside LDA's.

    Which rows it decided right is not known, so the standard error is that of unpaired
    accuracies: an upper bound, since both tend to err on the same rows.
    """
    error = fitted.model.selection_["error"]
    if not np.isfinite(error) or fitted.rows is None:
        raise NotJudgedError("the classes are too small for cross-validation")
    _, y, weight = fitted.rows
    lda = fitted.model.classes_[cross_validate_lda(fitted.model, fitted.rows, _FOLDS)]
    lda_accuracy = float(np.average(lda == y, weights=weight))
    n = float(len(y) if weight is None else weight.sum())
    variance = (error * (1 - error) + lda_accuracy * (1 - lda_accuracy)) / n
    method = "cross-validation"
    return Judgement(method, n, 1 - error, lda_accuracy, float(np.sqrt(variance)))
