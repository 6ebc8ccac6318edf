"""Standard input as a stream that a waiting reader can be called back from."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from threading import Event

from heterolda.data.text_files import TextStream

__all__ = ["standard_input"]

_CHUNK = 1 << 20
_PATIENCE = 0.1  # seconds between two looks at whether to stop
_PAUSE = 0.02  # seconds after which what has come so far is passed on


def standard_input(delimiter: str = ",") -> TextStream:
    """Standard input, to be read once.

    Parameters
    ----------
    delimiter : str, default=","
        What stands between two columns.

    Returns
    -------
    TextStream
        What has come is passed on without waiting for more; `stop` ends the wait.
    """
    stopped = Event()
    return TextStream(lambda: _chunks(stopped), delimiter, stop=stopped.set)


def _chunks(stopped: Event) -> Iterator[bytes]:
    try:
        handle = sys.stdin.fileno()
    except (OSError, ValueError):  # it is no real stream
        handle = -1
    if handle < 0 or os.name != "posix":  # elsewhere one can wait for sockets only
        while data := sys.stdin.buffer.read(_CHUNK):
            yield data
        return
    gathered: list[bytes] = []
    while not stopped.is_set():
        wait = _PAUSE if gathered else _PATIENCE
        if select.select([handle], [], [], wait)[0]:
            data = os.read(handle, _CHUNK)
            gathered.append(data)
            if data and sum(map(len, gathered)) < _CHUNK:
                continue
        if gathered:
            yield b"".join(gathered)
            if not gathered[-1]:
                return
            gathered = []
