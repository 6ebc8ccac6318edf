"""Fuzzing of all readers of files: ``make fuzz``, or ``make fuzz SECONDS=3600``.

Each reader gets an equal share of the time; ``READER=csv`` takes one of them. With
atheris, where that is installed, coverage guides the changes of files that Python code
reads. All others are changed at random, in their bytes or in their structure, in a
process whose time and memory are watched.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from fuzz.readers import READERS
from fuzz.watch import SECONDS_OF_A_FILE, Tally, measured, watch

FOLDER = Path("build/fuzz")


def main(arguments=None):
    """Fuzz, or look at one file again; the number of readers with defects."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("seconds", type=float, nargs="?", default=60)
    parser.add_argument("--reader", choices=list(READERS), action="append")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--plain", action="store_true", help="without atheris")
    parser.add_argument("--replay", metavar="FILE", help="check one file, and end")
    options = parser.parse_args(arguments)
    chosen = [READERS[name] for name in options.reader or READERS]
    if options.replay:
        if len(chosen) > 1:
            parser.error("--replay needs --reader")
        return replay(chosen[0], Path(options.replay))
    seed = int(time.time()) if options.seed is None else options.seed
    guided = find_spec("atheris") is not None and not options.plain
    bad = 0
    for reader in chosen:
        share = options.seconds / len(chosen)
        if guided and reader.modules:
            command = [sys.executable, "-m", "fuzz.guided", reader.name, f"{share:.0f}"]
            done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
            print(f"{reader.name}: {_last_words(done)}", flush=True)
            bad += done.returncode != 0
        else:
            tally = watch(reader, share, seed, FOLDER)
            print(f"{reader.name}: {tally} (seed {seed})", flush=True)
            bad += bool(tally.defects)
    return bad


def _last_words(done):
    """What atheris says at its end: the number of files, or all about a defect."""
    if done.returncode:
        return done.stderr[-5000:]
    return next(
        (line for line in done.stderr.splitlines() if line.startswith("Done")), "done"
    )


def replay(reader, path):
    """Check a file that was kept; 1 if it still is a defect."""
    for data in reader.seeds():
        reader.check(data)  # compiles what is compiled
    accepted, taken, peak, trouble = measured(reader, path.read_bytes())
    tally = Tally(1, int(accepted), taken, peak)
    print(trouble or tally)
    return int(trouble is not None or taken > SECONDS_OF_A_FILE)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
