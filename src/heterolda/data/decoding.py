"""Decode columns of Arrow record batches into NumPy arrays; errors name the column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.data.formats import GROUPED, Format
from heterolda.data.labels import text_of
from heterolda.data.not_numeric import TEXT, is_any, not_numeric
from heterolda.data.table import File
from heterolda.estimators.fit_record import Category
from heterolda.foundations.arrays import Array, Index

# Arrow's names of types.
_LABELS = (*TEXT, "floating", "integer", "boolean", "null")
_NUMBERS = "floating", "integer", "boolean", "decimal", "null"


class NotNumbersError(ValueError):
    """A column is not all numbers."""


def features_of(batch: Any, file: File, n_before: int, unseen: Counter[str]) -> Array:
    """Return the features of a batch, and count rows with levels not in the fit."""
    categories = {category.column: category for category in file.table.categories}
    columns = {
        name: batch.column(name) for name in file.columns if name not in categories
    }
    try:
        numbers = _all_numbers(columns, file)
    except NotNumbersError as error:
        raise not_numeric(columns, file, n_before) from error
    features = np.empty((len(file.features), batch.num_rows))
    start = 0
    for name in file.columns:
        stop = start + 1
        if name in categories:
            stop = start + len(categories[name].features)
            features[start:stop] = _indicators(categories[name], batch, file, unseen)
        else:
            features[start] = numbers[name]
        start = stop
    return features.T


def weights_of(batch: Any, name: str, file: File) -> Array:
    """Return a column of numbers as float64; missing values are NaN."""
    try:
        return _all_numbers({name: batch.column(name)}, file)[name]
    except NotNumbersError as error:
        raise ValueError(
            f"{file.name}: the weight column {name!r} is not all numbers: correct it, "
            "or name another column"
        ) from error


def _all_numbers(columns: dict[str, Any], file: File) -> dict[str, Array]:
    """Return columns as float64, converting all text columns at once."""
    import pyarrow as pa
    from pyarrow import types

    text = {n: c for n, c in columns.items() if types.is_string(c.type)}
    if text and file.is_text:
        parsed = parsed_numbers(pa.concat_arrays(text.values()), file.format)
        size = len(parsed) // len(text)
        columns |= {n: parsed.slice(k * size, size) for k, n in enumerate(text)}
    return {name: _as_numpy(column, file.format) for name, column in columns.items()}


def parsed_numbers(column: Any, text: Format) -> Any:
    """Parse numbers by the rules of Arrow's own reader."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = pc.utf8_trim_whitespace(column)
    cells = pc.if_else(pc.is_in(cells, pa.array(text.missing_words)), None, cells)
    if text.grouped:
        group = "," if text.decimal == "." else "."
        grouped = f"^{GROUPED[text.decimal or '.'].pattern}$"
        digits = pc.replace_substring(cells, group, "")
        cells = pc.if_else(pc.match_substring_regex(cells, grouped), digits, cells)
    if text.decimal == ",":  # a cell with a point is not a number
        cells = pc.replace_substring(pc.replace_substring(cells, ".", ":"), ",", ".")
    try:
        return pc.cast(cells, pa.float64())
    except pa.ArrowInvalid as error:
        raise NotNumbersError from error


def _as_numpy(column: Any, text: Format) -> Array:
    """Convert a numeric column of any type to float64."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    if not types.is_float64(column.type):
        is_encoded = types.is_dictionary(column.type)
        if not is_any(column.type.value_type if is_encoded else column.type, *_NUMBERS):
            raise NotNumbersError
        if is_encoded:
            column = column.dictionary_decode()
        if types.is_boolean(column.type):
            column = pc.cast(column, pa.uint8())
        column = pc.cast(column, pa.float64(), safe=False)
    array: Array = column.to_numpy(zero_copy_only=False)
    missing = text.na_numbers
    return np.where(np.isin(array, missing), np.nan, array) if missing else array


def _indicators(
    category: Category, batch: Any, file: File, unseen: Counter[str]
) -> Array:
    """Return the 0/1 features of a category, (n_features, n_rows); missing is NaN."""
    codes, levels = levels_of(batch, category.column, file)
    places = category.place_of
    new = [code for code, level in enumerate(levels) if level not in places]
    unseen[category.column] += int(np.isin(codes, new).sum())
    level_places = [places.get(level, category.place_of_unseen) for level in levels]
    row_places = np.array([*level_places, -2])[codes]  # code -1 is missing
    features = row_places == np.arange(len(category.features))[:, None]
    return np.where(row_places == -2, np.nan, features)


def levels_of(batch: Any, name: str, file: File) -> tuple[Index, list[str]]:
    """Return indices into a list of a category's levels, -1 for missing values."""
    codes, values = _coded(batch, name, file, "categorical", "decimal")
    levels = [level_of(value) for value in values]
    return _masked(codes, levels, {"", *map(level_of, file.format.na)}), levels


