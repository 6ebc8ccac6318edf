"""Tables through the command line: fit, predict and evaluate on files of any content.

Which command and which options is decided by the content, so that a file is enough to
repeat what was done.
"""

from __future__ import annotations

import csv
import io
import os
import re
import warnings
import zlib
from functools import cache, partial
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fuzz import model_json
from fuzz.changes import MAX_BYTES, change_bytes, change_table
from fuzz.commands import a_folder, check_json, check_probabilities, run
from fuzz.excel_files import change_excel, packed, parts
from fuzz.parquet_files import odd_table, written
from fuzz.reader import Reader
from heterolda import GaussianLinearDiscriminant
from heterolda.data.formats import as_utf8
from heterolda.export.model_file import json_text, to_document
from tests.cli import messy_files

KINDS = ["north", "south", "east", "west"]
NAMES = ["x0", "x1", "kind"]
_FIT = "fit DATA --target kind --out new.json"
_COMMANDS = [
    _FIT,
    f"{_FIT} --missing drop --no-accuracy",
    f"{_FIT} --sample-weight x1 --cv 3",
    f"{_FIT} --solver fisher --shrinkage auto --exclude x1",
    f"{_FIT} --method search --multiclass ovr",
    "predict model.json DATA --out out.csv --proba",
    "predict model.json DATA --out out.parquet --proba --missing drop",
    "predict model.json DATA --out - --proba --missing keep",
    "evaluate model.json DATA --target kind --json",
    "evaluate model.json DATA --target kind --missing drop --sample-weight x1 --json",
]
# How files are to be read; many commands leave that to be found.
_READINGS = [
    *("", "", "", ""),
    " --delimiter tab",
    " --delimiter ; --decimal ,",
    " --delimiter space",
    " --decimal ,",
    " --decimal .",
    " --no-header",
    " --na ?,-999",
    " --na north,1.0 --delimiter |",
]
_ENCODINGS = [
    *("utf-8", "utf-8", "utf-8-sig", "cp1252", "latin-1"),
    *("utf-16", "utf-16-le", "utf-16-be", "utf-32"),
]
# Decimal marks, delimiters, labels that look alike, gaps, and what no table has.
_SWAPS = [
    *((".", ","), (",", "."), (",", ";"), (";", "\t"), ("\t", " "), (" ", "  ")),
    *(("north", "north "), ("south", "0"), ("east", "0.0"), ("west", "Süd")),
    *(("0", "?"), ("1", "-999"), ("2", "1.000,5"), ("e", "é"), ("\n", "\r")),
    *(("\n", "\n# "), ("\n", ";\n"), ("x0", ""), ("x1", "x0"), ("kind", "1")),
]


@cache
def model():
    """Return a model file for the tables of the seeds."""
    X, y = _data(48)
    fitted = GaussianLinearDiscriminant().fit(X, y)
    fitted.feature_names_in_ = np.array(NAMES[:2], dtype=object)
    return json_text(to_document(fitted))


def _data(n):
    rng = np.random.default_rng(0)
    y = np.arange(n) % len(KINDS)
    X = rng.normal(size=(n, 2)) * (1 + y[:, None]) + 2 * y[:, None]
    return X, np.array(KINDS)[y]


def check(data, ending, command=None):
    """Return whether a command accepts a table; if so, what it writes is sound.

    `ending` is that of the file, empty for standard input. The content decides on the
    command unless it is given.
    """
    if command is None:
        choice = Random(zlib.crc32(data))
        command = choice.choice(_COMMANDS) + choice.choice(_READINGS)
    with a_folder(model_json=model(), **({f"data{ending}": data} if ending else {})):
        words = command.replace("DATA", f"data{ending}" if ending else "-").split()
        said = run(*words, stdin=None if ending else data)
        if said is None:
            left = [name for name in os.listdir() if name.startswith(("new", "out"))]
            assert not left, f"{left} were written by a command that failed"
            return False
        if "new.json" in words:
            stored = Path("new.json").read_bytes()
            assert model_json.check(stored), "the model cannot be read"
        if "--json" in words:
            check_json(said)
        if "out.csv" in words:
            with warnings.catch_warnings(action="ignore"):
                text = b"".join(as_utf8([Path("out.csv").read_bytes()], "out.csv"))
            _check_rows(text.decode())
        if "out.parquet" in words:
            rows = pq.read_table("out.parquet").slice(0, 1000)
            columns = [column.to_pylist() for column in rows.columns]
            check_probabilities(rows.column_names, zip(*columns, strict=True))
    return True


