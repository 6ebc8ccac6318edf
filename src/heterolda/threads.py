"""Threads over many small pieces of linear algebra.

A linear algebra library gains nothing from threads on small matrices: they wait for
each other longer than they work. So the pieces are shared out among as many threads
as the library may use, and within each it gets by with one. Whoever limits its
threads, by `threadpoolctl` or by an environment variable, limits ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

from heterolda._sklearn import threadpool_controller

Part = TypeVar("Part")
Result = TypeVar("Result")

_lock = Lock()
_users = 0  # calls of ours that need a library of one thread just now
_limiter: Any = None


def library_threads() -> int:
    """Number of threads that the linear algebra library may use."""
    libraries = threadpool_controller().select(user_api="blas").lib_controllers
    return max((library.num_threads or 1 for library in libraries), default=1)


def in_threads(
    function: Callable[[Part], Result], parts: Sequence[Part]
) -> list[Result]:
    """Results of a function for each of several parts, in their order.

    Parameters
    ----------
    function : callable
        Takes a part; may run in several threads at once.
    parts : sequence
        The parts.

    Returns
    -------
    list
        The results. They do not depend on the number of threads.
    """
    with _one_library_thread() as allowed:
        count = min(allowed, len(parts))
        if count <= 1:
            return [function(part) for part in parts]
        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(function, parts))


@contextmanager
def _one_library_thread() -> Iterator[int]:
    """Limit the library to one thread; yields how many it may use otherwise.

    The limit belongs to the whole process. The first of several concurrent calls sets
    it and the last one lifts it; a call beside others runs in its own thread only.
    """
    global _users, _limiter
    with _lock:
        _users += 1
        allowed = 1
        if _users == 1:
            allowed = library_threads()
            _limiter = threadpool_controller().limit(limits=1, user_api="blas")
    try:
        yield allowed
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limiter.restore_original_limits()
                _limiter = None
