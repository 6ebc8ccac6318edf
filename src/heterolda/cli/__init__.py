"""The command ``heterolda``.

Each command has a file of its name. Slow imports are inside functions, so that help and
usage errors are printed at once.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

_MESSAGE = "heterolda: interrupted"
_STATUS = 130
_NEEDED = "typer", "rich"
_INSTALL = 'heterolda: the command needs typer and rich: pip install "heterolda[cli]"'


def main() -> None:
    """Run the command ``heterolda``."""
    _open_streams()
    try:
        # An interrupted import may raise anything, and nothing is open yet.
        _on_signals(_stop)
        app = _import_app()
        _on_signals(_interrupt)
        app()
    except KeyboardInterrupt:
        print(_MESSAGE, file=sys.stderr)
        sys.exit(_STATUS)
    finally:
        # After an interrupt within an `exec`, such as that of dataclasses, Python ends
        # with a signal at exit. Another `exec` prevents this.
        exec("")  # noqa: S102


def _import_app() -> Any:
    """Return the commands; without the extra `cli`, say how to install it and exit."""
    try:
        import rich  # noqa: F401, so that its absence is known before it is used

        from heterolda.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in _NEEDED:
            raise
        print(_INSTALL, file=sys.stderr)
        sys.exit(1)
    return app


def _on_signals(handler: Any) -> None:
    """Handle Ctrl-C, hang-up and termination, unless they are ignored."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows lacks the last
        # Signals that ``nohup`` ignores stay ignored.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _stop(number: int, frame: object) -> None:
    """End the program at once."""
    os.write(2, f"{_MESSAGE}\n".encode())
    os._exit(_STATUS)


def _interrupt(number: int, frame: object) -> None:
    """Raise KeyboardInterrupt once, as a shell repeats signals of the terminal."""
    if number not in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _open_streams() -> None:
    """Replace closed streams with empty ones, so that no file gets their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            stream = open(handle, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
