"""Tables and pictures of the studies, from the lines of results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata, wilcoxon

from benchmarks.held_out.runner import Line, Study
from benchmarks.pages import (
    OURS,
    PEER,
    canvas,
    dots,
    holm,
    in_order,
    png,
    section_table,
)


class Figures:
    """The lines of one study."""

    def __init__(self, study: Study, lines: Sequence[Line]) -> None:
        self.methods = study.methods
        of_study = [line for line in lines if line.study == study.name]
        self.lines = {(x.set, x.condition, x.method): x for x in of_study}
        self.conditions = list(dict.fromkeys(line.condition for line in of_study))
        self.sizes = {line.set: line.size for line in of_study}

    def complete(self, condition: str) -> list[str]:
        """Return the sets on which every method has a figure."""
        return [
            name
            for name in self.sizes
            if all((name, condition, m) in self.lines for m in self.methods)
        ]

    def column(self, condition: str, method: str) -> np.ndarray:
        """Return the accuracies of a method on the complete sets."""
        names = self.complete(condition)
        return np.array([self.lines[n, condition, method].accuracy for n in names])

    def means(self) -> str:
        """Return means over sets, and mean ranks, by method and condition."""
        columns = []
        for condition in self.conditions:
            values = np.array([self.column(condition, m) for m in self.methods])
            ranks = rankdata(np.round(-values, 6), axis=0).mean(axis=1)
            means = [f"{mean:.1f}" for mean in values.mean(axis=1)]
            best = max(means, key=float)
            columns.append(
                [
                    (f"**{mean}**" if mean == best else mean) + f" ({rank:.1f})"
                    for mean, rank in zip(means, ranks, strict=True)
                ]
            )
        rows = list(zip(self.methods, *columns, strict=True))
        return section_table("|".join(["method", *self.conditions]), rows)

    def tests(self, sets: Sequence[str] | None = None) -> str:
        """Return mean leads of the first method, sets won and lost, and p.

        The p-values are Wilcoxon's, with Holm's correction for all other methods.
        """
        columns = []
        for condition in self.conditions:
            names = self.complete(condition)
            keep = [sets is None or name in sets for name in names]
            ours = self.column(condition, self.methods[0])[keep]
            leads = [
                np.round(ours - self.column(condition, method)[keep], 6)
                for method in self.methods[1:]
            ]
            p = holm([wilcoxon(x).pvalue if x.any() else 1.0 for x in leads])
            columns.append(
                [
                    f"{x.mean():+.1f}, {(x > 0).sum()} : {(x < 0).sum()}, "
                    + f"{value:.1g}".replace("e-0", "e-")
                    for x, value in zip(leads, p, strict=True)
                ]
            )
        rows = list(zip(self.methods[1:], *columns, strict=True))
        return section_table("|".join(["compared with", *self.conditions]), rows)

    def versus(self, condition: str, method: str) -> str:
        """Return sentences on the leads over a method, and what the last one loses."""
        lines = {
            name: line
            for name in self.sizes
            if (line := self.lines.get((name, condition, method)))
        }
        clear = {n: x for n, x in lines.items() if abs(x.behind) > 2 * x.error}
        won = [n for n, x in clear.items() if x.behind > 0]
        lost = [n for n, x in clear.items() if x.behind < -1.5]
        worst = min(lines, key=lambda name: lines[name].behind)
        pure = {
            name: line
            for name in lines
            if (line := self.lines.get((name, condition, self.methods[-1])))
        }
        losses = {n: lines[n].accuracy - x.accuracy for n, x in pure.items()}
        bad = [n for n, x in losses.items() if x > 1.5]
        most = max(losses, key=losses.__getitem__)
        return (
            f"On {len(lines)} sets the default is more accurate than {method} by more "
            f"than two standard errors on {len(won)}, and less accurate by more than "
            f"1.5 points and two standard errors on {len(lost) or 'none'}. Its "
            f"largest loss is {-lines[worst].behind:.1f} points, on {worst}. Where "
            f"the model alone chooses, it is behind {method} by more than 1.5 "
            f"points on {len(bad)} sets, most on {most}: {pure[most].accuracy:.1f} "
            f"instead of {lines[most].accuracy:.1f} %."
        )

    def each_set(self, condition: str) -> str:
        """Return accuracies on every set."""
        rows = []
        for name, size in self.sizes.items():
            actual = [self.lines.get((name, condition, m)) for m in self.methods]
            cells = ["-" if x is None else f"{x.accuracy:.1f}" for x in actual]
            rows.append((name, size, *cells))
        return section_table("|".join(["set", "size", *self.methods]), rows)

    def picture_of_leads(self, condition: str, method: str) -> bytes:
        """Draw the leads over a method, the sets in order."""
        leads = {
            name: (line.behind, 2 * np.nan_to_num(line.error))
            for name in self.sizes
            if (line := self.lines.get((name, condition, method)))
        }
        figure, panels = canvas(3.6)
        in_order(panels[0, 0], leads)
        panels[0, 0].set_ylabel(f"points above {method}")
        panels[0, 0].set_xlabel(f"{len(leads)} data sets, in order")
        return png(figure)

    def picture_of_means(self) -> bytes:
        """Draw the mean accuracies of all methods, a panel for each condition."""
        n = len(self.conditions)
        figure, panels = canvas(n * (0.5 + 0.22 * len(self.methods)), n, sharex=True)
        for panel, condition in zip(panels[:, 0], self.conditions, strict=True):
            means = {m: float(self.column(condition, m).mean()) for m in self.methods}
            colors = {m: OURS if m == self.methods[0] else PEER for m in means}
            values = {m: (x, f"{x:.1f}", colors[m]) for m, x in means.items()}
            dots(panel, values)
            panel.set_title(condition, fontsize=10, loc="left")
            panel.margins(x=0.12)
        panels[-1, 0].set_xlabel("mean accuracy in % on rows held out")
        return png(figure)
