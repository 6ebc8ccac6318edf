"""Writing files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that appears under its name only when complete.

    Parameters
    ----------
    path : str or path-like
        The file; an older one is replaced in one step, or kept if writing fails.

    Yields
    ------
    binary file
        A temporary file in the same folder.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"path: the folder {str(target.parent)!r} does not exist"
        )
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)  # mkstemp grants access to the owner only
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
