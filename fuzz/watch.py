"""A child process reads file after file; its parent watches time and memory."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
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

import psutil

# Of the processor, since others may use it, too; a process that waits has more.
SECONDS_OF_A_FILE = 5.0
SECONDS_OF_WAITING = 60.0
BYTES_OF_MEMORY = 1_000_000_000
# Defects of different kinds after which the fuzzer has seen enough.
_ENOUGH = 10
_LOOK = 0.05  # seconds between two looks at the child


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


def watch(reader, seconds, seed, folder):
    """Fuzz a reader for some time.

    Parameters
    ----------
    reader : Reader
        The reader.
    seconds : float
        How long, not counting imports.
    seed : int
        Of what is random.
    folder : Path
        Where files that show defects are kept.

    Returns
    -------
    Tally
        What came of it.
    """
    tally = Tally()
    folder.mkdir(parents=True, exist_ok=True)
    left = seconds
    while left > 0 and len(tally.defects) < _ENOUGH:
        left = _one_child(reader, left, seed, folder, tally)
        seed += 1  # a child that died must not meet the same file first
    return tally


def _one_child(reader, seconds, seed, folder, tally):
    """Watch a process until the time is over or it dies; the time that is left."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=_work, args=(reader, seed, theirs))
    child.start()
    theirs.close()
    data, begun, end = b"", None, None
    process = psutil.Process(child.pid)
    try:
        while end is None or time.monotonic() < end:
            reason = None
            if not ours.poll(_LOOK):
                reason = _too_much(process, begun)
            else:
                try:
                    kind, value = ours.recv()
                except (EOFError, ConnectionResetError):
                    child.join()
                    reason = f"the process died with status {child.exitcode}"
                else:
                    if kind == "ready":
                        end = time.monotonic() + seconds
                    elif kind == "begin":
                        data, begun = value, (time.monotonic(), _used(process))
                    else:
                        reason = _note(value, tally)
                        begun = None
                        if reason and not reason.startswith("memory"):
                            _keep(reader, data, reason, folder, tally)
                            reason = None
            if reason:
                _keep(reader, data, reason, folder, tally)
                break
            if len(tally.defects) >= _ENOUGH:
                break
    finally:
        child.kill()
        child.join()
    return 0.0 if end is None else end - time.monotonic()


def _too_much(process, begun):
    """Why a file takes too much, or None."""
    try:
        held, used = process.memory_info().rss, _used(process)
    except psutil.Error:
        return None  # the pipe will say so
    if begun is None:
        return None  # the fuzzer itself is at work
    waits = time.monotonic() - begun[0] > SECONDS_OF_WAITING
    if waits or used - begun[1] > SECONDS_OF_A_FILE:
        process.send_signal(6)  # it says on the standard error stream where it is
        time.sleep(0.5)
        return "it waits" if waits else f"longer than {SECONDS_OF_A_FILE:g} s"
    return "memory: the process had to be ended" if held > BYTES_OF_MEMORY else None


def _used(process):
    """Seconds of the processor that a process has used."""
    times = process.cpu_times()
    return times.user + times.system


def _note(value, tally):
    """Count a file; why it is a defect, or None."""
    accepted, taken, peak, trouble = value
    tally.n += 1
    tally.accepted += accepted
    tally.slowest = max(tally.slowest, taken)
    tally.peak = max(tally.peak, peak)
    if trouble is None and peak > BYTES_OF_MEMORY:
        return f"memory of {peak / 1e6:.0f} MB"
    if trouble is None and taken > SECONDS_OF_A_FILE:
        return f"longer than {SECONDS_OF_A_FILE:g} s"
    return trouble


def _keep(reader, data, reason, folder, tally):
    """Keep the first file of each kind of defect."""
    kind = reason.strip().splitlines()[-1][:200] if reason.strip() else "?"
    if "File " in reason:
        place = [line for line in reason.splitlines() if line.startswith("  File ")]
        kind += " |" + place[-1].strip()
    if kind in tally.defects:
        return
    path = folder / f"{reader.name}-{zlib.crc32(data):08x}{reader.ending or '.csv'}"
    path.write_bytes(data)
    tally.defects[kind] = path
    print(
        f"\ndefect of {reader.name}: {reason.strip()}\n"
        f"again: python -m fuzz --reader {reader.name} --replay {path}",
        flush=True,
    )


def _work(reader, seed, pipe):
    """Read file after file, and say so before and after each."""
    faulthandler.enable()
    warnings.simplefilter("error")
    for data in reader.seeds():
        reader.check(data)  # compiles what is compiled; not timed
    pipe.send(("ready", None))
    try:
        for data in reader.inputs(random.Random(seed)):
            pipe.send(("begin", data))
            pipe.send(("end", measured(reader, data)))
    except (BrokenPipeError, ConnectionResetError):
        os._exit(0)  # nobody watches any more


def measured(reader, data):
    """Check a file; whether it is accepted, seconds, bytes of memory, what is amiss."""
    trouble, accepted = None, False
    start = time.process_time()
    try:
        accepted = bool(reader.check(data))
    except (Exception, SystemExit, KeyboardInterrupt):
        trouble = traceback.format_exc()
    taken = time.process_time() - start
    return accepted, taken, _peak(), trouble


def _peak():
    """Most bytes of memory that this process has held."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says there includes that of the parent
        return 1024 * int(re.search(r"VmHWM:\s*(\d+)", status.read_text())[1])
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
