"""Commands in processes of their own: what happens when Python ends shows only there.

A thread that still reads while Python ends takes the process down after the right
message. Files are packed, so that small ones hold rows of many megabytes.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import zlib

from fuzz import tables
from fuzz.commands import a_folder
from fuzz.reader import Reader

# Whoever is left when a command has ended would run while Python does.
_PROGRAM = """
import os, sys, threading
from heterolda.cli import main
try:
    main()
finally:
    sys.stderr.flush()
    if threading.active_count() > 1 or len(sys._current_frames()) > 1:
        print("threads are alive", file=sys.stderr, flush=True)
        os._exit(99)
"""
_COMMANDS = [
    "fit DATA --target kind --out new.json",
    "predict model.json DATA --out out.csv --missing keep",
    "predict model.json DATA --out -",
    "evaluate model.json DATA --target kind --missing drop",
    "project DATA --target kind --components 1 --out out.csv",
    "compare DATA --target kind",
]


def check(data):
    """Return whether a command of its own process accepts a packed table."""
    command = _COMMANDS[zlib.crc32(data) % len(_COMMANDS)]
    with a_folder(model_json=tables.model(), data_csv_gz=data):
        before = set(os.listdir())
        words = command.replace("DATA", "data.csv.gz").split()
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", _PROGRAM, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        said = done.stderr.decode("utf-8", "replace")
        assert done.returncode in (0, 1, 2), f"the status is {done.returncode}: {said}"
        assert "Traceback" not in said, said
        left = set(os.listdir()) - before
        if done.returncode:
            assert not left, f"{left} are left behind"
            assert said.splitlines()[-1].startswith("heterolda:"), said
    return done.returncode == 0


def packed(*pieces):
    """Pack bytes, each repeated, one after the other, without holding them."""
    size = 1 << 20
    members = []
    for piece, n in pieces:
        block = max(1, size // len(piece))
        whole = gzip.compress(piece * block, 1, mtime=0)
        members += [whole] * (n // block)
        members.append(gzip.compress(piece * (n % block), 1, mtime=0))
    return b"".join(members)


def _change(data, rng):
    """Return a table with a very long row, or another small one."""
    if rng.random() < 0.5:
        return tables.change_packed(rng.choice(tables.packed_seeds()), rng)
    text = rng.choice(tables.text_seeds())
    at = rng.choice([text.index(b"\n") + 1, rng.randrange(len(text))])
    piece = rng.choice([b"\0", b"1", b",", b'"', b'""', b"\n", b" ", b"1,", b"\xff"])
    n = rng.choice([100, 5_000_000, 100_000_000]) // len(piece)
    return packed((text[:at], 1), (piece, n), (text[at:], 1))


def _seeds():
    names = b"x0,x1,kind\n"
    return [
        *tables.packed_seeds()[:1],
        packed((names, 1), (b"\0", 300_000_000)),
        packed((names + b'1,"', 1), (b"2,3,north\n", 4_000_000)),
    ]


READER = Reader("process", ".csv.gz", _seeds, _change, check)
