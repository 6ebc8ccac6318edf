"""Tables and pictures of the studies, from the lines of results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata, wilcoxon

from benchmarks.held_out.runner import Line, Study
from benchmarks.pages import OURS, PEER, bars, canvas, in_order, png, section_table


class Figures:
    """The lines of one study."""

    def __init__(self, study: Study, lines: Sequence[Line]) -> None:
        self.methods = study.methods
        mine = [line for line in lines if line.study == study.name]
        self.lines = {(x.set, x.condition, x.method): x for x in mine}
        self.conditions = list(dict.fromkeys(line.condition for line in mine))
        self.sizes = {line.set: line.size for line in mine}

    def complete(self, condition: str) -> list[str]:
        """Return the sets on which every method has a figure."""
        return [
            name
            for name in self.sizes
            if all((name, condition, m) in self.lines for m in self.methods)
        ]

    def column(
        self, condition: str, method: str, field: str = "accuracy"
    ) -> np.ndarray:
        """Return a figure of a method on the complete sets."""
        names = self.complete(condition)
        lines = [self.lines[name, condition, method] for name in names]
        return np.array([getattr(line, field) for line in lines])

    def means(self, field: str = "accuracy") -> str:
        """Return means over sets, and mean ranks, by method and condition."""
        digits, sign = (1, -1) if field == "accuracy" else (3, 1)
        columns = []
        for condition in self.conditions:
            values = np.array([self.column(condition, m, field) for m in self.methods])
            ranks = rankdata(np.round(sign * values, 6), axis=0).mean(axis=1)
            means = [f"{mean:.{digits}f}" for mean in values.mean(axis=1)]
            best = min(means, key=lambda text: sign * float(text))
            columns.append(
                [
                    (f"**{mean}**" if mean == best else mean) + f" ({rank:.1f})"
                    for mean, rank in zip(means, ranks, strict=True)
                ]
            )
        rows = list(zip(self.methods, *columns, strict=True))
        return section_table("|".join(["method", *self.conditions]), rows)

    def tests(self) -> str:
        """Return mean leads of the first method, sets won and lost, and p."""
        rows = []
        for method in self.methods[1:]:
            cells = []
            for condition in self.conditions:
                ours = self.column(condition, self.methods[0])
                lead = np.round(ours - self.column(condition, method), 6)
                p = wilcoxon(lead).pvalue if lead.any() else 1.0
                won, lost = (lead > 0).sum(), (lead < 0).sum()
                small = f"{p:.0g}".replace("e-0", "e-")
                cells.append(f"{lead.mean():+.1f} {won}:{lost} {small}")
            rows.append((method, *cells))
        return section_table("|".join(["against", *self.conditions]), rows)

    def each_set(self, condition: str, compared: Sequence[str]) -> str:
        """Return accuracies on every set, and leads of ours over some methods."""
        rows = []
        for name, size in self.sizes.items():
            found = [self.lines.get((name, condition, m)) for m in self.methods]
            cells = ["-" if x is None else f"{x.accuracy:.1f}" for x in found]
            leads = [self.lines.get((name, condition, m)) for m in compared]
            cells += ["-" if x is None else _with_error(x) for x in leads]
            rows.append((name, size, *cells))
        head = ["set", "size", *self.methods]
        head += [f"{self.methods[0]} - {method}" for method in compared]
        return section_table("|".join(head), rows)

    def by_condition(self) -> str:
        """Return accuracies on every set under every condition."""
        rows = []
        for name in self.sizes:
            for condition in self.conditions:
                found = [self.lines[name, condition, m].accuracy for m in self.methods]
                rows.append((name, condition, *(f"{x:.1f}" for x in found)))
        return section_table("|".join(["set", "", *self.methods]), rows)

    def picture_of_leads(self, condition: str, method: str) -> bytes:
        """Draw the leads over a method, the sets in order."""
        leads = {
            name: (line.behind, 2 * np.nan_to_num(line.error))
            for name in self.sizes
            if (line := self.lines.get((name, condition, method)))
        }
        figure, panels = canvas(3.6)
        in_order(panels[0, 0], leads, "")
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
            bars(panel, values, dots=True)
            panel.set_title(condition, fontsize=10, loc="left")
            panel.margins(x=0.12)
        panels[-1, 0].set_xlabel("mean accuracy in % on rows held out")
        return png(figure)


def _with_error(line: Line) -> str:
    error = "" if np.isnan(line.error) else f" ± {line.error:.1f}"
    return f"{line.behind:+.1f}{error}"