def _check_rows(text):
    delimiter = re.search('(.)"?probability_', text)[1]  # that of the data
    limit = csv.field_size_limit(10 * MAX_BYTES)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header, *rows = islice(rows, 1001)
    csv.field_size_limit(limit)
    check_probabilities(header, rows)


def text_seeds():
    """Return small tables of text."""
    X, y = _data(24)
    body = zip(X, y, strict=True)
    rows = [NAMES, *([f"{a:.3f}", f"{abs(b):.3f}", label] for (a, b), label in body)]
    ids = [[*row, str(k) if k else "id"] for k, row in enumerate(rows)]
    numbers = [NAMES, *([*row[:2], str(len(row[2]))] for row in rows[1:])]
    return [
        _text(rows),
        _text(ids, lineterminator="\r\n"),
        _text(numbers),
        _text(rows, quoting=csv.QUOTE_ALL),
    ]


def _text(rows, **settings):
    file = io.StringIO(newline="")
    csv.writer(file, **({"lineterminator": "\n"} | settings)).writerows(rows)
    return file.getvalue().encode()


def change_text(data, rng):
    """Return another table of text."""
    return change_bytes(data, rng) if rng.random() < 0.3 else change_table(data, rng)


def messy_seeds():
    """Return small tables as programs and people write them."""
    X, y = _data(24)
    columns = {"x0": X[:, 0].round(3), "x1": abs(X[:, 1]).round(3), "kind": y}
    frame = pd.DataFrame(columns)
    return [messy_files.encoded(write(frame)) for write in messy_files.WRITERS]


def change_messy(data, rng):
    """Return another messy table: other cells, delimiters, encodings and labels."""
    if rng.random() < 0.2:
        return change_bytes(data, rng)
    is_wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = data.decode("utf-16" if is_wide else "utf-8-sig", "replace")
    first = text.split("\n", 1)[0]
    delimiter = max(";\t|, ", key=first.count)
    text = change_table(text.encode(), rng, delimiter).decode("utf-8", "replace")
    for old, new in rng.sample(_SWAPS, rng.choice([0, 0, 1, 2])):
        text = text.replace(old, new, rng.choice([-1, -1, 1, 5]))
    return text.encode(rng.choice(_ENCODINGS), "replace")


def parquet_seeds():
    """Return small Parquet files."""
    X, y = _data(24)
    plain = {"x0": X[:, 0], "x1": np.abs(X[:, 1]), "kind": y}
    return [
        written(pa.table(plain), row_group_size=7, data_page_version="2.0"),
        written(pa.table(plain), compression="gzip", use_dictionary=False),
        written(pa.table(plain | {"kind": pa.array(y).dictionary_encode()})),
        written(pa.table(plain | {"kind": np.arange(24) % 4, "id": np.arange(24)})),
    ]


def change_parquet(data, rng):
    """Return another Parquet file: damaged, or a good one of odd columns."""
    return change_bytes(data, rng) if rng.random() < 0.6 else odd_table(rng)


def excel_seeds():
    """Return small workbooks."""
    X, y = _data(24)
    rows = [[*pair, label] for pair, label in zip(np.abs(X).tolist(), y, strict=True)]
    table = [NAMES, *rows]
    day = 's="1"', "43832"
    return [
        packed(parts(table)),
        packed(parts([["a title"], [], *([None, *row] for row in table)])),
        packed(parts([["notes"]], [[*row, day] for row in table])),
        packed(parts([NAMES, *([str(row[0]), row[1], row[0] > 1] for row in rows)])),
    ]


def _reader(name, ending, seeds, change):
    return Reader(name, ending, seeds, change, partial(check, ending=ending))


TABLES = (
    _reader("csv", ".csv", text_seeds, change_text),
    _reader("messy", ".txt", messy_seeds, change_messy),
    _reader("stream", "", text_seeds, change_text),
    _reader("parquet", ".parquet", parquet_seeds, change_parquet),
    _reader("excel", ".xlsx", excel_seeds, change_excel),
)
