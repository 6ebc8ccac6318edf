"""Fewer rows than features: the whole fit again without each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from heterolda.exceptions import ParameterError, Setting
from heterolda.foundations.threads import no_warnings
from heterolda.foundations.types import Array, Index
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.moments import SINGULAR
from heterolda.statistics.span import Span
from heterolda.tradeoff.criteria import check_costs


def has_few_rows(model: Any) -> bool:
    """Whether a discriminant was fitted to fewer rows than features.

    Then units, target and amount of shrinkage all depend on the row that is left out.
    """
    chosen = model._settings["shrinkage"] is None and model.shrinkage_ is not None
    return chosen or model.statistics_.factors is not None


def winners_anew(
    model: Any, X: Array, codes: Index, weight: Array
) -> tuple[Index, Index]:
    """Classes of all rows of a discriminant by a fit without each, and so by LDA.

    A class that is gone without the row loses it to others.
    """
    if not np.isclose(weight.sum(), model.statistics_.weights.sum()):
        raise ParameterError(
            Setting("X"), " must have all rows that the model was fitted to"
        )
    again = clone(model).set_params(**model._settings)
    costs = again.costs
    if costs is not None:
        costs = check_costs(costs, model.classes_)
    winners, lda = np.empty(len(X), np.intp), np.empty(len(X), np.intp)
    for i in range(len(X)):
        w = weight.copy()
        w[i] -= min(w[i], 1.0)
        rest = np.flatnonzero(w > 0)
        places, y = np.unique(codes[rest], return_inverse=True)
        if len(places) < 2:
            winners[i] = lda[i] = places[0]
            continue
        if again.priors is not None:
            again.priors = model.priors_[places]
        if costs is not None:
            again.costs = costs[np.ix_(places, places)]
        with no_warnings():
            again.fit(X[rest], y, None if (w[rest] == 1).all() else w[rest])
        row = X[i : i + 1]
        winners[i] = places[again.predict(row)[0]]
        lda[i] = places[_lda_winner(again.statistics_, again.priors_, row)]
    return winners, lda


def _lda_winner(statistics: ClassStatistics, priors: Array, row: Array) -> int:
    """The class of a row by linear discriminant analysis, in the span of the rest."""
    if statistics.factors is not None:
        span = Span.of(statistics)
        statistics, row = span.statistics, span.coordinates(row)
        scale = np.ones(statistics.n_features)
    else:
        squares = statistics.squares.sum(axis=0)
        scale = np.sqrt(np.where(squares > 0, squares, 1.0))
    pooled = statistics.scatters.sum(axis=0) / scale / scale[:, None]
    values, vectors = np.linalg.eigh(pooled)
    kept = values > SINGULAR * values[-1]
    freedom = statistics.weights.sum() - len(priors)
    whiten = vectors[:, kept] / np.sqrt(values[kept] / freedom) / scale[:, None]
    z = (row - statistics.means) @ whiten
    return int(np.argmax(np.log(priors) - (z * z).sum(axis=1) / 2))
