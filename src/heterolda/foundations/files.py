"""Files written whole or not at all, and read without pickle."""

from __future__ import annotations

import errno
import io
import math
import os
import secrets
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from heterolda.exceptions import ParameterError

# Errors of a full disk, which do not say which file was being written.
_FULL = errno.ENOSPC, errno.EFBIG, errno.EDQUOT
# Arrays may be compressed, but not so far that a small file fills the memory: to this
# many times the size of the file or these many bytes, whichever is more.
_MOST_TIMES = 20
_MOST_BYTES = 1 << 27
PathOrFile = str | os.PathLike[str] | IO[bytes]


def check_target(path: str | os.PathLike[str]) -> Path:
    """Refuse a path that no file can be written to; long work should ask first.

    Returns the file to write: of a link the one that it leads to, which need not exist.
    """
    target, lead = Path(path), ""
    try:
        mode = os.stat(target).st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = 0
    except OSError as error:  # a name that is too long, a link in a circle
        name = os.fspath(path)
        raise OSError(f"{name!r} cannot be written: {error.strerror}") from error
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{str(target)!r} is a folder: name a file in it")
    if target.is_symlink():
        target = Path(os.path.realpath(target))
        lead = f"{os.fspath(path)!r} is a link to {str(target)!r}, and "
    if not target.parent.is_dir():
        folder = str(target.parent)
        raise FileNotFoundError(f"{lead}the folder {folder!r} does not exist")
    is_special = mode and not stat.S_ISREG(mode)  # a device or a pipe
    places = *([target] if mode else []), *([] if is_special else [target.parent])
    for place in places:
        if not os.access(place, os.W_OK):
            reason = os.strerror(errno.EACCES)
            raise PermissionError(errno.EACCES, reason, str(place))
    return target


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that appears under its name only when complete.

    An older file is replaced in one step, keeping its mode, or kept if writing fails.
    Of a link the file that it leads to is written. Devices and pipes are written to
    as they are.
    """
    target = check_target(path)
    special = target.exists() and not target.is_file()
    # Short, since the name of the file may be as long as names can be.
    temporary = target.with_name(f".{target.name[:50]}.{secrets.token_hex(4)}")
    try:
        with open(target, "wb") if special else _renamed(temporary, target) as file:
            yield file
    except OSError as error:
        if error.errno in _FULL or error.filename == str(temporary):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise


@contextmanager
def _renamed(temporary: Path, target: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that gets its name when it is complete."""
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    # A new file gets the access that the process grants to new files. To ask for that
    # one would have to change it, for all threads.
    access = 0o666 if mode is None else mode & 0o777
    with open(temporary, "xb", opener=partial(os.open, mode=access)) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())  # before the name, or a crash leaves it empty
            file.close()
            if mode is not None:
                os.chmod(temporary, mode)
            os.replace(temporary, target)
        except BaseException:
            file.close()
            temporary.unlink()
            raise


def write_npz(path: PathOrFile, content: dict[str, NDArray[Any]]) -> None:
    """Write arrays to a ``.npz`` file, whole or not at all, or to an open file."""
    if not isinstance(path, str | os.PathLike):
        np.savez(path, **content)  # type: ignore[arg-type]
        return
    with written_whole(path) as file:
        np.savez(file, **content)  # type: ignore[arg-type]


def read_npz(path: PathOrFile, kind: str) -> dict[str, NDArray[Any]]:
    """Read the arrays of a ``.npz`` file without pickle.

    `kind` says what the file should hold, for the message.
    """
    if isinstance(path, str | os.PathLike):
        data = Path(path).read_bytes()
    else:
        data = path.read()
    try:
        if not data.startswith(b"PK"):
            raise ValueError("it is not an .npz file")
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            if size > max(_MOST_TIMES * len(data), _MOST_BYTES):
                raise ValueError("its arrays are far larger than the file")
            content = {
                entry.filename.removesuffix(".npy"): _array(archive, entry)
                for entry in archive.infolist()
            }
    except Exception as error:  # a damaged archive raises almost anything
        raise unreadable(path, kind, error) from error
    return content


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    """Return an array of an archive; check its size before making room for it."""
    form = np.lib.format
    with archive.open(entry) as file:
        version = form.read_magic(file)
        heads = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}
        if version not in heads:
            raise ValueError(f"the array {entry.filename!r} is of an unknown version")
        shape, _, kind = heads[version](file)
        if kind.hasobject:
            raise ValueError(f"the array {entry.filename!r} holds Python objects")
        if file.tell() + math.prod(shape) * kind.itemsize != entry.file_size:
            raise ValueError(f"the array {entry.filename!r} is not as large as stated")
        file.seek(0)
        array: NDArray[Any] = form.read_array(file, allow_pickle=False)
    return array


def unreadable(path: PathOrFile, kind: str, error: Exception) -> ParameterError:
    """Return the error for a file that does not hold what it should."""
    reason = f"it lacks {error}" if isinstance(error, KeyError) else error
    name = "(an open file)"
    if isinstance(path, str | os.PathLike):
        name = repr(os.fspath(path))
    return ParameterError("path", f"{name} is not a readable file of {kind}: {reason}")
