"""Outputs chosen among inputs, links to them and folders: what is read stays as it is.

A content decides on the command and on its outputs, so that it is enough to repeat what
was done.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

from fuzz import results_files, tables
from fuzz.changes import change_bytes
from fuzz.commands import a_folder, run
from fuzz.reader import Reader

_TABLES = ["d.csv", "in/a.csv", "in/b.csv", "in/deep/c.csv"]
_MODELS = ["m.json", "m.csv", "m.h"]
_RESULTS = ["run/results.csv", "run/run.json"]
# What is read where data are named so.
_DATA = {
    "d.csv": _TABLES[:1],
    "l-d.csv": _TABLES[:1],
    "d[.]csv": _TABLES[:1],
    "in": _TABLES[1:],
    "./folder": _TABLES[1:],
    "in/*.csv": _TABLES[1:3],
    "in/**/*.csv": _TABLES[1:],
    "in/../d.csv in/deep": ["d.csv", "in/deep/c.csv"],
}
_COMMANDS = [
    "fit DATA -t kind --no-accuracy -o OUT.json",
    "predict MODEL DATA -o OUT.csv",
    "predict MODEL DATA --id x0 --missing drop -o OUT.parquet",
    "project DATA -t kind --id x0 --method fisher -o OUT.csv --html OUT.html",
    "compare DATA -t kind --cv 2 -o OUT.png",
    "inspect MODEL --html OUT.html",
    "export MODEL --to c --name me -o OUT.h",
    "report run --out OUT.html",
    "datasets --write wine -o OUT.csv",
]


def _fill():
    """Put all files into the current folder; return their contents by name."""
    for name in ("in/deep", "run"):
        os.makedirs(name)
    table = tables.text_seeds()[0]
    files = dict.fromkeys(_TABLES, table) | dict.fromkeys(_MODELS, tables.model())
    files |= zip(_RESULTS, results_files.good(), strict=True)
    for name, content in files.items():
        Path(name).write_bytes(content)
    return files


def _output(ending, read, rng):
    """Return the name of a file to write: mostly one that is read, or a link to one."""
    name = rng.choice(read) if read else "d.csv"
    kind = rng.randrange(8)
    if kind == 0:
        name = rng.choice(["out", "in/new", "in/_new", "new/new", "folder", "-"])
        name += rng.choice(["", ending])
    elif kind < 6:
        link = f"link-{rng.random()}{ending}"
        if kind == 1:
            os.link(name, link)
        else:  # some lead to new files, nowhere, in a circle or to a folder
            other = [name, name, name, "new.csv", "new/new.csv", link, "in"]
            os.symlink(rng.choice(other), link)
        name = link
    before = ["", "", "./", "in/../", "folder/../in/../", f"{os.getcwd()}/"]
    return rng.choice(before) + name


def check(data):
    """Return whether a command accepts its outputs; what it reads must not change."""
    rng = Random(data)
    with a_folder():
        files = _fill()
        os.symlink("in", "folder")
        os.symlink("d.csv", "l-d.csv")
        model, given = rng.choice(_MODELS), rng.choice(list(_DATA))
        command = rng.choice(_COMMANDS)
        read = [
            *([model] if "MODEL" in command else []),
            *(_DATA[given] if "DATA" in command else []),
            *(_RESULTS if command.startswith("report") else []),
        ]
        command = command.replace("MODEL", model).replace("DATA", given)
        words = [
            _output(word.removeprefix("OUT"), read, rng) if "OUT" in word else word
            for word in command.split()
        ]
        accepted = run(*words) is not None
        for name in read if accepted else files:
            same = Path(name).read_bytes() == files[name]
            assert same, f"{' '.join(words)}: {name} is another one"
    return accepted


def _seeds():
    return [bytes([k]) for k in range(10)]


READER = Reader("outputs", ".bin", _seeds, change_bytes, check)
