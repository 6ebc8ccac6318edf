"""Fuzzing of all readers of files: ``make fuzz``, or ``make fuzz SECONDS=3600``.

Each reader gets an equal share of the time; ``READER=csv`` takes one of them. Files are
changed at random, in their bytes or in their structure.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
from pathlib import Path

from fuzz import kernels, model_json, results_files, statistics_npz, tables
from fuzz.reader import fuzz

READERS = {
    reader.name: reader
    for reader in (
        model_json.READER,
        statistics_npz.READER,
        *tables.TABLES,
        *results_files.RESULTS,
        kernels.READER,
    )
}


def main(arguments=None):
    """Fuzz, or check one file again; return the number of kinds of defects."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("seconds", type=float, nargs="?", default=60)
    parser.add_argument("--reader", choices=list(READERS), action="append")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--replay", type=Path, help="check one file, and end")
    options = parser.parse_args(arguments)
    chosen = [READERS[name] for name in options.reader or READERS]
    faulthandler.enable()
    if options.replay is None:
        share = options.seconds / len(chosen)
        return sum(len(fuzz(reader, share, options.seed)) for reader in chosen)
    if len(chosen) > 1:
        parser.error("--replay needs --reader")
    for data in chosen[0].seeds():
        chosen[0].check(data)  # imports what it needs
    accepted, trouble = chosen[0].trouble(options.replay.read_bytes())
    print(trouble or f"no defect; accepted: {accepted}")
    return int(trouble is not None)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
