"""Tables as engineers have them: the same kind of numbers, each file messy in its way.

Each comes as rows to fit, rows to judge the model by, and new rows, which mostly have
no labels.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

# Names, means, deviations and decimals of the features, the labels, and their column.
MACHINE = (
    {
        "Drehzahl": (1450, 60, 1),
        "Öldruck": (4.2, 0.6, 3),
        "Temperatur °C": (61, 9, 2),
        "Schwingung": (2.1, 0.7, 4),
    },
    ("in Ordnung", "Unwucht", "Lagerschaden", "gestört"),
    "Zustand",
)
WINE = (
    {
        "alcohol": (13, 0.8, 2),
        "malic acid": (2.3, 0.9, 2),
        "color intensity": (5, 2, 3),
        "proline": (740, 250, 0),
    },
    ("Barolo", "Grignolino", "Barbera", "Nebbiolo"),
    "cultivar",
)
PATIENT = (
    {
        "age": (57, 12, 0),
        "pressure": (131, 17, 0),
        "cholesterol": (246, 45, 1),
        "rate": (149, 22, 0),
    },
    ("healthy", "mild", "moderate", "severe"),
    "diagnosis",
)
ACTIVITY = (
    {
        "acc_x": (0.1, 0.5, 4),
        "acc_y": (-0.2, 0.4, 4),
        "acc_z": (9.8, 0.6, 4),
        "gyro": (0, 90, 2),
    },
    ("sit", "stand", "walk", "stairs"),
    "activity",
)
_N_TRAIN, _N_TEST, _N_NEW = 240, 120, 40


def drawn(domain, seed, n=_N_TRAIN + _N_TEST + _N_NEW):
    """Rows of four classes of unequal covariance, with numbers as instruments give."""
    features, kinds, target = domain
    rng = np.random.default_rng(seed)
    d, y = len(features), rng.permutation(np.arange(n) % len(kinds))
    shapes = rng.normal(size=(len(kinds), d, d))
    centres = 1.5 * rng.normal(size=(len(kinds), d))
    Z = (rng.normal(size=(n, 1, d)) @ shapes[y])[:, 0] + centres[y]
    columns = {
        name: np.round(mean + 0.4 * deviation * Z[:, j], decimals)
        for j, (name, (mean, deviation, decimals)) in enumerate(features.items())
    }
    return pd.DataFrame(columns | {target: np.array(kinds, dtype=object)[y]})


@dataclass(frozen=True)
class Messy:
    """A messy file, and what is in it.

    Attributes
    ----------
    title : str
        Where such files come from.
    ending : str
        Of its name.
    rows : DataFrame
        The clean table: features, then the column of the labels.
    write : callable
        Takes clean rows, and gives the bytes of a file.
    target : str
        The column of the labels as the user would name it first.
    labelled : bool
        Whether the new rows have labels, too.
    write_test : callable or None
        How the rows to judge by are written, if in another way.
    knows : dict
        What the user knows beyond the messages: values of options.
    """

    title: str
    ending: str
    rows: pd.DataFrame
    write: Callable[[pd.DataFrame], bytes]
    target: str = ""
    labelled: bool = False
    write_test: Callable[[pd.DataFrame], bytes] | None = None
    knows: dict[str, str] = field(default_factory=dict)

    @property
    def name(self):
        """The title as a name of files."""
        return "".join(c if c.isalnum() else "_" for c in self.title.lower())

    @property
    def label(self):
        """The column of the labels of the clean table."""
        return self.rows.columns[-1]

    @property
    def parts(self):
        """Clean rows to fit, to judge by, and new."""
        return (
            self.rows[:_N_TRAIN],
            self.rows[_N_TRAIN : _N_TRAIN + _N_TEST],
            self.rows[_N_TRAIN + _N_TEST :],
        )

    def paths(self, folder):
        """Write the three files; their paths."""
        train, test, new = self.parts
        if not self.labelled:
            new = new.drop(columns=self.label)
        contents = {
            "train": self.write(train),
            "test": (self.write_test or self.write)(test),
            "new": self.write(new),
        }
        paths = [Path(folder, f"{self.name}_{part}{self.ending}") for part in contents]
        for path, content in zip(paths, contents.values(), strict=True):
            path.write_bytes(content)
        return paths


def text(
    rows,
    delimiter=",",
    decimal=".",
    end="\n",
    na="",
    *,
    header=True,
    quote=False,
    before="",
    trail="",
):
    """A table of text; quotes stand around names and text, or where they must."""
    file = io.StringIO(newline="")
    quoting = csv.QUOTE_NONNUMERIC if quote else csv.QUOTE_MINIMAL
    writer = csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator=end)
    lines = [list(rows.columns)] if header else []
    for row in rows.astype(object).itertuples(index=False):
        lines.append([_cell(value, decimal, na) for value in row])
    writer.writerows(lines)
    body = file.getvalue()
    if trail:
        body = body.replace(end, trail + end)
    return before + body


def _cell(value, decimal, na):
    if isinstance(value, float):
        if np.isnan(value):
            return _Bare(na)
        return _Bare(repr(value).removesuffix(".0").replace(".", decimal))
    return value


class _Bare(float):
    """A number, or the mark of a gap, written as it is given, without quotes."""

    def __new__(cls, text):
        try:
            bare = super().__new__(cls, text.replace(",", "."))
        except ValueError:
            bare = super().__new__(cls, "nan")
        bare.text = text
        return bare

    def __repr__(self):
        return self.text

    __str__ = __repr__


def with_gaps(rows, seed, columns=2, share=0.04):
    """A copy with some values of the first columns missing."""
    rng = np.random.default_rng(seed)
    rows = rows.copy()
    for name in rows.columns[:columns]:
        rows.loc[rng.random(len(rows)) < share, name] = np.nan
    return rows


def german_excel(rows):
    return text(rows, ";", ",", "\r\n").encode("cp1252")


def unicode_text(rows):
    return text(rows, "\t", ",", "\r\n").encode("utf-16")


def r_csv(rows):
    rows = rows.copy()
    rows.insert(0, "", [str(k + 1) for k in rows.index])
    return text(rows, na="NA", quote=True).encode()


def r_table(rows):
    lines = text(rows, " ", quote=True, na="NA").splitlines(keepends=True)
    body = (f'"{k + 1}" {line}' for k, line in zip(rows.index, lines[1:], strict=True))
    return (lines[0] + "".join(body)).encode()


def blanks(rows):
    """Numbers in columns of equal width, as Fortran writes them."""
    lines = (
        "".join(f"{'?' if value != value else value!s:>13}" for value in row)
        for row in rows.astype(object).itertuples(index=False)
    )
    return "".join(f"{line}\n" for line in lines).encode()


def label_first(rows):
    """UCI: no header, labels first, a question mark for each gap."""
    rows = rows[[rows.columns[-1], *rows.columns[:-1]]]
    return text(rows, na="?", header=False).encode()


def clinic(rows):
    """Text that says something: sex and ward follow from what the clean table has."""
    rows = rows.copy()
    rows["sex"] = np.where(rows.pop("male") > 0, "m", "f")
    wards = rows[["ward_east", "ward_west"]].to_numpy() @ [1, 2]
    rows["ward"] = np.array(["North", "East", "West Wing"])[wards.astype(int)]
    rows = rows.drop(columns=["ward_east", "ward_west"])
    names = [name for name in rows.columns if name != "diagnosis"]
    return text(
        rows[[*names, *(["diagnosis"] if "diagnosis" in rows else [])]]
    ).encode()


def clinic_rows(seed):
    """Patients, of whom some columns are categories that speak for a class."""
    rows = drawn(PATIENT, seed)
    rng = np.random.default_rng(seed)
    severity = rows["diagnosis"].isin(["moderate", "severe"])
    label = rows.pop("diagnosis")
    rows["male"] = (rng.random(len(rows)) < 0.3 + 0.4 * severity).astype(float)
    ward = np.where(
        rng.random(len(rows)) < 0.6, severity, rng.integers(0, 3, len(rows))
    )
    rows["ward_east"], rows["ward_west"] = (ward == 1) * 1.0, (ward == 2) * 1.0
    return rows.assign(diagnosis=label)


def logged(rows):
    """Numbers beside when, by whom and of which piece they were taken."""
    rows = rows.copy()
    when = pd.Timestamp("2024-02-28 23:50") + pd.to_timedelta(rows.index * 7, "min")
    rows.insert(0, "part no", [f"P-{k:05d}/A" for k in rows.index])
    rows.insert(1, "taken at", when.strftime("%Y-%m-%d %H:%M"))
    rows.insert(4, "day", when.strftime("%d.%m.%Y"))
    return text(rows).encode()


def remarks(rows):
    """A column of remarks that hardly anybody made, and one that is always empty."""
    rows = rows.copy()
    said = {3: "again, please", 250: "see mail", 370: 'belt 2" off'}
    rows.insert(2, "Bemerkung, kurz", [said.get(k, np.nan) for k in rows.index])
    rows.insert(4, "Freigabe", np.nan)
    return text(rows, ";", ",").encode("utf-8")


def blank_rows(rows):
    """Excel saves rows that were once in use as delimiters only."""
    empty = ";" * (rows.shape[1] - 1) + "\r\n"
    return (text(rows, ";", end="\r\n") + 3 * empty).encode()


def titled(rows):
    head = "# sensor 5, left ankle\n# firmware 2.1.7\n"
    return text(rows, before=head).encode()


def excel(rows, title=None):
    """A workbook, whose first sheet is the table."""
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    if title:
        sheet.append([title])
        sheet.append([])
    sheet.append(list(rows.columns))
    for row in rows.astype(object).itertuples(index=False):
        sheet.append([None if value != value else value for value in row])
    book.create_sheet("notes").append(["made by the test bench"])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def thousands(rows):
    """Large numbers as people write them, in quotes since the comma separates."""
    rows = rows.copy()
    name = next(
        n for n in rows.columns if rows[n].dtype == float and rows[n].max() > 1e3
    )
    rows[name] = [f"{value:,.1f}" for value in rows[name]]
    return text(rows).encode()


def units(rows):
    marks = ["1/min", "bar", "°C", "mm/s", ""][: rows.shape[1]]
    lines = text(rows, ";", ",").splitlines(keepends=True)
    return "".join([lines[0], ";".join(marks) + "\n", *lines[1:]]).encode()


def _padded(rows):
    return text(rows.assign(cultivar=rows["cultivar"].map("{} ".format))).encode()


def _index(rows):
    return rows.to_csv(lineterminator="\n").encode()


# Ways of writing that take any rows, whose last column is text.
WRITERS = (
    *(german_excel, unicode_text, r_csv, r_table, blanks, label_first, remarks),
    *(blank_rows, titled, _index),
)


def messy_files():
    """All of them."""
    numbers = {kind: str(k) for k, kind in enumerate(ACTIVITY[1])}
    quoted = {"sit": 'sit 18"', "stand": "stand\tstill", "walk": "walk, fast"}
    no_header = {"knows": {"--target": "column_5"}, "target": "class"}
    found = [
        Messy("German Excel", ".csv", drawn(MACHINE, 1), german_excel),
        Messy("Excel, Unicode text", ".txt", drawn(MACHINE, 2), unicode_text),
        Messy(
            "Excel, CSV UTF-8",
            ".csv",
            drawn(WINE, 3),
            lambda rows: text(rows, end="\r\n").encode("utf-8-sig"),
        ),
        Messy("R, write.csv", ".csv", with_gaps(drawn(WINE, 4), 4), r_csv),
        Messy("R, write.table", ".txt", drawn(PATIENT, 5), r_table),
        Messy("pandas with index", ".csv", drawn(ACTIVITY, 6), _index),
        Messy(
            "UCI .data with ?",
            ".data",
            with_gaps(drawn(WINE, 7), 7),
            label_first,
            **no_header | {"knows": {"--target": "column_1"}},
            labelled=True,
        ),
        Messy(
            "UCI .dat in blanks",
            ".dat",
            drawn(ACTIVITY, 8).replace({"activity": numbers}),
            blanks,
            **no_header,
        ),
        Messy(
            "Tabs and quotes",
            ".txt",
            drawn(ACTIVITY, 9).replace({"activity": quoted}),
            lambda rows: text(rows, "\t", quote=True).encode(),
        ),
        Messy("Categories", ".csv", clinic_rows(10), clinic),
        Messy("Dates and identifiers", ".csv", drawn(WINE, 11), logged),
        Messy(
            "-999 for gaps",
            ".csv",
            with_gaps(drawn(PATIENT, 12), 12, share=0.08),
            lambda rows: text(rows.fillna(-999.0)).encode(),
        ),
        Messy(
            "Labels 0.0 against 0",
            ".csv",
            drawn(ACTIVITY, 13).replace({"activity": numbers}),
            lambda rows: text(rows).encode(),
            write_test=lambda rows: text(
                rows.assign(activity=rows.activity + ".0")
            ).encode(),
        ),
        Messy(
            "Labels with blanks",
            ".csv",
            drawn(WINE, 14),
            lambda rows: text(rows).encode(),
            write_test=_padded,
        ),
        Messy(
            "Delimiter at the end",
            ".csv",
            drawn(WINE, 15),
            lambda rows: text(rows, ";", trail=";").encode(),
        ),
        Messy("Comments above", ".csv", drawn(ACTIVITY, 16), titled),
        Messy(
            "Excel, sep=;",
            ".csv",
            drawn(MACHINE, 17),
            lambda rows: text(rows, ";", ",", "\r\n", before="sep=;\r\n").encode(
                "cp1252"
            ),
        ),
        Messy("Excel workbook", ".xlsx", with_gaps(drawn(MACHINE, 18), 18), excel),
        Messy(
            "Excel, title above",
            ".xlsx",
            drawn(WINE, 19),
            lambda rows: excel(rows, "Vineyard survey"),
        ),
        Messy(
            "gzip",
            ".csv.gz",
            drawn(MACHINE, 20),
            lambda rows: gzip.compress(german_excel(rows), mtime=0),
        ),
        Messy(
            "Pipes of a database",
            ".txt",
            with_gaps(drawn(PATIENT, 21), 21),
            lambda rows: text(rows, "|", na="NULL").encode(),
        ),
        Messy("Thousands", ".csv", drawn(MACHINE, 22), thousands),
        Messy("Units below the header", ".csv", drawn(MACHINE, 23), units),
        Messy("Remarks", ".csv", drawn(MACHINE, 24), remarks),
        Messy("Excel, empty rows", ".csv", drawn(WINE, 25), blank_rows),
        Messy(
            "Macintosh",
            ".csv",
            drawn(WINE, 26),
            lambda rows: text(rows, end="\r").encode(),
        ),
        Messy(
            "Blanks after commas",
            ".csv",
            drawn(PATIENT, 27),
            lambda rows: text(rows).replace(",", ", ").encode(),
        ),
    ]
    return [replace(case, target=case.target or case.label) for case in found]
