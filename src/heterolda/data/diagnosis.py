"""What columns hold that should be numbers and are not, and what to do about each."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from heterolda.data.columns import Columns, OpenFile
from heterolda.data.csv_reader import missing_words, parsed_numbers
from heterolda.data.decoding import NUMBERS, TEXT, is_any
from heterolda.data.not_numbers import (
    DATE,
    LONGEST_MARK,
    MARK,
    NotNumbersError,
    number_pattern,
    other_decimal,
)
from heterolda.data.reading import Reading
from heterolda.data.sources import is_read_once, open_source
from heterolda.exceptions import Setting
from heterolda.foundations.types import Mask
from heterolda.foundations.wording import named

_ROWS, _CELLS = 100_000, 5_000_000  # that are read of each file, at most
_VALUES = 1000  # different ones of a column that are kept
_LENGTH = 100  # characters of a value that count
_MARKS = 5  # different marks of missing values in a column, at most
_ERRORS = 0.1  # share of cells that may be errors
# Categories have no more levels than that, or than a hundredth of the rows, and each
# level so many rows on average.
_LEVELS, _ROWS_OF_LEVEL = 50, 3
_LONGEST = 20_000  # characters of names that a message asks to type
DATE_ADVICE = (
    "replace it in the file by numbers, such as days since a start or the hour, or by "
    "the month as a category"
)
# What columns can be, in the order of a message, for one column and for several.
_KINDS = {
    "marks": ("is numbers except for", "are numbers except for"),
    "errors": ("is numbers except for", "are numbers except for"),
    "point": ("has decimal points", "have decimal points"),
    "comma": ("has decimal commas", "have decimal commas"),
    "mixed": ("has both decimal marks", "have another decimal mark than the others"),
    "categories": ("is categories", "are categories"),
    "date": ("is a date", "are dates"),
    "text": ("is text", "are text"),
    "constant": ("is the same in each row", "are the same in each row"),
    "gaps": ("is mostly missing", "are mostly missing"),
    "stored": ("is numbers stored as text", "are numbers stored as text"),
    "type": ("is of type", "are of type"),
}


def diagnosed(
    error: NotNumbersError, source: Any, wanted: Columns, for_gaps: str | None
) -> NotNumbersError:
    """The error that speaks of all columns that are not numbers, after a look at them.

    It is the error given if the rows are gone, or if the first of them are as they
    should be. `for_gaps` is the value of `missing` to advise, if one is.
    """
    if is_read_once(source):
        return error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they have been heard
            look = _Look(source, wanted)
    except (ValueError, OSError):  # whatever it is, it is for later
        return error
    if not look.columns or look.where is None:
        return error
    return look.error(wanted, for_gaps)


def columns_of_categories(
    source: Any, wanted: Columns, for_gaps: str | None
) -> tuple[str, ...]:
    """Names of the features whose first rows show categories.

    NotNumbersError where others are neither these nor numbers.
    """
    look = _Look(source, wanted)
    kinds = look.kinds()
    if set(kinds.values()) - {"categories", "gaps"}:
        raise look.error(wanted, for_gaps)
    return tuple(name for name, kind in kinds.items() if kind == "categories")


@dataclass
class _Column:
    """What a column holds, as far as it was read."""

    type: str = ""  # one that is neither text nor numbers
    n_missing: int = 0
    n_numbers: int = 0
    n_others: int = 0
    has_decimals: bool = False  # with the decimal mark of the file
    others: Counter[str] = field(default_factory=Counter)  # that are not numbers
    numbers: Counter[str] = field(default_factory=Counter)  # as they are written
    row: int = 0  # of the first that is not a number

    def add(self, column: Any, file: OpenFile, n_before: int) -> None:
        """Look at some more rows, after so many."""
        import pyarrow as pa
        import pyarrow.compute as pc
        from pyarrow import types

        if types.is_run_end_encoded(column.type):
            column = pc.run_end_decode(column)
        kind = column.type.value_type if types.is_dictionary(column.type) else None
        kind = kind or column.type
        if is_any(kind, "temporal"):
            self.type = "date"
            self.others.update([str(value) for value in column[:1].to_pylist()])
        elif not is_any(kind, *TEXT):
            self.type = "" if is_any(kind, *NUMBERS) else str(kind)
            gaps = column.null_count
            if is_any(kind, "floating"):
                gaps += pc.sum(pc.is_nan(column)).as_py() or 0
            self.n_missing += gaps
            self.n_numbers += len(column) - gaps
        elif not (file.is_text and self._add_numbers(column, file)):
            if not types.is_dictionary(column.type):
                column = column.dictionary_encode()
            text = pc.utf8_slice_codeunits(
                pc.utf8_trim_whitespace(column.dictionary.cast(pa.string())), 0, _LENGTH
            )
            codes = pc.fill_null(column.indices.cast(pa.int64()), len(text)).to_numpy()
            self._add_text(text, codes, file, n_before)

    def _add_numbers(self, column: Any, file: OpenFile) -> bool:
        """Look at text that is all numbers, or return False."""
        try:
            parsed = parsed_numbers(column, "", file.name, 0, file.reading)
        except NotNumbersError:
            return False
        numbers = parsed.to_numpy(zero_copy_only=False)
        missing = np.isnan(numbers) | np.isin(numbers, file.reading.numeric_marks)
        self.n_missing += int(missing.sum())
        self.n_numbers += int((~missing).sum())
        with np.errstate(invalid="ignore"):
            self.has_decimals |= bool(np.any(numbers[~missing] % 1 > 0))
        return True

    def _add_text(self, text: Any, codes: Any, file: OpenFile, n_before: int) -> None:
        """Look at values by their place in a list of different ones."""
        import pyarrow as pa
        import pyarrow.compute as pc

        reading = file.reading
        decimal = reading.decimal or "."
        words = missing_words(reading) if file.is_text else reading.marks
        missing = _mask(pc.is_in(text, pa.array(["", *words])))
        pattern = number_pattern(decimal, reading.grouped)
        number = _mask(pc.match_substring_regex(text, pattern)) & ~missing
        other = ~number & ~missing
        counts = np.bincount(codes, minlength=len(text) + 1)
        each = counts[:-1]
        self.n_missing += int(counts[-1] + each[missing].sum())
        self.n_numbers += int(each[number].sum())
        self.n_others += int(each[other].sum())
        decimals = pc.match_substring(text.filter(pa.array(number)), decimal)
        self.has_decimals |= bool(pc.any(decimals).as_py())
        for mask, counter in ((number, self.numbers), (other, self.others)):
            for k in np.flatnonzero(mask)[:_VALUES]:
                value = text[k].as_py()
                if value in counter or len(counter) < _VALUES:
                    counter[value] += int(each[k])
        if not self.row and other.any():
            self.row = n_before + int(np.argmax(np.append(other, False)[codes])) + 1

    def kind(self, reading: Reading, is_text: bool) -> str | None:
        """What the column is; None for numbers."""
        if self.type:
            return "date" if self.type == "date" else "type"
        n = self.n_numbers + self.n_others
        if n < self.n_missing or not n:
            return "gaps"
        if not self.others and (is_text or not self.numbers):
            return None
        if self.share_of_dates >= 0.9:
            return "date"
        foreign = re.compile(number_pattern(other_decimal(reading)))
        rest = [v for v in self.others if not foreign.search(v)]
        levels = len(self.others) + len(self.numbers)
        few = self.n_others <= max(1, _ERRORS * n)
        if is_text and self.n_numbers + len(self.others) - len(rest):
            if len(rest) <= _MARKS and all(map(MARK.fullmatch, rest)):
                if len(rest) == len(self.others):
                    return "marks"
                return "comma" if other_decimal(reading) == "," else "point"
            short = max(map(len, rest)) <= LONGEST_MARK
            digits = re.search(r"\d", "".join(rest))  # of numbers, not of marks
            if few and digits:
                return "errors"
            if few and short and len(rest) == len(self.others) <= _MARKS:
                return "marks"
        if levels == 1:
            return "constant"
        most = min(_VALUES - 1, max(_LEVELS, n // 100))
        if levels <= most and n >= _ROWS_OF_LEVEL * levels:
            return "categories"
        if is_text and few:
            return "errors"
        return "text" if self.others or is_text else "stored"

    @property
    def share_of_dates(self) -> float:
        """The share of dates among all values, none of which are numbers."""
        dates = sum(n for value, n in self.others.items() if DATE.fullmatch(value))
        share = dates / max(1, self.others.total())
        return share * self.n_others / (self.n_numbers + self.n_others)


def _mask(values: Any) -> Mask:
    mask: Mask = values.to_numpy(zero_copy_only=False)
    return mask


class _Look:
    """A look at the first rows of all files."""

    def __init__(self, source: Any, wanted: Columns) -> None:
        self.columns: dict[str, _Column] = {}
        self.known = wanted.text  # to be categories
        self.labels: set[str] = set()
        self.where: str | None = None  # the first file with something else
        self.reading, self.is_text = Reading(), False
        for file in open_source(source, replace(wanted, keep=True, batch_size=4096)):
            names = [n for n in file.columns.features or () if n not in self.known]
            self.columns = self.columns or {name: _Column() for name in names}
            self.reading, self.is_text = file.reading, file.is_text
            self._add(file)
            wrong = any(
                column.others or column.type or (column.numbers and not file.is_text)
                for column in self.columns.values()
            )
            if wrong and self.where is None:
                self.where = file.name

    def _add(self, file: OpenFile) -> None:
        n_rows = 0
        most = min(_ROWS, _CELLS // max(1, len(self.columns)))
        for batch in file.batches:
            for name, column in self.columns.items():
                column.add(batch.column(name), file, n_rows)
            label = file.columns.target
            if label is not None and len(self.labels) < _VALUES:
                self.labels.update(map(str, batch.column(label).unique().to_pylist()))
            n_rows += batch.num_rows
            if n_rows >= most:
                break

    def error(self, wanted: Columns, for_gaps: str | None) -> NotNumbersError:
        """What is wrong, and the options that help."""
        kinds = self.kinds()
        wrong = {k: [n for n in kinds if kinds[n] == k] for k in _KINDS}
        n = len(kinds) - len(wrong["gaps"])
        what = f"{n} columns are" if n > 1 else "a column is"
        some = "all " if wrong["marks"] or wrong["errors"] else ""
        problem = f"{self.where}: {what} not {some}numbers: {self._words(wrong)}"
        left = [name for name in self.columns if kinds.get(name) not in _LEFT_OUT]
        if not left and not self.known:
            words = "; a model needs columns of numbers, or categories"
            return NotNumbersError(problem, words)
        if sum(map(len, kinds)) > _LONGEST:
            return NotNumbersError(
                problem, "; select columns with ", Setting("columns")
            )
        them = "them" if len(kinds) > 1 else "it"
        convert, lead = "convert", ". Add "
        advice = f"; to use a date, {DATE_ADVICE}" if wrong["date"] else ""
        if wrong["errors"]:
            which = named([name[:40] for name in wrong["errors"]])
            convert, lead = "correct", f". Correct {which} in the file, and add "
            advice = f"; or leave {which} out, too{advice}"
        return NotNumbersError(
            problem,
            f"; {convert} {them}, or leave {them} out with ",
            wanted.without(list(kinds)),
            options=self._options(wrong, left, wanted, for_gaps),
            lead=lead,
            advice=advice,
        )

    def _options(
        self,
        wrong: dict[str, list[str]],
        left: list[str],
        wanted: Columns,
        for_gaps: str | None,
    ) -> list[Setting]:
        """The options to add so that a model can be fitted to the columns `left`."""
        marks = self._marks([*wrong["marks"], *wrong["comma"], *wrong["point"]])
        options = []
        if marks:
            options.append(Setting("na", [*self.reading.marks, *marks]))
        for kind, mark in (("comma", ","), ("point", ".")):
            if wrong[kind]:
                options.append(Setting("decimal", mark))
        if wrong["categories"]:
            known = [*self.known, *wrong["categories"]]
            options.append(Setting("categorical", known))
        used = set(left)
        out = [name for name in self.columns if name not in used]
        if out:
            options.append(wanted.without(out))
        gaps = marks or any(self.columns[name].n_missing for name in left)
        if gaps and for_gaps:
            options.append(Setting("missing", for_gaps))
        return options

    def kinds(self) -> dict[str, str]:
        """What each column is that is not numbers."""
        found = {n: c.kind(self.reading, self.is_text) for n, c in self.columns.items()}
        kinds = {name: kind for name, kind in found.items() if kind is not None}
        levels = {
            value
            for name, kind in kinds.items()
            if kind == "categories"
            for value in self.columns[name].others
        }
        decimals = any(
            self.columns[n].has_decimals for n in found if kinds.get(n) != "text"
        )
        for name, kind in kinds.items():
            words = [w for w in self.columns[name].others if not MARK.fullmatch(w)]
            if kind == "marks" and (self.labels | levels).intersection(words):
                kinds[name] = "errors"  # such a mark would take other cells away
            if kind in ("comma", "point") and decimals:
                kinds[name] = "mixed"
        return kinds

    def _marks(self, names: Sequence[str]) -> list[str]:
        """The marks of missing values in some columns."""
        foreign = re.compile(number_pattern(other_decimal(self.reading)))
        values = (value for name in names for value in self.columns[name].others)
        return list(dict.fromkeys(v for v in values if not foreign.search(v)))

    def _words(self, wrong: dict[str, list[str]]) -> str:
        """Which columns are what, with examples."""
        said = []
        for kind, names in wrong.items():
            if names:
                verb = _KINDS[kind][len(names) > 1] + self._example(kind, names)
                said.append(f"{named([name[:40] for name in names])} {verb}")
        return "; ".join(said)

    def _example(self, kind: str, names: list[str]) -> str:
        """Values of the first of some columns."""
        first = self.columns[names[0]]
        values = self._marks(names) if kind == "marks" else [*first.others]
        shown = [repr(v[:25] + "..." * (len(v) > 25)) for v in values or first.numbers]
        example = ", ".join(shown[:2]) + (", ..." if shown[2:] else "")
        row = f"row {first.row}" + (f" of {names[0][:40]!r}" if names[1:] else "")
        if kind == "mixed":
            return f" ({example}, {row})"
        if kind == "errors" or (kind == "marks" and len(names) == 1):
            return f" {example} ({row})"
        if kind == "marks":
            return f" {example}"
        if kind == "type":
            return f" {first.type}"
        return f" ({example})" if example and kind != "gaps" else ""


_LEFT_OUT = {"mixed", "date", "text", "constant", "gaps", "stored", "type"}
