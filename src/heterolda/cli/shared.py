"""What the commands share: errors in one line, notes, options, sources of data."""

from __future__ import annotations

import csv
import re
import shutil
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

__all__ = [
    "Columns",
    "Data",
    "DataFormat",
    "Debug",
    "Delimiter",
    "Format",
    "ModelFile",
    "SampleWeight",
    "errors_in_one_line",
    "load_model",
    "name_of",
    "notice",
    "plain_notes",
    "source_of",
    "split_names",
    "tell",
    "usage_errors",
]

STANDARD_INPUT = "-"
_LONGEST = 1000  # characters of a message

# How the library's words read on the command line.
_OPTIONS = {
    r"^(priors|costs|shrinkage|criterion)\b": r"--\1",
    r"^max_error\b": "--max-error",
    r"^class_weight\b": "--class-weight",
    r"^columns, exclude, target and sample_weight name": "--columns, --exclude, "
    "--target and --sample-weight name",
    r"(?<![\w'/.-])sample_weight(?![\w'/.-])": "--sample-weight",
    r"(?<![^ ])X: (?=the values)": "",
    r"missing='drop'": "--missing drop",
    r"shrinkage='auto'": "--shrinkage auto",
    r"solver='global'": "--solver global",
    r"multiclass='ovo'": "--multiclass ovo",
    r"name the columns to use in columns": "name those to use by --columns",
    r"leave it out of columns": "leave it out by --exclude",
    r"^(source|path): ": "",
    r"^path (?=')": "",
    r"convert it, or read it by pyarrow.csv.open_csv with that delimiter": "name it by "
    "--delimiter",
    r"^source has no rows": "the data have no rows",
    r"name the target, the column of the labels": "name the column of the labels by "
    "--target",
    r"choose another name for the predictions": "choose another name by --column",
    r"or choose what to do with such rows": "or choose --missing keep or drop",
    r"name the (\d+) columns in their order": r"name its \1 columns by --columns",
}

_EXTRAS = {"pyarrow": "cli", "matplotlib": "plot", "skl2onnx": "onnx"}


class DataFormat(StrEnum):
    """Forms of text on the standard input."""

    csv = "csv"
    tsv = "tsv"


Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of errors.")]
Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="Files .csv, .tsv (also .gz) or .parquet, folders of such, patterns in "
        "quotes, or - for the standard input.",
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A file that heterolda fit has written.")
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Columns of the features, with commas between, for a model that does not "
        "know their names.",
    ),
]
Format = Annotated[
    DataFormat, typer.Option("--format", help="Form of the standard input.")
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="What stands between two columns of text, such as ';' or tab; by default "
        "a comma, in .tsv files a tab.",
    ),
]
SampleWeight = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Column of frequencies: 3 counts as three rows."
    ),
]


@contextmanager
def errors_in_one_line(debug: bool) -> Iterator[None]:
    """End with status 1 and one line on the standard error stream, or a traceback."""
    try:
        yield
    except (typer.Exit, typer.BadParameter, BrokenPipeError):
        raise
    except KeyboardInterrupt:
        _complain("interrupted")
        raise typer.Exit(1) from None
    except Exception as error:
        if debug:
            traceback.print_exc()
        _complain(_in_options(_reason(error)))
        raise typer.Exit(1) from None


@contextmanager
def usage_errors() -> Iterator[None]:
    """End with status 2 where an argument is wrong."""
    try:
        yield
    except ValueError as error:
        _complain(str(error))
        raise typer.Exit(2) from None


def _reason(error: Exception) -> str:
    """What went wrong, in words."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    if isinstance(error, ModuleNotFoundError) and error.name in _EXTRAS:
        extra = _EXTRAS[error.name]
        return f"this needs {error.name}: pip install 'heterolda[{extra}]'"
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    return str(error) or type(error).__name__


def _in_options(text: str) -> str:
    """A message of the library in the words of the command line."""
    for pattern, words in _OPTIONS.items():
        text = re.sub(pattern, words, text)
    return text


def _complain(text: str) -> None:
    """One line on the standard error stream."""
    notice(f"heterolda: {text}")


def notice(text: str) -> None:
    """One line for the user, beside the result.

    Parameters
    ----------
    text : str
        The line.
    """
    from heterolda.foundations.wording import printable

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    line = printable(" ".join(text.split()), _LONGEST)
    console.print(line, markup=False, emoji=False)


def tell(lines: Iterable[str]) -> None:
    """Lines of the result, on the standard output.

    Parameters
    ----------
    lines : iterable of str
        The lines. Names from files may be anything, so that they are made safe.
    """
    from heterolda.foundations.wording import printable

    print(*map(printable, lines), sep="\n")


@contextmanager
def plain_notes() -> Iterator[None]:
    """Turn the library's warnings into plain lines."""
    from heterolda.exceptions import SearchInterruptedWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("error", SearchInterruptedWarning)
        try:
            yield
        except SearchInterruptedWarning:  # whoever interrupts a command means it
            raise KeyboardInterrupt from None
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        notice(f"note: {_in_options(text)}")


def split_names(text: str | None) -> tuple[str, ...]:
    """Names with commas between; quotes protect a comma.

    Parameters
    ----------
    text : str or None
        The value of an option.

    Returns
    -------
    tuple of str
        The names.
    """
    if text is None:
        return ()
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True))]
    return tuple(name for name in names if name)


def name_of(data: list[str]) -> str:
    """The data in a few words."""
    if data == [STANDARD_INPUT]:
        return "standard input"
    return data[0] if len(data) == 1 else f"{data[0]} and {len(data) - 1} more"


@contextmanager
def source_of(
    data: list[str],
    form: DataFormat,
    delimiter: str | None,
    *,
    keep_answering: bool = False,
) -> Iterator[Any]:
    """What the library reads the data from: paths, or ``-``.

    Standard input is kept in a temporary file, to be read as often as need be, unless
    the answers are not to wait for its end.
    """
    from heterolda.data.csv_reader import StandardInput, TextFiles

    with usage_errors():
        delimiter = _one_character(delimiter)
    if STANDARD_INPUT not in data:
        yield data if delimiter is None else TextFiles(data, delimiter)
        return
    if len(data) > 1:
        raise typer.BadParameter("- stands for all data: no file can follow it")
    delimiter = delimiter or {"csv": ",", "tsv": "\t"}[form]
    if keep_answering:
        yield StandardInput(delimiter)
        return
    with tempfile.TemporaryDirectory(prefix="heterolda-") as folder:
        path = Path(folder, "standard_input.csv")
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield TextFiles([str(path)], delimiter, StandardInput.name)


def _one_character(text: str | None) -> str | None:
    """The value of --delimiter."""
    mark = {"tab": "\t", r"\t": "\t"}.get(text or "", text)
    if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n'):
        raise ValueError(
            f"--delimiter {text}: must be one character, such as ';', or tab"
        )
    return mark


def load_model(path: Path) -> Any:
    """Read a model file.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    fitted estimator
        The model.
    """
    from heterolda.export import load

    return load(path)
