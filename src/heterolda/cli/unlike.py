"""Rows that are unlike those of the fit, and the columns that make them so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from heterolda.estimators.fit_record import encoded, raw_columns
from heterolda.estimators.in_use import Typical
from heterolda.foundations.arrays import Array
from heterolda.foundations.wording import count, names_text

# Rows less typical than this are unlike; a note appears if they are more than this
# share of all, beyond as many deviations of their number.
UNLIKE, _DEVIATIONS = 0.001, 3.0
# Columns that are named make at least this share of these rows unlike, at most so many.
_SHARE, _MAX_NAMES = 0.2, 3


def knower_of(model: Any) -> Any:
    """Return the part of a model that can say how typical rows are, or None."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else []
    first = steps[0] if steps else model
    start = getattr(first, "estimator_", first)
    knows = isinstance(first, Typical) and hasattr(start, "statistics_")
    return first if knows and isinstance(start, Typical) else None


class UnlikeRows:
    """The number of unlike rows among those seen, by column."""

    def __init__(self, model: Any) -> None:
        self._knower = knower_of(model)
        record = getattr(model, "fit_record_", None)
        categories = () if record is None else record.categories
        names = [str(name) for name in model.feature_names_in_]
        pairs = encoded(raw_columns(names, categories), categories)
        self._column_of = {feature: column for column, feature in pairs}
        self._names = names
        self._columns: Counter[str] = Counter()
        self.n_rows = self.n_unlike = 0

    def add(self, X: Array) -> Array:
        """Return the typicality of rows, and count those that are unlike."""
        if self._knower is None or not len(X):
            return np.full(len(X), np.nan)
        typical, worst = self._knower._typical(X)
        unlike = np.flatnonzero(typical < UNLIKE)
        self.n_rows += len(X)
        self.n_unlike += len(unlike)
        features = (self._names[k] for k in worst[unlike].tolist())
        self._columns.update(self._column_of[name] for name in features)
        return np.asarray(typical)

    def with_unseen(self, unseen: Mapping[str, int]) -> UnlikeRows:
        """Count rows with levels that were not in the fit, too."""
        self._columns.update(unseen)
        self.n_unlike = min(self.n_unlike + sum(unseen.values()), self.n_rows)
        return self

    @property
    def share(self) -> float:
        """Return the share of unlike rows."""
        return self.n_unlike / max(self.n_rows, 1)

    @property
    def columns(self) -> Sequence[str]:
        """Return the columns that make most of them unlike."""
        return [
            name
            for name, n in self._columns.most_common(_MAX_NAMES)
            if n >= _SHARE * self.n_unlike
        ]

    @property
    def are_many(self) -> bool:
        """Return whether there are more than chance explains."""
        expected = UNLIKE * self.n_rows
        return bool(self.n_unlike > expected + _DEVIATIONS * expected**0.5)

    def __str__(self) -> str:
        columns = self.columns
        mostly = f", mostly by {names_text(columns)}" if columns else ""
        rows = f"{self.n_unlike:,} of {count(self.n_rows, 'row')}"
        verb = "is" if self.n_unlike == 1 else "are"
        return f"{rows} {verb} unlike the rows of the fit{mostly}"
