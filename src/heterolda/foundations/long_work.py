"""Work that takes long or much memory: what is known before, and how far it is."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Is called with the share of the work that is done.
Share = Callable[[float], None]
# Is called with what the work is, at its beginning.
Begin = Callable[[str], Share]

LONG = 60.0  # seconds; work that takes longer is not silent

_shown_by: ContextVar[Begin | None] = ContextVar("shown_by", default=None)


@contextmanager
def shown_by(begin: Begin) -> Iterator[None]:
    """Let a program show long work in its own way."""
    token = _shown_by.set(begin)
    try:
        yield
    finally:
        _shown_by.reset(token)


def progress_of(text: str, seconds: float) -> Share:
    """What to call with the share done, for work of about so many seconds.

    Long work is announced by a warning, or shown on a line of the terminal.
    """
    if seconds < LONG:
        return lambda share: None
    text = f"{text}, which takes about {seconds / 60:.0f} min"
    begin = _shown_by.get()
    if begin is not None:
        return begin(text)
    if not sys.stderr.isatty():
        warnings.warn(text, UserWarning, stacklevel=2)
        return lambda share: None

    def show(share: float) -> None:
        end = "\n" if share >= 1 else ""
        print(f"\r{text}: {share:.0%}", end=end, file=sys.stderr, flush=True)

    show(0.0)
    return show


def available_memory() -> float | None:
    """Return the bytes of memory that are free or can be freed; None if unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = dict(line.split(":") for line in file)
        return 1024.0 * int(lines["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
