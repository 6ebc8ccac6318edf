"""Processes that compute tasks, one task at a time each.

A pool of its own, because those of the standard library either wait for a running task
when they are interrupted, or wait for ever when a process dies.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any

from threadpoolctl import threadpool_limits

__all__ = ["computed", "pinned_to_one_thread"]


def computed(
    tasks: Iterable[Any],
    prepare: Callable[[], None],
    compute: Callable[[Any], Any],
    jobs: int,
) -> Iterator[tuple[Any, Any]]:
    """Compute tasks in fresh processes and yield the results as they come.

    The processes end with the iteration, however it ends, and also when the process
    that started them is killed.

    Parameters
    ----------
    tasks : iterable
        What to compute.
    prepare : callable
        Called once in each process.
    compute : callable
        Takes a task, returns its result.
    jobs : int
        Number of processes.

    Yields
    ------
    tuple
        A task and its result.
    """
    waiting = deque(tasks)
    context = multiprocessing.get_context("spawn")
    processes, busy = [], {}
    try:
        for _ in range(min(jobs, len(waiting))):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_serve, args=(theirs, prepare, compute), daemon=True
            )
            with _deaf_to_interrupts():
                process.start()
            theirs.close()  # so that the end of the process ends the pipe
            processes.append(process)
            busy[ours] = _give(ours, waiting)
        while busy:
            for ready in wait(list(busy)):
                task = busy.pop(ready)  # type: ignore[call-overload]
                result = _receive(ready, task)  # type: ignore[arg-type]
                if waiting:
                    busy[ready] = _give(ready, waiting)  # type: ignore[index, arg-type]
                yield task, result
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def pinned_to_one_thread() -> None:
    """Let BLAS and OpenMP use one thread in this process; Numba uses no more here.

    Call it after the libraries are imported; those that come later read the
    environment.
    """
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = "1"
    threadpool_limits(1)


def _give(connection: Connection, waiting: deque[Any]) -> Any:
    """Send the next task to a process."""
    task = waiting.popleft()
    connection.send(task)
    return task


def _receive(connection: Connection, task: Any) -> Any:
    """The result of a task; a failure is raised."""
    try:
        result, failure = connection.recv()
    except (EOFError, ConnectionError):
        raise RuntimeError(
            f"the process that computed {task} was killed, perhaps for lack of memory; "
            "the same command goes on from here, with a smaller --jobs if memory is "
            "short"
        ) from None
    if failure is not None:
        message, trace = failure
        error = RuntimeError(f"{task} failed: {message}")
        error.add_note(trace)
        raise error
    return result


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C while a process starts, which so inherits that it ignores it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _serve(
    connection: Connection, prepare: Callable[[], None], compute: Callable[[Any], Any]
) -> None:
    """Life of a process: compute what comes until nothing comes any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it and ends us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        prepare()
        while True:
            connection.send((compute(connection.recv()), None))
    except (EOFError, ConnectionError):
        return
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        connection.send((None, (message, traceback.format_exc())))


def _end_with_parent() -> None:
    """Leave a task that nobody waits for."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
