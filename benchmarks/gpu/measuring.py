"""Our call and a peer's in turns, with the device waited for; results in a file."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.gpu.libraries import Call, Library
from benchmarks.runner import judged
from heterolda.foundations.files import written_whole

Entry = dict[str, Any]

_LONG = 2.0  # seconds of calls that are not made a second time to warm up


@dataclass(frozen=True)
class Sizes:
    """How much data there is, and how often to measure.

    Attributes
    ----------
    smoke : bool
        Whether the sizes are only to see that everything runs.
    rows, features, classes : int
        Of fits.
    huge : tuple of int
        Rows and features of the largest fit, in single precision.
    lda : int
        Rows that scikit-learn's LDA copes with.
    small : tuple of int
        Rows and features of data too small for a GPU.
    turns : int
        Of each comparison, after two that are not counted; fewer if they take long.
    budget : float
        Seconds after which there is no further turn.
    """

    smoke: bool = False
    rows: int = 10_000_000
    features: int = 50
    classes: int = 5
    huge: tuple[int, int] = (100_000_000, 20)
    lda: int = 1_000_000
    small: tuple[int, int] = (1_000, 20)
    turns: int = 11
    budget: float = 4.0


FULL = Sizes()
# Fewer rows would be fitted on the host.
SMOKE = Sizes(True, 30_000, 6, 5, (40_000, 4), 30_000, (200, 4), 2, 0.0)


@dataclass
class Bench:
    """Measures, and keeps each result as soon as it is there.

    Attributes
    ----------
    path : Path
        The file of the results.
    about : dict
        What they depend on.
    sizes : Sizes
        Of the data.
    """

    path: Path
    about: Entry
    sizes: Sizes
    entries: list[Entry] = field(default_factory=list)
    begin: float = field(default_factory=time.perf_counter)

    def say(self, what: str) -> None:
        """Tell how far it is."""
        print(f"[{time.perf_counter() - self.begin:.0f} s] {what}", flush=True)

    def keep(self, entry: Entry) -> None:
        """Add a result and write all."""
        entry = {"full_size": not self.sizes.smoke, "remark": ""} | entry
        self.entries.append(entry)
        self.about["seconds"] = round(time.perf_counter() - self.begin)
        content = {"about": self.about, "entries": self.entries}
        with written_whole(self.path) as file:
            file.write((json.dumps(content, indent=1) + "\n").encode())
        shown = {
            k: entry[k]
            for k in ("ratio", "met", "memory", "remark", "error")
            if k in entry
        }
        seconds = entry.get("ours_seconds")
        ours = "" if not seconds else f"{1e3 * median(seconds):.3g} ms "
        self.say(f"{entry['key']}: {ours}{shown}")

    def attempt(self, known: Entry, work: Callable[[], Entry]) -> None:
        """Keep what some work finds, or how it fails."""
        try:
            found = work()
        except Exception as error:  # the others are worth having
            found = {"error": first_line(error)}
        self.keep(known | found)

    def compare(
        self,
        lib: Library,
        known: Entry,
        ours: Call,
        peer: Call,
        *,
        note: Callable[[Any, Any], str] | None = None,
        memory: tuple[int, float | None] | None = None,
    ) -> None:
        """Keep the times of our call and of a peer's, taken in turns.

        `memory` has the bytes of the data and the most that may be used, as a multiple
        of them, or None. The goal "works" is met by any time.
        """
        target = known.setdefault("target", None)

        def work() -> Entry:
            lib.free()
            begin = time.perf_counter()
            result = ours()
            lib.wait()
            peak = lib.peak()
            timed, failure, remark = [ours, peer], None, ""
            try:
                other = peer()
                lib.wait()
                remark = note(result, other) if note else ""
                del other
            except Exception as error:
                timed, failure = [ours], first_line(error)
            del result
            if time.perf_counter() - begin < _LONG:
                for call in timed:
                    call()
            seconds = take_turns(timed, lib.wait, self.sizes)
            found: Entry = {"ours_seconds": seconds[0], "remark": remark}
            if memory is not None and peak is not None:
                size, most = memory
                found["memory"], found["memory_target"] = peak / size, most
                found["memory_met"] = None if most is None else peak / size <= most
            if failure is not None:
                return found | {"peer_error": failure}
            ratios = [a / b for a, b in zip(*seconds, strict=True)]
            found |= {"peer_seconds": seconds[1]} | judged(ratios, target)
            return found | ({"met": True} if known.get("goal") == "works" else {})

        self.attempt(known, work)


def take_turns(calls: list[Call], wait: Call, sizes: Sizes) -> list[list[float]]:
    """Seconds of each call; who begins alternates."""
    seconds: list[list[float]] = [[] for _ in calls]
    gc.collect()
    begin = time.perf_counter()
    for turn in range(sizes.turns):
        if turn >= 2 and time.perf_counter() - begin > sizes.budget:
            break
        order = list(zip(calls, seconds, strict=True))
        for call, mine in order[:: -1 if turn % 2 else 1]:
            wait()
            start = time.perf_counter()
            result = call()
            wait()
            mine.append(time.perf_counter() - start)
            del result
    return seconds


def first_line(error: BaseException) -> str:
    """An exception in a line."""
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}"[:300]
