"""Find traps in tables that make a model look better or worse than it is.

These are columns that number the rows or give the class away, numbers that stand for
missing values, targets that are measurements, and evaluation on the rows of the fit.
Notes name them, since they may be intended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.cli.messages import options_text
from heterolda.data.labels import text_of
from heterolda.data.reading import Pass
from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.wording import named, percent
from heterolda.statistics.rows import Rows

_MAX_ROWS = 100_000  # examined
_MIN_ROWS = 20  # fewer may be in order by chance
_MIN_ROWS_PER_CLASS = 3  # on average, to call a column constant
_MIN_SHARE, _MIN_COUNT = 0.01, 6  # of rows with a number that may be a placeholder
_MIN_DISTINCT = 10  # other values of the column
_MAX_NUMBERS = 20  # that can be classes if some are rare
_SHOWN = 3  # columns in a note
_TOLERANCE = 1e-9  # for sums of the same rows in another order, relative


def training_traps(reading: Pass, rows: Rows) -> list[str]:
    """Return notes on the rows of a fit, of which `rows` may be a sample."""
    table, features = reading.table, reading.file.features
    # A feature of a category comes from another column.
    origins = {name: c.column for c in table.categories for name in c.features}
    step = max(1, -(-len(rows.codes) // _MAX_ROWS))
    X, codes = rows.X[::step], rows.codes[::step]
    notes = []
    if is_measurement(rows.classes, codes):
        notes.append(
            f"column {table.target!r} has {len(rows.classes)} different whole numbers, "
            "some of them rare; if it is a measurement, name another column with "
            "--target"
        )
    for names, problem in (
        (row_numbers(reading.first, features), "number the rows"),
        (giveaways(X, codes, features), "give the class away"),
    ):
        columns = list(dict.fromkeys(origins.get(name, name) for name in names))
        if columns:
            notes.append(
                f"columns that {problem}: {named(columns, _SHOWN)}; unless they are "
                "measurements, leave them out: "
                f"{options_text(table.without(columns))}"
            )
    numeric = [j for j, name in enumerate(features) if name not in origins]
    text = placeholder_note(table, X[:, numeric], [features[j] for j in numeric])
    return [*notes, text] if text else notes


def is_measurement(classes: NDArray[Any], codes: Index) -> bool:
    """Return whether the labels are many numbers, some far rarer than others."""
    if classes.dtype.kind not in "iu" or len(classes) <= _MAX_NUMBERS:
        return False
    counts = np.bincount(codes, minlength=len(classes))
    return bool(2 * counts.min() < counts.mean())


def row_numbers(first: Array, features: Sequence[str]) -> list[str]:
    """Return the features that increase from row to row by whole numbers."""
    if len(first) < _MIN_ROWS:
        return []
    steps = np.diff(first, axis=0)
    counts = ((steps > 0) & (steps % 1 == 0)).all(axis=0)
    return [features[j] for j in np.flatnonzero(counts).tolist()]


def giveaways(X: Array, codes: Index, features: Sequence[str]) -> list[str]:
    """Return the features that are constant in each class, and not in all rows."""
    classes = np.unique(codes)
    if len(codes) < _MIN_ROWS_PER_CLASS * len(classes) or len(classes) < 2:
        return []
    parts = [X[codes == k] for k in classes]
    low = np.array([np.fmin.reduce(part) for part in parts])
    high = np.array([np.fmax.reduce(part) for part in parts])
    constant = (low == high).all(axis=0) & (low.min(axis=0) < high.max(axis=0))
    return [features[j] for j in np.flatnonzero(constant).tolist()]


def placeholders(X: Array) -> list[tuple[int, float, float]]:
    """Return column, number and share of each extreme that is frequent and far away.

    Far means more than the standard deviation of the other values, so that zeros of
    counts and of nonnegative measurements are not far.
    """
    if not len(X):
        return []
    suspects = []
    ends = np.array([np.fmin.reduce(X), np.fmax.reduce(X)])
    n_equal = np.array([np.count_nonzero(np.equal(X, end), axis=0) for end in ends])
    for j, k in np.argwhere(max(_MIN_COUNT, _MIN_SHARE * len(X)) <= n_equal.T).tolist():
        column, value = X[:, j], ends[k, j]
        others = column[(column != value) & ~np.isnan(column)]
        if len(np.unique(others)) < _MIN_DISTINCT:
            continue
        if np.abs(others - value).min() > others.std(ddof=1):
            suspects.append((j, float(value), float(n_equal[k, j] / len(X))))
    return suspects


def placeholder_note(table: Any, X: Array, features: Sequence[str]) -> str | None:
    """Return a note on numbers that may stand for missing values, if there are any."""
    columns: dict[float, list[tuple[int, float]]] = {}
    for j, value, share in placeholders(X):
        columns.setdefault(value, []).append((j, share))
    # NA strings apply to all columns, so numbers that other columns have are left out.
    n_columns = {value: np.equal(X, value).any(axis=0).sum() for value in columns}
    columns = {v: c for v, c in columns.items() if n_columns[v] == len(c)}
    shares = [
        f"{text_of(value)} makes up {percent(share)} of column {features[j]!r:.60}"
        for value, cells in columns.items()
        for j, share in cells
    ]
    if not shares:
        return None
    more = f" and {len(shares) - _SHOWN} more such columns" if shares[_SHOWN:] else ""
    options = {"na": [*table.format.na, *map(text_of, columns)]}
    options |= {"missing": table.advice} if table.advice else {}
    return (
        f"{', '.join(shares[:_SHOWN])}{more}, far from the other values: if it stands "
        f"for a missing value, add {options_text(options)}"
    )


def evaluation_traps(model: Any, scores: Any, sums: Array) -> list[str]:
    """Return notes on an evaluation, given the sums of the features by class."""
    notes = []
    stats = getattr(model, "statistics_", None)
    weights = scores.confusion.sum(axis=1)
    if stats is not None and np.allclose(weights, stats.weights):
        totals = stats.weights[:, None] * stats.means
        size = np.abs(totals) + np.sqrt(stats.weights[:, None] * stats.squares)
        if np.all(np.abs(sums - totals) <= _TOLERANCE * size):
            notes.append(
                "the model was fitted to these rows, so it is more accurate on them "
                "than on new ones; inspect shows its held-out accuracy"
            )
    share = float(weights.max() / weights.sum())
    if scores.accuracy <= share:
        label = scores.classes.tolist()[int(weights.argmax())]
        notes.append(
            f"the model is no better than always answering {label!r}, which is right "
            f"in {percent(share)} of these rows"
        )
    return notes
