"""Reading and decoding in a thread of their own, a little ahead of their use."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

from heterolda.data.csv_reader import StandardInput

Item = TypeVar("Item")

_N_WAITING = 2  # items that wait to be used
_END: Any = object()


def prefetch(items: Iterable[Item], source: Any = None) -> Iterator[Item]:
    """The same items, made in a thread while those before are in use.

    Whatever goes wrong there is raised here. Whoever stops early ends the thread; if
    `source` is standard input, it no longer waits for more.
    """
    iterator = iter(items)
    with ThreadPoolExecutor(1, "heterolda-decoder") as pool:
        waiting = deque(pool.submit(next, iterator, _END) for _ in range(_N_WAITING))
        try:
            while True:
                # Not for ever, so that an interrupt gets through.
                while not wait(list(waiting)[:1], 0.1).done:
                    pass
                item = waiting.popleft().result()
                if item is _END:
                    return
                waiting.append(pool.submit(next, iterator, _END))
                yield item
        finally:
            if isinstance(source, StandardInput):
                source.stop()
            pool.shutdown(wait=False, cancel_futures=True)
