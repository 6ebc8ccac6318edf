"""What a command says: its result, notes on stderr, and errors in one line."""

from __future__ import annotations

import ast
import re
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer

from heterolda.cli.parsing import INTERRUPTED, UsageError, join_names
from heterolda.exceptions import ParameterError
from heterolda.foundations.wording import printable

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

# How scikit-learn refuses the value of a parameter.
_REFUSED = re.compile(
    r"The '(\w+)' parameter of \w+ must be (.*?)"
    r"(?:,? an instance of .*)?(?: or None)?\. Got (.*) instead\."
)


@contextmanager
def errors_in_one_line(debug: bool) -> Iterator[None]:
    """End with one line on stderr: status 2 for what was typed, 1 for the rest."""
    try:
        yield
    except (typer.Exit, typer.BadParameter, BrokenPipeError):
        raise
    except KeyboardInterrupt:
        print_to_stderr("heterolda: interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        if debug:
            import traceback

            traceback.print_exc()
        # Options that are to be copied must be whole.
        longest = None if getattr(error, "options", ()) else _LONGEST
        print_to_stderr(f"heterolda: {reason(error)}", longest)
        raise typer.Exit(2 if _is_usage(error) else 1) from error


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn errors about an argument into errors of usage."""
    try:
        yield
    except ValueError as error:
        raise UsageError(in_options(error)) from error


def _is_usage(error: Exception) -> bool:
    """Return whether an error is about what was typed, not about what files hold."""
    about_data = *_NOT_OPTIONS, *_OF_DATA
    of_option = isinstance(error, ParameterError) and error.parameter not in about_data
    of_option = of_option or _REFUSED.fullmatch(str(error)) is not None
    # A column that does not exist was typed, unless a model asks for it.
    return of_option or isinstance(error, UsageError) or hasattr(error, "absent")


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Turn the library's warnings into plain lines."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        finally:  # before an error, which they may explain
            note(*dict.fromkeys(in_options(warning.message) for warning in caught))


def note(*texts: str) -> None:
    """Print notes on the standard error stream."""
    for text in texts:
        print_to_stderr(f"note: {text}")


def print_result(lines: Iterable[str]) -> None:
    """Print lines; names from files may be anything, so that they are made safe."""
    print(*map(printable, lines), sep="\n")


def print_to_stderr(text: str, longest: int | None = _LONGEST) -> None:
    """Print one line for the user on the standard error stream."""
    line = printable(" ".join(text.split()), longest)
    with suppress(OSError):  # the terminal may be closed: then nobody reads it
        print(line, file=sys.stderr, flush=True)


def reason(error: Exception) -> str:
    """Return what went wrong, in words."""
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
    options: dict[str, Any] = getattr(message, "options", {})
    if options:
        problem = getattr(message, "problem", "")
        return f"{problem}. Correct the file, or add {options_text(options)}"
    text = str(message)
    refused = _REFUSED.fullmatch(text)
    if refused is not None:
        return f"{_option(refused[1])} must be {refused[2]}, got {refused[3]}"
    name = getattr(message, "parameter", None)
    if name in _NOT_OPTIONS:
        text = text.removeprefix(name).lstrip(": ")
    elif name and not text.startswith(f"{name}="):
        text = _option(name) + text.removeprefix(name)
    return _SETTING.sub(lambda found: _option(found[1], _value(found[2])), text)


def options_text(options: dict[str, Any]) -> str:
    """Return options with their values, to be copied to a command."""
    return " ".join(_option(name, value) for name, value in options.items())


def _value(text: str) -> Any:
    """Return a value that is written as Python writes it."""
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
