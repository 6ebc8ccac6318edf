"""The group of all commands: wrong usage in one line, quiet where nobody listens."""

from __future__ import annotations

import os
import sys
from typing import Any

from rich.console import Console
from typer.core import TyperGroup

__all__ = ["OneLineGroup"]


class OneLineGroup(TyperGroup):
    """A group of commands that complains of wrong usage in one line.

    Status 2 stands for wrong usage. A reader that goes away early, such as ``head``,
    ends the program without a word.
    """

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run a command and end the program."""
        ends = settings.pop("standalone_mode", True)
        settings["standalone_mode"] = False  # errors are raised
        if not ends:
            return super().main(*args, **settings)
        try:
            status = super().main(*args, **settings)
            sys.stdout.flush()
        except BrokenPipeError:
            _drop_output()
            status = 1
        except OSError as error:  # commands catch their own: this is of the output
            _drop_output()
            _print_line(f"heterolda: {error.strerror or error}")
            status = 1
        except Exception as error:
            # Releases of typer differ in where the class of these errors lives.
            if not hasattr(error, "format_message"):
                raise
            status = _complain(error)
        sys.exit(status if isinstance(status, int) else 0)


def _drop_output() -> None:
    """What is left in the buffer goes nowhere, and without an error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_line(text: str) -> None:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(text, markup=False, emoji=False)


def _complain(error: Any) -> int:
    """Say what is wrong with the usage, and where help is."""
    context = getattr(error, "ctx", None)
    path = "heterolda" if context is None else context.command_path
    message = " ".join(error.format_message().split()).rstrip(".")
    _print_line(f"{path}: {message} (see {path} --help)")
    return int(error.exit_code)
