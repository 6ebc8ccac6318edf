"""The tables and the picture of docs/accuracy.md, from the lines of results."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, wilcoxon

from benchmarks.accuracy.methods import FOREST, GLD, METHODS, PEERS, SMOOTHED
from benchmarks.accuracy.sets import SETS, SIZES
from benchmarks.pages import (
    OURS,
    PEER,
    canvas,
    holm,
    listed,
    origin,
    png,
    publish,
    section_table,
)
from heterolda.experiments.ranks import critical_difference

LINEAR = [SMOOTHED, GLD, *PEERS]
# Training times are compared with this one.
TIMED = "OvO-LinearSVC-tuned"
FOLDS = 5
# The best accuracies in % of the linear classifiers of Fernandez-Delgado et al. (2014).
PUBLISHED = {
    "abalone_3class": 65.5,
    "cardiotocography_10": 82.4,
    "cardiotocography_3": 90.4,
    "ecoli": 90.9,
    "german_credit": 79.0,
    "haberman": 75.2,
    "libras": 80.3,
    "mammographic": 82.6,
    "page_blocks": 96.7,
    "ringnorm": 98.6,
    "seeds": 97.2,
    "semeion": 95.8,
    "spectf": 92.0,
    "steel_plates": 72.4,
    "twonorm": 97.9,
    "vertebral_2c": 86.5,
    "vertebral_3c": 87.4,
    "wall_following_24": 73.8,
    "waveform": 87.0,
    "waveform_noise": 87.4,
    "wine_red": 60.8,
}


@dataclass(frozen=True)
class Results:
    """The lines of all methods on all sets.

    Attributes
    ----------
    lines : dict
        The lines by set, method and shuffle.
    """

    lines: dict[tuple[str, str, int], dict[str, str]]

    @cached_property
    def sets(self) -> list[str]:
        """Sets in the order of the page."""
        names = {name for name, _, _ in self.lines}
        return [name for name in SETS if name in names]

    @cached_property
    def hits(self) -> dict[tuple[str, str], Any]:
        """Shares of correct rows in %, one for each fold of each shuffle."""
        actual = defaultdict(list)
        for (name, method, _), line in sorted(self.lines.items()):
            actual[name, method] += list(map(int, line["correct"].split()))
        size = {name: SIZES[name][0] / FOLDS for name in self.sets}
        return {key: 100 * np.array(n) / size[key[0]] for key, n in actual.items()}

    def accuracy(self, method: str) -> Any:
        """Return the accuracies in % of a method on all sets."""
        return np.array([self.hits[name, method].mean() for name in self.sets])

    def number(self, method: str, field: str) -> Any:
        """Return the means of a field over shuffles on all sets; NaN if empty."""
        actual = defaultdict(list)
        for (name, one, _), line in self.lines.items():
            if one == method:
                actual[name].append(float(line[field] or "nan"))
        return np.array([np.mean(actual[name]) for name in self.sets])

    def lead(self, name: str, method: str) -> tuple[float, float]:
        """Return points of the smoothed discriminant above a method, and their error.

        With the correction of Nadeau and Bengio (2003) for shared training rows.
        """
        d = self.hits[name, SMOOTHED] - self.hits[name, method]
        variance = d.var(ddof=1) * (1 / len(d) + 1 / (FOLDS - 1))
        return float(d.mean()), float(np.sqrt(variance))

    def best_peer(self, name: str) -> str:
        """Return the most accurate peer on a set."""
        return max(PEERS, key=lambda method: float(self.hits[name, method].mean()))

    @cached_property
    def ranks(self) -> dict[str, float]:
        """Mean ranks of the linear methods, by accuracy."""
        table = np.column_stack([self.accuracy(method) for method in LINEAR])
        return dict(zip(LINEAR, rankdata(-table, axis=1).mean(axis=0), strict=True))


def methods_table(r: Results) -> str:
    """Return mean ranks, accuracies, losses, tests and times of all methods."""
    ours = r.accuracy(SMOOTHED)
    p = {m: float(wilcoxon(ours, r.accuracy(m)).pvalue) for m in PEERS}
    corrected = dict(zip(p, holm(list(p.values())), strict=True))
    time = r.number(TIMED, "seconds")
    rows = []
    for method in sorted(METHODS, key=lambda m: r.ranks.get(m, np.inf)):
        accuracy = r.accuracy(method)
        loss = r.number(method, "log_loss").mean()
        ratio = np.median(r.number(method, "seconds") / time)
        better = np.sum(ours > accuracy), np.sum(ours < accuracy)
        rows.append(
            (
                f"**{method}**" if method in (SMOOTHED, GLD) else method,
                f"{r.ranks[method]:.2f}" if method in r.ranks else "",
                f"{accuracy.mean():.2f}",
                "" if np.isnan(loss) else f"{loss:.3f}",
                "" if method == SMOOTHED else "{} : {}".format(*better),
                f"{corrected[method]:.1g}" if method in p else "",
                "" if np.isnan(ratio) else f"{ratio:.2g}",
            )
        )
    return section_table("method|mean rank|accuracy|log loss|sets won|p|time", rows)


def sets_table(r: Results) -> str:
    """Return the accuracies on each set, and the lead over its best peer."""
    shown = [SMOOTHED, GLD, "LDA", "logistic", TIMED, FOREST]
    rows = []
    for name in r.sets:
        best = max(r.hits[name, m].mean() for m in LINEAR)
        cells = [
            f"**{x:.1f}**" if x == best else f"{x:.1f}"
            for x in (r.hits[name, m].mean() for m in shown)
        ]
        n, d, k = SIZES[name]
        peer = r.best_peer(name)
        points, error = r.lead(name, peer)
        rows.append(
            (
                *(name, f"{n:,} x {d}, {k}", *cells),
                f"{points:+.1f} ± {2 * error:.1f} ({peer})",
            )
        )
    return section_table("set|size|" + "|".join(shown) + "|above the best peer", rows)


def published(r: Results) -> str:
    """Return sentences that compare our figures with published ones."""
    leads = {
        name: r.hits[name, SMOOTHED].mean() - best for name, best in PUBLISHED.items()
    }
    ahead = sum(lead > 0 for lead in leads.values())
    worst = sorted(leads, key=leads.__getitem__)[:2]
    return (
        f"On {len(leads)} of these sets they are ahead on {len(leads) - ahead} and "
        f"`SmoothedLinearDiscriminant()` on {ahead}; the median difference is "
        f"{np.median(list(leads.values())):+.1f} points. We lose most on "
        + " and ".join(f"{name} ({leads[name]:+.1f})" for name in worst)
        + "."
    )


def summary(r: Results) -> str:
    """Return the figures of the first paragraph."""
    best = min(PEERS, key=r.ranks.__getitem__)
    distance = critical_difference(len(LINEAR), len(r.sets))
    same = [m for m in LINEAR if 0 < r.ranks[m] - r.ranks[SMOOTHED] < distance]
    lost = {name: r.lead(name, r.best_peer(name)) for name in r.sets}
    clear = [name for name, (x, e) in lost.items() if x < -2 * e]
    joined = listed(same) if same else "none"
    friedman = friedmanchisquare(*(r.accuracy(m) for m in LINEAR))
    tests = f"Nemenyi, 5 %; Friedman's test p = {friedman.pvalue:.1g}"
    means = {m: f"{r.accuracy(m).mean():.2f} %" for m in LINEAR}
    return (
        f"On {len(r.sets)} sets, `SmoothedLinearDiscriminant()` has a mean rank of "
        f"{r.ranks[SMOOTHED]:.2f} among {len(LINEAR)} linear methods; the best "
        f"peer, {best}, has {r.ranks[best]:.2f}. The critical difference is "
        f"{distance:.2f} ({tests}): {joined} are within it. Mean accuracies are "
        f"{means[SMOOTHED]} and {means[best]}; GLD has {means[GLD]}, "
        f"LDA {means['LDA']}. **Others win, too**: the best peer of a set, "
        "picked after the fact, is ahead on "
        f"{sum(x < 0 for x, _ in lost.values())} sets, by more than two standard "
        f"errors on {listed(clear) or 'none'}."
    )


def picture(r: Results) -> bytes:
    """Return mean ranks, and the lead over each peer on every set."""
    names = sorted(LINEAR, key=r.ranks.__getitem__)
    figure, panels = canvas(0.34 * len(names) + 1.0)
    panel = panels[0, 0]
    distance = critical_difference(len(names), len(r.sets))
    for place, name in enumerate(names):
        color = OURS if name in (SMOOTHED, GLD) else PEER
        panel.plot(r.ranks[name], place, "o", color=color)
        panel.text(r.ranks[name] + 0.2, place, name, va="center", color=color)
    first = r.ranks[SMOOTHED]
    panel.axvspan(first, first + distance, color=OURS, alpha=0.08, linewidth=0)
    panel.set_yticks([])
    panel.invert_yaxis()
    panel.set_xlim(first - 0.7, len(names) + 1.5)
    panel.set_xlabel("mean rank (1 is best); shaded: one critical difference")
    return png(figure)


def parts(lines: dict[tuple[str, str, int], dict[str, str]]) -> dict[str, str]:
    """Return the parts of the page."""
    r = Results(lines)
    return {
        "accuracy": summary(r),
        "methods": methods_table(r),
        "sets": sets_table(r),
        "published": published(r),
        "accuracy, machine": origin("accuracy", "Methods and sets"),
    }


def write(lines: dict[tuple[str, str, int], dict[str, str]]) -> None:
    """Write the tables of the page, and its picture."""
    publish("accuracy", parts(lines), {"accuracy.png": picture(Results(lines))})
