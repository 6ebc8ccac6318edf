"""What a command says: its result, notes beside it, and errors in one line."""

from __future__ import annotations

import ast
import re
import shlex
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer
from rich.console import Console

from heterolda.cli.parsing import join_names, split_names

_LONGEST = 1000  # characters of a line beside the result

# Parameters that are arguments or files on the command line: no option has their name.
_NOT_OPTIONS = ("X", "y", "path", "source", "other")
# Options that name where data are: what is wrong with them is wrong with the data.
_OF_DATA = ("sample_weight", "data_dir")
_OTHER_NAMES = {"n_components": "components"}
# Parameters with values, in a message, which are options on the command line.
_SETTING = re.compile(
    r"(?<![\w(.])(columns|confidence|criterion|exclude|folds|max_error|method|missing"
    r"|multiclass|n_components|shrinkage|solver|target|transformation)="
    r"('[^']*'|\"[^\"]*\"|\[.*?\]|\{.*?\}|\.\.\.|[\w.+-]*\w)"
)


@contextmanager
def errors_in_one_line(debug: bool) -> Iterator[None]:
    """End with status 1 and one line on the standard error stream, or a traceback.

    The exit has the error as its cause, from which the status may be made another one.
    """
    try:
        yield
    except (typer.Exit, typer.BadParameter, BrokenPipeError):
        raise
    except KeyboardInterrupt:
        print_to_stderr("heterolda: interrupted")
        raise typer.Exit(1) from None
    except Exception as error:
        if debug:
            traceback.print_exc()
        # Options that are to be copied must be whole.
        longest = None if getattr(error, "options", ()) else _LONGEST
        print_to_stderr(f"heterolda: {_reason(error)}", longest)
        raise typer.Exit(1) from error


@contextmanager
def usage_errors() -> Iterator[None]:
    """End with status 2 where an argument is wrong."""
    try:
        yield
    except ValueError as error:
        print_to_stderr(f"heterolda: {in_options(error)}")
        raise typer.Exit(2) from None


def is_about_options(error: BaseException | None, options: dict[str, Any]) -> bool:
    """Whether an error is about what was typed, not about what the files hold.

    Columns that are not there were typed, or the model asks for them.
    """
    from heterolda.data.columns import AbsentColumnsError
    from heterolda.exceptions import ParameterError

    if isinstance(error, AbsentColumnsError):
        typed = [value for value in options.values() if isinstance(value, str)]
        names = {*typed, *(name for value in typed for name in split_names(value))}
        return not names.isdisjoint(error.absent)
    about_data = *_NOT_OPTIONS, *_OF_DATA
    return isinstance(error, ParameterError) and error.parameter not in about_data


@contextmanager
def warnings_as_notes() -> Iterator[None]:
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
        finally:  # before an error, which they may explain
            notes = dict.fromkeys(in_options(warning.message) for warning in caught)
            for text in notes:
                print_to_stderr(f"note: {text}")


def print_result(lines: Iterable[str]) -> None:
    """Print lines; names from files may be anything, so that they are made safe."""
    from heterolda.foundations.wording import printable

    print(*map(printable, lines), sep="\n")


def print_to_stderr(text: str, longest: int | None = _LONGEST) -> None:
    """Print one line for the user on the standard error stream, beside the result."""
    from heterolda.foundations.wording import printable

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    line = printable(" ".join(text.split()), longest)
    with suppress(OSError):  # the terminal may be closed: then nobody reads it
        console.print(line, markup=False, emoji=False)


def _reason(error: Exception) -> str:
    """What went wrong, in words."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    if isinstance(error, ModuleNotFoundError) and error.name == "pyarrow":
        return "this needs pyarrow: pip install pyarrow"
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    return in_options(error) or type(error).__name__


def in_options(message: BaseException | str) -> str:
    """Return a message of the library with options in place of parameters."""
    said: Any = message
    if getattr(said, "options", ()):
        options = " ".join(_option(one.parameter, one.value) for one in said.options)
        return f"{said.problem}{said.lead}{options}{said.advice}"
    text = str(message)
    name = getattr(message, "parameter", None)
    if name in _NOT_OPTIONS:
        text = text.removeprefix(name).lstrip(": ")
    elif name and not text.startswith(f"{name}="):
        text = _option(name) + text.removeprefix(name)
    return _SETTING.sub(lambda found: _option(found[1], _value(found[2])), text)


def _value(text: str) -> Any:
    """Return a value as Python writes it."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def _option(parameter: str, value: Any = None) -> str:
    """Return a parameter as an option, with its value if there is one."""
    if isinstance(value, dict):
        value = [f"{label}={number}" for label, number in value.items()]
    if isinstance(value, list | tuple):
        value = join_names(value)
    name = "--" + _OTHER_NAMES.get(parameter, parameter).replace("_", "-")
    if value is None or value is ...:
        return name
    return f"{name} {shlex.quote(str(value))}"
