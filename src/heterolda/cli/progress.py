"""How far a command is: a live line on a terminal, and lines elsewhere for a study."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn

from heterolda.cli.messages import print_to_stderr
from heterolda.foundations.long_work import shown_by

if TYPE_CHECKING:
    from heterolda.experiments.protocol import Task


def _can_draw(console: Console) -> bool:
    """Whether bars can be drawn."""
    return console.is_terminal and not console.is_dumb_terminal


class _LiveBar:
    """A bar on the terminal; as a context it leaves the terminal in order."""

    def __init__(self, console: Console, *columns: ProgressColumn) -> None:
        self.console = console
        self._live = Progress(*columns, console=console, transient=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._live.live.is_started:
            self._live.stop()


class StudyProgress(_LiveBar):
    """An observer of a study that writes to the standard error stream."""

    def __init__(self) -> None:
        super().__init__(
            Console(stderr=True, highlight=False, soft_wrap=True),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.description}", markup=False),
        )
        self._left: Counter[tuple[str, int]] = Counter()
        self._done = self._total = 0.0
        self._first: tuple[float, float] | None = None

    def notice(self, text: str) -> None:
        """Print a line."""
        self.console.print(text, markup=False)

    def begin(self, tasks: list[Task], n_done: int) -> None:
        """Say what is to come."""
        self._total = sum(task.work for task in tasks)
        self._left = Counter((task.dataset, task.trial) for task in tasks)
        if n_done:
            self.notice(f"{n_done} rows are already there")
        self.notice(f"{len(tasks)} folds to compute")
        if tasks and _can_draw(self.console):
            self._bar = self._live.add_task("starting", total=self._total)
            self._live.start()

    def finish(self, task: Task) -> None:
        """Move the bar, or print a line when a trial of a data set is complete."""
        self._done += task.work
        # The first task waits for imports, which do not come again.
        self._first = self._first or (time.monotonic(), self._done)
        self._left[task.dataset, task.trial] -= 1
        if _can_draw(self.console):
            text = f"{task} ({self._time_left()})"
            self._live.update(self._bar, completed=self._done, description=text)
        elif not self._left[task.dataset, task.trial]:
            share = self._done / self._total
            self.notice(
                f"{task.dataset}, trial {task.trial + 1}: done "
                f"({share:.0%} of all, {self._time_left()})"
            )

    def _time_left(self) -> str:
        """Time left in words, if it goes on as it went so far."""
        begin, before = self._first or (0.0, 0.0)
        if self._done <= before:
            return "time left unknown"
        elapsed = time.monotonic() - begin
        seconds = elapsed * (self._total - self._done) / (self._done - before)
        for unit, name in ((3600, "h"), (60, "min")):
            if seconds >= 2 * unit:
                return f"about {seconds / unit:.0f} {name} left"
        return f"about {seconds:.0f} s left"


class StatusLine(_LiveBar):
    """What a command is doing, on a line of the terminal that goes away at the end.

    Where the standard error stream is not a terminal, or `quiet`, nothing is shown.
    """

    def __init__(self, quiet: bool = False) -> None:
        console = Console(stderr=True, highlight=False, quiet=quiet)
        super().__init__(
            console,
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[figure]}", markup=False),
        )
        self._shown = _can_draw(console) and not quiet
        self._context = shown_by(self.long_work)

    def __enter__(self) -> Self:
        self._context.__enter__()
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
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
