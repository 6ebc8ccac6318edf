"""Accuracy on rows that a rule was not fitted to, beside that of LDA."""

from __future__ import annotations

from typing import Any

import numpy as np

from heterolda.estimators.few_rows import has_few_rows
from heterolda.estimators.fit_record import Judgement
from heterolda.estimators.leave_one_out import winners_without
from heterolda.foundations.types import Array, Index
from heterolda.foundations.validation import encode, validate_more_rows
from heterolda.statistics.rows import check_frequencies

_LEAVE_ONE_OUT = "leave-one-out"
_FOLDS = 10


def judge_by_leave_one_out(
    model: Any, X: Any, y: Any, sample_weight: Any = None
) -> Judgement:
    """Judge a fitted discriminant by its rows, each left out of the fit in turn.

    Fewer rows than features are left out in folds: there is no closed form.
    """
    truth = np.asarray(y)
    weight = check_frequencies(sample_weight, len(truth))
    if has_few_rows(model):
        X = validate_more_rows(model, X, accept_sparse="csr")
        weight = np.ones(len(truth)) if weight is None else weight
        return judge_by_some_rows(model, X, encode(truth, model.classes_), weight)
    found = model.leave_one_out(X, y, weight)
    weight = None if weight is None else weight[found.rows]
    answers = truth[found.rows], found.predictions, found.lda_predictions
    return Judgement.of(_LEAVE_ONE_OUT, *answers, weight)


def judge_by_some_rows(model: Any, X: Any, codes: Index, weight: Array) -> Judgement:
    """The same by some of the rows only; `codes` are the places of their classes."""
    if not has_few_rows(model):
        winners, lda, _ = winners_without(model, X, codes, weight)
        return Judgement.of(_LEAVE_ONE_OUT, codes, winners, lda, weight)
    n = min(_FOLDS, len(codes))
    winners, lda, _ = winners_without(model, X, codes, weight, n)
    return Judgement.of(f"{n}-fold cross-validation", codes, winners, lda, weight)
