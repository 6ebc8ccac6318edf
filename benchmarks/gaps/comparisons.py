"""EM against each peer over the sets, computed from the results."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from benchmarks.gaps.methods import EM, METHODS, PEERS
from benchmarks.gaps.regimes import REGIMES
from benchmarks.gaps.study import Results

ACCURACY, LOSS = "accuracy", "log_loss"
# The mean over the ways of removing values.
OVERALL = "all four"


class Against(NamedTuple):
    """EM and a peer, on the sets that have both.

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
    """Figures by set and method, in one way of removing values or over all of them.

    Parameters
    ----------
    results : dict
        Records by set, way of removing values and method.
    """

    def __init__(self, results: Results):
        self.results = results
        self.sets = list(dict.fromkeys(key[0] for key in results))
        there = {key[2] for key in results}
        self.methods = [m for m in METHODS if m in there]
        self.peers = [m for m in PEERS if m in there]

    def table(self, regime: str, what: str) -> Any:
        """Of shape (n_sets, n_methods), NaN where there is none."""
        regimes = REGIMES if regime == OVERALL else (regime,)
        empty = {what: np.nan}
        values = [
            [
                [self.results.get((s, r, m), empty)[what] for m in self.methods]
                for s in self.sets
            ]
            for r in regimes
        ]
        return np.mean(np.reshape(values, (len(regimes), len(self.sets), -1)), axis=0)

    def whole(self, regime: str, what: str) -> Any:
        """The sets that have every method."""
        table = self.table(regime, what)
        return table[np.isfinite(table).all(axis=1)]

    def means(self, regime: str, what: str) -> dict[str, float]:
        """Mean over the sets that have every method, by method."""
        table = self.whole(regime, what)
        return dict(zip(self.methods, table.mean(axis=0), strict=True))

    def ranks(self, regime: str, what: str) -> dict[str, float]:
        """Mean rank over the sets that have every method; 1 is the best."""
        ranks = _ranks(self.whole(regime, what), what)
        return dict(zip(self.methods, ranks, strict=True))

    def gains(self, regime: str, what: str, peer: str) -> Any:
        """By how much EM is better on each set, NaN where one is missing.

        Rounded, so that equal differences tie.
        """
        if EM not in self.methods:
            return np.full(len(self.sets), np.nan)
        ours, theirs = (self.methods.index(m) for m in (EM, peer))
        table = self.table(regime, what) * (1 if what == ACCURACY else -1)
        return np.round(table[:, ours] - table[:, theirs], 9)

    def against(self, regime: str, what: str, peer: str) -> Against | None:
        """EM and a peer, on the sets that have both, if there are any."""
        gains = self.gains(regime, what, peer)
        both = np.isfinite(gains)
        if not both.any():
            return None
        d = gains[both]
        pair = [self.methods.index(m) for m in (EM, peer)]
        table = self.table(regime, what)[both][:, pair]
        return Against(
            *(len(d), *(int(np.sum(x)) for x in (d > 0, d == 0, d < 0))),
            *(float(d.mean()), p_value(d), p_value(-d)),
            *(tuple(_ranks(table, what)), tuple(table.mean(axis=0))),
        )

    def time_ratios(self, method: str, what: str, peer: str) -> list[float]:
        """Times of a method over those of a peer, where both are there."""
        return [
            one[what] / max(self.results[s, r, peer][what], 1e-9)
            for (s, r, m), one in self.results.items()
            if m == method and (s, r, peer) in self.results
        ]

    def losses(self) -> list[tuple[float, str, str, str]]:
        """Points that EM is behind, set, way and peer, of the best peer; most first."""
        found = []
        for regime in REGIMES:
            gains = {p: self.gains(regime, ACCURACY, p) for p in self.peers}
            for k, name in enumerate(self.sets):
                here = [(gains[p][k], p) for p in self.peers if gains[p][k] < 0]
                if here:
                    gain, peer = min(here)
                    found.append((float(gain), name, regime, peer))
        return sorted(found)


def _ranks(table: Any, what: str) -> Any:
    """Mean rank of each column; rounded figures, so that equal ones tie."""
    sign = -1 if what == ACCURACY else 1
    return rankdata(np.round(sign * table, 9), axis=1).mean(axis=0)


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
