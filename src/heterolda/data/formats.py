"""How tables of text are written, as the user says it or as it was found."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from heterolda.data.encodings import Encoding

_MOST_BLANKS = 5  # of a cell that is empty


@dataclass(frozen=True)
class Format:
    """How a table of text is written; what is None is found in the file."""

    delimiter: str | None = None  # one character; a blank stands for any number of them
    decimal: str | None = None  # "." or ","
    header: bool = True  # whether the first line names the columns
    na: tuple[str, ...] = ()  # strings for missing values, in addition to the usual
    padded: bool = False  # whether a blank follows each delimiter
    grouped: bool = False  # whether the other decimal mark separates thousands
    line_end: str = "\n"
    encoding: Encoding = field(default_factory=Encoding, compare=False)

    @property
    def na_numbers(self) -> tuple[float, ...]:
        """NA strings that are numbers: missing features, however they are written."""
        numbers = map(_number, self.na)
        return tuple(number for number in numbers if number is not None)

    @property
    def na_words(self) -> tuple[str, ...]:
        """The other NA strings, which also stand for missing labels."""
        return tuple(text for text in self.na if _number(text) is None)

    @cached_property
    def missing_words(self) -> list[str]:
        """All strings that stand for a missing value in text, apart from numbers.

        Arrow needs much memory for each of them in files of many columns.
        """
        from pyarrow import csv as arrow_csv

        usual = arrow_csv.ConvertOptions().null_values
        padded = [*self.na_words, *(usual if self.padded else ())]
        blanks = [" " * n for n in range(1, _MOST_BLANKS)]
        words = [*usual, *blanks, *self.na_words, *(f" {word}" for word in padded)]
        return list(dict.fromkeys(words))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
