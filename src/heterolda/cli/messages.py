"""Print results of commands, and notes, progress and errors on stderr."""

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

INTERRUPTED = 130  # exit status of a command that was interrupted
_MAX_LINE = 1000  # characters of a line on stderr
_PAUSE = 0.1  # seconds between updates of the status line
_CLEAR = "\r\x1b[K"  # clears a terminal line
# Parameters that are files on the command line, not options.
_FILES = ("X", "y", "path", "source", "other")
# Options that name data, which may be wrong themselves.
_CONTENT = ("sample_weight", "data_dir")
# A parameter with its value in a message, which becomes an option.
_SETTING = re.compile(
    r"(?<![\w(.])(categorical|columns|confidence|criterion|exclude|folds|groups|max_error"
    r"|method|missing|multiclass|n_components|sample_weight|shrinkage|solver|target"
    r"|time|transformation)="
    r"('[^']*'|\"[^\"]*\"|\[.*?\]|\{.*?\}|\.\.\.|[\w.+-]*\w)"
)
# scikit-learn's message on an invalid parameter.
_REJECTED = re.compile(
    r"The '(\w+)' parameter of \w+ must be (.*?)"
    r"(?:,? an instance of .*)?(?: or None)?\. Got (.*) instead\."
)


@contextmanager
def errors_in_one_line(options: Collection[str], *, debug: bool) -> Iterator[None]:
    """Print an error, with advice among `options`, and exit with status 2 or 1."""
    try:
        yield
    except (typer.Exit, BrokenPipeError):
        raise
    except Exception as error:
        if debug:
            import traceback

            traceback.print_exc()
        # Options to copy must be complete.
        max_length = None if hasattr(error, "options") else _MAX_LINE
        print_to_stderr(f"heterolda: {_problem(error, options)}", max_length)
        raise typer.Exit(2 if _is_usage(error) else 1) from error


def _problem(error: Any, options: Collection[str]) -> str:
    """Return the reason for an error, and the options of the command that help."""
    suggested = getattr(error, "options", {})
    if not suggested:
        return reason(error)
    usable = {k: v for k, v in suggested.items() if k in options}
    if not usable.keys() - {"missing"}:
        return str(error.problem)
    return f"{error.problem}, or add {options_text(usable)}"


def _is_usage(error: Exception) -> bool:
    """Return whether an error is in the command line, not in the files."""
    if isinstance(error, ParameterError):
        return error.parameter not in (*_FILES, *_CONTENT)
    # The user typed the name of the absent column, now or in the fit.
    return hasattr(error, "absent") or _REJECTED.fullmatch(str(error)) is not None


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print each warning of the library once, as a note."""
    shown: set[str] = set()

    def show(warning: Warning | str, *_: object, **__: object) -> None:
        text = in_options(str(warning))
        if text not in shown:
            shown.add(text)
            note(text)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        # Columns of files have already been matched by name.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def note(*texts: str) -> None:
    """Print notes on the standard error stream."""
    for text in texts:
        print_to_stderr(f"note: {text}")


def print_result(lines: Iterable[str]) -> None:
    """Print lines, with characters that are unsafe for a terminal escaped."""
    print(*map(printable, lines), sep="\n")


def print_to_stderr(text: str, max_length: int | None = _MAX_LINE) -> None:
    """Print one line for the user on the standard error stream."""
    line = printable(" ".join(text.split()), max_length)
    with suppress(OSError):  # the terminal may be closed
        clear = _CLEAR if sys.stderr.isatty() else ""
        print(clear + line, file=sys.stderr, flush=True)


def reason(error: Exception) -> str:
    """Return the text of an error."""
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
    rejected = _REJECTED.fullmatch(text)
    if rejected is not None:
        return f"{_option(rejected[1])} must be {rejected[2]}, got {rejected[3]}"
    name = getattr(message, "parameter", None)
    if name in _FILES:
        text = text.removeprefix(name).lstrip(": ")
    elif name and not text.startswith(f"{name}="):
        text = _option(name) + text.removeprefix(name)
    text = text.replace("use SmoothedLinearDiscriminant()", "use --method smoothed")
    return _SETTING.sub(lambda match: _option(match[1], match[2]), text)


def options_text(options: dict[str, Any]) -> str:
    """Return options with their values, to copy to a command."""
    return " ".join(_option(name, value) for name, value in options.items())


def _option(parameter: str, value: Any = None) -> str:
    """Return a parameter as an option, with its value, which may be a literal."""
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
    """A line of the terminal that shows the status of a command until its end."""

    def __init__(self, quiet: bool = False) -> None:
        from heterolda.foundations.threads import progress_to

        self.is_shown = sys.stderr.isatty() and not quiet
        self._changed, self._announced, self._share = 0.0, "", 0.0
        self._context = progress_to(self._long_work)

    def __enter__(self) -> Self:
        self._context.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._write("")
        self._context.__exit__(None, None, None)

    def __call__(self, text: str, share: float) -> None:
        """Show the current task, and the share done unless it is NaN."""
        self._share = share
        self._show(text, share)

    def doing(self, task: str) -> Callable[[str, float], None]:
        """Return a callback that puts the name of a task before each text.

        Once a tenth is done, it also tells the time that is left.
        """
        begin = time.monotonic()

        def show(text: str, share: float) -> None:
            seconds = time.monotonic() - begin
            if 0.1 <= share < 1 and seconds > _PAUSE:
                left = seconds * (1 - share) / share
                text += (
                    f", {left / 60:.0f} min left"
                    if left > 90
                    else f", {left:.0f} s left"
                )
            self(f"{task}: {text}", share)

        return show

    def _show(self, text: str, share: float) -> None:
        """Show a text and a share, unless the line has just changed."""
        now = time.monotonic()
        if now - self._changed >= _PAUSE:
            self._changed = now
            self._write(text if isnan(share) else f"{text}: {share:.0%}")

    def _write(self, text: str) -> None:
        if self.is_shown:
            text = printable(text)[: shutil.get_terminal_size().columns - 1]
            with suppress(OSError):  # the terminal may be closed
                print(_CLEAR + text, end="", file=sys.stderr, flush=True)

    def _long_work(self, text: str, share: float) -> None:
        """Show long work; if there is no status line, announce what takes minutes."""
        if isnan(share):  # a stage of a fit; the share done of many fits says more
            if not 0 < self._share < 1:
                self._write(text)
            return
        if not self.is_shown and text != self._announced:
            self._announced = text
            note(text)
        self._show(text, share)
