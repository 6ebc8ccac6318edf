"""Tables as engineers have them: the same kind of numbers, each file messy in its way.

Each comes as rows to fit, rows to evaluate the model by, and new rows, which mostly
have no labels.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd

# Means, deviations and decimals of the features; the labels; and their column.
MACHINE = (
    {
        **{"Drehzahl": (1450, 60, 1), "Öldruck": (4.2, 0.6, 3)},
        **{"Temperatur °C": (61, 9, 2), "Schwingung": (2.1, 0.7, 4)},
    },
    ("in Ordnung", "Unwucht", "Lagerschaden", "gestört"),
    "Zustand",
)
WINE = (
    {
        **{"alcohol": (13, 0.8, 2), "malic acid": (2.3, 0.9, 2)},
        **{"color intensity": (5, 2, 3), "proline": (740, 250, 0)},
    },
    ("Barolo", "Grignolino", "Barbera", "Nebbiolo"),
    "cultivar",
)
PATIENT = (
    {
        **{"age": (57, 12, 0), "pressure": (131, 17, 0)},
        **{"cholesterol": (246, 45, 1), "rate": (149, 22, 0)},
    },
    ("healthy", "mild", "moderate", "severe"),
    "diagnosis",
)
ACTIVITY = (
    {
        **{"acc_x": (0.1, 0.5, 4), "acc_y": (-0.2, 0.4, 4)},
        **{"acc_z": (9.8, 0.6, 4), "gyro": (0, 90, 2)},
    },
    ("sit", "stand", "walk", "stairs"),
    "activity",
)
TRAIN, TEST, NEW = slice(0, 240), slice(240, 360), slice(360, 400)


def drawn(domain, seed, n=400):
    """Return rows of four classes of unequal covariance, rounded as instruments do."""
    features, kinds, target = domain
    rng = np.random.default_rng(seed)
    d, y = len(features), rng.permutation(np.arange(n) % len(kinds))
    shapes = rng.normal(size=(len(kinds), d, d))
    centers = 1.5 * rng.normal(size=(len(kinds), d))
    Z = (rng.normal(size=(n, 1, d)) @ shapes[y])[:, 0] + centers[y]
    columns = {
        name: np.round(mean + 0.4 * deviation * Z[:, j], decimals)
        for j, (name, (mean, deviation, decimals)) in enumerate(features.items())
    }
    return pd.DataFrame(columns | {target: np.array(kinds, dtype=object)[y]})


def with_wards(rows, seed):
    """Return patients with zeros and ones that speak for a class."""
    rng, n = np.random.default_rng(seed), len(rows)
    severe = rows["diagnosis"].isin(["moderate", "severe"])
    label = rows.pop("diagnosis")
    rows["male"] = (rng.random(n) < 0.3 + 0.4 * severe).astype(float)
    ward = np.where(rng.random(n) < 0.6, severe, rng.integers(0, 3, n))
    rows["ward_east"], rows["ward_west"] = (ward == 1) * 1.0, (ward == 2) * 1.0
    return rows.assign(diagnosis=label)


@dataclass(frozen=True)
class Messy:
    """A messy file: where it comes from, what is in it, and how it is written."""

    title: str
    ending: str
    domain: tuple
    write: Callable[[pd.DataFrame], str | bytes]
    missing: float = 0.0  # the share in the first two columns
    labels: dict[str, str] = field(default_factory=dict)  # others than those drawn
    write_test: Callable[[pd.DataFrame], str | bytes] | None = None
    target: str = ""  # as the user would name it first
    knows: dict[str, str] = field(default_factory=dict)  # options, beyond the messages
    labeled: bool = False  # whether the new rows have labels, too
    seed: int = 0

    @property
    def name(self):
        return "".join(c if c.isalnum() else "_" for c in self.title.lower())

    @cached_property
    def rows(self):
        """Return the clean table: features, then the labels."""
        rows = drawn(self.domain, self.seed)
        if self.write is clinic:
            return with_wards(rows, self.seed)
        rng = np.random.default_rng(self.seed)
        for name in rows.columns[:2] if self.missing else ():
            rows.loc[rng.random(len(rows)) < self.missing, name] = np.nan
        return rows.replace({rows.columns[-1]: self.labels})

    @property
    def parts(self):
        return self.rows[TRAIN], self.rows[TEST], self.rows[NEW]

    def paths(self, folder):
        train, test, new = self.parts
        new = new if self.labeled else new.iloc[:, :-1]
        contents = {
            "train": self.write(train),
            "test": (self.write_test or self.write)(test),
            "new": self.write(new),
        }
        paths = [Path(folder, f"{self.name}_{part}{self.ending}") for part in contents]
        for path, content in zip(paths, contents.values(), strict=True):
            path.write_bytes(encoded(content))
        return paths


def encoded(content):
    """Return the bytes of a file, which is text in UTF-8 or bytes already."""
    return content.encode() if isinstance(content, str) else content


def text(rows, delimiter=",", decimal=".", end="\n", na="", header=True, quote=False):
    """Return a table of text; quotes stand around all text, or where they must."""

    def cell(value):
        if not isinstance(value, str):
            number = repr(value).removesuffix(".0").replace(".", decimal)
            return na if value != value else number
        if quote or any(c in value for c in f'{delimiter}"\n'):
            return '"' + value.replace('"', '""') + '"'
        return value

    lines = [list(rows.columns)] if header else []
    lines += rows.astype(object).to_numpy().tolist()
    return "".join(delimiter.join(map(cell, line)) + end for line in lines)


def crlf(rows):
    return text(rows, end="\r\n")


def german_excel(rows):
    return text(rows, ";", ",", "\r\n").encode("cp1252")


def unicode_text(rows):
    return text(rows, "\t", ",", "\r\n").encode("utf-16")


def r_csv(rows):
    rows = rows.copy()
    rows.insert(0, "", [str(k + 1) for k in rows.index])
    return text(rows, na="NA", quote=True)


def r_table(rows):
    head, *lines = text(rows, " ", quote=True, na="NA").splitlines(keepends=True)
    numbered = (f'"{k + 1}" {x}' for k, x in zip(rows.index, lines, strict=True))
    return head + "".join(numbered)


def blanks(rows):
    """Numbers in columns of equal width, as Fortran writes them."""
    lines = rows.astype(object).to_numpy().tolist()
    return "".join(
        "".join(f"{'?' if x != x else x!s:>13}" for x in line) + "\n" for line in lines
    )


def label_first(rows):
    """UCI: no header, labels first, a question mark for each missing value."""
    return text(rows[rows.columns[[-1, *range(rows.shape[1] - 1)]]], na="?", header=0)


def clinic(rows):
    """Text that says something: sex and ward follow from what the clean table has."""
    label = {"diagnosis": rows.get("diagnosis")} if "diagnosis" in rows else {}
    wards = (rows["ward_east"] + 2 * rows["ward_west"]).astype(int)
    categories = {
        "sex": np.where(rows["male"] > 0, "m", "f"),
        "ward": np.array(["North", "East", "West Wing"])[wards],
    }
    return text(rows.iloc[:, :4].assign(**categories, **label))


def logged(rows):
    """Numbers, with the time, the person and the part of each measurement."""
    rows = rows.copy()
    when = pd.Timestamp("2024-02-28 23:50") + pd.to_timedelta(rows.index * 7, "min")
    rows.insert(0, "part no", [f"P-{k:05d}/A" for k in rows.index])
    rows.insert(1, "taken at", when.strftime("%Y-%m-%d %H:%M"))
    rows.insert(4, "day", when.strftime("%d.%m.%Y"))
    return text(rows)


def remarks(rows):
    """A column of remarks that hardly anybody made, and one that is always empty."""
    rows = rows.copy()
    said = {3: "again, please", 250: "see mail", 370: 'belt 2" off'}
    rows.insert(2, "Bemerkung, kurz", [said.get(k, np.nan) for k in rows.index])
    rows.insert(4, "Freigabe", np.nan)
    return text(rows, ";", ",")


def blank_rows(rows):
    """Excel saves rows that were once in use as delimiters only."""
    return text(rows, ";", end="\r\n") + 3 * (";" * (rows.shape[1] - 1) + "\r\n")


def titled(rows):
    return "# sensor 5, left ankle\n# firmware 2.1.7\n" + text(rows)


def workbook(rows, *above):
    book = openpyxl.Workbook()
    for line in (*above, list(rows.columns), *rows.astype(object).to_numpy().tolist()):
        book.active.append([None if value != value else value for value in line])
    book.create_sheet("notes").append(["made by the test bench"])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def thousands(rows):
    """Large numbers as people write them, in quotes since the comma separates."""
    return text(rows.assign(Drehzahl=rows["Drehzahl"].map("{:,.1f}".format)))


def units(rows):
    marks = ["1/min", "bar", "°C", "mm/s", ""][: rows.shape[1]]
    return text(rows, ";", ",").replace("\n", f"\n{';'.join(marks)}\n", 1)


def joined(rows):
    """Two files after each other, as cat writes them."""
    half = len(rows) // 2
    return text(rows[:half]) + text(rows[half:])


def index(rows):
    return rows.to_csv(lineterminator="\n")


def relabeled(form):
    """Return a writer of tables whose labels have another form."""

    def write(rows):
        labels = {rows.columns[-1]: rows.iloc[:, -1].map(form.format)}
        return text(rows.assign(**labels))

    return write


# Ways of writing that take any rows, whose last column is text.
WRITERS = (
    *(german_excel, unicode_text, r_csv, r_table, blanks, label_first, remarks),
    *(blank_rows, titled, index),
)
_NUMBERS = dict(zip(ACTIVITY[1], "0123", strict=True))
_QUOTED = {"sit": 'sit 18"', "stand": "stand\tstill", "walk": "walk, fast"}


def messy_files():
    cases = (
        Messy("German Excel", ".csv", MACHINE, german_excel),
        Messy("Excel, Unicode text", ".txt", MACHINE, unicode_text),
        Messy(
            *("Excel, CSV UTF-8", ".csv", WINE),
            lambda rows: crlf(rows).encode("utf-8-sig"),
        ),
        Messy("R, write.csv", ".csv", WINE, r_csv, 0.04),
        Messy("R, write.table", ".txt", PATIENT, r_table),
        Messy("pandas with index", ".csv", ACTIVITY, index),
        Messy(
            *("UCI .data with ?", ".data", WINE, label_first, 0.04),
            **{"target": "class", "knows": {"--target": "column_1"}, "labeled": True},
        ),
        Messy(
            *("UCI .dat with spaces", ".dat", ACTIVITY, blanks, 0, _NUMBERS),
            **{"target": "class", "knows": {"--target": "column_5"}},
        ),
        Messy(
            *("Tabs and quotes", ".txt", ACTIVITY),
            *(lambda rows: text(rows, "\t", quote=True), 0, _QUOTED),
        ),
        Messy("Categories", ".csv", PATIENT, clinic),
        Messy("Dates and identifiers", ".csv", WINE, logged),
        Messy(
            *("-999 for missing values", ".csv", PATIENT),
            *(lambda rows: text(rows.fillna(-999.0)), 0.08),
        ),
        Messy(
            *("Labels 0.0 and 0", ".csv", ACTIVITY, text, 0, _NUMBERS),
            relabeled("{}.0"),
        ),
        Messy("Labels with spaces", ".csv", WINE, text, 0, {}, relabeled("{} ")),
        Messy(
            *("Delimiter at the end", ".csv", WINE),
            lambda rows: text(rows, ";").replace("\n", ";\n"),
        ),
        Messy("Comments above", ".csv", ACTIVITY, titled),
        Messy(
            *("Excel, sep=;", ".csv", MACHINE),
            lambda rows: b"sep=;\r\n" + german_excel(rows),
        ),
        Messy("Excel workbook", ".xlsx", MACHINE, workbook, 0.04),
        Messy(
            *("Excel, title above", ".xlsx", WINE),
            lambda rows: workbook(rows, ["Vineyard survey"], []),
        ),
        Messy(
            *("gzip", ".csv.gz", MACHINE),
            lambda rows: gzip.compress(german_excel(rows), mtime=0),
        ),
        Messy(
            *("Database export with pipes", ".txt", PATIENT),
            *(lambda rows: text(rows, "|", na="NULL"), 0.04),
        ),
        Messy("Thousands", ".csv", MACHINE, thousands),
        Messy("Units below the header", ".csv", MACHINE, units),
        Messy("Remarks", ".csv", MACHINE, remarks),
        Messy("Excel, empty rows", ".csv", WINE, blank_rows),
        Messy("Classic Mac line ends", ".csv", WINE, lambda rows: text(rows, end="\r")),
        Messy(
            *("Spaces after commas", ".csv", PATIENT),
            lambda rows: text(rows).replace(",", ", "),
        ),
        Messy("Joined files", ".csv", WINE, joined),
    )
    return [
        replace(case, seed=seed, target=case.target or case.domain[2])
        for seed, case in enumerate(cases, 1)
    ]
