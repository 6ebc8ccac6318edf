"""The folder of results: rows that survive a crash, and one run at a time.

``results.csv`` has one row for each data set, method, trial and fold; rows are appended
as they are computed and reach the disk before the next ones are. ``run.json`` says
what was asked for, with which versions, on what kind of machine.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any

from heterolda.files import written_whole

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["HEADER", "Row", "RunFolder"]

RESULTS, RUN, LOCK = "results.csv", "run.json", "run.lock"
_SETTINGS = {"command", "folds", "trials", "methods", "datasets", "seed", "limits"}
_SETTINGS |= {"versions", "machine"}


@dataclass(frozen=True)
class Row:
    """A line of ``results.csv``; trials and folds count from 0.

    Attributes
    ----------
    dataset, method : str
        Names.
    trial, fold : int
        Which shuffle, which part is left out.
    n_train, n_test, n_correct : int
        Rows to fit, rows to test, test rows whose label was predicted.
    bayes_error : float or None
        Mean of the pairs' errors under the Gaussian model, where a method has it.
    fit_seconds, predict_seconds : float
        Times, with one thread.
    iterations : int or None
        Sum over the pairs, where a method has it.
    """

    dataset: str
    method: str
    trial: int
    fold: int
    n_train: int
    n_test: int
    n_correct: int
    bayes_error: float | None
    fit_seconds: float
    predict_seconds: float
    iterations: int | None

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What no two rows share."""
        return self.dataset, self.method, self.trial, self.fold

    def line(self) -> str:
        """The row as text, with its end of line."""
        values = [
            *(self.dataset, self.method, self.trial, self.fold),
            *(self.n_train, self.n_test, self.n_correct),
            "" if self.bayes_error is None else f"{self.bayes_error:.9g}",
            f"{self.fit_seconds:.3g}",
            f"{self.predict_seconds:.3g}",
            "" if self.iterations is None else self.iterations,
        ]
        return ",".join(map(str, values)) + "\n"

    @classmethod
    def parse(cls, values: Sequence[str]) -> Row:
        """The row of a line; anything else raises ValueError."""
        if len(values) != len(HEADER):
            raise ValueError(f"it has {len(values)} of {len(HEADER)} fields")
        dataset, method, *rest = values
        trial, fold, n_train, n_test, n_correct = map(int, rest[:5])
        error, fit, predict, iterations = rest[5:]
        return cls(
            *(dataset, method, trial, fold, n_train, n_test, n_correct),
            float(error) if error else None,
            *(float(fit), float(predict)),
            int(iterations) if iterations else None,
        )


HEADER = [field.name for field in fields(Row)]
_FIRST_LINE = ",".join(HEADER) + "\n"


