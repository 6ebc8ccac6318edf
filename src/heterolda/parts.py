"""What a table to be read consists of: its columns, and its parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

_SHOWN = 20  # names of columns in a message, at most


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are what.

    Attributes
    ----------
    features : tuple of str or None
        Names of the features, in their order; None: all that are nothing else.
    target : str
        The labels.
    weight : str or None
        The sample weights.
    """

    features: tuple[str, ...] | None
    target: str
    weight: str | None = None

    def resolve(
        self, names: Sequence[str], where: str, index: Sequence[str] = ()
    ) -> Columns:
        """The same with all features named, or an error that says what is amiss.

        Columns in `index` number the rows: they are features only if they are named.
        """
        special = [name for name in (self.target, self.weight) if name is not None]
        features = self.features
        if features is None:
            features = tuple(n for n in names if n not in special and n not in index)
            if "" in features:
                raise ValueError(
                    f"{where}: column {names.index('') + 1} has no name; if it numbers "
                    "the rows, write the file without it, or name the columns to use "
                    "in columns"
                )
        wanted = list(dict.fromkeys([*special, *features]))
        count = Counter(names)
        repeated = sorted(name for name in wanted if count[name] > 1)
        if repeated:
            raise ValueError(f"{where}: several columns are named {repeated}")
        absent = [name for name in wanted if not count[name]]
        if absent:
            raise _lacking(absent, names, where)
        if not features:
            raise ValueError(f"{where}: there is no column besides {sorted(special)}")
        return Columns(features, self.target, self.weight)

    @property
    def all(self) -> list[str]:
        """All columns that must be read."""
        extra = [] if self.weight is None else [self.weight]
        return [*(self.features or ()), self.target, *extra]


@dataclass(frozen=True)
class Part:
    """A file, or the whole of a stream.

    Attributes
    ----------
    name : str
        For messages.
    columns : Columns
        What to read.
    batches : iterable of RecordBatch
        The rows.
    is_text : bool
        Whether labels are text only because the file is.
    """

    name: str
    columns: Columns
    batches: Iterable[Any]
    is_text: bool = False


def _lacking(absent: Sequence[str], names: Sequence[str], where: str) -> ValueError:
    """The error for columns that are not there."""
    shown = ", ".join(map(repr, names[:_SHOWN]))
    if len(names) > _SHOWN:
        shown += f" and {len(names) - _SHOWN} more"
    if any(f"{name}=" in where for name in absent):
        shown += (
            "; if the names of folders say it, pass "
            "pyarrow.dataset.dataset(folder, partitioning='hive')"
        )
    return ValueError(
        f"{where}: no column is named {', '.join(map(repr, absent))}; it has {shown}"
    )


@contextmanager
def errors_name(where: str) -> Iterator[None]:
    """Turn whatever a reader raises into a ValueError that names the file."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error) else repr(error)
        raise ValueError(f"{where} cannot be read: {reason}") from error
