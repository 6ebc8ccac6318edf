"""How well a fit does on rows held out of it, compared with LDA."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from heterolda.cli.fit_files import MOST_NUMBERS, FitSettings, Fitted
from heterolda.cli.messages import print_to_stderr
from heterolda.cli.progress import StatusLine
from heterolda.estimators.fit_record import Judgement
from heterolda.estimators.held_out import (
    FOLDS,
    NotJudgedError,
    held_out,
    held_out_parts,
    right_in_folds,
)
from heterolda.exceptions import SearchInterruptedWarning
from heterolda.inspection.sentences import observed_error
from heterolda.solvers.fisher import PooledLDA
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.rows import Rows, coded_labels


def judge_fit(
    settings: FitSettings, fitted: Fitted, n_folds: int | None, status: StatusLine
) -> Judgement:
    """Compare a fit with LDA by cross-validation, with so many folds if asked for.

    Warnings about fits without some rows are left out, as they do not concern the
    model.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", SearchInterruptedWarning)
        if n_folds is None:
            _check_cheap(settings, fitted)
            if settings.recommended:
                return _own_estimate(fitted)
        share = status.share("cross-validating")
        sample = fitted.sample
        if sample is not None and not fitted.is_whole:
            return held_out_parts(fitted.model, list(fitted.parts), sample)
        X, y, weight = fitted.some_rows
        n_folds = n_folds or FOLDS
        judgement, right = held_out(fitted.model, X, y, weight, n_folds, share)
        if hasattr(fitted.model, "bound_"):
            mine = y == fitted.model.bound_.label
            of_rows = np.ones(mine.sum()) if weight is None else weight[mine]
            wrong = float(of_rows @ ~right[0, mine] / of_rows.sum())
            said = observed_error(fitted.model.bound_, wrong, of_rows.sum())
            print_to_stderr(f"note: by {judgement.method}, {said}")
        return judgement


def _check_cheap(settings: FitSettings, fitted: Fitted) -> None:
    """Refuse what takes long, or judges another model, unless it is asked for."""
    if settings.confidence is not None:
        raise NotJudgedError(
            "fits to fewer rows set fewer aside and are stricter than this one"
        )
    if fitted.size > MOST_NUMBERS:
        if fitted.n_gaps:
            raise NotJudgedError("refitting so many rows with gaps takes too long")
        if settings.refine:
            raise NotJudgedError("the search takes too long on so many rows")


def _own_estimate(fitted: Fitted) -> Judgement:
    """Return what a model found by cross-validation of its own, and LDA's accuracy.

    Which rows it decided right is not known, so the standard error is that of unpaired
    accuracies: an upper bound, since both tend to err on the same rows.
    """
    error = fitted.model.held_out_error_
    if not np.isfinite(error) or fitted.rows is None:
        raise NotJudgedError("the classes are too small for cross-validation")
    X, y, weight = fitted.rows
    priors = fitted.model.priors

    def fit(X: Any, y: Any, weight: Any) -> list[PooledLDA]:
        classes, codes = coded_labels(y)
        stats = ClassStatistics.from_rows(Rows(X, codes, weight, classes))
        return [PooledLDA(stats, priors)]

    (right,) = right_in_folds(fit, X, y, weight, FOLDS)
    lda_accuracy = float(np.average(right, weights=weight))
    n = float(len(y) if weight is None else weight.sum())
    variance = (error * (1 - error) + lda_accuracy * (1 - lda_accuracy)) / n
    method = "cross-validation"
    return Judgement(method, n, 1 - error, lda_accuracy, float(np.sqrt(variance)))
