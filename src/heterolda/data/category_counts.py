"""Count the levels of categorical columns, in a pass over the rows."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from heterolda.data.decoding import levels_of
from heterolda.data.labels import warn_of_similar_labels
from heterolda.data.reading import Pass, open_files
from heterolda.data.table import Table
from heterolda.estimators.fit_record import Category
from heterolda.exceptions import ParameterError
from heterolda.foundations.threads import Progress, silent
from heterolda.foundations.wording import named

_MAX_LEVELS, _FEW_LEVELS = 10_000, 10  # never more; this many are always allowed
_MIN_ROWS = 10  # for a level of its own
_MIN_SHARE = 0.01  # of the rows, for a level of its own


def with_categories(
    table: Table, names: Iterable[str], progress: Progress = silent
) -> Table:
    """Return the table with categorical columns as features, from a pass over it."""
    names = tuple(names)
    others = {table.target, table.sample_weight, *table.exclude}
    for name in names:
        is_feature = name in (table.columns or names) and name not in others
        if not is_feature or names.count(name) > 1:
            raise ParameterError(
                "categorical", f"must name features, each once, got {name!r}"
            )
    categories = _counted(table, names, progress)
    constant = [c.column for c in categories if not c.features]
    if constant:
        warnings.warn(
            f"left out {named(constant)}: nearly all rows have the same value",
            UserWarning,
            stacklevel=2,
        )
    used = tuple(c for c in categories if c.features)
    roles: dict[str, Any] = table.without(constant)
    return replace(table, categories=used, **roles)


def _counted(
    table: Table, names: tuple[str, ...], progress: Progress
) -> list[Category]:
    """Return the categories by the weights of levels, or reject those with too many."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    total = n_rows = 0.0
    reading = Pass(replace(table, categories=tuple(map(Category, names))), progress)
    for file in open_files(reading.table):
        for records, rows in reading.of_file(file):
            n_rows += np.count_nonzero(rows.frequencies)
            total += rows.frequencies.sum()
            coded = [levels_of(records, name, file) for name in names]
            complete = np.all([codes >= 0 for codes, _ in coded], axis=0)
            for (codes, levels), count in zip(coded, counts.values(), strict=True):
                used = codes >= 0 if table.missing == "em" else complete
                sums = np.bincount(codes[used], rows.frequencies[used], len(levels))
                for code in np.flatnonzero(sums).tolist():
                    count[levels[code]] += sums[code]
            if any(len(count) > _MAX_LEVELS for count in counts.values()):
                break
    # A fit scales weights with a mean below 1 to a mean of 1.
    scale = max(1.0, n_rows / total) if total else 1.0
    wrong = {
        name: f"column {name!r} has {len(count):,} different values"
        for name, count in counts.items()
        if len(count) > min(_MAX_LEVELS, max(_FEW_LEVELS, scale * count.total() / 2))
    }
    if wrong:
        roles = reading.table.without(list(wrong))
        advice = " and ".join(f"{name}={value!r}" for name, value in roles.items())
        raise ValueError(
            f"{reading.file.name}: {'; '.join(wrong.values())} in {n_rows:,.0f} rows, "
            f"too many for categories: leave {'it' if len(wrong) == 1 else 'them'} out "
            f"with {advice}"
        )
    for name, count in counts.items():
        subject = f"column {name!r} has values that"
        warn_of_similar_labels(sorted(count), subject, "categories")
    return [_category(name, c, _MIN_ROWS / scale) for name, c in counts.items() if c]


def _category(name: str, weights: Counter[str], min_weight: float) -> Category:
    """Return a column as features, with rare levels merged."""
    min_weight = max(min_weight, _MIN_SHARE * weights.total())
    order = sorted(weights)
    reference = max(order, key=weights.__getitem__)
    order.remove(reference)
    levels = tuple(level for level in order if weights[level] >= min_weight)
    merged = tuple(level for level in order if weights[level] < min_weight)
    other = None
    if merged and sum(weights[level] for level in merged) >= min_weight:
        other = "other"
        while other in (*levels, reference):
            other = f"({other})"
    return Category(name, reference, levels, merged, other)
