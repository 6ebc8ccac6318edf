"""How far a command is: a live line on a terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from heterolda.cli.messages import print_to_stderr
from heterolda.foundations.threads import shown_by


class StatusLine:
    """What a command is doing, on a line of the terminal that goes away at the end.

    Where the standard error stream is not a terminal, or `quiet`, nothing is shown.
    """

    def __init__(self, quiet: bool = False) -> None:
        self.console = Console(stderr=True, highlight=False, quiet=quiet)
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[figure]}", markup=False),
        )
        self._live = Progress(*columns, console=self.console, transient=True)
        drawn = self.console.is_terminal and not self.console.is_dumb_terminal
        self._shown = drawn and not quiet
        self._context = shown_by(self.long_work)

    def __enter__(self) -> Self:
        self._context.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live.live.is_started:
            self._live.stop()  # which leaves the terminal in order
        self._context.__exit__(None, None, None)

    def _begin(self, text: str) -> Callable[..., None]:
        for task in self._live.task_ids:
            self._live.remove_task(task)
        if not self._shown:
            return lambda **changes: None
        self._live.start()
        task = self._live.add_task(text, total=None, figure="")
        return lambda **changes: self._live.update(task, **changes)

    def long_work(self, text: str) -> Callable[[float], None]:
        """Begin what takes minutes: it is announced where no bar can be drawn, too."""
        if not self._shown:
            print_to_stderr(f"note: {text}")
        return self.share(text)

    def rows(self, text: str) -> Callable[[int], None]:
        """Begin something of unknown length; call the result with the rows so far."""
        update = self.words(text)
        return lambda n: update(f"{n:,} rows")

    def words(self, text: str) -> Callable[[str], None]:
        """Begin something of unknown length; call the result with how far it is."""
        update = self._begin(text)
        return lambda figure: update(figure=figure)

    def share(self, text: str) -> Callable[[float], None]:
        """Begin something of known length; call the result with the share done."""
        update = self._begin(text)
        return lambda done: update(total=1.0, completed=done, figure=f"{done:.0%}")
