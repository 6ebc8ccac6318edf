"""Tables 2, 3 and 4 of the paper from the results of a study, compared with its own."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from heterolda.experiments import paper
from heterolda.experiments.results import Cell, Results
from heterolda.foundations.wording import text_table

__all__ = ["FORMATS", "Table", "make_table", "render_table"]

FEWER, MISSING = "†", "–"
LEGEND = f"* best of its line; {MISSING} no result"
# The method that times are compared with, where a study has it.
_PEER = "pairwise-lda"
_WIDTH = 88
_PANEL = 5  # methods next to each other on a terminal

Figures = dict[str, float]  # by method


class Line(NamedTuple):
    """A line of figures of a data set.

    `digits` are decimal places; None means three significant digits.
    """

    heading: str
    figures: Figures
    digits: int | None = None

    def text(self, method: str) -> str:
        """Return a figure as it is printed."""
        value, digits = self.figures[method], self.digits
        if digits is None:
            size = math.floor(math.log10(abs(value))) if value else 0
            digits = max(0, 2 - size)
        text = f"{value:{'+' if self.heading == 'difference' else ''}.{digits}f}"
        return text if float(text) else text.lstrip("+-")


@dataclass(frozen=True)
class Table:
    """A table of a study: lines of figures for each data set, the main one first."""

    number: int  # the paper's
    title: str
    caption: str
    methods: list[str]
    rows: dict[str, list[Line]]
    best: dict[str, set[str]]  # methods with the best figure of a data set
    fewer: set[tuple[str, str]]  # data sets and methods with fewer folds than others
    notes: list[str]

    def body(self, emphasized: Callable[[str], str]) -> list[list[str]]:
        """Return rows of text: data set, line, and an entry for each method."""
        rows = []
        for dataset, (main, *others) in self.rows.items():
            name = f"{dataset} {paper.printed_letter(dataset)}".rstrip()
            rows.append([name, main.heading, *self._main(dataset, main, emphasized)])
            for line in others:
                texts = [
                    line.text(m) if m in line.figures else "" for m in self.methods
                ]
                rows.append(["", line.heading, *texts])
        return rows

    def _main(
        self, dataset: str, line: Line, emphasized: Callable[[str], str]
    ) -> list[str]:
        """Return the entries of the main line of a data set, with signs."""
        entries = []
        for method in self.methods:
            text = line.text(method) if method in line.figures else MISSING
            if method in self.best[dataset]:
                text = emphasized(text)
            elif (dataset, method) in self.fewer:
                text += FEWER
            entries.append(text)
        return entries


class _Kind(NamedTuple):
    """Content of a table; `lines` takes cells and printed figures by method."""

    title: str
    caption: str
    lines: Callable[[dict[str, Cell], Figures, str], list[Line]]
    best: Callable[..., str]  # min or max


def _bayes_errors(cells: dict[str, Cell], printed: Figures, peer: str) -> list[Line]:
    errors = _numbers({m: cell.bayes_error for m, cell in cells.items()})
    scaled = {m: 1000 * error / cells[m].n for m, error in errors.items() if printed}
    return [
        Line("ours, %", {m: 100 * error for m, error in errors.items()}, 3),
        Line("ours x 10/n", scaled, 4),
        *_compared(scaled, printed, 4),
    ]


def _accuracies(cells: dict[str, Cell], printed: Figures, peer: str) -> list[Line]:
    trials = {method: cell.accuracies for method, cell in cells.items()}
    means = {m: float(values.mean()) for m, values in trials.items()}
    spread = {m: float(v.std(ddof=1)) for m, v in trials.items() if len(v) > 1}
    return [
        Line("ours", means, 2),
        Line("std. dev.", spread, 2),
        *_compared(means, printed, 2),
    ]


def _times(cells: dict[str, Cell], printed: Figures, peer: str) -> list[Line]:
    other = cells.get(peer)
    ratios = _numbers({m: c.time_ratio(other) for m, c in cells.items() if other})
    theirs = {
        m: printed[m] / printed[peer] for m in ratios if {m, peer} <= printed.keys()
    }
    return [
        Line("ours", ratios),
        Line("paper", theirs),
        Line("ours / paper", {m: ratios[m] / ratio for m, ratio in theirs.items()}),
    ]


def _numbers(figures: Figures) -> Figures:
    return {method: value for method, value in figures.items() if value == value}


def _compared(ours: Figures, printed: Figures, digits: int) -> list[Line]:
    """Return the lines of the paper's figures, and of the differences from them."""
    differences = {m: ours[m] - printed[m] for m in ours if m in printed}
    return [
        Line("paper", {m: printed[m] for m in differences}, digits),
        Line("difference", differences, digits),
    ]


