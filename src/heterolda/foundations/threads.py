"""Settings of the whole process, which threads change at the same time.

Each thread would note what it finds and put that back. Of two whose times overlap, the
last would then put back what the first had set, for good.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock

from heterolda.foundations.sklearn_private import threadpool_controller

__all__ = ["no_warnings", "one_blas_thread"]


class _Silence:
    """Filters of warnings, which the first thread sets and the last one puts back."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = _ignored()
                self._before.__enter__()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._before.__exit__(None, None, None)


@contextmanager
def _ignored() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


_SILENCE = _Silence()
_LIMITING = Lock()


def no_warnings() -> AbstractContextManager[None]:
    """Without the warnings of work that is not the user's.

    Returns
    -------
    context manager
        For this thread, where Python keeps filters for each; else for all of them.

    Examples
    --------
    >>> import warnings
    >>> from heterolda.foundations.threads import no_warnings
    >>> with no_warnings():
    ...     warnings.warn("nobody hears it")
    """
    own = getattr(sys.flags, "context_aware_warnings", False)
    return _ignored() if own else _SILENCE


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """With linear algebra in a single thread.

    One thread at a time sets the limit; others go along with what it is then.

    Examples
    --------
    >>> import numpy as np
    >>> from heterolda.foundations.threads import one_blas_thread
    >>> with one_blas_thread():
    ...     product = np.eye(2) @ np.eye(2)
    """
    if not _LIMITING.acquire(blocking=False):
        yield
        return
    try:
        with threadpool_controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _LIMITING.release()
