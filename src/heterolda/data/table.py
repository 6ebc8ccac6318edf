"""Describe a table: its source, its format and the roles of its columns."""

from __future__ import annotations

import csv
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from heterolda.data.formats import Format
from heterolda.estimators.fit_record import Category, encoded
from heterolda.exceptions import ParameterError
from heterolda.foundations.validation import check_type
from heterolda.foundations.wording import MISSING_IN_FILES, named

_SHOWN = 20  # column names in a message
# Arrow needs about 20 KB per column, even for few rows.
_MAX_COLUMNS = 30_000


class AbsentColumnsError(ValueError):
    """A table lacks columns that were named."""

    absent = True


@dataclass(frozen=True)
class Table:
    """A table, which can be read several times.

    The first fields are the arguments of :func:`statistics_from_batches`. Without a
    target there are no labels; categorical columns are features.
    """

    source: Any
    target: str | None = None
    columns: Iterable[str] | None = None
    exclude: Iterable[str] = ()
    sample_weight: str | None = None
    missing: str = "error"
    # The column by which rows are held out, if any, and whether it has times.
    held_by: str | None = None
    in_time: bool = False
    categories: tuple[Category, ...] = ()
    format: Format = field(default_factory=Format)
    name: str | None = None  # replaces the path in messages
    # Whether to advise missing="em"; None if `missing` cannot be chosen.
    takes_missing: bool | None = True
    keep: bool = False  # whether to read all other columns, too, unchanged

    def __post_init__(self) -> None:
        for name in ("columns", "exclude"):
            value = getattr(self, name)
            if isinstance(value, str) or not isinstance(value, Iterable | None):
                raise ParameterError(name, f"must be a list of names, got {value!r}")
            value = None if value is None else tuple(value)
            for item in value or ():
                check_type(name, item, str, "a list of names of columns")
            object.__setattr__(self, name, value)
        column = self.sample_weight
        check_type("sample_weight", column, str | None, "the name of a column")
        if self.missing not in MISSING_IN_FILES:
            raise ParameterError(
                "missing",
                f"must be one of {list(MISSING_IN_FILES)}, got {self.missing!r}",
            )
        names = [*self.read(self.columns or ()), *self.exclude]
        repeated = sorted(name for name, n in Counter(names).items() if n > 1)
        if repeated:
            raise ParameterError(
                "columns",
                f"and the other options for columns name {repeated} more than once: "
                "name a column in one of them",
            )

    def read(self, columns: Iterable[str]) -> list[str]:
        """Return feature columns, followed by those of labels, weights and groups."""
        others = self.target, self.sample_weight, self.held_by
        return [*columns, *(name for name in others if name is not None)]

    @property
    def categorical(self) -> tuple[str, ...]:
        """Return the names of the categorical columns."""
        return tuple(category.column for category in self.categories)

    @property
    def advice(self) -> str | None:
        """Return the value of `missing` to recommend if none is given."""
        if self.missing != "error" or self.takes_missing is None:
            return None
        return "em" if self.takes_missing else "drop"

    def without(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Return the parameters that also leave out these columns."""
        options = {"exclude": [*self.exclude, *names]}
        if self.columns is not None:
            options = {"columns": [n for n in self.columns if n not in names]}
        if any(name in names for name in self.categorical):
            options["categorical"] = [n for n in self.categorical if n not in names]
        return options

    def feature_columns(
        self, names: Sequence[str], where: str, index: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Return the feature columns of a file; those in `index` must be named."""
        others = {*self.read(()), *self.exclude}
        if self.columns is None:
            columns = tuple(n for n in names if n not in others and n not in index)
        else:
            columns = tuple(self.columns)
        needed = list(dict.fromkeys([*others, *self.categorical, *columns]))
        read = names if self.keep else [n for n in needed if n not in self.exclude]
        if len(read) > _MAX_COLUMNS:
            raise ValueError(
                f"{where}: {len(read)} columns are too many, at most {_MAX_COLUMNS} "
                "can be read: select some with columns=..."
            )
        count = Counter(names)
        repeated = sorted({name for name in read if count[name] > 1})
        if repeated:
            raise ValueError(
                f"{where}: several columns are named {named(repeated, _SHOWN)}: rename "
                "them, or leave them out"
            )
        absent = [name for name in needed if not count[name]]
        if absent:
            text = f"{where}: no column is named {named(absent, _SHOWN)}; it has "
            text += named(names, _SHOWN)
            if self.target in absent:
                text += "; name the label column with target=..."
            elif self.sample_weight in absent:
                text += "; name the column of weights with sample_weight=..."
            elif self.held_by in absent:
                name = "time" if self.in_time else "groups"
                text += f"; name another column with {name}=..."
            raise AbsentColumnsError(text)
        if not columns and self.columns is None:
            raise ValueError(f"{where}: there is no column besides {sorted(others)}")
        features = Counter(name for _, name in encoded(columns, self.categories))
        clashes = [name for name, n in features.items() if n > 1]
        if clashes:
            raise ValueError(
                f"{where}: two features would be named {clashes[0]!r}: rename a column"
            )
        return columns


@dataclass(frozen=True)
class File:
    """An open file, a stream or an item of one."""

    name: str  # for messages
    table: Table
    columns: tuple[str, ...]  # of features
    batches: Iterable[Any]  # the rows, as record batches
    schema: Any  # names and types of all columns; in text files, all are text
    format: Format = field(default_factory=Format)  # of text, as detected
    is_text: bool = False  # whether columns are text only because the file is

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Return the names of the features, including those of categories."""
        return tuple(name for _, name in encoded(self.columns, self.table.categories))

    def place(self, mask: Any, n_before: int) -> str:
        """Describe the first cell of a mask; rows count from 1, without the header."""
        row, j = np.argwhere(mask)[0]
        origins = [name for name, _ in encoded(self.columns, self.table.categories)]
        column = self.table.read(origins)[j]
        return f"{self.name}: column {column!r}, row {n_before + row + 1}"


@contextmanager
def errors_naming(where: str) -> Iterator[None]:
    """Turn anything that a reader raises into a ValueError that names the file."""
    import pyarrow as pa

    broken = pa.ArrowException, OSError, EOFError, zlib.error, csv.Error
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{where} cannot be read: a name in it is not valid UTF-8"
        ) from error
    except broken as error:
        reason = str(error).strip().splitlines()[0] if str(error) else repr(error)
        raise ValueError(f"{where} cannot be read: {reason}") from error
