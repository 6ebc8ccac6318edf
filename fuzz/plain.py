"""Files changed at random, read one after the other: ``python -m fuzz.plain csv 60 0``.

The file that is being read lies in build/fuzz, in case that it ends the process.
"""

from __future__ import annotations

import faulthandler
import random
import re
import resource
import sys
import time
import traceback
import warnings
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.readers import READERS

FOLDER = Path("build/fuzz")
# Of the processor, since others may use it, too; then those of the clock.
SECONDS_OF_A_FILE = 5.0
SECONDS_OF_WAITING = 120.0
BYTES_OF_MEMORY = 1_000_000_000
# Defects of different kinds after which the fuzzer has seen enough.
_ENOUGH = 10


@dataclass
class Tally:
    """What came of the files.

    Attributes
    ----------
    n, accepted : int
        Number of files, and of those that were no errors.
    slowest : float
        Seconds of the slowest file.
    peak : int
        Most bytes that the process held, those of Python itself included.
    defects : dict
        Files by the kind of the defect that they show.
    """

    n: int = 0
    accepted: int = 0
    slowest: float = 0.0
    peak: int = 0
    defects: dict[str, Path] = field(default_factory=dict)

    def __str__(self):
        return (
            f"{self.n} files, {self.accepted} accepted, slowest {self.slowest:.2f} s, "
            f"peak {self.peak / 1e6:.0f} MB, {len(self.defects)} kinds of defects"
        )

    def read(self, reader, data):
        """Check a file and count it; what is amiss, or None."""
        trouble, accepted, start = None, False, time.process_time()
        faulthandler.dump_traceback_later(SECONDS_OF_WAITING, exit=True)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                accepted = bool(reader.check(data))
        except (Exception, SystemExit):
            trouble = traceback.format_exc()
        faulthandler.cancel_dump_traceback_later()
        taken = time.process_time() - start
        self.n += 1
        self.accepted += accepted
        self.slowest = max(self.slowest, taken)
        self.peak = _peak()
        if trouble is None and taken > SECONDS_OF_A_FILE:
            trouble = f"longer than {SECONDS_OF_A_FILE:g} s"
        if trouble is None and self.peak > BYTES_OF_MEMORY:
            trouble = f"memory of {self.peak / 1e6:.0f} MB"
        return trouble


def fuzz(reader, seconds, seed):
    """Fuzz a reader for some time, not counting imports.

    Files that show defects are kept, the first of each kind.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    for data in reader.seeds():
        reader.check(data)  # imports what it needs; not timed
    tally, inputs = Tally(), reader.inputs(random.Random(seed))
    end = time.monotonic() + seconds
    while time.monotonic() < end and len(tally.defects) < _ENOUGH:
        data = next(inputs)
        being_read(reader).unlink(missing_ok=True)  # to replace it may take 5 ms
        being_read(reader).write_bytes(data)
        trouble = tally.read(reader, data)
        if trouble and _kind(trouble) not in tally.defects:
            tally.defects[_kind(trouble)] = keep(reader, trouble)
        if tally.peak > BYTES_OF_MEMORY:
            break  # it is the peak of all files that follow
    being_read(reader).unlink(missing_ok=True)
    return tally


def being_read(reader):
    """Where the file lies that is being read."""
    return FOLDER / f"{reader.name}-now{_ending(reader)}"


def keep(reader, trouble):
    """Keep the file that was read last, and say how to read it again."""
    data = being_read(reader).read_bytes()
    path = FOLDER / f"{reader.name}-{zlib.crc32(data):08x}{_ending(reader)}"
    being_read(reader).rename(path)
    print(
        f"\ndefect of {reader.name}: {trouble.strip()}\n"
        f"again: python -m fuzz --reader {reader.name} --replay {path}",
        flush=True,
    )
    return path


def _ending(reader):
    return reader.ending or ".csv"


def _kind(trouble):
    """The last line, and where it was raised."""
    lines = trouble.strip().splitlines()
    places = [line.strip() for line in lines if line.startswith("  File ")]
    return " | ".join([lines[-1][:200], *places[-1:]])


def _peak():
    """Most bytes of memory that this process has held."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says there includes that of the parent
        return 1024 * int(re.search(r"VmHWM:\s*(\d+)", status.read_text())[1])
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    faulthandler.enable()
    name, seconds, seed = sys.argv[1:]
    tally = fuzz(READERS[name], float(seconds), int(seed))
    print(f"{name}: {tally} (seed {seed})", flush=True)
    sys.exit(bool(tally.defects))
