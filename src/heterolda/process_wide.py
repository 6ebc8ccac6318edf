"""Settings of the whole process, which threads share while they need them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import Any

from heterolda._sklearn import threadpool_controller

__all__ = ["ProcessWide", "no_warnings", "one_blas_thread"]


class ProcessWide:
    """A context that the first thread enters and the last one leaves.

    Each thread on its own would note what it found and put that back: of two whose
    times overlap, the last would put back what the first had set, for good.

    Parameters
    ----------
    make : callable
        Makes the context.

    Examples
    --------
    >>> from contextlib import closing
    >>> from heterolda.process_wide import ProcessWide
    >>> class Door:
    ...     def close(self):
    ...         print("closed")
    >>> open_door = ProcessWide(lambda: closing(Door()))
    >>> with open_door:
    ...     with open_door:
    ...         pass
    ...     print("still open")
    still open
    closed
    """

    def __init__(self, make: Callable[[], AbstractContextManager[Any]]) -> None:
        self._make = make
        self._lock = Lock()
        self._inside = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._context = self._make()
                self._context.__enter__()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._context.__exit__(None, None, None)


@contextmanager
def _ignored() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


_SILENCE = ProcessWide(_ignored)
_ONE_BLAS_THREAD = ProcessWide(
    lambda: threadpool_controller().limit(limits=1, user_api="blas")
)


def no_warnings() -> AbstractContextManager[None]:
    """Without the warnings of work that is not the user's.

    Returns
    -------
    context manager
        Of this thread, where Python keeps filters for each; else of all of them.
    """
    own = getattr(sys.flags, "context_aware_warnings", False)
    return _ignored() if own else _SILENCE


def one_blas_thread() -> AbstractContextManager[None]:
    """With linear algebra in a single thread.

    Returns
    -------
    context manager
        Of the process.
    """
    return _ONE_BLAS_THREAD
