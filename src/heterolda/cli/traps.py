"""Find traps in tables that make a model look better or worse than it is.

These are columns that number the rows or give the class away, numbers that stand for
missing values, targets that are measurements, and evaluation on the rows of the fit.
Notes name them, since they may be intended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.cli.messages import options_text
from heterolda.data.decoding import NotNumbersError, parsed_numbers
from heterolda.data.labels import text_of
from heterolda.data.not_numeric import TEXT, is_any
from heterolda.data.reading import Pass, open_files
from heterolda.data.table import Table
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
# Rows of a text column that are examined, and its least values and rows of each.
_MAX_GROUP_ROWS, _MIN_GROUPS, _MIN_PER_GROUP = 20_000, 5, 2
_SURE = 3.0  # standard errors
_MIN_ALIKE = 0.1  # share of the variance within classes that is between groups
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


def evaluation_traps(model: Any, result: Any, sums: Array) -> list[str]:
    """Return a note if a model was fitted to the evaluated rows, by class sums."""
    stats, weights = getattr(model, "statistics_", None), result.confusion.sum(axis=1)
    if stats is None or not np.allclose(weights, stats.weights):
        return []
    totals = stats.weights[:, None] * stats.means
    size = np.abs(totals) + np.sqrt(stats.weights[:, None] * stats.squares)
    if np.any(np.abs(sums - totals) > _TOLERANCE * size):
        return []
    return [
        "the model was fitted to these rows, so it is more accurate on them than on "
        "new ones; inspect shows its held-out accuracy"
    ]


def group_advice(table: Table) -> list[str]:
    """Return advice to hold out whole groups if rows of a text column are alike."""
    if table.held_by is not None:
        return []
    shares = {
        name: alike(X, codes, groups)
        for name, X, codes, groups in _unused_columns(table)
    }
    best = max(shares, key=shares.__getitem__, default="")
    if not best or shares[best] < _MIN_ALIKE:
        return []
    return [
        f"rows of one {best!r} are alike ({percent(shares[best])} of the variance "
        f"within classes is between its values); if new rows come from new ones, add "
        f"{options_text({'groups': best})}"
    ]


def alike(X: Array, codes: Index, groups: Index) -> float:
    r"""Return the share of the variance within classes that groups explain.

    It is the intraclass correlation, averaged over features, by the moments of a
    one-way analysis of variance: with n rows in g groups, mean squares A between and B
    within groups, and :math:`m = (n - \sum_j n_j^2 / n) / (g - 1)`,

    .. math:: \frac{A - B}{A + (m - 1) B}.

    Rows are taken from the mean of their class first; groups need not nest in classes.
    It is zero within three standard errors of what it is by chance in one feature,
    :math:`\sqrt{2 / (m (m - 1) (g - 1))}`.
    """
    sizes = np.bincount(groups)
    n, g = len(groups), len(sizes)
    if g < _MIN_GROUPS or n < _MIN_PER_GROUP * g:
        return 0.0
    means = [np.bincount(codes, x) / np.maximum(np.bincount(codes), 1) for x in X.T]
    rest = X - np.transpose(means)[codes]
    sums = np.array([np.bincount(groups, x) for x in rest.T])
    between = (sums**2 / sizes).sum(axis=1)
    within = np.maximum((rest**2).sum(axis=0) - between, 0) / (n - g)
    m = (n - (sizes**2).sum() / n) / (g - 1)
    between = between / (g - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = (between - within) / (between + (m - 1) * within)
    share = float(np.nan_to_num(shares).mean())
    by_chance = np.sqrt(2 / (m * (m - 1) * (g - 1)))
    return share if share > _SURE * by_chance else 0.0


def _unused_columns(table: Table) -> Iterator[tuple[str, Array, Index, Index]]:
    """Yield unused columns of text that repeat, with the first rows of a table."""
    import pyarrow.compute as pc

    reading = Pass(replace(table, keep=True))
    parts: list[tuple[Any, Rows]] = []
    with suppress(ValueError):  # reading says so
        file = next(open_files(reading.table))
        used = {*table.read(file.columns)}
        for batch in reading.of_file(file) if {*file.schema.names} - used else ():
            parts.append(batch)
            if reading.n_rows >= _MAX_GROUP_ROWS:
                break
    if not parts:
        return
    X = np.concatenate([rows.X for _, rows in parts])
    codes = np.concatenate([rows.codes for _, rows in parts])
    complete = np.isfinite(X).all(axis=1)
    for name in file.schema.names:
        column = [records.column(name) for records, _ in parts]
        if name in used or not is_any(column[0].type, *TEXT):
            continue
        with suppress(NotNumbersError):
            parsed_numbers(column[0], file.format)
            continue  # numbers
        values = [
            value for part in column for value in pc.cast(part, "string").to_pylist()
        ]
        groups = np.unique([value or "" for value in values], return_inverse=True)[1]
        yield (
            name,
            X[complete],
            codes[complete],
            np.unique(groups[complete], return_inverse=True)[1],
        )
