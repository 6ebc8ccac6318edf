"""The folder of results: rows that survive a crash, and one run at a time.

``results.csv`` has one row for each data set, method, trial and fold; rows are appended
as they are computed and reach the disk before the next ones are. ``run.json`` says
what was asked for, with which versions, on what kind of machine.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from heterolda.experiments.results import RESULTS, RUN, Row, read_rows, read_run
from heterolda.foundations.files import written_whole

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["RunFolder"]

Plan = dict[str, dict[str, int]]

LOCK = "run.lock"


class RunFolder:
    """A folder of results that this process alone writes to, until the context ends.

    It is made if it does not exist. ``run.json`` shall say `settings`: their `folds`
    and `seed` must be those of the results that the folder already has, the others are
    extended. `rows` is what the folder holds, `notices` what was found and mended when
    it was opened.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        settings: dict[str, Any],
        kind: type[Row] = Row,
    ):
        self.path = Path(path)
        self._kind = kind
        self._first_line = (",".join(kind.header()) + "\n").encode()
        self.notices: list[str] = []
        self.rows: list[Row] = []
        self._file: IO[bytes]
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(self.path / LOCK)
        except BlockingIOError:
            raise BlockingIOError(
                f"another run is writing to {str(self.path)!r}: wait until it ends, or "
                "choose another folder"
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
        """Add rows; they are on the disk when this returns."""
        rows = list(rows)
        self._file.write("".join(row.line() for row in rows).encode())
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows += rows

    def sort(self, datasets: list[str], methods: list[str]) -> None:
        """Put the rows in the order of all names, whatever the course of the run."""
        order = {name: k for k, name in enumerate([*datasets, *methods])}

        def position(row: Row) -> tuple[int, ...]:
            names = (order.get(name, len(order)) for name in (row.dataset, row.method))
            return *names, row.trial, row.fold

        self.rows.sort(key=position)
        self._file.close()
        with written_whole(self.path / RESULTS) as file:
            file.write(self._first_line)
            file.writelines(row.line().encode() for row in self.rows)
        self._file = open(self.path / RESULTS, "ab")  # noqa: SIM115

    def _open(self, settings: dict[str, Any]) -> None:
        """Read what is there, compare its settings, mend its last line."""
        results, run = self.path / RESULTS, self.path / RUN
        if results.exists():
            if not run.exists():
                raise ValueError(
                    f"{str(self.path)!r} has a {RESULTS} but no {RUN}, so nobody knows "
                    "how its rows were computed: choose another folder"
                )
            self._mend(results)
        if results.exists():
            self.rows = list(read_rows(results, self._kind)[0])
        if run.exists():
            old = read_run(run)
            settings = self._extended(old, settings) if self.rows else settings
        with written_whole(run) as file:
            file.write(json.dumps(settings, indent=2).encode() + b"\n")
        if not results.exists():
            with written_whole(results) as file:
                file.write(self._first_line)
        self._file = open(results, "ab")  # noqa: SIM115

    def _extended(self, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
        """Settings of old and new results together."""
        for key in ("folds", "seed"):
            if old[key] != new[key]:
                raise ValueError(
                    f"{str(self.path)!r} holds results with {key} = {old[key]}, which "
                    f"do not go with {key} = {new[key]}: choose another folder"
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
            "plan": self._joined(old["plan"], new["plan"]),
        }

    def _joined(self, old: Plan, new: Plan) -> Plan:
        """Planned trials: the latest request, but no fewer than there are rows of."""
        there: dict[tuple[str, str], int] = {}
        for row in self.rows:
            key = row.dataset, row.method
            there[key] = max(there.get(key, 0), row.trial + 1)
        plan = {dataset: dict(counts) for dataset, counts in old.items()}
        for dataset, counts in new.items():
            for method, n in counts.items():
                n = max(n, there.get((dataset, method), 0))
                plan.setdefault(dataset, {})[method] = n
        return plan

    def _mend(self, path: Path) -> None:
        """Drop a last line that a crash has cut, if the file is one of ours."""
        with open(path, "rb+") as file:
            content = file.read()
            begin = content[: len(self._first_line)]
            if content.endswith(b"\n") or not self._first_line.startswith(begin):
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
