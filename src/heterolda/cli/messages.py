"""What a command says: its result, and on stderr notes, progress and errors."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from math import isnan
from typing import Any, Self

import typer

from heterolda.cli.options import join_names
from heterolda.exceptions import ParameterError
from heterolda.foundations.wording import printable

INTERRUPTED = 130  # the status of a command that was interrupted
_LONGEST = 1000  # characters of a line on stderr
_PAUSE = 0.1  # seconds between two changes of the line that shows progress
_CLEAR = "\r\x1b[K"  # empties the line of a terminal
# Parameters that are files on the command line: no option has their name.
_FILES = ("X", "y", "path", "source", "other")
# Options that name data, of which the content may be wrong.
_OF_DATA = ("sample_weight", "data_dir")
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
def errors_in_one_line(options: Collection[str], *, debug: bool) -> Iterator[None]:
    """End with one line on stderr: status 2 for what was typed, 1 for the rest.

    `options` are those that the command has, so that it advises no others.
    """
    try:
        yield
    except (typer.Exit, BrokenPipeError):
        raise
    except Exception as error:
        if debug:
            import traceback

            traceback.print_exc()
        # Options that are to be copied must be whole.
        longest = None if hasattr(error, "options") else _LONGEST
        print_to_stderr(f"heterolda: {_problem(error, options)}", longest)
        raise typer.Exit(2 if _is_usage(error) else 1) from error


def _problem(error: Any, options: Collection[str]) -> str:
    """Return the reason of an error, and the options of the command that help."""
    advised = getattr(error, "options", {})
    if not advised:
        return reason(error)
    usable = {k: v for k, v in advised.items() if k in options}
    add = f", or add {options_text(usable)}" if usable.keys() - {"missing"} else ""
    return f"{error.problem}. Correct the file{add}"


def _is_usage(error: Exception) -> bool:
    """Return whether an error is about what was typed, not about what files hold."""
    if isinstance(error, ParameterError):
        return error.parameter not in (*_FILES, *_OF_DATA)
    # A column that does not exist was typed, now or for the fit.
    return hasattr(error, "absent") or _REFUSED.fullmatch(str(error)) is not None


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Turn the library's warnings into plain lines, each once."""
    shown: set[str] = set()

    def show(warning: Warning | str, *_: object, **__: object) -> None:
        text = in_options(str(warning))
        if text not in shown:
            shown.add(text)
            note(text)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        # Rows of files have no names, and their columns are in order already.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        warnings.showwarning = show  # type: ignore[assignment]
        yield


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
        clear = _CLEAR if sys.stderr.isatty() else ""
        print(clear + line, file=sys.stderr, flush=True)


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
    text = str(message)
    refused = _REFUSED.fullmatch(text)
    if refused is not None:
        return f"{_option(refused[1])} must be {refused[2]}, got {refused[3]}"
    name = getattr(message, "parameter", None)
    if name in _FILES:
        text = text.removeprefix(name).lstrip(": ")
    elif name and not text.startswith(f"{name}="):
        text = _option(name) + text.removeprefix(name)
    return _SETTING.sub(lambda match: _option(match[1], match[2]), text)


def options_text(options: dict[str, Any]) -> str:
    """Return options with their values, to be copied to a command."""
    return " ".join(_option(name, value) for name, value in options.items())


def _option(parameter: str, value: Any = None) -> str:
    """Return a parameter as an option, with its value if there is one.

    A value from a message is written as Python writes it.
    """
    name = "--" + parameter.removeprefix("n_").replace("_", "-")
    if isinstance(value, str) and value[:1] in tuple("'\"[{."):
        with suppress(SyntaxError, ValueError):
            value = ast.literal_eval(value)
    if isinstance(value, dict):
        value = [f"{label}={number}" for label, number in value.items()]
    if isinstance(value, list | tuple):
        value = join_names(value)
    return name if value in (None, ...) else f"{name} {shlex.quote(str(value))}"


class StatusLine:
    """Status of a command, on a line of the terminal that is erased at the end.

    It is called with a text and the share that is done, NaN where that is unknown.
    Where the standard error stream is not a terminal, or `quiet`, nothing is shown.
    """

    def __init__(self, quiet: bool = False) -> None:
        from heterolda.foundations.threads import shown_by

        self.is_shown = sys.stderr.isatty() and not quiet
        self._changed, self._announced = 0.0, ""
        self._context = shown_by(self._long_work)

    def __enter__(self) -> Self:
        self._context.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._write("")
        self._context.__exit__(None, None, None)

    def __call__(self, text: str, share: float) -> None:
        """Show what is done now, and how much of it is done."""
        now = time.monotonic()
        if now - self._changed >= _PAUSE:
            self._changed = now
            self._write(text if isnan(share) else f"{text}: {share:.0%}")

    def doing(self, task: str) -> Callable[[str, float], None]:
        """Return the same with the name of a task before each text."""
        return lambda text, share: self(f"{task}: {text}", share)

    def _write(self, text: str) -> None:
        if self.is_shown:
            text = printable(text)[: shutil.get_terminal_size().columns - 1]
            with suppress(OSError):  # the terminal may be closed
                print(_CLEAR + text, end="", file=sys.stderr, flush=True)

    def _long_work(self, text: str, share: float) -> None:
        """Show what takes minutes: it is announced where no line is shown, too."""
        if not self.is_shown and text != self._announced:
            self._announced = text
            note(text)
        self(text, share)
