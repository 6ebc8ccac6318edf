"""How far a command is: a line on a terminal."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from math import isnan
from typing import Self

from heterolda.cli.messages import note
from heterolda.foundations.threads import shown_by
from heterolda.foundations.wording import printable

_PAUSE = 0.1  # seconds between two changes of the line


class StatusLine:
    """What a command is doing, on a line of the terminal that goes away at the end.

    It is called with a text and the share that is done, NaN where that is unknown.
    Where the standard error stream is not a terminal, or `quiet`, nothing is shown.
    """

    def __init__(self, quiet: bool = False) -> None:
        self.is_shown = sys.stderr.isatty() and not quiet
        self._changed, self._width, self._announced = 0.0, 0, ""
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
        if self.is_shown and now - self._changed >= _PAUSE:
            self._changed = now
            self._write(text if isnan(share) else f"{text}: {share:.0%}")

    def doing(self, task: str) -> Callable[[str, float], None]:
        """Return the same with the name of a task before each text."""
        return lambda text, share: self(f"{task}: {text}", share)

    def _write(self, text: str) -> None:
        if self.is_shown and (text or self._width):
            text = printable(text)[: shutil.get_terminal_size().columns - 1]
            with suppress(OSError):  # the terminal may be closed
                print(f"\r{text:{self._width}}\r{text}", end="", file=sys.stderr)
                sys.stderr.flush()
            self._width = len(text)

    def _long_work(self, text: str, share: float) -> None:
        """Show what takes minutes: it is announced where no line is shown, too."""
        if not self.is_shown and text != self._announced:
            self._announced = text
            note(text)
        self(text, share)
