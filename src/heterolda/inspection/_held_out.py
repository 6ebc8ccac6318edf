"""One model judged on rows held out: all folds, and whatever goes wrong."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from heterolda.exceptions import SearchInterruptedWarning
from heterolda.foundations.arrays import Array, Index

NOT_FINISHED = "not finished"
# Probabilities below this count as it, so that one row cannot make a loss infinite.
_LEAST = np.finfo(np.float64).eps


@dataclass(frozen=True)
class FoldedRows:
    """Rows, their class indices and folds; those of fold -1 are never held out."""

    X: Array
    codes: Index
    classes: NDArray[Any]
    fold: Index


@dataclass(frozen=True)
class HeldOut:
    """Predicted class indices and log losses of all rows, by one model.

    They are -1 and NaN where there are none. `seconds` is the mean time of a fit,
    `notes` are the warnings, and `failure` is the reason if the model failed.
    """

    predictions: Index
    log_loss: Array
    seconds: float = np.nan
    linear: bool = False
    notes: tuple[str, ...] = ()
    failure: str | None = None

    @classmethod
    def failed(cls, n: int, failure: str, notes: tuple[str, ...] = ()) -> HeldOut:
        """What there is of a model that failed."""
        return cls(np.full(n, -1), np.full(n, np.nan), notes=notes, failure=failure)


def failure_word(reason: str) -> str:
    """What stands in place of the figures of a model that has none."""
    return NOT_FINISHED if reason == NOT_FINISHED else "failed"


def assign_folds(
    X: Array,
    codes: Index,
    n_folds: int,
    rng: np.random.RandomState,
) -> Index:
    """Return the fold in which each row is held out.

    Equal rows of a class go to the same fold, and the order of the rows does not
    matter. -1 stands for rows of a class of which one row at most would be left. These
    are never held out.
    """
    order = np.lexsort((*X.T[::-1], codes))
    new = np.any(np.diff(X[order], axis=0) != 0, axis=1)
    new |= np.diff(codes[order]) != 0
    distinct = np.empty(len(X), dtype=np.intp)
    distinct[order] = np.append(0, np.cumsum(new))
    fold = np.full(len(X), -1)
    for k in range(int(codes.max()) + 1):
        rows = np.flatnonzero(codes == k)
        _, place = np.unique(distinct[rows], return_inverse=True)
        number = rng.permutation(int(place.max()) + 1)[place] % n_folds
        held = np.bincount(number, minlength=n_folds)
        if held.sum() - held.max() > 1:
            fold[rows] = number
    return fold


def judge(model: Any, rows: FoldedRows, report: Callable[[int], None]) -> HeldOut:
    """Fit a model without each fold in turn, and predict that fold.

    `report` is called with the number of folds so far. What the model raises is its
    failure, and ends the judgement.
    """
    n = len(rows.codes)
    predictions, loss = np.full(n, -1), np.full(n, np.nan)
    seconds: list[float] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("always", RuntimeWarning)
        warnings.simplefilter("error", SearchInterruptedWarning)
        for k in np.unique(rows.fold[rows.fold >= 0]):
            held = rows.fold == k
            try:
                begin = time.perf_counter()
                fitted = clone(model).fit(
                    rows.X[~held], rows.classes[rows.codes[~held]]
                )
                seconds.append(time.perf_counter() - begin)
                predictions[held], loss[held] = _predicted(fitted, rows, held)
            except SearchInterruptedWarning:  # the search would go on with what it has
                raise KeyboardInterrupt from None
            except Exception as error:
                why = f"{type(error).__name__}: {error}"
                return HeldOut.failed(n, why, _counted(caught))
            report(len(seconds))
    last = fitted.steps[-1][1] if isinstance(fitted, Pipeline) else fitted
    linear = hasattr(last, "coef_") and getattr(last, "transformation_", None) is None
    mean = float(np.mean(seconds))
    return HeldOut(predictions, loss, mean, linear, _counted(caught))


def _predicted(
    fitted: Any, rows: FoldedRows, held: NDArray[np.bool_]
) -> tuple[Index, Array]:
    """Class indices of the rows held out, and the log loss at each."""
    X, truth = rows.X[held], rows.codes[held]
    labels = fitted.predict(X)
    found = np.searchsorted(rows.classes, labels)
    predictions = np.minimum(found, len(rows.classes) - 1)
    if np.any(rows.classes[predictions] != labels):
        raise ValueError("it predicts what is not a class: is it a classifier?")
    if not hasattr(fitted, "predict_proba"):
        return predictions, np.full(len(X), np.nan)
    chances = fitted.predict_proba(X)[np.arange(len(X)), truth]
    return predictions, -np.log(np.clip(chances, _LEAST, 1.0))


def _counted(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    """One text for each kind of warning: its first message, and how many there were."""
    kinds: dict[str, list[str]] = {}
    for warning in caught:
        kinds.setdefault(warning.category.__name__, []).append(str(warning.message))
    return tuple(
        f"{kind}, {len(texts)} times, first: {texts[0]}" if len(texts) > 1 else texts[0]
        for kind, texts in kinds.items()
    )
