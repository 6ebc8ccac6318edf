"""Files of results: the rows of ``results.csv`` and the settings of ``run.json``."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Self

__all__ = ["RESULTS", "RUN", "Row", "read_rows", "read_run"]

RESULTS, RUN = "results.csv", "run.json"
# Nobody has more trials or rows than this.
_LARGEST = 10**12


@dataclass(frozen=True)
class Row:
    """What a method did on a fold.

    Attributes
    ----------
    dataset, method : str
        Names.
    trial, fold : int
        Counted from 0.
    n_train, n_test, n_correct : int
        Points to train with, points to test with, those classified correctly.
    bayes_error : float
        Mean over the pairs of classes, a fraction; NaN for methods without one.
    fit_seconds, predict_seconds : float
        Time of training and prediction.
    iterations : float
        Of the method; NaN for methods without any.
    """

    dataset: str
    method: str
    trial: int
    fold: int
    n_train: int
    n_test: int
    n_correct: int
    bayes_error: float
    fit_seconds: float
    predict_seconds: float
    iterations: float

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What identifies a row."""
        return self.dataset, self.method, self.trial, self.fold

    # Digits of the figures, and those that a method may lack.
    FORMATS: ClassVar[dict[str, str]] = {
        "bayes_error": ".9g",
        "fit_seconds": ".3g",
        "predict_seconds": ".3g",
        "iterations": ".0f",
    }
    OPTIONAL: ClassVar[frozenset[str]] = frozenset({"bayes_error", "iterations"})

    @classmethod
    def header(cls) -> tuple[str, ...]:
        """Names of the fields."""
        return tuple(field.name for field in fields(cls))

    def line(self) -> str:
        """The row as text, with its end of line."""
        values = [self._text(name) for name in self.header()]
        return ",".join(values) + "\n"

    def _text(self, name: str) -> str:
        value = getattr(self, name)
        if not isinstance(value, float):
            return str(value)
        return "" if math.isnan(value) else format(value, self.FORMATS[name])

    @classmethod
    def parse(cls, record: list[str]) -> Self:
        """Read the fields of a line; ValueError says what is wrong with them."""
        header = cls.header()
        if len(record) != len(header):
            raise ValueError(f"it has {len(record)} fields instead of {len(header)}")
        kinds: dict[str, type] = {"str": str, "int": int, "float": float}
        values: dict[str, Any] = {}
        for field, value in zip(fields(cls), record, strict=True):
            if field.name in cls.OPTIONAL and not value and field.type == "float":
                value = "nan"
            try:
                values[field.name] = kinds[str(field.type)](value)
            except ValueError:
                raise ValueError(
                    f"{field.name} is {value[:50]!r}, not a number"
                ) from None
        row = cls(**values)
        if not all(name and name.isprintable() for name in (row.dataset, row.method)):
            raise ValueError("it names no data set or no method")
        if not (0 <= row.n_correct <= row.n_test and row.n_test > 0):
            raise ValueError(f"{row.n_correct} of {row.n_test} points are correct")
        if min(row.trial, row.fold, row.n_train) < 0:
            raise ValueError("a count is negative")
        if max(row.trial, row.fold, row.n_train, row.n_test) > _LARGEST:
            raise ValueError(f"a count is larger than {_LARGEST}")
        if not all(0 <= t < math.inf for t in (row.fit_seconds, row.predict_seconds)):
            raise ValueError("a time is negative or not finite")
        if row.bayes_error < 0 or row.bayes_error > 1:
            raise ValueError(f"bayes_error is {row.bayes_error}, not a fraction")
        return row


def read_run(path: Path) -> dict[str, Any]:
    """Read what was asked for from the file ``run.json``."""
    try:
        run = json.loads(_read(path))
        if not isinstance(run, dict):
            raise ValueError("it is not a JSON object")
        kinds: dict[str, type] = {"folds": int, "seed": int, "plan": dict}
        kinds |= {"command": str, "versions": dict, "machine": dict}
        for key, kind in kinds.items():
            if not isinstance(run.get(key), kind):
                raise ValueError(f"it lacks {key!r}")
        plan = list(run["plan"].values())
        if not all(isinstance(row, dict) for row in plan) or not any(plan):
            raise ValueError("its plan has no numbers of trials by method")
        counts = [run["folds"], *(n for row in plan for n in row.values())]
        if not all(type(n) is int and 1 <= n <= _LARGEST for n in counts):
            raise ValueError("folds and numbers of trials must be at least 1")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not the description of a run: {error}") from error
    return run


def read_rows(path: Path, kind: type[Row] = Row) -> tuple[tuple[Row, ...], bool]:
    """Read the rows of ``results.csv``, and whether its last line was cut off.

    Such a line is left out.
    """
    lines = _read(path).splitlines(keepends=True)
    header = ",".join(kind.header())
    if not lines or lines[0].rstrip("\r\n") != header:
        raise ValueError(
            f"{path}: not a file of results, whose first line is {header!r}"
        )
    unfinished = not lines[-1].endswith("\n")
    if unfinished:
        lines.pop()
    rows: dict[tuple[str, str, int, int], Row] = {}
    for number, record in enumerate(csv.reader(lines[1:]), start=2):
        try:
            row = kind.parse(record)
            if row.key in rows:
                raise ValueError("the same fold stands on an earlier line")
        except ValueError as error:
            raise ValueError(
                f"{path}, line {number}: {error}; delete the line, and `heterolda "
                "reproduce` computes it again"
            ) from error
        rows[row.key] = row
    return tuple(rows.values()), unfinished


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} does not exist: name a folder that `heterolda reproduce` has "
            "written"
        ) from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not a text file: {error}") from error
