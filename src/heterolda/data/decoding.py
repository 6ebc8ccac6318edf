"""Columns of Arrow record batches as NumPy arrays; errors name the column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.data.categories import Category, level_of
from heterolda.data.columns import OpenFile
from heterolda.data.csv_reader import missing_words, parsed_numbers
from heterolda.data.not_numbers import NotNumbersError
from heterolda.foundations.arrays import Array

# Types as Arrow calls them.
TEXT = "string", "large_string", "string_view"
_LABELS = *TEXT, "floating", "integer", "boolean", "null"
NUMBERS = "floating", "integer", "boolean", "decimal", "null"


def features_of(batch: Any, file: OpenFile, n_before: int = 0) -> Array:
    """The features of a batch, (n_rows, n_features); missing values are NaN.

    Column by column in memory, as Arrow has them. Messages count rows from `n_before`.
    """
    categories = {category.column: category for category in file.columns.categories}
    columns = np.empty((len(file.columns.feature_names), batch.num_rows))
    parsed = _parsed(batch, file)
    start = 0
    for name in file.columns.features or ():
        if name in categories:
            stop = start + len(categories[name].features)
            _indicate(columns[start:stop], categories[name], batch, file)
        else:
            stop = start + 1
            known = parsed.get(name)
            columns[start] = (
                numbers_of(batch, name, file, n_before) if known is None else known
            )
        start = stop
    return columns.T


def _parsed(batch: Any, file: OpenFile) -> dict[str, Array]:
    """Features of text by their names, converted all at once: there may be many.

    If that fails, it is up to `numbers_of` to say which one is wrong.
    """
    import pyarrow as pa
    from pyarrow import types

    if not file.is_text:
        return {}
    text = file.columns.text
    named = {n: column_of(batch, n, file) for n in file.columns.features or ()}
    named = {
        name: column
        for name, column in named.items()
        if name not in text and types.is_string(column.type)
    }
    if not named:
        return {}
    try:
        whole = _array(pa.concat_arrays(named.values()), "", file, 0)
    except NotNumbersError:
        return {}
    return dict(zip(named, whole.reshape(len(named), -1), strict=True))


def _indicate(features: Array, category: Category, batch: Any, file: OpenFile) -> None:
    """Write the zeros and ones of a category; missing values are NaN."""
    codes, levels = levels_of(batch, category.column, file)
    known = category.place_of
    unseen = [code for code, level in enumerate(levels) if level not in known]
    rows = codes[np.isin(codes, unseen)]
    if len(rows):
        examples = [levels[code] for code in np.unique(rows)]
        file.columns.unseen.add(category.column, len(rows), examples)
    places = [known.get(level, category.place_of_unseen) for level in levels]
    of_rows = np.array([*places, -2])[codes]  # the last one stands for missing
    features[:] = of_rows == np.arange(len(features))[:, None]
    features[:, of_rows == -2] = np.nan


def levels_of(
    batch: Any, name: str, file: OpenFile
) -> tuple[NDArray[np.int64], list[str]]:
    """Levels of a category: indices into a list of them, -1 for a missing one."""
    codes, values = _coded(batch, name, file, "of categories", "decimal")
    levels = [level_of(value) for value in values]
    words = missing_words(file.reading) if file.is_text else ()
    missing = {"", *words, *map(level_of, file.reading.marks)}
    absent = [code for code, level in enumerate(levels) if level in missing]
    codes[np.isin(codes, absent)] = -1
    return codes, levels


def numbers_of(batch: Any, name: str, file: OpenFile, n_before: int = 0) -> Array:
    """A column of numbers as float64; missing values are NaN."""
    return _array(column_of(batch, name, file), name, file, n_before)


def _array(column: Any, name: str, file: OpenFile, n_before: int) -> Array:
    from pyarrow import types

    if not types.is_float64(column.type):  # most are, and there may be many
        column = _as_float64(column, name, file, n_before)
    array: Array = column.to_numpy(zero_copy_only=False)
    marks = file.reading.numeric_marks
    return np.where(np.isin(array, marks), np.nan, array) if marks else array


def _as_float64(column: Any, name: str, file: OpenFile, n_before: int) -> Any:
    """A column of another type as one of float64, or an error that names it."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    if file.is_text and types.is_string(column.type):
        column = parsed_numbers(column, name, file.name, n_before, file.reading)
    check_numbers(column.type, name, file.name)
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_boolean(column.type):
        column = pc.cast(column, pa.uint8())
    return pc.cast(column, pa.float64(), safe=False)


def check_numbers(kind: Any, name: str, where: str) -> None:
    """Refuse a column of a type that is not a kind of numbers."""
    from pyarrow import types

    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        kind = kind.value_type
    if not is_any(kind, *NUMBERS):
        raise NotNumbersError(
            f"{where}: column {name!r} must be numbers, but is of type {kind}",
            ": convert it, or leave it out with exclude=...",
        )


def labels_of(batch: Any, file: OpenFile) -> tuple[NDArray[np.int64], list[Any]]:
    """Labels of a batch: indices into a list of distinct ones, -1 for a missing one."""
    name = file.columns.target
    codes, labels = _coded(batch, name, file, "of the labels")
    if file.reading.padded:
        labels = [label and label.lstrip(" ") for label in labels]
    for label in labels:
        if isinstance(label, float) and label == label and label % 1:
            raise ValueError(
                f"{file.name}: column {name!r} of the labels must be whole numbers, "
                f"booleans or text, got values such as {label!r}"
            )
    return codes, labels


def _coded(
    batch: Any, name: str | None, file: OpenFile, what: str, *more: str
) -> tuple[NDArray[np.int64], list[Any]]:
    """Indices into a list of distinct values, -1 for a missing one."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    column = column_of(batch, name, file)
    is_encoded = types.is_dictionary(column.type)
    kind = column.type.value_type if is_encoded else column.type
    if not is_any(kind, *_LABELS, *more):
        raise ValueError(
            f"{file.name}: column {name!r} {what} must be whole numbers, booleans or "
            f"text, but is of type {kind}: convert it to text"
        )
    if not is_encoded:
        column = pc.dictionary_encode(column)
    values = column.dictionary.to_pylist()
    codes = pc.fill_null(pc.cast(column.indices, pa.int64()), -1).to_numpy()
    codes = codes.copy()
    missing = missing_words(file.reading) if file.is_text else file.reading.words
    for code, value in enumerate(values):
        if value is None or value != value or str(value) in missing:
            codes[codes == code] = -1
    return codes, values


def is_any(kind: Any, *names: str) -> bool:
    """Whether a type is one of those that Arrow calls so."""
    from pyarrow import types

    return any(getattr(types, f"is_{name}")(kind) for name in names)


def column_of(batch: Any, name: str | None, file: OpenFile) -> Any:
    """A column, with its values one by one even if they are stored as runs."""
    from pyarrow import types

    # Names are looked up, not searched for: there may be many.
    at = batch.schema.get_field_index(name)
    if at < 0:
        raise ValueError(f"{file.name}: a batch has no column named {name!r}")
    column = batch.column(at)
    if types.is_run_end_encoded(column.type):
        import pyarrow.compute as pc

        column = pc.run_end_decode(column)
    return column
