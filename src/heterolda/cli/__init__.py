"""The command ``heterolda``.

A command has a file of its name. What takes long to import is imported where it is
used, so that help and errors of usage are printed at once.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

_MESSAGE = "heterolda: interrupted"
_STATUS = 130


def main() -> None:
    """Run the command ``heterolda``."""
    _open_streams()
    try:
        # An interrupted import may raise anything, and nothing is open yet.
        _on_signals(_stop)
        from heterolda.cli.app import app

        _on_signals(_interrupt)
        app()
    except KeyboardInterrupt:
        print(_MESSAGE, file=sys.stderr)
        sys.exit(_STATUS)
    finally:
        # If the interrupt was within another `exec`, as of dataclasses, Python ends
        # itself by a signal at exit: this is how it forgets.
        exec("")  # noqa: S102


def _on_signals(handler: Any) -> None:
    """Handle Ctrl-C, the end of the terminal and termination, unless ignored."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows lacks the last
        # What ``nohup`` starts goes on.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _stop(number: int, frame: object) -> None:
    """End the program at once."""
    os.write(2, f"{_MESSAGE}\n".encode())
    os._exit(_STATUS)


def _interrupt(number: int, frame: object) -> None:
    """Raise what Ctrl-C raises, once: a shell repeats what the terminal has sent."""
    if number not in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _open_streams() -> None:
    """Replace closed streams by empty ones: a file must not take their places."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            stream = open(handle, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
