"""Expand names of files, folders and patterns into the files of a table.

This module imports no other package, so that a command can reject a name at once.
"""

from __future__ import annotations

import glob
import os
from collections import Counter
from pathlib import Path
from typing import Any

from heterolda.exceptions import ParameterError

PARQUET = (".parquet", ".pq")
EXCEL = (".xlsx", ".xlsm")
_TEXT = (".csv", ".tsv", ".tab", ".txt", ".data", ".dat")
# Text files that can be written, with their usual delimiter.
WRITTEN = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
_ENDINGS = (*PARQUET, *_TEXT, *EXCEL)
STANDARD_STREAM = "-"  # standard input or output
# Endings of tables in a folder, where other files may be notes.
_IN_FOLDERS = (*PARQUET, ".csv", ".tsv", *EXCEL)
_LOCK = "~$"  # prefix of Excel's lock files


def paths_of(source: Any) -> list[str] | None:
    """Return the paths of all files of a source, or None if it is not a path."""
    items = source if isinstance(source, list | tuple) else [source]
    if not all(isinstance(item, str | os.PathLike) for item in items):
        return None
    paths = [path for item in items for path in _expand(str(os.fspath(item)))]
    if not paths:
        raise ParameterError("source", "is an empty list: pass a file")
    for path, count in Counter(paths).items():
        problem = ""
        if count > 1:
            problem = "is named more than once"
        elif not path.lower().endswith((*_ENDINGS, *(f"{end}.gz" for end in _TEXT))):
            problem = (
                "is not of a type that can be read: save it as .xlsx or .csv; names "
                f"must end in {', '.join(_ENDINGS)} (or .gz)"
            )
        if problem:
            raise ParameterError("source", f": the file {path!r} {problem}")
    return paths


def _expand(path: str) -> list[str]:
    """Return the files of a folder or a pattern, sorted by name."""
    path = os.path.expanduser(path)
    if os.path.basename(path).startswith(_LOCK):
        return []
    if os.path.isdir(path):
        names = [str(p) for p in sorted(Path(path).rglob("*")) if _is_table(p, path)]
        if not names:
            raise FileNotFoundError(
                f"the folder {path!r} has no file that ends in "
                f"{', '.join(_IN_FOLDERS)}: name other files one by one, or by a "
                "pattern"
            )
        return names
    if os.path.exists(path):
        return [path]
    names = sorted(glob.glob(path, recursive=True))
    if not names:
        raise FileNotFoundError(f"there is no file {path!r}")
    return [file for name in names for file in _expand(name)]


def _is_table(path: Path, folder: str) -> bool:
    parts = path.relative_to(folder).parts
    is_hidden = any(part.startswith((".", "_", _LOCK)) for part in parts)
    is_table = path.name.lower().removesuffix(".gz").endswith(_IN_FOLDERS)
    return is_table and not is_hidden and not path.is_dir()


def check_written(path: str) -> None:
    """Raise ParameterError if the ending of a name does not say what to write."""
    name = path.lower()
    if path != STANDARD_STREAM and not name.endswith((*WRITTEN, *PARQUET)):
        excel = ", which opens in Excel" if name.endswith(EXCEL) else ""
        raise ParameterError(
            "out",
            f"{path!r} is of a type that cannot be written: its name must end in "
            f"{', '.join((*WRITTEN, *PARQUET))}; name a .csv file{excel}",
        )
