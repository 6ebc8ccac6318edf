"""Readers of files, and the loop that feeds them changed files."""

from __future__ import annotations

import faulthandler
import linecache
import random
import re
import resource
import sys
import time
import traceback
import warnings
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fuzz.changes import MAX_BYTES

FOLDER = Path("build/fuzz")
# Of the processor, since others may use it, too; then those of the clock.
SECONDS_OF_A_FILE = 5.0
SECONDS_OF_WAITING = 120.0
BYTES_OF_MEMORY = 1_000_000_000
_ENOUGH = 10  # kinds of defects after which the fuzzer ends
_PLAIN = ValueError, OSError, FileNotFoundError, IsADirectoryError


@dataclass(frozen=True)
class Reader:
    """A reader of files: its name, the ending of its files, and three functions.

    `seeds` returns contents of good files, `change` another content for a content, and
    `check` says whether a content was accepted: whatever it raises is a defect.
    """

    name: str
    ending: str
    seeds: Callable[[], list[bytes]]
    change: Callable[[bytes, Random], bytes]
    check: Callable[[bytes], bool]

    def inputs(self, rng):
        """Yield contents without end: the seeds, then changes of them."""
        pool = self.seeds()
        yield from pool
        n_seeds = len(pool)
        while True:
            data = self.change(rng.choice(pool), rng)[:MAX_BYTES]
            yield data
            # A few changes stay, so that later ones start from them.
            if rng.random() < 0.02 and len(data) < 20_000:
                if len(pool) > 2 * n_seeds + 20:
                    del pool[rng.randrange(n_seeds, len(pool))]
                pool.append(data)

    def trouble(self, data):
        """Check a content; return whether it was accepted, and the defect, if any."""
        trouble, accepted, start = None, False, time.process_time()
        _forget_peak()
        held = peak()
        faulthandler.dump_traceback_later(SECONDS_OF_WAITING, exit=True)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                accepted = bool(self.check(data))
        except (Exception, SystemExit):
            trouble = traceback.format_exc()
        faulthandler.cancel_dump_traceback_later()
        if trouble is None and time.process_time() - start > SECONDS_OF_A_FILE:
            trouble = f"longer than {SECONDS_OF_A_FILE:g} s"
        if trouble is None and peak() - held > BYTES_OF_MEMORY:
            trouble = f"memory of {(peak() - held) / 1e6:.0f} MB"
        return accepted, trouble


def fuzz(reader, seconds, seed):
    """Feed a reader for some time; return kept files by the kind of their defect.

    The file that is being read lies in the folder, in case that it ends the process.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    now = FOLDER / f"{reader.name}-now{reader.ending}"
    for data in reader.seeds():
        reader.check(data)  # imports what it needs; not timed
    defects, n, n_accepted, most = {}, 0, 0, 0
    inputs, end = reader.inputs(random.Random(seed)), time.monotonic() + seconds
    while time.monotonic() < end and len(defects) < _ENOUGH:
        data = next(inputs)
        now.unlink(missing_ok=True)  # to replace it may take 5 ms
        now.write_bytes(data)
        accepted, trouble = reader.trouble(data)
        n, n_accepted, most = n + 1, n_accepted + accepted, max(most, peak())
        if trouble and _kind(trouble) not in defects:
            kept = FOLDER / f"{reader.name}-{zlib.crc32(data):08x}{reader.ending}"
            kept.write_bytes(data)
            defects[_kind(trouble)] = kept
            again = f"python -m fuzz --reader {reader.name} --replay {kept}"
            print(f"\n{reader.name}: {trouble.strip()}\nagain: {again}", flush=True)
    now.unlink(missing_ok=True)
    print(
        f"{reader.name}: {n} files, {n_accepted} accepted, peak {most / 1e6:.0f} MB, "
        f"{len(defects)} kinds of defects (seed {seed})",
        flush=True,
    )
    return defects


def _kind(trouble):
    """Return the last line of an error, and where it was raised."""
    lines = trouble.strip().splitlines()
    places = [line.strip() for line in lines if line.startswith("  File ")]
    return " | ".join([lines[-1][:200], *places[-1:]])


def _forget_peak():
    """Start a new peak, since to make a file may take more memory than to read it."""
    with suppress(OSError):  # on Linux only
        Path("/proc/self/clear_refs").write_text("5")


def peak():
    """Return the most bytes of memory that this process has held."""
    if sys.platform == "linux":  # where the other figure counts the parent process, too
        status = Path("/proc/self/status").read_text()
        return 1024 * int(re.search(r"VmHWM:\s*(\d+)", status)[1])
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def is_worded(error):
    """Return whether an error is a plain one, raised on purpose by heterolda itself.

    Errors that pass through from NumPy or Arrow are not: they do not speak of files.
    """
    ours = type(error).__module__.startswith("heterolda.")
    if not ours and type(error) not in _PLAIN:
        return False
    last = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(last.filename, last.lineno).strip()
    return "heterolda" in last.filename and line.startswith("raise")
