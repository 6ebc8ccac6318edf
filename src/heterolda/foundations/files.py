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

# Errors of a full disk, which come without a file name.
_DISK_FULL = errno.ENOSPC, errno.EFBIG, errno.EDQUOT
# A small compressed file must not fill the memory: its arrays may take this many times
# the size of the file, or this many bytes, whichever is more.
_MAX_EXPANSION = 20
_MAX_BYTES = 1 << 27
PathOrFile = str | os.PathLike[str] | IO[bytes]
PATH = str, os.PathLike


def check_target(path: str | os.PathLike[str]) -> Path:
    """Resolve links in the path of a file to write; raise if it cannot be written.

    Call it before long work whose result goes to a file.
    """
    target, link_note = Path(path), ""
    try:
        mode = os.stat(target).st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = 0
    except OSError as error:  # the name is too long, or links form a loop
        name = os.fspath(path)
        raise OSError(f"{name!r} cannot be written: {error.strerror}") from error
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{str(target)!r} is a folder: name a file in it")
    if target.is_symlink():
        target = Path(os.path.realpath(target))
        link_note = f"{os.fspath(path)!r} is a link to {str(target)!r}, and "
    if not target.parent.is_dir():
        folder = str(target.parent)
        raise FileNotFoundError(f"{link_note}the folder {folder!r} does not exist")
    is_special = mode and not stat.S_ISREG(mode)  # a device or a pipe
    to_write = *([target] if mode else []), *([] if is_special else [target.parent])
    for item in to_write:
        if not os.access(item, os.W_OK):
            reason = os.strerror(errno.EACCES)
            raise PermissionError(errno.EACCES, reason, str(item))
    return target


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that appears under its name only when complete.

    An existing file is replaced in one step and keeps its mode; if writing fails, it
    is left as it was. Links are followed. Devices and pipes are written to directly.
    """
    target = check_target(path)
    special = target.exists() and not target.is_file()
    # Cut, because the name of the target may already have the maximum length.
    temporary = target.with_name(f".{target.name[:50]}.{secrets.token_hex(4)}")
    try:
        with open(target, "wb") if special else _renamed(temporary, target) as file:
            yield file
    except OSError as error:
        if error.errno in _DISK_FULL or error.filename == str(temporary):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise


@contextmanager
def _renamed(temporary: Path, target: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that is renamed to the target when it is complete."""
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    # Opening with 0o666 applies the umask, which cannot be read without changing it
    # for all threads.
    access = 0o666 if mode is None else mode & 0o777
    with open(temporary, "xb", opener=partial(os.open, mode=access)) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())  # otherwise a crash could leave it empty
            file.close()
            if mode is not None:
                os.chmod(temporary, mode)
            os.replace(temporary, target)
        except BaseException:
            file.close()
            temporary.unlink()
            raise


def _check_open(file: object, method: str) -> None:
    if not hasattr(file, method):
        raise ParameterError(
            "path", f"must be a path or an open binary file, got {file!r:.80}"
        )


def write_npz(path: PathOrFile, content: dict[str, NDArray[Any]]) -> None:
    """Write arrays to a ``.npz`` file, whole or not at all, or to an open file."""
    if not isinstance(path, PATH):
        _check_open(path, "write")
        np.savez(path, **content)  # type: ignore[arg-type]
        return
    with atomic_write(path) as file:
        np.savez(file, **content)  # type: ignore[arg-type]


def read_npz(path: PathOrFile, kind: str) -> dict[str, NDArray[Any]]:
    """Read the arrays of a ``.npz`` file without pickle.

    `kind` names the expected content in error messages.
    """
    if isinstance(path, PATH):
        data = Path(path).read_bytes()
    else:
        _check_open(path, "read")
        data = path.read()
    try:
        if not data.startswith(b"PK"):
            raise ValueError("it is not an .npz file")
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            if size > max(_MAX_EXPANSION * len(data), _MAX_BYTES):
                raise ValueError("its arrays are far larger than the file")
            content = {
                entry.filename.removesuffix(".npy"): _array(archive, entry)
                for entry in archive.infolist()
            }
    except Exception as error:  # a damaged archive raises almost anything
        raise unreadable(path, kind, error) from error
    return content


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    """Read one array of an archive, checking its size before allocating it."""
    npy = np.lib.format
    with archive.open(entry) as file:
        version = npy.read_magic(file)
        readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
        if version not in readers:
            raise ValueError(f"the array {entry.filename!r} has an unknown version")
        shape, _, kind = readers[version](file)
        if kind.hasobject:
            raise ValueError(f"the array {entry.filename!r} holds Python objects")
        if file.tell() + math.prod(shape) * kind.itemsize != entry.file_size:
            raise ValueError(f"the array {entry.filename!r} is not as large as stated")
        file.seek(0)
        array: NDArray[Any] = npy.read_array(file, allow_pickle=False)
    return array


def unreadable(path: PathOrFile, kind: str, error: Exception) -> ParameterError:
    """Return the error for a file without the expected content."""
    reason = f"it lacks {error}" if isinstance(error, KeyError) else error
    name = "(an open file)"
    if isinstance(path, str | os.PathLike):
        name = repr(os.fspath(path))
    return ParameterError("path", f"{name} is not a readable file of {kind}: {reason}")
