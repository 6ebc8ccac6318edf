"""Reading and decoding in a thread of their own, a little ahead of their use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any, TypeVar

from heterolda.data.csv_reader import StandardInput

Item = TypeVar("Item")

_WAITING = 2  # items that wait to be used


def prefetch(items: Iterable[Item], source: Any = None) -> Iterator[Item]:
    """The same items, made in a thread; if `source` is standard input, until stopped.

    Whatever goes wrong there is raised here, and whoever stops early ends the thread.
    """
    queue: Queue[tuple[str, Any]] = Queue(_WAITING)
    stop = Event()

    def put(kind: str, value: Any) -> bool:
        while not stop.is_set():
            try:
                queue.put((kind, value), timeout=0.1)
                return True
            except Full:
                continue
        return False

    def work() -> None:
        try:
            for item in items:
                if not put("item", item):
                    return
            put("end", None)
        except BaseException as error:
            put("error", error)

    thread = Thread(target=work, name="heterolda-decoder", daemon=True)
    thread.start()
    try:
        while True:
            try:
                # Not for ever, so that an interrupt gets through.
                kind, value = queue.get(timeout=0.1)
            except Empty:
                continue
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        stop.set()
        if isinstance(source, StandardInput):
            source.stop()
        thread.join()
