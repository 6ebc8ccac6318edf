"""Accuracy on rows that a rule was not fitted to, beside that of LDA."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from heterolda.estimators.few_rows import has_few_rows
from heterolda.estimators.fit_record import Judgement
from heterolda.estimators.leave_one_out import winners_without
from heterolda.foundations.priors import check_priors
from heterolda.foundations.types import Array, Index, Priors
from heterolda.foundations.validation import encode
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.frequencies import check_frequencies
from heterolda.statistics.span import in_span

_LEAVE_ONE_OUT = "leave-one-out"
_FOLDS = 10
# Directions in which features, in units of their deviations, vary less are left out; it
# is the square of scikit-learn's `tol`.
_LEAST_VARIANCE = 1e-8


def judge_by_leave_one_out(
    model: Any, X: Any, y: Any, sample_weight: Any = None
) -> Judgement:
    """Judge a fitted discriminant by its rows, each left out of the fit in turn.

    Fewer rows than features are left out in folds: there is no closed form.
    """
    truth = np.asarray(y)
    weight = check_frequencies(sample_weight, len(truth))
    if has_few_rows(model):
        X = validate_data(model, X, reset=False, accept_sparse="csr")
        weight = np.ones(len(truth)) if weight is None else weight
        return judge_by_some_rows(model, X, encode(truth, model.classes_), weight)
    found = model.leave_one_out(X, y, weight)
    truth = truth[found.rows]
    weight = None if weight is None else weight[found.rows]
    answers = found.predictions, found.lda_predictions
    return Judgement.of(_LEAVE_ONE_OUT, truth, *answers, weight)


def judge_by_some_rows(model: Any, X: Any, codes: Index, weight: Array) -> Judgement:
    """The same by some of the rows only; `codes` are the places of their classes."""
    if not has_few_rows(model):
        winners, lda, _ = winners_without(model, X, codes, weight)
        return Judgement.of(_LEAVE_ONE_OUT, codes, winners, lda, weight)
    n = min(_FOLDS, len(codes))
    winners, lda, _ = winners_without(model, X, codes, weight, n)
    return Judgement.of(f"{n}-fold cross-validation", codes, winners, lda, weight)


class PooledLDA:
    r"""Linear discriminant analysis as in scikit-learn, from class statistics.

    A row goes to the class with the largest
    :math:`x' S^+ m_k - m_k' S^+ m_k / 2 + \ln p_k`, where S is the pooled covariance of
    all classes (divisor n - K).
    """

    def __init__(self, statistics: ClassStatistics, priors: Priors = None) -> None:
        known, span = in_span(statistics)
        weights, means = known.weights, known.means
        cov = known.scatters.sum(axis=0) / (weights.sum() - len(weights))
        scale = np.sqrt(np.diag(cov)) if span is None else np.ones(len(cov))
        scale[scale == 0] = 1.0
        variances, axes = np.linalg.eigh(cov / np.outer(scale, scale))
        used = variances > _LEAST_VARIANCE * variances[-1]
        whiten = axes[:, used] / np.sqrt(variances[used]) / scale[:, None]
        centre = np.average(means, axis=0, weights=weights)
        centres = (means - centre) @ whiten
        self._normals = whiten @ centres.T
        self._centre = np.average(statistics.means, axis=0, weights=weights)
        if span is not None:
            self._normals = span.basis @ self._normals
        offsets = -0.5 * np.einsum("kj,kj->k", centres, centres)
        self._offsets = offsets + np.log(
            check_priors(priors, statistics.classes, weights)
        )

    def winners(self, X: Array) -> Index:
        """Indices of the classes of rows."""
        scores = (X - self._centre) @ self._normals + self._offsets
        winners: Index = scores.argmax(axis=1)
        return winners
