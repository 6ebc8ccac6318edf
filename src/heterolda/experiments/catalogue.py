"""The data sets of the study: size, origin and licence, from ``catalogue.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

__all__ = ["CATALOGUE", "DataSet", "OpenML", "resolve_datasets", "resolve_names"]


@dataclass(frozen=True)
class OpenML:
    """Where OpenML has a set."""

    data_id: int
    target: str = "default-target"  # the column of the labels
    features: str = ""  # beginning of the features' names; others are left out


@dataclass(frozen=True)
class DataSet:
    """A data set of the catalogue.

    Attributes
    ----------
    name : str
        For `load_dataset`, for files and for the results.
    n, d, k : int
        Rows, features and classes.
    kind : {"drawn", "bundled", "file"}
        Drawn at random, bundled with scikit-learn, or read from a file or OpenML.
    origin : str
        Where it comes from.
    licence : str
        On which terms.
    label : str
        Row of the paper's Table 1; empty for sets that are not in the paper.
    notes : str
        What to know about it.
    sha256 : str
        Digest of the file ``<name>.csv.gz``.
    openml : OpenML or None
        Where OpenML has it; None if it does not have it in this form.
    """

    name: str
    n: int
    d: int
    k: int
    kind: Literal["drawn", "bundled", "file"]
    origin: str
    licence: str
    label: str = ""
    notes: str = ""
    sha256: str = ""
    openml: OpenML | None = None

    @property
    def size(self) -> str:
        """Rows, features and classes in words."""
        return f"{self.n} x {self.d}, {self.k} classes"


def _read_catalogue() -> dict[str, DataSet]:
    text = Path(__file__).with_suffix(".toml").read_text("utf-8")
    rows: dict[str, dict[str, Any]] = tomllib.loads(text)
    for row in rows.values():
        if "openml" in row:
            row["openml"] = OpenML(**row["openml"])
    return {name: DataSet(name, **row) for name, row in rows.items()}


CATALOGUE = _read_catalogue()
_GROUPS = {
    "all": list(CATALOGUE),
    "paper": [row.name for row in CATALOGUE.values() if row.label],
    "embedded": [row.name for row in CATALOGUE.values() if row.kind != "file"],
}


def resolve_datasets(names: list[str]) -> list[str]:
    """Names of data sets from names and groups, in the order of the catalogue.

    The groups are "all", "paper" (the paper's twelve) and "embedded" (those that need
    no file).
    """
    return resolve_names("data set", names, list(CATALOGUE), _GROUPS)


def resolve_names(
    kind: str, names: list[str], known: list[str], groups: dict[str, list[str]]
) -> list[str]:
    """Names from names and groups, each once and in the order of `known`.

    `kind` says what they name, for the errors.
    """
    chosen: set[str] = set()
    for name in names:
        if name not in known and name not in groups:
            raise ValueError(
                f"unknown {kind} {name!r}: choose from {', '.join(known)}, or from the "
                f"groups {', '.join(groups)}"
            )
        chosen.update(groups.get(name, [name]))
    if not chosen:
        raise ValueError(f"no {kind} is named: choose from {', '.join(known)}")
    return [name for name in known if name in chosen]
