"""Rows that are unlike those of the fit, and the columns that make them so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from heterolda.estimators.fit_record import encoded, raw_columns
from heterolda.estimators.typical_rows import knower_of, typical_rows
from heterolda.foundations.arrays import Array
from heterolda.foundations.wording import count, names_text

# Rows less typical than this are unlike.
UNLIKE = 0.001
# Columns that are named make at least this share of these rows unlike, at most so many.
_SHARE, _MAX_NAMES = 0.2, 3
# More unlike rows than expected, by as many deviations of their number, are many.
_DEVIATIONS = 3.0


class UnlikeRows:
    """The number of unlike rows among those seen, by column."""

    def __init__(self, model: Any) -> None:
        self._model, self.level = model, UNLIKE
        self._knows = knower_of(model) is not None
        record = getattr(model, "fit_record_", None)
        categories = () if record is None else record.categories
        names = getattr(model, "feature_names_in_", range(model.n_features_in_))
        names = [str(name) for name in names]
        pairs = encoded(raw_columns(names, categories), categories)
        self._columns_of = [column for column, _ in pairs]
        self._columns: Counter[str] = Counter()
        self.n_rows = self.n_unlike = 0

    def add(self, X: Any) -> Array:
        """Return the typicality of rows, and count those that are unlike."""
        if not self._knows or X.shape[:1] == (0,):
            return np.full(X.shape[0], np.nan)
        typical, worst = typical_rows(self._model, X)
        unlike = np.flatnonzero(typical < self.level)
        self.n_rows += len(typical)
        self.n_unlike += len(unlike)
        self._columns.update(self._columns_of[k] for k in worst[unlike].tolist())
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
    def columns(self) -> list[str]:
        """Return the columns that make most of them unlike."""
        return [
            name
            for name, n in self._columns.most_common(_MAX_NAMES)
            if n >= _SHARE * self.n_unlike
        ]

    @property
    def are_many(self) -> bool:
        """Return whether there are more than chance explains."""
        expected = self.level * self.n_rows
        return bool(self.n_unlike > expected + _DEVIATIONS * expected**0.5)

    def __str__(self) -> str:
        columns = self.columns
        mostly = f", mostly by {names_text(columns)}" if columns else ""
        rows = f"{self.n_unlike:,} of {count(self.n_rows, 'row')}"
        verb = "is" if self.n_unlike == 1 else "are"
        return f"{rows} {verb} unlike the rows of the fit{mostly}"
