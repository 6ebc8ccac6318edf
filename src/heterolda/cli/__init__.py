"""The command ``heterolda``.

A command has a file of its name. What takes long to import is imported where it is
used, so that help and errors of usage are printed at once.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Run the command ``heterolda``."""
    try:
        # A command that is terminated, or whose terminal is closed, tidies up first.
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows lacks the latter
            # What ``nohup`` starts goes on.
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _interrupt)
        _open_streams()
        from heterolda.cli.app import app

        app()
    except KeyboardInterrupt:
        print("heterolda: interrupted", file=sys.stderr)
        sys.exit(130)


def _interrupt(number: int, frame: object) -> None:
    """Raise what Ctrl-C raises, once: a shell repeats what the terminal has sent."""
    if number != signal.SIGTERM:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _open_streams() -> None:
    """Replace closed streams by empty ones: a file must not take their places."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            stream = open(handle, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