_KINDS = {
    2: _Kind(
        "Mean Bayes error of the pairs of classes",
        "The error that the fitted Gaussian model predicts for its rules, averaged "
        "over pairs, folds and trials, in %; for sets of the paper also times 10/n, as "
        "there. No rows are counted.",
        _bayes_errors,
        min,
    ),
    3: _Kind(
        "Accuracy on the test folds, in %",
        "Share of the held-out rows of a trial that are classified correctly: mean and "
        "standard deviation over trials.",
        _accuracies,
        max,
    ),
    4: _Kind(
        "Training time, as a ratio to {peer}",
        "Training time of a method divided by that of {peer} on the same fold of the "
        "same run: the median over all folds and trials.",
        _times,
        min,
    ),
}


def make_table(results: Results, number: int) -> Table:
    """Make a table of a study, by the paper's number.

    Methods without a figure are left out. Figures of fewer folds than others are marked
    and do not count among the best.
    """
    if number not in _KINDS:
        raise ValueError(f"table must be one of {list(_KINDS)}, got {number!r}")
    kind = _KINDS[number]
    peer = _PEER if _PEER in results.methods else next(iter(results.methods), "")
    rows, best = {}, {}
    for dataset in results.datasets:
        cells = {m: cell for (d, m), cell in results.cells.items() if d == dataset}
        main, *others = kind.lines(cells, paper.printed_row(number, dataset), peer)
        rows[dataset] = [main, *(line for line in others if line.figures)]
        texts = {m: main.text(m) for m in main.figures if cells[m].complete}
        goal = kind.best(texts.values(), key=float, default="")
        best[dataset] = {method for method, text in texts.items() if text == goal}
    shown = {method for main, *_ in rows.values() for method in main.figures}
    methods = [method for method in results.methods if method in shown]
    fewer = {
        (d, m): f"{m} on {d} ({len(cell.rows)} of {cell.n_folds})"
        for (d, m), cell in results.cells.items()
        if not cell.complete and m in shown
    }
    title, caption = (text.format(peer=peer) for text in kind[:2])
    notes = paper.slips(number, results.datasets)
    if fewer:
        notes = [
            f"{FEWER} Fewer folds than others, never marked as best: "
            f"{', '.join(fewer.values())}.",
            *notes,
        ]
    return Table(number, title, caption, methods, rows, best, set(fewer), notes)


def as_text(table: Table) -> str:
    """Return a table for terminals, a few methods at a time, asterisks at the best."""
    rows = table.body(lambda text: f"{text}*")
    width = max((len(row[0]) for row in rows), default=0)
    parts = [f"Table {table.number}. {table.title}", *_wrapped(table.caption), ""]
    for first in range(0, len(table.methods), _PANEL):
        panel = [["", *(f"{name} " for name in table.methods[first : first + _PANEL])]]
        for name, heading, *entries in rows:
            # A figure without a sign keeps its place, so that digits stand in columns.
            texts = [
                text if text.endswith((FEWER, "*")) else f"{text} "
                for text in entries[first : first + _PANEL]
            ]
            if any(text.strip() for text in texts):
                panel.append([f"{name:{width}}  {heading}", *texts])
        parts += [*text_table(panel), ""]
    for note in [*table.notes, LEGEND]:
        parts += _wrapped(note)
    return "\n".join(parts) + "\n"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent="  ")


def as_markdown(table: Table) -> str:
    """Return a table of GitHub's kind, the best figures in bold."""
    rows = [
        ["Data set", "", *table.methods],
        ["---", "---", *("---:" for _ in table.methods)],
        *table.body(lambda text: f"**{text}**"),
    ]
    body = [f"| {' | '.join(row)} |" for row in rows]
    notes = [f"- {note}" for note in table.notes]
    head = f"**Table {table.number}. {table.title}.** {table.caption}"
    return "\n".join([head, "", *body, "", *notes]).rstrip() + "\n"


FORMATS = {"text": as_text, "markdown": as_markdown}


def render_table(results: Results, table: int, format: str = "text") -> str:
    """Return a table as text.

    Parameters
    ----------
    results : Results
        From `read_results` or `Study.run`.
    table : {2, 3, 4}
        The paper's number: Bayes error, accuracy or training time.
    format : {"text", "markdown"}, default="text"
        For terminals, or for pages.

    Returns
    -------
    str
        The table with its notes.
    """
    if format not in FORMATS:
        raise ValueError(f"format must be one of {list(FORMATS)}, got {format!r}")
    return FORMATS[format](make_table(results, table))
