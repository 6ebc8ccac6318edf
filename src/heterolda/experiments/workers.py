"""Tasks computed in loky's processes, as many at a time as there are processes."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import Any

from joblib.externals.loky import ProcessPoolExecutor

__all__ = ["computed"]


def computed(
    tasks: Iterable[Any],
    prepare: Callable[[], None],
    compute: Callable[[Any], Any],
    jobs: int,
) -> Generator[tuple[Any, Any], None, None]:
    """Yield tasks with their results as they come; `prepare` begins each process.

    The processes are new, and they end with the iteration, however it ends, and also
    when the process that started them is killed.
    """
    waiting = iter(tasks)
    executor = ProcessPoolExecutor(
        jobs, initializer=_begin, initargs=(os.getpid(), prepare)
    )
    running: dict[Any, Any] = {}
    try:
        with _interrupts_ignored():
            running = {executor.submit(compute, t): t for t in islice(waiting, jobs)}
        while running:
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                result = _result(done, running)
                task = running.pop(done)
                running |= {executor.submit(compute, t): t for t in islice(waiting, 1)}
                yield task, result
    finally:
        # Killing workers takes psutil or pgrep, without which joblib waits for ever.
        executor.shutdown(kill_workers=bool(running))


def _result(done: Any, running: dict[Any, Any]) -> Any:
    """The result of a task that has ended; a failure is raised with its name."""
    try:
        return done.result()
    except BrokenProcessPool:
        raise RuntimeError(
            f"a process that computed {' or '.join(map(str, running.values()))} was "
            "killed, perhaps for lack of memory; the same command goes on from here, "
            "with fewer jobs if memory is short"
        ) from None
    except Exception as error:
        raise RuntimeError(
            f"{running[done]} failed: {type(error).__name__}: {error}"
        ) from error


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C while processes start: they go on ignoring it, we end them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _begin(parent: int, prepare: Callable[[], None]) -> None:
    """What a process does before its first task."""
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    prepare()


def _end_with_parent(parent: int) -> None:
    """Leave a task that nobody waits for: loky's processes survive their parent."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