def level_of(value: Any) -> str:
    """Return the name of a value's level, however written; empty if it is missing."""
    if value is None or value != value:
        return ""
    text = text_of(value).strip()
    text = text.lower() if text.lower() in ("true", "false") else text
    return re.sub(r"^(0|-?[1-9]\d*)\.0*$", r"\1", text)


def groups_of(batch: Any, name: str, file: File) -> Index:
    """Return hashes of the values of a column, equal for equal text; 0 if missing."""
    codes, values = _coded(batch, name, file, "group", "decimal", "temporal")
    digests = (blake2b(text_of(v).encode(), digest_size=8).digest() for v in values)
    hashes = np.array([int.from_bytes(d, "big") >> 1 for d in digests] + [0], np.int64)
    return hashes[codes]


def times_of(batch: Any, name: str, file: File) -> Array:
    """Return times as numbers; NaN if missing. Text may be numbers or ISO dates."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    column = batch.column(name)
    try:
        if types.is_temporal(column.type):
            column = pc.cast(column, pa.timestamp("us"))
        elif not types.is_string(column.type):
            return _as_numpy(column, file.format)
        else:
            with suppress(NotNumbersError):
                return _as_numpy(parsed_numbers(column, file.format), file.format)
            cells = pc.utf8_trim_whitespace(column)
            missing = pa.array(file.format.missing_words)
            cells = pc.if_else(pc.is_in(cells, missing), None, cells)
            column = pc.cast(cells, pa.timestamp("us"))
        numbers = pc.cast(pc.cast(column, pa.int64()), pa.float64())
        return np.asarray(numbers.to_numpy(zero_copy_only=False), np.float64)
    except (pa.ArrowException, NotNumbersError) as error:
        raise ValueError(
            f"{file.name}: the column of times {name!r} is neither numbers nor dates "
            "such as 2026-11-30 or 2026-11-30 08:15:00: convert it"
        ) from error


def labels_of(batch: Any, file: File, n_before: int) -> tuple[Index, list[Any]]:
    """Return indices into a list of distinct labels, -1 for missing labels."""
    name = str(file.table.target)
    codes, labels = _coded(batch, name, file, "label")
    if name in labels:  # in text such lines have been found before
        names = [{column: column for column in (*file.columns, name)}]
        for row in np.flatnonzero(codes == labels.index(name)).tolist():
            if batch.select([*names[0]]).slice(row, 1).to_pylist() == names:
                raise ValueError(
                    f"{file.name}: row {n_before + row + 1} repeats the column names: "
                    "leave it out"
                )
    for label in labels:
        if isinstance(label, float) and label == label and label % 1:
            raise ValueError(
                f"{file.name}: the label column {name!r} must be whole numbers, "
                f"booleans or text, got values such as {label!r}: name another column "
                "if this one is a measurement, or make classes of it"
            )
    return codes, labels


def _coded(
    batch: Any, name: str, file: File, role: str, *more: str
) -> tuple[NDArray[np.int64], list[Any]]:
    """Return indices into a list of distinct values, -1 for missing values."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    column = batch.column(name)
    is_encoded = types.is_dictionary(column.type)
    kind = column.type.value_type if is_encoded else column.type
    if not is_any(kind, *_LABELS, *more):
        raise ValueError(
            f"{file.name}: the {role} column {name!r} must be whole numbers, booleans "
            f"or text, but is of type {column.type}: convert it to text"
        )
    column = column if is_encoded else pc.dictionary_encode(column)
    values = column.dictionary.to_pylist()
    if file.is_text:
        values = [value and value.strip() for value in values]
    codes = pc.fill_null(pc.cast(column.indices, pa.int64()), -1).to_numpy().copy()
    missing = file.format.missing_words if file.is_text else file.format.na_words
    words = [None if v is None or v != v else str(v) for v in values]
    return _masked(codes, words, {None, *missing}), values


def _masked(codes: Index, values: list[Any], missing: Collection[Any]) -> Index:
    """Replace the codes of missing values with -1."""
    absent = [code for code, value in enumerate(values) if value in missing]
    codes[np.isin(codes, absent)] = -1
    return codes
