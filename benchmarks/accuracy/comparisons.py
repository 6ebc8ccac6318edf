"""Which shuffles count, and what the page and the picture compare on them."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from benchmarks.accuracy.methods import (
    METHODS,
    PEERS,
    RECOMMENDED,
    TIMED_PEER,
    TUNED_PEERS,
)
from benchmarks.accuracy.sets import SET_ASIDE, SIZES
from benchmarks.accuracy.sets import SETS as DATASETS
from benchmarks.accuracy.study import shuffles as planned
from heterolda.experiments.results import Cell, Results, Row

# Training times are compared on sets with at least so many rows.
ROWS_FOR_TIMES = 2000
# The verdicts rank the recommended recipe among these alone: our other methods, which
# are its variants, would push peers down the ranking.
CONTENDERS = [RECOMMENDED, *PEERS, *TUNED_PEERS]

Key = tuple[str, str, int, int]


@dataclass(frozen=True)
class Joined(Results):
    """Results of several folders together.

    Attributes
    ----------
    parts : tuple of Results
        The folders.
    origins : dict
        For the key of each row, which of the folders it is from.
    """

    parts: tuple[Results, ...] = ()
    origins: dict[Key, int] = field(default_factory=dict)


def joined(parts: list[Results], trials: float = math.inf) -> Joined:
    """Results of several folders together, of the first so many trials.

    Parameters
    ----------
    parts : list of Results
        Computed with the same folds. Where two have the same row, the first counts.
    trials : int, default=inf
        Number of trials to look at.

    Returns
    -------
    Joined
        All rows, and the plans of all.
    """
    rows: dict[Key, Row] = {}
    origins: dict[Key, int] = {}
    plan: dict[str, dict[str, int]] = {}
    for place, part in enumerate(parts):
        for key in ("folds", "seed"):
            if part.run[key] != parts[0].run[key]:
                raise ValueError(
                    f"{str(part.folder)!r} was computed with {key} = {part.run[key]}, "
                    f"{str(parts[0].folder)!r} with {parts[0].run[key]}: they do not "
                    "compare"
                )
        for row in part.rows:
            if row.trial < trials and row.key not in rows:
                rows[row.key], origins[row.key] = row, place
        for dataset, counts in part.run["plan"].items():
            for method, n in counts.items():
                plan.setdefault(dataset, {}).setdefault(method, int(min(n, trials)))
    run = parts[0].run | {"plan": plan}
    first = parts[0].folder
    return Joined(first, tuple(rows.values()), run, False, tuple(parts), origins)


def covers(plan: dict[str, dict[str, int]]) -> bool:
    """Whether a plan is the full protocol or more."""
    return all(
        plan.get(dataset, {}).get(method, 0) >= planned(dataset, method)
        for dataset in DATASETS
        for method in METHODS
    )


class Comparisons:
    """What the page and the picture compare.

    On each set the shuffles count that every method has completely; a method that is
    planned to have fewer uses those of them that it has. Any two methods are compared
    on the shuffles of the one with fewer, by exact fractions.

    Parameters
    ----------
    results : Results
        What was computed.
    development : bool
        Whether the sets that are set aside are left out.
    """

    def __init__(self, results: Results, development: bool = False):
        self.results = results if isinstance(results, Joined) else joined([results])
        self.development = development
        hidden = SET_ASIDE if development else ()
        order = DATASETS
        there = self.results.datasets
        self.datasets = [n for n in order if n in there and n not in hidden]
        # A verdict needs the sets of the protocol, whether or not they were asked for.
        self.expected = [
            n for n in order if n in {*there, *DATASETS} and n not in hidden
        ]
        self.methods = [m for m in METHODS if m in self.results.methods]

    @cached_property
    def _counts(self) -> dict[tuple[str, str], dict[int, tuple[int, int]]]:
        """Hits and rows of each whole shuffle, by set and method."""
        found = {}
        for place, cell in self.results.cells.items():
            folds: dict[int, list[Row]] = defaultdict(list)
            for row in cell.rows:
                folds[row.trial].append(row)
            found[place] = {
                trial: (sum(r.n_correct for r in rows), sum(r.n_test for r in rows))
                for trial, rows in folds.items()
                if {r.fold for r in rows} >= set(range(cell.folds))
            }
        return found

    @cached_property
    def _shuffles(self) -> dict[tuple[str, str], frozenset[int]]:
        """Those that count: of methods with the same plan the common ones.

        Those of a method with a smaller plan are a part of them, so that any two
        methods share the shuffles of the one with fewer.
        """
        found = {}
        for dataset in self.datasets:
            whole = {
                m: frozenset(counts)
                for m in self.methods
                if (counts := self._counts.get((dataset, m)))
            }
            common = frozenset().union(*whole.values())
            for n in sorted({planned(dataset, m) for m in whole}, reverse=True):
                group = [m for m in whole if planned(dataset, m) == n]
                shared = common.intersection(*(whole[m] for m in group))
                found |= {(dataset, m): shared for m in group}
                common = shared or common
        return found

    def shuffles(self, dataset: str, method: str) -> frozenset[int]:
        """The shuffles of a method on a set that count; none if it is missing."""
        return self._shuffles.get((dataset, method), frozenset())

    def n_shuffles(self, dataset: str) -> int:
        """Shuffles of a set, which only methods with a smaller plan fall short of."""
        return max((len(self.shuffles(dataset, m)) for m in self.methods), default=0)

    def missing(self, methods: list[str]) -> list[tuple[str, str]]:
        """Sets and methods without a shuffle that counts."""
        return [
            (d, m) for d in self.expected for m in methods if not self.shuffles(d, m)
        ]

    def cell(self, dataset: str, method: str) -> Cell | None:
        """The shuffles of a method on a set that count, if there are any."""
        trials = self.shuffles(dataset, method)
        if not trials:
            return None
        cell = self.results.cells[dataset, method]
        return replace(cell, rows=tuple(r for r in cell.rows if r.trial in trials))

    def _share(self, dataset: str, method: str, trials: frozenset[int]) -> Fraction:
        counts = self._counts[dataset, method]
        hits = sum(counts[trial][0] for trial in trials)
        return Fraction(100 * hits, sum(counts[trial][1] for trial in trials))

    def accuracy(self, dataset: str, method: str) -> float:
        """Over the shuffles that count in %, NaN without any."""
        trials = self.shuffles(dataset, method)
        return float(self._share(dataset, method, trials)) if trials else np.nan

    def difference(self, dataset: str, first: str, second: str) -> Fraction:
        """Points of one method above another, exactly, where neither is missing."""
        trials = self.shuffles(dataset, first) & self.shuffles(dataset, second)
        share = self._share
        return share(dataset, first, trials) - share(dataset, second, trials)

    def _present(self, dataset: str, methods: list[str]) -> list[str]:
        return [m for m in methods if self.shuffles(dataset, m)]

    def is_best(self, dataset: str, method: str) -> bool:
        """Whether no other method is better on the shuffles that both have."""
        others = self._present(dataset, self.methods)
        return method in others and all(
            self.difference(dataset, method, m) >= 0 for m in others
        )

    def ranks(self, methods: list[str]) -> np.ndarray:
        """Ranks among some methods, of shape (n_datasets, n_methods).

        One more than the number of methods that are better, of those that are there;
        an equal one counts half. NaN where a method is missing.
        """
        found = np.full((len(self.datasets), len(methods)), np.nan)
        for i, dataset in enumerate(self.datasets):
            there = self._present(dataset, methods)
            for method in there:
                gaps = [self.difference(dataset, method, m) for m in there]
                better = sum(gap < 0 for gap in gaps)
                equal = sum(gap == 0 for gap in gaps) - 1  # it equals itself
                found[i, methods.index(method)] = 1 + better + equal / 2
        return found

    def mean_ranks(self, methods: list[str]) -> dict[str, tuple[float, int]]:
        """Mean rank over the sets that a method has, and their number; best first."""
        found = {}
        for method, ranks in zip(methods, self.ranks(methods).T, strict=True):
            own = ranks[np.isfinite(ranks)]
            if len(own):
                found[method] = float(own.mean()), len(own)
        return dict(sorted(found.items(), key=lambda item: item[1][0]))

    def rivals(self) -> dict[str, tuple[float, float]]:
        """Mean ranks of the recommended recipe and of each peer, where both are."""
        ours, *others = self.ranks(CONTENDERS).T
        found = {}
        for method, theirs in zip(CONTENDERS[1:], others, strict=True):
            both = np.isfinite(ours) & np.isfinite(theirs)
            if both.any():
                found[method] = float(ours[both].mean()), float(theirs[both].mean())
        return found

    def differences(self, peers: list[str]) -> dict[str, tuple[float, str]]:
        """By set: points of the recommended recipe above the best peer, and that."""
        found = {}
        for dataset in self._present_sets(RECOMMENDED):
            gaps = {
                m: self.difference(dataset, RECOMMENDED, m)
                for m in self._present(dataset, peers)
            }
            if gaps:
                best = min(gaps, key=gaps.__getitem__)
                found[dataset] = float(gaps[best]), best
        return found

    def _present_sets(self, method: str) -> list[str]:
        return [d for d in self.datasets if self.shuffles(d, method)]

    @property
    def timed(self) -> list[str]:
        """The sets on which training times are compared."""
        return [d for d in self.expected if SIZES[d][0] >= ROWS_FOR_TIMES]

    def time_ratios(self) -> dict[str, float]:
        """By set: training time of the recommended recipe over the timed peer's.

        Times of different folders do not compare, so only folds count whose rows are
        of the same one.
        """
        found = {}
        origins = self.results.origins
        for dataset in self.timed:
            ours = self.cell(dataset, RECOMMENDED)
            peer = self.cell(dataset, TIMED_PEER)
            if ours is None or peer is None:
                continue
            theirs = {(r.trial, r.fold): origins[r.key] for r in peer.rows}
            rows = tuple(
                r for r in ours.rows if theirs.get((r.trial, r.fold)) == origins[r.key]
            )
            ratio = replace(ours, rows=rows).time_ratio(peer)
            if ratio is not None:
                found[dataset] = ratio
        return found

    def versions(self) -> dict[str, list[str]]:
        """Versions of libraries as a text, and the methods computed with them."""
        found: dict[str, set[str]] = defaultdict(set)
        for row in self.results.rows:
            part = self.results.parts[self.results.origins[row.key]]
            text = ", ".join(f"{k} {v}" for k, v in part.run["versions"].items())
            found[text].add(row.method)
        return {
            text: [m for m in self.methods if m in methods]
            for text, methods in found.items()
        }
