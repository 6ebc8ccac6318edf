"""Fuzzing of all readers of files: ``make fuzz``, or ``make fuzz SECONDS=3600``.

Each reader gets an equal share of the time, in its own process; ``READER=csv`` takes
one of them. Files are changed at random, in their bytes or in their structure.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from fuzz.plain import Tally, being_read, keep
from fuzz.readers import READERS


def main(arguments=None):
    """Fuzz, or look at one file again; the number of readers with defects."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("seconds", type=float, nargs="?", default=60)
    parser.add_argument("--reader", choices=list(READERS), action="append")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--replay", metavar="FILE", help="check one file, and end")
    options = parser.parse_args(arguments)
    chosen = [READERS[name] for name in options.reader or READERS]
    if options.replay:
        if len(chosen) > 1:
            parser.error("--replay needs --reader")
        return replay(chosen[0], Path(options.replay))
    seed = int(time.time()) if options.seed is None else options.seed
    share = f"{options.seconds / len(chosen):.1f}"
    return sum(
        alone(reader, "-m", "fuzz.plain", reader.name, share, str(seed))
        for reader in chosen
    )


def alone(reader, *arguments):
    """Fuzz in a process of its own, which a file may end; whether there are defects."""
    being_read(reader).unlink(missing_ok=True)
    status = subprocess.run([sys.executable, *arguments]).returncode
    if being_read(reader).exists():
        keep(reader, f"the process ended with status {status}")
    return status != 0


def replay(reader, path):
    """Check a file that was kept; 1 if it still is a defect."""
    for data in reader.seeds():
        reader.check(data)  # imports what it needs
    tally = Tally()
    trouble = tally.read(reader, path.read_bytes())
    print(trouble or tally)
    return int(trouble is not None)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
