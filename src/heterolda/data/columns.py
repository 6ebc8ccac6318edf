"""Which columns of a table are what; files that are open; errors that name them."""

from __future__ import annotations

import csv
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from heterolda.data.categories import Category, UnseenLevels, encoded
from heterolda.data.not_numbers import Setting
from heterolda.data.reading import Reading
from heterolda.foundations.wording import listed, named

_SHOWN = 20  # names of columns in a message, at most
# Arrow needs some twenty kilobytes for a column, however few rows there are.
_MOST_COLUMNS = 30_000
_BATCH_NUMBERS = 1 << 21


class AbsentColumnsError(ValueError):
    """Columns are asked for that a table lacks."""

    absent: Sequence[str] = ()


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are what."""

    features: tuple[str, ...] | None  # in their order; None: all that are nothing else
    target: str | None  # the labels, if they are wanted
    weight: str | None = None  # the sample weights
    exclude: tuple[str, ...] = ()  # not features where these are not named
    keep: bool = False  # whether to read all other columns, too, as they are
    find_target: bool = False  # whether the labels are the one column left over
    batch_size: int | None = None  # rows of a batch, where the source leaves that open
    categories: tuple[Category, ...] = ()  # columns of text that become features
    # How many columns files without header may have; empty: any number.
    n_columns: tuple[int, ...] = ()
    unseen: UnseenLevels = field(default_factory=UnseenLevels, compare=False)

    def resolve(
        self, names: Sequence[str], where: str, index: Sequence[str] = ()
    ) -> Columns:
        """The same with all features named, or an error that says what is amiss.

        Columns in `index` number the rows: they are features only if they are named.
        """
        self._check_number(names, where)
        special = self._labels_and_weight
        others = {*special, *self.exclude}
        features = self.features
        if features is None:
            features = tuple(n for n in names if n not in others and n not in index)
        wanted = list(dict.fromkeys([*special, *self.exclude, *self.text, *features]))
        n_read = len(names) if self.keep else len(wanted)
        if n_read > _MOST_COLUMNS:
            raise ValueError(
                f"{where}: {n_read} columns are too many, at most {_MOST_COLUMNS} can "
                "be read: select some with columns=..."
            )
        count = Counter(names)
        needed = count if self.keep else wanted
        repeated = sorted(name for name in needed if count[name] > 1)
        if repeated:
            few = listed(np.array(repeated))
            raise ValueError(f"{where}: several columns are named {few}")
        absent = [name for name in wanted if not count[name]]
        if absent:
            raise _lacking(absent, names, where, self.target)
        if self.find_target:
            return replace(self, target=_remaining(names, wanted, where))
        if not features and self.features is None:
            raise ValueError(f"{where}: there is no column besides {sorted(others)}")
        resolved = replace(self, features=features)
        twice = [name for name, n in Counter(resolved.feature_names).items() if n > 1]
        if twice:
            raise ValueError(
                f"{where}: two features would be named {twice[0]!r}: rename a column"
            )
        return resolved

    def _check_number(self, names: Sequence[str], where: str) -> None:
        """Refuse columns without names that are more or fewer than those of the fit."""
        n = len(names)
        if not self.n_columns or n in self.n_columns:
            return
        if list(names) == [f"column_{k}" for k in range(1, n + 1)]:
            known = " or ".join(map(str, sorted(self.n_columns)))
            raise ValueError(
                f"{where} has {n} columns, but the model was fitted to files without "
                f"header of {known}: columns might be confused; add a first line "
                "that names them column_1, column_2, ... as in the fit"
            )

    def without(self, names: Sequence[str]) -> Setting:
        """The setting that leaves some features out, beside what is left out."""
        if self.features is None:
            return Setting("exclude", [*self.exclude, *names])
        out = set(names)
        return Setting("columns", [n for n in self.features if n not in out])

    @property
    def text(self) -> tuple[str, ...]:
        """Features that are read as text, for they are categories."""
        return tuple(category.column for category in self.categories)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, those of categories among them."""
        return tuple(name for _, name in encoded(self.features or (), self.categories))

    @property
    def origins(self) -> list[str]:
        """The column that each feature comes from, then those of labels and weights."""
        pairs = encoded(self.features or (), self.categories)
        return [*(column for column, _ in pairs), *self._labels_and_weight]

    @property
    def all(self) -> list[str]:
        """All columns that must be read."""
        return [*(self.features or ()), *self._labels_and_weight]

    @property
    def _labels_and_weight(self) -> list[str]:
        return [name for name in (self.target, self.weight) if name is not None]

    @property
    def rows_per_batch(self) -> int:
        """Number of rows of a batch; unless it is asked for, of about 16 MB."""
        n_columns = max(1, len(self.origins))
        return self.batch_size or max(1024, _BATCH_NUMBERS // n_columns)


@dataclass(frozen=True)
class OpenFile:
    """A file that is open, or a stream, or an item of one."""

    name: str  # for messages
    columns: Columns  # what to read
    batches: Iterable[Any]  # the rows, as record batches
    schema: Any  # names and types of all columns that there are; of text files, text
    reading: Reading = field(default_factory=Reading)  # of text, as it was found
    is_text: bool = False  # whether columns are text only because the file is


def _remaining(names: Sequence[str], known: Sequence[str], where: str) -> str:
    """The one column that is not known."""
    others = set(known)
    rest = [name for name in names if name not in others]
    if not rest:
        raise ValueError(f"{where}: there is no column left for the labels")
    if len(rest) > 1:
        raise ValueError(
            f"{where}: the columns {listed(np.array(rest))} are not features of the "
            "model: name the column of the labels with target=..."
        )
    return rest[0]


def _lacking(
    absent: Sequence[str], names: Sequence[str], where: str, target: str | None
) -> AbsentColumnsError:
    """The error for columns that are not there."""
    shown = named(names, _SHOWN)
    if any(f"{name}=" in where for name in absent):
        shown += (
            "; if it is in the names of folders, pass "
            "pyarrow.dataset.dataset(folder, partitioning='hive')"
        )
    text = f"{where}: no column is named {named(absent, _SHOWN)}; it has {shown}"
    if target in absent:
        text += "; name the column of the labels with target=..."
    error = AbsentColumnsError(text)
    error.absent = absent
    return error


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
