"""The folder of results, to which a run adds rows as they are computed.

``results.csv`` has one row for each data set, method, trial and fold. ``run.json`` says
what was asked for, with which versions, on what kind of machine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from heterolda.experiments.results import RESULTS, RUN, Row, read_rows, read_run
from heterolda.foundations.files import written_whole

__all__ = ["RunFolder"]

Plan = dict[str, dict[str, int]]


class RunFolder:
    """A folder of results, made if it does not exist.

    ``run.json`` shall say `settings`: their `folds` and `seed` must be those of the
    results that the folder already has, the others are extended. `rows` is what the
    folder holds, `notice` what a user should know of them.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        settings: dict[str, Any],
        kind: type[Row] = Row,
    ):
        self.path = Path(path)
        self.notice = ""
        self.rows: list[Row] = []
        self._kind = kind
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OSError(
                f"cannot write results to {str(self.path)!r}: {error.strerror or error}"
            ) from error
        results, run = self.path / RESULTS, self.path / RUN
        if results.exists():
            if not run.exists():
                raise ValueError(
                    f"{str(self.path)!r} has a {RESULTS} but no {RUN}, so nobody knows "
                    "how its rows were computed: choose another folder"
                )
            self.rows = read_rows(results, kind)
        if run.exists():
            old = read_run(run)
            settings = self._extended(old, settings) if self.rows else settings
        with written_whole(run) as file:
            file.write(json.dumps(settings, indent=2).encode() + b"\n")
        self._write()  # without a line that a crash has cut

    def append(self, rows: Iterable[Row]) -> None:
        """Add rows; they are on the disk when this returns."""
        rows = list(rows)
        with open(self.path / RESULTS, "ab") as file:
            file.writelines(row.line().encode() for row in rows)
            file.flush()
            os.fsync(file.fileno())
        self.rows += rows

    def sort(self, datasets: list[str], methods: list[str]) -> None:
        """Put the rows in the order of all names, whatever the course of the run."""
        order = {name: k for k, name in enumerate([*datasets, *methods])}

        def position(row: Row) -> tuple[int, ...]:
            names = (order.get(name, len(order)) for name in (row.dataset, row.method))
            return *names, row.trial, row.fold

        self.rows.sort(key=position)
        self._write()

    def _write(self) -> None:
        """Write all rows."""
        with written_whole(self.path / RESULTS) as file:
            file.write((",".join(self._kind.header()) + "\n").encode())
            file.writelines(row.line().encode() for row in self.rows)

    def _extended(self, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
        """Settings of old and new results together."""
        for key in ("folds", "seed"):
            if old[key] != new[key]:
                raise ValueError(
                    f"{str(self.path)!r} holds results with {key} = {old[key]}, which "
                    f"do not go with {key} = {new[key]}: choose another folder"
                )
        if old["versions"] != new["versions"] or old["machine"] != new["machine"]:
            self.notice = (
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
