"""One case is one of our calls against one peer's, taken in turns.

The figure is the ratio of our time to the peer's, in the same process, on the same
data, with the same number of threads: its median over the repetitions and, as spread,
its quartiles.
"""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.shapes import Shape, load

Call = Callable[[], Any]


class NotInstalled(Exception):
    """A peer that is an option is absent."""


class PeerFailed(Exception):
    """A peer refuses the data."""


@dataclass(frozen=True)
class Settings:
    """How much to measure.

    Attributes
    ----------
    quick : bool
        Whether large shapes are replaced by smaller ones.
    threads : int
        Threads of BLAS, and of our own loops.
    repetitions : int
        Turns of a case.
    budget : float
        Seconds after which a case has no further turn ...
    minimum : int
        ... unless it had fewer than this.
    longest : float
        Seconds of the longest call for which a curve of growth goes on.
    """

    quick: bool = False
    threads: int = 2
    repetitions: int = 15
    budget: float = 8.0
    minimum: int = 3
    longest: float = 3.0


FULL = Settings()
QUICK = Settings(quick=True, repetitions=5, budget=0.2, minimum=1, longest=0.15)


@dataclass(frozen=True)
class Method:
    """Something to time.

    Attributes
    ----------
    name : str
        For the tables.
    prepare : callable
        Takes X, y and the settings, returns the call to time.
    stated : bool
        The call returns its own time in seconds, because it runs elsewhere.
    """

    name: str
    prepare: Callable[[Any, Any, Settings], Call]
    stated: bool = False

    def timed(self, call: Call) -> tuple[float, Any]:
        """Seconds that a prepared call takes, and what it returns."""
        begin = time.perf_counter()
        result = call()
        seconds = time.perf_counter() - begin
        return (result if self.stated else seconds), result


@dataclass(frozen=True)
class Case:
    """A row of the tables: ours, a peer, some data, and the ratio to stay below.

    Attributes
    ----------
    group : str
        The table it belongs to.
    shape : Shape or None
        The data; None for a call that needs none.
    ours, peer : Method
        What is compared.
    target : float or None
        Largest ratio of our time to the peer's; None if only reported.
    quick : Shape or None
        Smaller data for a quick run; None: the same.
    compare : callable or None
        Takes both results, returns a remark.
    """

    group: str
    shape: Shape | None
    ours: Method
    peer: Method
    target: float | None = None
    quick: Shape | None = None
    compare: Callable[[Any, Any], str] | None = None

    kind = "times"

    @property
    def name(self) -> str:
        """What --only looks at."""
        data = f", {self.shape.label}" if self.shape else ""
        return f"{self.group}: {self.ours.name} / {self.peer.name}{data}"

    def run(self, settings: Settings) -> dict[str, Any]:
        """Measure and judge."""
        small = settings.quick and self.quick is not None
        shape = self.quick if small else self.shape
        entry = {
            "group": self.group,
            "data": shape.label if shape else "",
            "source": shape.source if shape else "",
            "ours": self.ours.name,
            "peer": self.peer.name,
            "target": self.target,
            "full_size": not small,
        }
        X, y = load(shape) if shape else (None, None)
        try:
            with warnings.catch_warnings(action="ignore"):
                turns, remark = take_turns(self, X, y, settings)
        except (NotInstalled, PeerFailed) as error:
            return entry | {"ratio": None, "met": None, "remark": str(error)}
        ours, peer = np.array(turns).T
        return entry | {
            "ours_seconds": ours.tolist(),
            "peer_seconds": peer.tolist(),
            **judged(ours / peer, self.target),
            "remark": remark,
        }


def take_turns(
    case: Case, X: Any, y: Any, settings: Settings
) -> tuple[list[tuple[float, float]], str]:
    """Times (ours, peer's) of each turn; who begins alternates. And the remark."""
    dear = settings.budget / settings.repetitions  # too dear to throw away
    ours = case.ours.prepare(X, y, settings)
    here, our_result = case.ours.timed(ours)  # loads, fills caches
    try:
        peer = case.peer.prepare(X, y, settings)
        there, peer_result = case.peer.timed(peer)
    except NotInstalled:
        raise
    except Exception as error:
        raise PeerFailed(f"the peer fails: {type(error).__name__}") from error
    remark = case.compare(our_result, peer_result) if case.compare else ""
    del our_result, peer_result
    turns = []
    gc.collect()
    gc.disable()
    begin = time.perf_counter()
    try:
        if max(here, there) > dear:
            begin -= here + there
            turns.append((here if here > dear else case.ours.timed(ours)[0], there))
        while len(turns) < settings.repetitions:
            late = time.perf_counter() - begin > settings.budget
            if late and len(turns) >= settings.minimum:
                break
            if len(turns) % 2:
                there = case.peer.timed(peer)[0]
                here = case.ours.timed(ours)[0]
            else:
                here = case.ours.timed(ours)[0]
                there = case.peer.timed(peer)[0]
            turns.append((here, there))
    finally:
        gc.enable()
    return turns, remark


def judged(ratios: np.ndarray, target: float | None) -> dict[str, Any]:
    """Median, quartiles and verdict of some ratios."""
    low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75]).tolist()
    met = None if target is None else middle <= target
    return {"ratio": middle, "quartiles": [low, high], "met": met}


def geometric_mean(
    entries: list[dict[str, Any]], target: float, count: int
) -> dict[str, Any] | None:
    """A row that sums up others.

    Parameters
    ----------
    entries : list of dict
        Rows of one table, with the same peer.
    target : float
        Largest geometric mean of their ratios.
    count : int
        How many rows it needs.

    Returns
    -------
    dict or None
        The row; its quartiles are the means of theirs. None if rows are missing.
    """
    if len(entries) != count:
        return None
    values = [(e["ratio"], *e["quartiles"]) for e in entries]
    middle, low, high = np.exp(np.mean(np.log(values), axis=0)).tolist()
    shared = {key: entries[0][key] for key in ("group", "ours", "peer")}
    return shared | {
        "data": f"geometric mean of the {count}",
        "source": "",
        "target": target,
        "full_size": all(e["full_size"] for e in entries),
        "ratio": middle,
        "quartiles": [low, high],
        "met": middle <= target,
        "remark": "",
    }