class RunFolder:
    """A folder of results that this process alone writes to.

    Parameters
    ----------
    path : path-like
        The folder; made if it does not exist.
    settings : dict
        What ``run.json`` shall say. Its entries `folds` and `seed` must be those of
        the results that the folder already has; the others are extended.

    Attributes
    ----------
    rows : list of Row
        What the folder holds.
    notices : list of str
        What was found and mended when it was opened.

    Examples
    --------
    Use it as a context, so that the folder is free again afterwards::

        with RunFolder("results", settings) as folder:
            folder.append(rows)
    """

    def __init__(self, path: str | os.PathLike[str], settings: dict[str, Any]):
        self.path = Path(path)
        self.notices: list[str] = []
        self.rows: list[Row] = []
        self._file: IO[bytes]
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(self.path / LOCK)
        except BlockingIOError:
            raise BlockingIOError(
                f"another run is writing to {str(self.path)!r}: wait until it ends, or "
                "choose another folder (--out)"
            ) from None
        except OSError as error:
            raise OSError(
                f"cannot write results to {str(self.path)!r}: {error.strerror or error}"
            ) from error
        try:
            self._open(settings)
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        self._lock.close()

    def append(self, rows: Iterable[Row]) -> None:
        """Add rows; they are on the disk when this returns.

        Parameters
        ----------
        rows : iterable of Row
            What was computed.
        """
        rows = list(rows)
        self._file.write("".join(row.line() for row in rows).encode())
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows += rows

    def sort(self, datasets: list[str], methods: list[str]) -> None:
        """Put the rows in an order that does not depend on the course of the run.

        Parameters
        ----------
        datasets, methods : list of str
            All names, in their order.
        """
        places = {name: k for k, name in enumerate([*datasets, *methods])}

        def position(row: Row) -> tuple[int, int, int, int]:
            last = len(places)
            dataset, method = (
                places.get(row.dataset, last),
                places.get(row.method, last),
            )
            return dataset, method, row.trial, row.fold

        self.rows.sort(key=position)
        self._file.close()
        with written_whole(self.path / RESULTS) as file:
            file.write(_FIRST_LINE.encode())
            file.writelines(row.line().encode() for row in self.rows)
        self._file = open(self.path / RESULTS, "ab")  # noqa: SIM115

    def _open(self, settings: dict[str, Any]) -> None:
        """Read what is there, compare its settings, mend its last line."""
        results, run = self.path / RESULTS, self.path / RUN
        if results.exists() and not run.exists():
            raise ValueError(
                f"{str(self.path)!r} has a {RESULTS} but no {RUN}, so nobody knows how "
                "its rows were computed: choose another folder (--out)"
            )
        if run.exists():
            settings = self._extended(_read_json(run), settings)
        if results.exists():
            self._mend(results)
            self.rows = _read_rows(results)
        with written_whole(run) as file:
            file.write(json.dumps(settings, indent=2).encode() + b"\n")
        if not results.exists():
            with written_whole(results) as file:
                file.write(_FIRST_LINE.encode())
        self._file = open(results, "ab")  # noqa: SIM115

    def _extended(self, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
        """Settings of old and new results together."""
        for key in ("folds", "seed"):
            if old[key] != new[key]:
                raise ValueError(
                    f"{str(self.path)!r} holds results with {key} = {old[key]}, which "
                    f"do not go with {key} = {new[key]}: choose another folder (--out)"
                )
        if old["versions"] != new["versions"] or old["machine"] != new["machine"]:
            self.notices.append(
                f"the rows in {str(self.path)!r} were computed with other versions or "
                f"on another kind of machine; {RUN} now states those of this run"
            )
        commands = [line for line in old["command"].split("\n") if line]
        if new["command"] not in commands:
            commands.append(new["command"])
        return new | {
            "command": "\n".join(commands),
            "trials": max(old["trials"], new["trials"]),
            "methods": list(dict.fromkeys(old["methods"] + new["methods"])),
            "datasets": list(dict.fromkeys(old["datasets"] + new["datasets"])),
            "limits": old["limits"] | new["limits"],
        }

    def _mend(self, path: Path) -> None:
        """Drop a last line that a crash has cut."""
        with open(path, "rb+") as file:
            content = file.read()
            if content.endswith(b"\n"):
                return
            whole = content.rfind(b"\n") + 1
            file.truncate(whole)
            os.fsync(file.fileno())
        if not whole:  # not even the header was complete
            path.unlink()
        self.notices.append(
            f"the last line of {str(path)!r} was cut in the middle; it is dropped and "
            "will be computed again"
        )


def _read_rows(path: Path) -> list[Row]:
    """All rows of a file; a line that is none raises ValueError."""
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        if next(lines) != HEADER:
            raise ValueError(
                f"{str(path)!r} is no file of results: its first line is not "
                f"{_FIRST_LINE.strip()!r}"
            )
        rows = []
        for number, values in enumerate(lines, start=2):
            try:
                rows.append(Row.parse(values))
            except ValueError as error:
                raise ValueError(
                    f"{str(path)!r}, line {number} is no row of results: {error}; "
                    "delete the line, and it will be computed again"
                ) from error
    return rows


def _read_json(path: Path) -> dict[str, Any]:
    """Settings of a folder; anything else raises ValueError."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it is no object")
        missing = _SETTINGS - content.keys()
        if missing:
            raise ValueError(f"it lacks {', '.join(sorted(missing))}")
    except ValueError as error:
        raise ValueError(
            f"{str(path)!r} is no readable description of a run: {error}"
        ) from error
    return content


def _locked(path: Path) -> IO[bytes]:
    """An open file that no other process has; the lock ends with the process."""
    file = open(path, "ab")  # noqa: SIM115
    try:
        if sys.platform == "win32":
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException as error:
        file.close()
        if isinstance(error, PermissionError):  # what Windows calls a lock in use
            raise BlockingIOError from error
        raise
    return file
