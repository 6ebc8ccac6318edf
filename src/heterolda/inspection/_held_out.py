"""Models judged on rows held out: one model, all folds, and whatever goes wrong."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from heterolda.exceptions import SearchInterruptedWarning
from heterolda.foundations.types import Array, Index
from heterolda.foundations.validation import (
    check_labels,
    check_sample_weight,
    check_several_classes,
    encode,
)
from heterolda.search.selection import assign_folds

NOT_FINISHED = "not finished"
# Rows that a model which takes no weights is given as copies, at most.
_MOST_COPIES = 10_000_000
# Probabilities below this count as it, so that one row cannot make a loss infinite.
_LEAST = np.finfo(np.float64).eps
_LONGEST = 300  # characters of a reason


@dataclass(frozen=True)
class FoldedRows:
    """Rows, their class indices, weights (None for ones) and folds.

    The fold -1 is never held out: these rows are in every training set, and no model is
    judged on them.
    """

    X: Array
    codes: Index
    classes: NDArray[Any]
    weight: Array | None
    fold: Index

    @classmethod
    def from_arrays(
        cls, X: Array, y: NDArray[Any], sample_weight: ArrayLike | None
    ) -> tuple[FoldedRows, Index]:
        """The rows of some weight, none of them held out yet, and their indices."""
        weight = check_sample_weight(sample_weight, len(X))
        kept = np.arange(len(X))
        if weight is not None:
            kept = np.flatnonzero(weight)
            weight = weight[kept]
            if len(weight) and weight.mean() < 1:
                weight = weight / weight.mean()  # these cannot be frequencies
        X, y = X[kept], y[kept]
        classes = check_labels(y) if len(y) else y
        check_several_classes(len(classes))
        codes = encode(y, classes).astype(np.intp)
        return cls(X, codes, classes, weight, np.full(len(X), -1)), kept

    def dealt(self, n_folds: int, random_state: Any) -> FoldedRows:
        """The rows of each class dealt out at random; equal rows go together."""
        rng = check_random_state(random_state)
        fold = assign_folds(self.X, self.codes, self.weight, n_folds, rng)
        return replace(self, fold=fold)

    @property
    def judged(self) -> Index:
        """Indices of the rows that are held out once."""
        return np.flatnonzero(self.fold >= 0)

    @property
    def folds(self) -> Index:
        """Numbers of the folds that have rows."""
        return np.unique(self.fold[self.judged])


@dataclass(frozen=True)
class HeldOut:
    """One model on the rows that are held out.

    `predictions` are class indices, -1 for all if there is a `failure`, its reason.
    `log_loss` has the loss at each row, NaN without probabilities. `seconds` is the
    mean time of a fit. `linear` says whether the model has linear boundaries. `notes`
    are the warnings, each once.
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


def judge(model: Any, rows: FoldedRows, report: Callable[[int], None]) -> HeldOut:
    """Fit a model without each fold in turn, and predict that fold.

    `report` is called with the number of folds so far. What the model raises is a
    failure of the model, and ends with its first.
    """
    predictions = np.full(len(rows.codes), -1)
    loss = np.full(len(rows.codes), np.nan)
    seconds: list[float] = []
    caught: list[warnings.WarningMessage] = []
    for k in rows.folds:
        held = rows.fold == k
        try:
            with _collected_warnings(caught):
                begin = time.perf_counter()
                fitted = _fitted_without(model, rows, held)
                seconds.append(time.perf_counter() - begin)
                predictions[held], loss[held] = _predicted(fitted, rows, held)
        except SearchInterruptedWarning:  # the search would go on with what it has
            raise KeyboardInterrupt from None
        except Exception as error:
            why = _shortened(f"{type(error).__name__}: {error}")
            return HeldOut.failed(len(rows.judged), why, _counted(caught))
        report(len(seconds))
    chosen, mean = rows.judged, float(np.mean(seconds))
    last = fitted.steps[-1][1] if isinstance(fitted, Pipeline) else fitted
    linear = hasattr(last, "coef_")
    return HeldOut(predictions[chosen], loss[chosen], mean, linear, _counted(caught))


def _fitted_without(model: Any, rows: FoldedRows, held: NDArray[np.bool_]) -> Any:
    """The model, fitted to all rows but those held out."""
    X, y = rows.X[~held], rows.classes[rows.codes[~held]]
    fresh = clone(model)
    if rows.weight is None:
        return fresh.fit(X, y)
    weight = rows.weight[~held]
    keywords = _weight_keywords(fresh, weight)
    if keywords:
        # With metadata routing a pipeline would have to be told of its weights before.
        with config_context(enable_metadata_routing=False):
            return fresh.fit(X, y, **keywords)
    copies = weight.astype(np.intp)
    if np.any(copies != weight) or copies.sum() > _MOST_COPIES:
        raise ValueError(
            "it takes no sample weights, and copies of rows stand only for whole "
            f"numbers with a sum of at most {_MOST_COPIES:,}"
        )
    return fresh.fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))


def _weight_keywords(model: Any, weight: Array) -> dict[str, Array]:
    """How to pass weights to `fit`; nothing for a model that takes none."""
    if not isinstance(model, Pipeline):
        takes = has_fit_parameter(model, "sample_weight")
        return {"sample_weight": weight} if takes else {}
    if not has_fit_parameter(model.steps[-1][1], "sample_weight"):
        return {}
    return {
        f"{name}__sample_weight": weight
        for name, step in model.steps
        if has_fit_parameter(step, "sample_weight")
    }


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


@contextmanager
def _collected_warnings(caught: list[warnings.WarningMessage]) -> Iterator[None]:
    """Collect what users should know of; an interrupted search is an interrupt."""
    with warnings.catch_warnings(record=True) as new:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("always", RuntimeWarning)
        warnings.simplefilter("error", SearchInterruptedWarning)
        try:
            yield
        finally:
            caught += new


def _counted(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    """One text for each kind of warning: its first message, and how many there were."""
    kinds = Counter(warning.category for warning in caught)
    texts: dict[type[Warning], str] = {}
    for warning in caught:
        texts.setdefault(warning.category, _shortened(str(warning.message)))
    return tuple(
        f"{kind.__name__}, {n} times, first: {texts[kind]}" if n > 1 else texts[kind]
        for kind, n in kinds.items()
    )


def _shortened(text: str) -> str:
    """A message in one line, cut if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 4]} ..."
