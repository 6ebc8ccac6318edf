"""Work in threads, process-wide settings that threads share, and progress of long work.

A process-wide setting needs one owner: if two threads overlapped and each restored the
value it saw, the second would permanently restore the first one's change.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache, partial
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from heterolda.foundations.sklearn_private import n_threads

_T = TypeVar("_T")
# Takes a description of the work, and the share done or NaN.
Progress = Callable[[str, float], None]
_LONG = 60.0  # seconds; longer work is announced
_progress: ContextVar[Progress | None] = ContextVar("progress", default=None)


def silent(text: str, share: float) -> None:
    """Show no progress."""


class _Silence:
    """Ignore warnings while any thread is inside."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_inside = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._n_inside:
                self._filter = warnings.catch_warnings(action="ignore")
                self._filter.__enter__()
            self._n_inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if not self._n_inside:
                self._filter.__exit__(None, None, None)


_SILENCE = _Silence()
_LIMITING = Lock()
_controller = cache(ThreadpoolController)  # it looks for libraries once


def no_warnings() -> AbstractContextManager[Any]:
    """Silence warnings from work that the user did not request."""
    per_thread = getattr(sys.flags, "context_aware_warnings", False)
    return warnings.catch_warnings(action="ignore") if per_thread else _SILENCE


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit linear algebra to one thread, unless another thread holds the limit."""
    if not _LIMITING.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _LIMITING.release()


def in_threads(part: Callable[[slice], _T], n: int, n_tasks: int) -> list[_T]:
    """Apply a function to consecutive slices of n items, one slice per thread.

    Uses at most `n_tasks` threads, and no more than OMP_NUM_THREADS or joblib allow.
    """
    count = min(n_tasks, n)
    count = min(count, n_threads()) if count > 1 else 1
    if count == 1:
        return [part(slice(0, n))]
    slices = [slice(n * k // count, n * (k + 1) // count) for k in range(count)]
    with ThreadPoolExecutor(count - 1) as pool:
        futures = [pool.submit(part, chunk) for chunk in slices[1:]]
        return [part(slices[0]), *(future.result() for future in futures)]


@contextmanager
def progress_to(progress: Progress) -> Iterator[None]:
    """Report the progress of long work to a function."""
    token = _progress.set(progress)
    try:
        yield
    finally:
        _progress.reset(token)


def stages() -> Callable[[str], None]:
    """Return a function that reports a stage of work whose length is unknown."""
    progress = _progress.get() or silent
    return lambda text: progress(text, float("nan"))


def progress_of(text: str, seconds: float) -> Callable[[float], None]:
    """Return a function that takes the share done, and reports it for long work."""
    if seconds >= _LONG:
        text = f"{text}, which takes about {seconds / 60:.0f} min"
        progress = _progress.get()
        if progress is not None:
            return partial(progress, text)
        warnings.warn(text, UserWarning, stacklevel=2)
    return partial(silent, text)
