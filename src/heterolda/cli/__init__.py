"""The command ``heterolda``.

A command has a file of its name with its options; its work on files is in
``..._files.py``, which is imported when it runs, so that help is printed at once.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Run the command ``heterolda``."""
    try:
        # A terminated command tidies up as an interrupted one does.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        _open_streams()
        from heterolda.cli.commands import app

        app()
    except KeyboardInterrupt:
        sys.exit("heterolda: interrupted")


def _open_streams() -> None:
    """Let streams that are closed be empty ones: a file must not take their places."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            stream = open(handle, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
