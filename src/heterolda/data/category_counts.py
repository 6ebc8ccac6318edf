"""Which columns of a table are categories, and of which levels: by a pass or two."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from heterolda.data.decoding import levels_of
from heterolda.data.labels import warn_of_similar_labels
from heterolda.data.not_numeric import NotNumericError
from heterolda.data.reading import Pass, open_files
from heterolda.data.table import Table
from heterolda.estimators.categories import Category
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.threads import Progress, silent
from heterolda.foundations.wording import named

AUTO = "auto"
_MOST_LEVELS = 10_000  # of a column; more are not categories
_LONGEST_LEVEL = 1000  # characters
_FEW = 10  # rows or levels
_SHARE = 0.01  # of the rows


def with_categories(
    table: Table, names: Iterable[str], progress: Progress = silent
) -> Table:
    """Return the table with categorical columns as features.

    Their levels are counted in a pass over the rows that a fit uses. ``["auto"]``
    stands for all feature columns whose first rows show categories; a column of other
    text is an error.
    """
    chosen = tuple(names)
    if chosen == (AUTO,):
        chosen = _categorical_columns(table)
    else:
        _check_names(chosen, table)
    if not chosen:
        return table
    counts = _counted(table, chosen, progress)
    categories = [column.category() for column in counts]
    constant = [c.column for c in categories if not c.features]
    if constant and all(column.levels for column in counts):
        warnings.warn(
            f"left out {named(constant)}: nearly all rows have the same value",
            UserWarning,
            stacklevel=2,
        )
    used = tuple(c for c in categories if c.features)
    roles: dict[str, Any] = dict([table.without(constant)])
    return replace(table, categories=used, **roles)


def _categorical_columns(table: Table) -> tuple[str, ...]:
    """Return the columns whose first rows show categories.

    NotNumericError where others are neither these nor numbers.
    """
    chosen: tuple[str, ...] = ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they will be heard again
        for file in open_files(replace(table, keep=True)):
            try:
                next(Pass(file.table).of_file(file), None)
            except NotNumericError as error:
                if set(error.options) - {"missing"} != {"categorical"}:
                    raise
                chosen = *chosen, *error.options["categorical"]
    return tuple(dict.fromkeys(chosen))


def _check_names(names: tuple[str, ...], table: Table) -> None:
    """Refuse categories that are not features."""
    special = table.target, table.sample_weight, *table.exclude
    for name in names:
        if name in special:
            problem = "is the target, the weights or excluded"
        elif table.columns is not None and name not in table.columns:
            problem = "is not one of the features"
        elif names.count(name) > 1:
            problem = "is named twice"
        else:
            continue
        raise ParameterError("categorical", f": {name!r} {problem}")


@dataclass
class _Counts:
    """The levels of a column with their weights, and the rows of all together."""

    column: str
    levels: dict[str, float] = field(default_factory=dict)
    problem: str | None = None  # why these are not categories
    n_rows: int = 0
    weight: float = 0.0

    def add(self, codes: Index, levels: list[str], weights: Array) -> None:
        """Count the rows of a batch."""
        self.n_rows += int((weights > 0).sum())
        self.weight += float(weights.sum())
        sums = np.bincount(codes, weights, len(levels))
        for code in np.flatnonzero(sums).tolist():
            level = levels[code]
            if self.problem is None:
                self.levels[level] = self.levels.get(level, 0.0) + float(sums[code])
                if len(level) > _LONGEST_LEVEL:
                    self.problem = f"has text of more than {_LONGEST_LEVEL} characters"
                elif len(self.levels) > _MOST_LEVELS:
                    self.problem = f"has more than {_MOST_LEVELS} different values"

    @property
    def size(self) -> float:
        """Rows, or their weight: a fit scales weights of a mean below one to one."""
        return max(self.weight, self.n_rows)

    def verdict(self) -> str | None:
        """Return why these are not categories, if they are not."""
        n = len(self.levels)
        if self.problem is None and n > _FEW and 2 * n > self.size:
            return f"has {n:,} different values in {self.n_rows:,} rows"
        return self.problem

    def category(self) -> Category:
        """Return the column as features, without those that would be rare."""
        if not self.levels:  # without rows, another error follows
            return Category(self.column)
        least = max(_FEW, _SHARE * self.size) * self.weight / self.size
        order = sorted(self.levels)
        reference = max(order, key=self.levels.__getitem__)
        order.remove(reference)
        levels = tuple(level for level in order if self.levels[level] >= least)
        merged = tuple(level for level in order if self.levels[level] < least)
        other = None
        if merged and sum(self.levels[level] for level in merged) >= least:
            other = "other"
            while other in (*levels, reference):
                other = f"({other})"
        return Category(self.column, reference, levels, merged, other)


def _counted(table: Table, names: tuple[str, ...], progress: Progress) -> list[_Counts]:
    """Count the levels of columns, in one pass over the rows that a fit uses.

    Refuse what is not categories, all at once; name levels that look alike.
    """
    counts = [_Counts(name) for name in names]
    reading = Pass(replace(table, categories=tuple(map(Category, names))), progress)
    for records, rows in reading.with_records():
        coded = [levels_of(records, name, reading.file) for name in names]
        complete = np.all([codes >= 0 for codes, _ in coded], axis=0)
        for column, (codes, levels) in zip(counts, coded, strict=True):
            used = codes >= 0 if table.missing == "em" else complete
            column.add(codes[used], levels, rows.frequencies[used])
    wrong = {c.column: problem for c in counts if (problem := c.verdict())}
    if wrong:
        words = "; ".join(f"column {name!r} {why}" for name, why in wrong.items())
        parameter, value = table.without(list(wrong))
        raise ValueError(
            f"{reading.file.name}: {words}, too many for categories: leave "
            f"{'it' if len(wrong) == 1 else 'them'} out with {parameter}={value!r}"
        )
    for column in counts:
        subject = f"column {column.column!r} has values that"
        warn_of_similar_labels(sorted(column.levels), subject, "categories")
    return counts
