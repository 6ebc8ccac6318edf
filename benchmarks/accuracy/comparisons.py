"""What the page and the pictures compare, computed from the rows of results."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from benchmarks.accuracy.calibration import calibration_error, perfect_error
from benchmarks.accuracy.honesty import Honesty, honesty
from benchmarks.accuracy.methods import (
    METHODS,
    PEERS,
    POWER,
    RECOMMENDED,
    TIMED_PEER,
    TUNED,
    TUNED_PEERS,
)
from benchmarks.accuracy.sets import NEW_DEVELOPMENT, SET_ASIDE, SETS, STUDY
from benchmarks.accuracy.study import shuffles, unpacked
from heterolda.experiments.ranks import Comparison, compare_ranks
from heterolda.experiments.results import Results, Row

# The recipe is ranked among these alone: our other methods, which are its variants,
# would push peers down the ranking.
CONTENDERS = [RECOMMENDED, *PEERS, *TUNED_PEERS]
ASIDE, DEVELOPMENT = "set aside", "development half"
HALVES = {
    ASIDE: SET_ASIDE,
    DEVELOPMENT: NEW_DEVELOPMENT,
    "study and scikit-learn": STUDY,
}
FEW_ROWS = 1000
# Fields of rows: what is compared first, and last the folder that a row is from.
HITS, LOSS = "n_correct", "log_loss"
FIELDS = (HITS, "n_test", LOSS, "fit_seconds", "origin")
PLACE = {method: k for k, method in enumerate(METHODS)}

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
    return Joined(first, tuple(rows.values()), run, tuple(parts), origins)


def covers(plan: dict[str, dict[str, int]]) -> bool:
    """Whether a plan is the full protocol or more."""
    return all(
        plan.get(dataset, {}).get(method, 0) >= shuffles(dataset, method)
        for dataset in SETS
        for method in METHODS
    )


class Lead(NamedTuple):
    """Points of the recommended recipe above a peer, and their standard error."""

    points: float
    error: float
    peer: str

    @property
    def is_loss(self) -> bool:
        """Whether the peer is ahead by more than two standard errors."""
        return self.points < -2 * self.error


class Against(NamedTuple):
    """The recommended recipe and a peer, on the sets that have both.

    Wilcoxon's signed-rank test over the sets is one-sided: a small `p_ours` says that
    ours is better, a small `p_peer` that the peer is.
    """

    sets: int
    won: int
    tied: int
    lost: int
    points: float
    p_ours: float
    p_peer: float
    ranks: tuple[float, ...]  # mean ranks of both
    means: tuple[float, ...]  # mean accuracies of both, or log losses


class Comparisons:
    """What the page and the pictures compare.

    Only whole shuffles count. Any two methods are compared on the shuffles that both
    have, by counts of hits, so that equal ones tie.

    Parameters
    ----------
    results : Results
        What was computed.
    development : bool
        Whether the sets that are set aside are left out.
    published : Results, default=None
        The recommended recipe by the protocol of published figures.
    """

    def __init__(
        self,
        results: Results,
        development: bool = False,
        published: Results | None = None,
    ):
        whole = results if isinstance(results, Joined) else joined([results])
        self.development = development
        hidden = SET_ASIDE if development else ()
        # A verdict needs the sets of the protocol, whether or not they were asked for.
        self.expected = [n for n in SETS if n not in hidden]
        self.datasets = [n for n in self.expected if n in whole.datasets]
        self.methods = [m for m in METHODS if m in whole.methods]
        # Nothing below sees a row of a set that is hidden.
        self.rows = [row for row in whole.rows if row.dataset in self.datasets]
        self.folds, self._whole = whole.folds, whole
        self._rivals: dict[tuple[str, ...], dict[str, Against]] = {}
        cells = published.cells if published else {}
        self.published = {
            d: float(cells[d, RECOMMENDED].accuracies.mean())
            for d in self.expected
            if (d, RECOMMENDED) in cells and cells[d, RECOMMENDED].complete
        }

    @property
    def halves(self) -> dict[str, list[str]]:
        """The sets by how they were used; a half without any is not there."""
        found = {
            title: [d for d in self.datasets if d in names]
            for title, names in HALVES.items()
        }
        return {title: names for title, names in found.items() if names}

    @cached_property
    def _figures(self) -> dict[str, dict[str, Any]]:
        """By set and field of a row: its value by method, shuffle and fold.

        NaN where there is none, and in shuffles that are not whole.
        """
        rows = defaultdict(list)
        for row in self.rows:
            rows[row.dataset].append(row)
        found = {}
        for dataset in self.datasets:
            trials = 1 + max((row.trial for row in rows[dataset]), default=0)
            values = np.full((len(FIELDS), len(METHODS), trials, self.folds), np.nan)
            for row in rows[dataset]:
                figures = [getattr(row, name) for name in FIELDS[:-1]]
                values[:, PLACE[row.method], row.trial, row.fold] = (
                    *figures,
                    self._whole.origins[row.key],
                )
            values[:, np.isnan(values[0]).any(axis=-1)] = np.nan
            found[dataset] = dict(zip(FIELDS, values, strict=True))
        return found

    def claims(self, names: list[str]) -> dict[str, Honesty]:
        """What the recommended recipe expects of itself, and what it does."""
        rows = (row for row in self.rows if row.dataset in names)
        return honesty(row for row in rows if row.method == RECOMMENDED)

    def n_shuffles(self, dataset: str, method: str) -> int:
        """Whole shuffles of a method on a set."""
        if dataset not in self.datasets:
            return 0
        hits = self._figures[dataset]["n_correct"][PLACE[method], :, 0]
        return int(np.isfinite(hits).sum())

    def most_shuffles(self, dataset: str) -> int:
        """Of the methods on a set, the largest number of whole shuffles."""
        return max((self.n_shuffles(dataset, m) for m in self.methods), default=0)

    def present(self, dataset: str, methods: list[str]) -> list[str]:
        """The methods that have a whole shuffle of a set."""
        return [m for m in methods if self.n_shuffles(dataset, m)]

    def missing(self, methods: list[str]) -> list[tuple[str, str]]:
        """Sets and methods that should have a whole shuffle, and have none."""
        return [
            (d, m)
            for d in self.expected
            for m in methods
            if shuffles(d, m) and not self.n_shuffles(d, m)
        ]

    def _totals(self, dataset: str, what: str) -> tuple[Any, Any]:
        """Hits in %, or log losses, and numbers of test rows, by method and shuffle."""
        rows, values = (self._figures[dataset][name] for name in ("n_test", what))
        values = values * (rows if what == LOSS else 100)
        return values.sum(axis=-1), rows.sum(axis=-1)

    def mean(self, dataset: str, method: str, what: str = HITS) -> float:
        """Accuracy in %, or log loss, over the whole shuffles; NaN without any."""
        values, rows = (x[PLACE[method]] for x in self._totals(dataset, what))
        there = np.isfinite(values)
        if not there.any():
            return math.nan
        return float(values[there].sum() / rows[there].sum())

    @cached_property
    def _gaps(self) -> dict[tuple[str, str], Any]:
        """By how much each method (row) is better than each other (column).

        By set and field, on the shuffles that both have; NaN where there are none.
        """
        found = {}
        for dataset, what in product(self.datasets, (HITS, LOSS)):
            values, rows = self._totals(dataset, what)
            gaps = values[:, None] - values
            both = np.isfinite(gaps)
            # Sums of whole numbers are exact, so that equal counts of hits tie.
            total = np.where(both, gaps, 0).sum(axis=-1) * (-1 if what == LOSS else 1)
            size = np.where(both, rows, 0).sum(axis=-1)
            found[dataset, what] = total / np.where(size, size, np.nan)
        return found

    def ranks(self, methods: list[str], datasets: list[str], what: str = HITS) -> Any:
        """Ranks among some methods, of shape (n_datasets, n_methods).

        One more than the number of methods that are better, of those that are there;
        an equal one counts half. NaN where a method is missing.
        """
        place = np.ix_(*2 * ([PLACE[m] for m in methods],))
        found = np.full((len(datasets), len(methods)), np.nan)
        for row, dataset in zip(found, datasets, strict=True):
            gaps = self._gaps[dataset, what][place]
            ranks = 0.5 + (gaps < 0).sum(axis=1) + (gaps == 0).sum(axis=1) / 2
            row[:] = np.where(np.isnan(np.diagonal(gaps)), np.nan, ranks)
        return found

    def mean_ranks(self, datasets: list[str], what: str = HITS) -> dict[str, float]:
        """Of the contenders, over the sets that a method has, if any; best first."""
        ranks = self.ranks(CONTENDERS, datasets, what)
        found = {
            method: float(np.nanmean(own))
            for method, own in zip(CONTENDERS, ranks.T, strict=True)
            if np.isfinite(own).any()
        }
        return dict(sorted(found.items(), key=lambda item: item[1]))

    def difference(self, dataset: str, peer: str, what: str = HITS) -> float:
        """Of the recommended recipe to a peer; NaN without a common shuffle."""
        return float(self._gaps[dataset, what][PLACE[RECOMMENDED], PLACE[peer]])

    def standard_error(self, dataset: str, peer: str) -> float:
        """Of the difference in points, over folds and shuffles.

        The variance over folds is corrected for the rows that training sets share: the
        factor is 1 / folds + test rows / training rows (Nadeau and Bengio, 2003).
        """
        figures = self._figures[dataset]
        shares = 100 * figures[HITS] / figures["n_test"]
        d = shares[PLACE[RECOMMENDED]] - shares[PLACE[peer]]
        d = d[np.isfinite(d)]
        return float(np.sqrt(d.var(ddof=1) * (1 / len(d) + 1 / (self.folds - 1))))

    def lead(self, dataset: str, peers: list[str]) -> Lead | None:
        """Of the recommended recipe over the best peer of a set, if both are there."""
        gaps = {m: self.difference(dataset, m) for m in peers}
        gaps = {m: gap for m, gap in gaps.items() if not math.isnan(gap)}
        if not gaps:
            return None
        best = min(gaps, key=gaps.__getitem__)
        return Lead(gaps[best], self.standard_error(dataset, best), best)

    def leads(self, peers: list[str]) -> dict[str, Lead]:
        """Over the best peer, by set."""
        found = {d: self.lead(d, peers) for d in self.datasets}
        return {d: lead for d, lead in found.items() if lead}

    def loss(self, dataset: str) -> Lead | None:
        """Of the peers ahead by more than two standard errors, the one furthest."""
        found = [lead for m in CONTENDERS[1:] if (lead := self.lead(dataset, [m]))]
        return min((lead for lead in found if lead.is_loss), default=None)

    def rivals(self, datasets: list[str], what: str = HITS) -> dict[str, Against]:
        """Against each peer, on the sets that have both, if there are any."""
        key = what, *datasets
        if key not in self._rivals:
            self._rivals[key] = self._compared(datasets, what)
        return self._rivals[key]

    def _compared(self, datasets: list[str], what: str) -> dict[str, Against]:
        cells = list(product(datasets, CONTENDERS))
        shape = len(datasets), len(CONTENDERS)
        # Rounded, so that equal differences on sets of other sizes tie.
        gaps = np.round([self.difference(d, m, what) for d, m in cells], 9)
        means = np.reshape([self.mean(d, m, what) for d, m in cells], shape)
        ranks = self.ranks(CONTENDERS, datasets, what)
        found = {}
        for k, column in enumerate(gaps.reshape(shape).T):
            both = np.isfinite(column)
            d = column[both]
            if k and len(d):
                found[CONTENDERS[k]] = Against(
                    *(len(d), *(int(np.sum(x)) for x in (d > 0, d == 0, d < 0))),
                    *(float(d.mean()), p_value(d), p_value(-d)),
                    *(tuple(x[both][:, [0, k]].mean(axis=0)) for x in (ranks, means)),
                )
        return found

    def rank_diagrams(self) -> dict[str, Comparison]:
        """Ranks of the recommended recipe among the best variants of each peer.

        Over all sets, and over those that are set aside, as far as all of them are
        there; the variants are those with the best mean ranks over all sets.
        """
        best: dict[str, str] = {}
        for method in self.mean_ranks(self.datasets):
            best.setdefault(method.removesuffix(POWER).removesuffix(TUNED), method)
        shown, found = list(best.values()), {}
        groups = {"all": self.datasets, ASIDE: self.halves.get(ASIDE, [])}
        for title, names in groups.items():
            whole = [d for d in names if self.present(d, shown) == shown]
            if RECOMMENDED in shown and len(shown) > 1 and len(whole) > 1:
                found[title] = compare_ranks(shown, -self.ranks(shown, whole))
        return found

    def time_ratio(self, dataset: str, method: str) -> float:
        """Training time over that of the timed peer, the median over folds.

        Times of different runs do not compare, so only folds of one folder count; NaN
        without any.
        """
        seconds = self._figures[dataset]["fit_seconds"]
        origin = self._figures[dataset]["origin"]
        k, peer = PLACE[method], PLACE[TIMED_PEER]
        same = (origin[k] == origin[peer]) & (seconds[peer] > 0)
        ratios = seconds[k][same] / seconds[peer][same]
        return float(np.median(ratios)) if len(ratios) else math.nan

    @cached_property
    def _forecasts(self) -> dict[tuple[str, str], tuple[Any, Any]]:
        parts = defaultdict(list)
        for row in self.rows:
            if row.forecasts:
                parts[row.dataset, row.method].append(unpacked(row.forecasts))
        return {
            key: tuple(map(np.concatenate, zip(*found, strict=True)))
            for key, found in parts.items()
        }

    @cached_property
    def calibration_errors(self) -> dict[tuple[str, str], float]:
        """By set and method, of the forecasts of all folds and shuffles together."""
        return {
            key: calibration_error(top, hits)
            for key, (top, hits) in self._forecasts.items()
        }

    @cached_property
    def perfect_errors(self) -> dict[str, float]:
        """By set: the same if the recommended recipe's probabilities were true."""
        return {
            dataset: perfect_error(top)
            for (dataset, method), (top, _) in self._forecasts.items()
            if method == RECOMMENDED
        }

    def with_probabilities(self, methods: list[str]) -> list[str]:
        """The methods that forecast probabilities."""
        there = {method for _, method in self._forecasts}
        return [m for m in methods if m in there]

    def warnings(self, method: str) -> int:
        """Number of convergence warnings."""
        return sum(row.n_warnings for row in self.rows if row.method == method)

    def versions(self) -> dict[str, list[str]]:
        """Versions of libraries as a text, and the methods computed with them."""
        found: dict[str, set[str]] = defaultdict(set)
        for row in self.rows:
            part = self._whole.parts[self._whole.origins[row.key]]
            text = ", ".join(f"{k} {v}" for k, v in part.run["versions"].items())
            found[text].add(row.method)
        return {
            text: [m for m in self.methods if m in methods]
            for text, methods in found.items()
        }


def p_value(d: Any) -> float:
    """One-sided p-value of Wilcoxon's signed-rank test: small if `d` is positive.

    Exact for every number of differences, with ties too; those of zero do not count.
    """
    d = d[d != 0]
    ranks = (2 * rankdata(np.abs(d))).astype(int)  # twice, so that they are whole
    chances = np.zeros(ranks.sum() + 1)
    chances[0] = 1
    for rank in ranks:
        chances = (chances + np.roll(chances, rank)) / 2
    return float(min(1, chances[ranks[d > 0].sum() :].sum()))
