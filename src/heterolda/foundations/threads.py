"""Threads, settings of the whole process that they share, and long work.

If each thread put back the setting that it found, the last of two that overlap would
put back what the first had set, for good.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from heterolda.foundations.sklearn_private import n_threads, threadpool_controller

_T = TypeVar("_T")
# Is called with what is being done and the share that is done, NaN if not known.
Progress = Callable[[str, float], None]
_LONG = 60.0  # seconds; work that takes longer is not silent
_shown_by: ContextVar[Progress | None] = ContextVar("shown_by", default=None)


def silent(text: str, share: float) -> None:
    """Show no progress."""


class _Silence:
    """Filters of warnings, which the first thread sets and the last one puts back."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = warnings.catch_warnings(action="ignore")
                self._before.__enter__()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._before.__exit__(None, None, None)


_SILENCE = _Silence()
_LIMITING = Lock()


def no_warnings() -> AbstractContextManager[Any]:
    """Silence the warnings of work that the user did not ask for.

    In this thread only, where Python keeps filters for each; else in all threads.
    """
    own = getattr(sys.flags, "context_aware_warnings", False)
    return warnings.catch_warnings(action="ignore") if own else _SILENCE


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run linear algebra in a single thread.

    One thread at a time sets the limit; others take it as it is then.
    """
    if not _LIMITING.acquire(blocking=False):
        yield
        return
    try:
        with threadpool_controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _LIMITING.release()


def in_threads(part: Callable[[slice], _T], n: int, worth: int) -> list[_T]:
    """Return results of a function of consecutive slices of n things, one a thread.

    There are as many threads as the work is worth, but no more than OMP_NUM_THREADS, or
    the share of the processors that joblib leaves to its workers.
    """
    most = min(worth, n)
    count = min(most, n_threads()) if most > 1 else 1
    if count == 1:
        return [part(slice(0, n))]
    slices = [slice(n * k // count, n * (k + 1) // count) for k in range(count)]
    with ThreadPoolExecutor(count - 1) as pool:
        others = [pool.submit(part, one) for one in slices[1:]]
        return [part(slices[0]), *(other.result() for other in others)]


@contextmanager
def shown_by(progress: Progress) -> Iterator[None]:
    """Let a program show long work in its own way."""
    token = _shown_by.set(progress)
    try:
        yield
    finally:
        _shown_by.reset(token)


def progress_of(text: str, seconds: float) -> Callable[[float], None]:
    """Return what to call with the share done, for work expected to take `seconds`.

    Long work is announced by a warning, unless a program shows it.
    """
    if seconds >= _LONG:
        text = f"{text}, which takes about {seconds / 60:.0f} min"
        progress = _shown_by.get()
        if progress is not None:
            return partial(progress, text)
        warnings.warn(text, UserWarning, stacklevel=2)
    return partial(silent, text)
