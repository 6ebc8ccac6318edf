"""Tables 2, 3 and 4 of the paper from the results of a study, compared with its own."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from heterolda.experiments import paper
from heterolda.experiments.results import Cell, Results

__all__ = ["FORMATS", "Table", "make_table", "render_table"]

LIMITED, INCOMPLETE, MISSING = "†", "‡", "–"
# The method that times are compared with, where a study has it.
_PEER = "pairwise-lda"
_WIDTH = 100

Figures = dict[str, float]  # by method


@dataclass(frozen=True)
class Line:
    """A line of figures of a data set.

    `digits` are decimal places, None means three significant digits. `best` are the
    methods whose figures are made prominent, and `marks` signs that refer to a note.
    """

    heading: str
    figures: Figures
    digits: int | None = None
    missing: str = ""
    best: frozenset[str] = frozenset()
    marks: dict[str, str] = field(default_factory=dict)

    def text(self, value: float) -> str:
        """Return a figure as it is printed."""
        digits = self.digits
        if digits is None:
            size = math.floor(math.log10(abs(value))) if value else 0
            digits = max(0, 2 - size)
        text = f"{value:{'+' if self.heading == 'difference' else ''}.{digits}f}"
        return text if float(text) else text.lstrip("+-")

    def entry(self, method: str, best: Callable[[str], str]) -> str:
        """Return the entry of a method, made prominent by `best` if it is the best."""
        if method not in self.figures:
            return self.missing
        text = self.text(self.figures[method])
        text = best(text) if method in self.best else text
        return text + self.marks.get(method, "")


@dataclass(frozen=True)
class Table:
    """A table of a study: lines of figures for each data set, the main one first."""

    number: int  # the paper's
    title: str
    caption: str
    methods: list[str]
    rows: dict[str, list[Line]]
    notes: list[str]

    def body(self, best: Callable[[str], str]) -> list[list[str]]:
        """Return rows of text: data set, line, and an entry for each method."""
        rows = []
        for dataset, lines in self.rows.items():
            name = f"{dataset} {paper.printed_letter(dataset)}".rstrip()
            for line in lines:
                entries = [line.entry(method, best) for method in self.methods]
                rows.append([name, line.heading, *entries])
                name = ""
        return rows


class _Kind(NamedTuple):
    """What a table shows; `lines` takes cells and printed figures by method."""

    title: str
    caption: str
    lines: Callable[[dict[str, Cell], Figures, str], list[Line]]
    best: Callable[..., str]  # min or max


def _bayes_errors(cells: dict[str, Cell], printed: Figures, peer: str) -> list[Line]:
    errors = _known({m: cell.bayes_error for m, cell in cells.items()})
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
    ratios = _known({m: c.time_ratio(other) for m, c in cells.items() if other})
    theirs = {
        m: printed[m] / printed[peer] for m in ratios if {m, peer} <= printed.keys()
    }
    return [
        Line("ours", ratios),
        Line("paper", theirs),
        Line("ours / paper", {m: ratios[m] / ratio for m, ratio in theirs.items()}),
    ]


def _known(figures: Figures) -> Figures:
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

    Methods without a figure are left out. Incomplete figures are marked and do not
    count among the best.
    """
    if number not in _KINDS:
        raise ValueError(f"table must be one of {list(_KINDS)}, got {number!r}")
    kind = _KINDS[number]
    peer = _PEER if _PEER in results.methods else results.methods[0]
    rows = {d: _lines(results, number, d, peer) for d in results.datasets}
    shown = {method for main, *_ in rows.values() for method in main.figures}
    methods = [method for method in results.methods if method in shown]
    notes = _notes(results, methods or [peer]) + paper.slips(number, results.datasets)
    title, caption = (text.format(peer=peer) for text in kind[:2])
    return Table(number, title, caption, methods, rows, notes)


def _lines(results: Results, number: int, dataset: str, peer: str) -> list[Line]:
    """Return the lines of a data set, with marks and with the best figures."""
    kind, printed = _KINDS[number], paper.printed_row(number, dataset)
    cells = {m: cell for (d, m), cell in results.cells.items() if d == dataset}
    main, *others = kind.lines(cells, printed, peer)
    whole = {m: main.text(v) for m, v in main.figures.items() if cells[m].complete}
    marks = {m: _sign(cell) for m, cell in cells.items() if cell.remark()}
    best = _best(whole, kind.best)
    paper_best = _best({m: str(v) for m, v in printed.items()}, kind.best)
    return [
        replace(main, best=best, marks=marks, missing=MISSING),
        *(
            replace(line, best=paper_best) if line.heading == "paper" else line
            for line in others
            if line.figures
        ),
    ]


def _best(texts: dict[str, str], choose: Callable[..., str]) -> frozenset[str]:
    """Return the methods with the best figure, ties in the printed digits included."""
    goal = choose(texts.values(), key=float, default="")
    return frozenset(method for method, text in texts.items() if text == goal)


def _sign(cell: Cell) -> str:
    return LIMITED if cell.complete else INCOMPLETE


def _notes(results: Results, methods: list[str]) -> list[str]:
    """Return what is missing, what is incomplete and what was limited."""
    missing: list[str] = []
    remarks: dict[str, list[str]] = {}
    for dataset in results.datasets:
        for method in methods:
            cell = results.cells.get((dataset, method))
            if cell is None:
                missing.append(f"{method} on {dataset}")
            elif remark := cell.remark():
                text = f"{_sign(cell)} {{}} on {dataset}: {remark}."
                remarks.setdefault(text, []).append(method)
    notes = []
    for text, names in remarks.items():
        everyone = names == methods and len(names) > 1
        notes.append(
            text.replace("{}", "All methods" if everyone else ", ".join(names), 1)
        )
    if any(note.startswith(INCOMPLETE) for note in notes):
        notes.append(f"{INCOMPLETE} Incomplete figures do not count among the best.")
    if missing:
        notes.append(f"{MISSING} No results: {', '.join(missing)}.")
    return notes


def as_text(table: Table) -> str:
    """Return a table for terminals, at most 100 columns wide, asterisks at the best."""
    signs = LIMITED, INCOMPLETE, "*"
    rows = [["", "", *table.methods], *table.body(lambda text: f"{text}*")]
    # A figure without a sign keeps its place, so that digits stand in columns.
    rows = [
        [*row[:2], *(text if text.endswith(signs) else f"{text} " for text in row[2:])]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    parts = [f"Table {table.number}. {table.title}", *_wrapped(table.caption), ""]
    for columns in _panels(widths):
        for row in rows:
            if row[0]:
                parts.append("-" * (sum(widths[j] + 2 for j in columns) - 2))
            if any(row[j].strip() for j in columns[2:]):
                cells = [row[j].rjust(widths[j]) for j in columns[2:]]
                names = row[0].ljust(widths[0]), row[1].ljust(widths[1])
                parts.append("  ".join([*names, *cells]).rstrip())
        parts.append("")
    for note in [*table.notes, "* best of its line"]:
        parts += _wrapped(note)
    return "\n".join(parts) + "\n"


def _panels(widths: list[int]) -> list[list[int]]:
    """Return the columns of each panel: the first two, and as many as have room."""
    panels: list[list[int]] = []
    room = 0
    for j in range(2, len(widths)):
        if not panels or widths[j] + 2 > room:
            panels.append([0, 1])
            room = _WIDTH - widths[0] - widths[1] - 2
        panels[-1].append(j)
        room -= widths[j] + 2
    return panels


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH - 12, subsequent_indent="  ")


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
