"""How tables are to be read: what separates columns, what stands for a gap."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """How to read the files of a table; of text, what is None is found in the file."""

    delimiter: str | None = None  # one character; a blank stands for any number of them
    decimal: str | None = None  # "." or ","
    header: bool = True  # whether the first line names the columns
    marks: tuple[str, ...] = ()  # of missing values, beside the usual ones
    padded: bool = False  # whether a blank follows each delimiter
    grouped: bool = False  # whether thousands are set apart by the other decimal mark

    @property
    def numeric_marks(self) -> tuple[float, ...]:
        """The marks that are numbers: gaps of features, however they are written."""
        numbers = map(_number, self.marks)
        return tuple(number for number in numbers if number is not None)

    @property
    def words(self) -> tuple[str, ...]:
        """The other marks, which are gaps of labels, too."""
        return tuple(mark for mark in self.marks if _number(mark) is None)


@dataclass(frozen=True)
class Files:
    """Files that are to be read in a way of their own.

    Messages call them by `name`, if there is one, instead of their paths.
    """

    paths: list[str]
    reading: Reading
    name: str | None = None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
