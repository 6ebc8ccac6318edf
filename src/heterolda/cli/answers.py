"""Columns that answer for the rows of a batch: predictions, and what explains them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from heterolda.foundations.arrays import Array, Mask
from heterolda.inspection.unlike import UnlikeRows


class Answers:
    """A function of rows that returns columns, and counts rows."""

    def __init__(
        self, model: Any, proba: bool, typicality: bool, explain: int | None
    ) -> None:
        if explain and not hasattr(model, "explain"):
            raise ValueError(
                "--explain needs a classifier of the features themselves, and this "
                "model is a pipeline: leave it out"
            )
        self._model, self._proba = model, proba
        self._typicality, self._explain = typicality, explain
        labels = model.classes_.tolist() if proba else []
        self.names = ["prediction", *(f"probability_{label}" for label in labels)]
        self.names += ["typicality"] * typicality + ["explanation"] * bool(explain)
        self.unlike = UnlikeRows(model)
        self.policy = "error"  # for rows with missing values
        self.n_incomplete = 0

    def __call__(self, X: Array) -> list[Any]:
        """Return the columns for the rows of a batch."""
        missing = np.asarray(np.isnan(X).any(axis=1))
        if self.policy == "em":
            self.n_incomplete += int(missing.sum())
            missing[:] = False
        columns = self._predictions(X, missing)
        typical = np.full(len(X), np.nan)
        typical[~missing] = self.unlike.add(X[~missing])
        if self._typicality:
            columns.append(pa.array(typical, mask=missing))
        if self._explain:
            columns.append(self._reasons(X))
        return columns

    def _predictions(self, X: Array, missing: Mask) -> list[Any]:
        """Return predictions, followed by probabilities if requested."""
        model, classes = self._model, self._model.classes_
        labels, p = classes[:0], np.zeros((0, len(classes)))
        if len(X):
            X = np.where(missing[:, None], 0.0, X) if missing.any() else X
            p = model.predict_proba(X) if self._proba else p
            labels = classes[p.argmax(axis=1)] if self._proba else model.predict(X)
        column = pa.array(labels, pa.array(classes.tolist()).type, mask=missing)
        if len(getattr(model, "bounds_", ())) > 1:
            low, high = model.thresholds_
            scores = model.decision_function(X) if len(X) else X[:, 0]
            undecided = (scores > low) & (scores <= high)
            texts = np.where(undecided, "undecided", labels.astype(str))
            column = pa.array(texts, pa.string(), mask=missing)
        probabilities = p.T if self._proba else ()
        return [column, *(pa.array(each, mask=missing) for each in probabilities)]

    def _reasons(self, X: Array) -> Any:
        """Return the largest contributions to the predictions of rows, as text."""
        complete = np.flatnonzero(~np.isnan(X).any(axis=1))
        texts: list[str | None] = [None] * len(X)
        if len(complete):
            reasons = self._model.explain(X[complete]).text(self._explain)
            for k, reason in zip(complete.tolist(), reasons, strict=True):
                texts[k] = reason
        return pa.array(texts, pa.string())
