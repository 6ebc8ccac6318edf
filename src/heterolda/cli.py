"""Entry of the command line."""

from __future__ import annotations

import signal
import sys
from importlib.util import find_spec

__all__ = ["main"]


def main() -> None:
    """Run the command ``heterolda``; it needs the extra ``heterolda[cli]``."""
    missing = [name for name in ("typer", "rich") if find_spec(name) is None]
    if missing:
        sys.exit(
            f"heterolda: the command line needs {' and '.join(missing)}: "
            "pip install 'heterolda[cli]'"
        )
    try:
        # A terminated command tidies up as an interrupted one does.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        from heterolda.commands import app

        app()
    except KeyboardInterrupt:
        sys.exit("heterolda: interrupted")


if __name__ == "__main__":
    main()
