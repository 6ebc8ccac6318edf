"""A table: the files it is in, how they are written, and the roles of its columns."""

from __future__ import annotations

import csv
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from heterolda.data.formats import Format
from heterolda.estimators.categories import Category, encoded
from heterolda.exceptions import ParameterError
from heterolda.foundations.validation import check_number
from heterolda.foundations.wording import MISSING_IN_FILES, listed, named

_SHOWN = 20  # names of columns in a message, at most
# Arrow needs some twenty kilobytes for a column, however few rows there are.
_MOST_COLUMNS = 30_000
_BATCH_NUMBERS = 1 << 21


class AbsentColumnsError(ValueError):
    """A table lacks columns."""

    def __init__(self, message: str, absent: Iterable[str]) -> None:
        super().__init__(message)
        self.absent = tuple(absent)


@dataclass(frozen=True)
class Table:
    """A table to be read as often as a task needs it.

    The first fields are the arguments of :func:`statistics_from_batches`. Without a
    target there are no labels; categorical columns are features.
    """

    source: Any
    target: str | None = None
    columns: Iterable[str] | None = None
    exclude: Iterable[str] = ()
    sample_weight: str | None = None
    missing: str = "error"
    batch_size: int | None = None
    categories: tuple[Category, ...] = ()
    format: Format = field(default_factory=Format)
    name: str | None = None  # for messages, in place of paths
    n_columns: tuple[int, ...] = ()  # that files without header may have; empty: any
    takes_missing: bool = True  # whether to advise missing="em"
    keep: bool = False  # whether to read all other columns, too, as they are
    resolved: tuple[str, ...] | None = None  # feature columns of an open file

    def __post_init__(self) -> None:
        for name in ("columns", "exclude"):
            value = getattr(self, name)
            if isinstance(value, str) or not isinstance(value, Iterable | None):
                raise ParameterError(name, f"must be a list of names, got {value!r}")
            object.__setattr__(self, name, None if value is None else tuple(value))
        if self.missing not in MISSING_IN_FILES:
            raise ParameterError(
                "missing",
                f"must be one of {list(MISSING_IN_FILES)}, got {self.missing!r}",
            )
        if self.batch_size is not None:
            check_number("batch_size", self.batch_size, 1, 2**31, integer=True)
        names = [*self.read, *self.exclude]
        if not all(isinstance(name, str) for name in names):
            raise TypeError(
                "target, sample_weight, columns and exclude must be column names, got "
                f"{names!r:.50}"
            )
        repeated = sorted(name for name, n in Counter(names).items() if n > 1)
        if repeated:
            raise ParameterError(
                "columns",
                f"and the other options for columns name {repeated} more than once: "
                "name a column in one of them",
            )

    @property
    def read(self) -> list[str]:
        """All columns that must be read."""
        return [*self.feature_columns, *self._labels_and_weight]

    @property
    def feature_columns(self) -> tuple[str, ...]:
        """Feature columns in their order; none before they are named or resolved."""
        return tuple((self.columns if self.resolved is None else self.resolved) or ())

    @property
    def _labels_and_weight(self) -> list[str]:
        return [n for n in (self.target, self.sample_weight) if n is not None]

    @property
    def text(self) -> tuple[str, ...]:
        """Features that are read as text, because they are categories."""
        return tuple(category.column for category in self.categories)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features, those of categories among them."""
        return tuple(name for _, name in encoded(self.feature_columns, self.categories))

    @property
    def origins(self) -> list[str]:
        """Return the column of each feature, then those of labels and weights."""
        pairs = encoded(self.feature_columns, self.categories)
        return [*(column for column, _ in pairs), *self._labels_and_weight]

    @property
    def rows_per_batch(self) -> int:
        """Number of rows of a batch; unless it is given, of about 16 MB."""
        n_columns = max(1, len(self.origins))
        return self.batch_size or max(1024, _BATCH_NUMBERS // n_columns)

    @property
    def advice(self) -> str | None:
        """Return the value of `missing` to recommend if none is given."""
        if self.missing != "error":
            return None
        return "em" if self.takes_missing else "drop"

    def without(self, names: Sequence[str]) -> tuple[str, list[str]]:
        """Return the parameter, and its value, that also leaves out these columns."""
        if self.columns is None:
            return "exclude", [*self.exclude, *names]
        return "columns", [name for name in self.columns if name not in set(names)]

    def resolve(
        self, names: Sequence[str], where: str, index: Sequence[str] = ()
    ) -> Table:
        """Return the table with all features named, or raise ValueError.

        Columns in `index` number the rows: they are features only if they are named.
        """
        self._check_number(names, where)
        others = dict.fromkeys([*self._labels_and_weight, *self.exclude])
        columns = self.feature_columns
        if self.columns is None:
            columns = tuple(n for n in names if n not in others and n not in index)
        wanted = list(dict.fromkeys([*others, *self.text, *columns]))
        n_read = len(names) if self.keep else len(wanted)
        if n_read > _MOST_COLUMNS:
            raise ValueError(
                f"{where}: {n_read} columns are too many, at most {_MOST_COLUMNS} can "
                "be read: select some with columns=..."
            )
        count = Counter(names)
        repeated = sorted(n for n in (count if self.keep else wanted) if count[n] > 1)
        if repeated:
            raise ValueError(
                f"{where}: several columns are named {listed(np.array(repeated))}"
            )
        absent = [name for name in wanted if not count[name]]
        if absent:
            text = f"{where}: no column is named {named(absent, _SHOWN)}; it has "
            text += named(names, _SHOWN)
            if self.target in absent:
                text += "; name the column of the labels with target=..."
            raise AbsentColumnsError(text, absent)
        if not columns and self.columns is None:
            raise ValueError(f"{where}: there is no column besides {sorted(others)}")
        resolved = replace(self, resolved=columns)
        twice = [name for name, n in Counter(resolved.features).items() if n > 1]
        if twice:
            raise ValueError(
                f"{where}: two features would be named {twice[0]!r}: rename a column"
            )
        return resolved

    def _check_number(self, names: Sequence[str], where: str) -> None:
        """Refuse columns without names that are more or fewer than those of the fit."""
        n = len(names)
        is_unnamed = list(names) == [f"column_{k}" for k in range(1, n + 1)]
        if self.n_columns and n not in self.n_columns and is_unnamed:
            fitted = " or ".join(map(str, sorted(self.n_columns)))
            raise ValueError(
                f"{where} has {n} columns, but the model was fitted to files without "
                f"header of {fitted}: columns might be confused; add a first line "
                "that names them column_1, column_2, ... as in the fit"
            )


@dataclass(frozen=True)
class File:
    """A file that is open, or a stream, or an item of one."""

    name: str  # for messages
    table: Table  # with all features named
    batches: Iterable[Any]  # the rows, as record batches
    schema: Any  # names and types of all columns in it; of text files, text
    format: Format = field(default_factory=Format)  # of text, as it was detected
    is_text: bool = False  # whether columns are text only because the file is

    def place(self, mask: Any, n_before: int) -> str:
        """Name the first cell of a mask; rows count from 1, without the header."""
        row, j = np.argwhere(mask)[0]
        column = self.table.origins[j]
        return f"{self.name}: column {column!r}, row {n_before + row + 1}"


@contextmanager
def errors_name(where: str) -> Iterator[None]:
    """Turn whatever a reader raises into a ValueError that names the file."""
    import pyarrow as pa

    broken = pa.ArrowException, OSError, EOFError, zlib.error, csv.Error
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{where} cannot be read: a name in it is not text in UTF-8"
        ) from error
    except broken as error:
        reason = str(error).strip().splitlines()[0] if str(error) else repr(error)
        raise ValueError(f"{where} cannot be read: {reason}") from error
