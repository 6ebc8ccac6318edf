"""Make the paper's Tables 2, 3 and 4 from the results of a study.

Table 2 has Bayes errors, Table 3 accuracies and Table 4 training times, together with
the paper's figures.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from heterolda.experiments import paper
from heterolda.experiments.results import Cell, Results
from heterolda.foundations.validation import check_type
from heterolda.foundations.wording import text_table

BEST, FEWER, MISSING = "*", "†", "–"
LEGEND = f"{BEST} best in its row; {MISSING} no result"
_PEER = "pairwise-lda"  # times are relative to it, if a study has it
_WIDTH = 88
_PANEL = 5  # methods side by side on a terminal

Figures = dict[str, float]  # by method
Cells = dict[str, Cell]  # by method


class Line(NamedTuple):
    """Figures of a data set, with three digits if `places` is None."""

    heading: str
    figures: Figures
    places: int | None = None

    def text(self, method: str) -> str:
        """Return a figure as text."""
        value, places = self.figures[method], self.places
        if places is None:
            size = math.floor(math.log10(value)) if value else 0
            places = max(0, 2 - size)
        return f"{value:.{places}f}"


@dataclass(frozen=True)
class Table:
    """A table of a study."""

    title: str
    caption: str
    methods: list[str]
    rows: list[list[str]]  # data set, in its first row; heading; an entry by method
    notes: list[str]


def _bayes_errors(cells: Cells, printed: Figures, peer: str) -> list[Line]:
    errors = _numbers({m: cell.bayes_error for m, cell in cells.items()})
    scaled = {m: 1000 * error / cells[m].n for m, error in errors.items() if printed}
    return [
        Line("ours, %", {m: 100 * error for m, error in errors.items()}, 3),
        Line("ours x 10/n", scaled, 4),
        Line("paper", printed, 4),
    ]


def _accuracies(cells: Cells, printed: Figures, peer: str) -> list[Line]:
    trials = {method: cell.accuracies for method, cell in cells.items()}
    spread = {m: float(v.std(ddof=1)) for m, v in trials.items() if len(v) > 1}
    return [
        Line("ours", {m: float(values.mean()) for m, values in trials.items()}, 2),
        Line("std. dev.", spread, 2),
        Line("paper", printed, 2),
    ]


def _times(cells: Cells, printed: Figures, peer: str) -> list[Line]:
    other = cells.get(peer)
    ratios = _numbers({m: c.time_ratio(other) for m, c in cells.items() if other})
    printed_ratios = {
        m: value / printed[peer] for m, value in printed.items() if peer in printed
    }
    return [Line("ours", ratios), Line("paper", printed_ratios)]


def _numbers(figures: Figures) -> Figures:
    return {m: value for m, value in figures.items() if not math.isnan(value)}


class _Kind(NamedTuple):
    """Content of a table; `lines` takes cells, printed figures and the peer."""

    title: str
    caption: str
    lines: Callable[[Cells, Figures, str], list[Line]]
    best: Callable[..., str]  # min or max


_KINDS = {
    2: _Kind(
        "Mean Bayes error of the pairs of classes",
        "The error that the fitted Gaussian model predicts for its rules, averaged "
        "over pairs, folds and trials, in %; for the paper's sets also times 10/n, as "
        "in the paper. No errors are counted.",
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
    """Make a table of a study, given its number in the paper."""
    if number not in list(_KINDS):
        raise ValueError(f"table must be one of {list(_KINDS)}, got {number!r}")
    kind = _KINDS[number]
    peer = _PEER if _PEER in results.methods else next(iter(results.methods), "")
    cells: dict[str, Cells] = {name: {} for name in results.datasets}
    for (dataset, method), cell in results.cells.items():
        cells[dataset][method] = cell
    lines = {
        dataset: kind.lines(by_method, paper.printed_row(number, dataset), peer)
        for dataset, by_method in cells.items()
    }
    shown = {method for main, *_ in lines.values() for method in main.figures}
    methods = [method for method in results.methods if method in shown]
    rows = []
    for dataset, (main, *others) in lines.items():
        name = f"{dataset} {paper.printed_letter(dataset)}".rstrip()
        marked = _marked(main, cells[dataset], kind.best)
        rows.append([name, main.heading, *(marked.get(m, MISSING) for m in methods)])
        for line in others:
            texts = [line.text(m) if m in line.figures else "" for m in methods]
            if any(texts):
                rows.append(["", line.heading, *texts])
    fewer = [
        f"{m} on {d} ({len(cell.rows)} of {cell.n_folds})"
        for (d, m), cell in results.cells.items()
        if m in shown and not cell.complete
    ]
    notes = paper.slips(number, results.datasets)
    if fewer:
        text = f"{FEWER} Fewer folds than others, never marked as best: "
        notes.insert(0, f"{text}{', '.join(fewer)}.")
    title, caption = (text.format(peer=peer) for text in kind[:2])
    return Table(f"Table {number}. {title}", caption, methods, rows, notes)


def _marked(line: Line, cells: Cells, best: Callable[..., str]) -> dict[str, str]:
    """Return figures by method as text, marked if best or from fewer folds."""
    texts = {method: line.text(method) for method in line.figures}
    complete = {method for method in texts if cells[method].complete}
    best_text = best((texts[m] for m in complete), key=float, default="")
    return {
        m: text + (BEST if text == best_text else "") if m in complete else text + FEWER
        for m, text in texts.items()
    }


def as_text(table: Table) -> str:
    """Return a table for terminals, a few methods at a time."""
    width = max((len(row[0]) for row in table.rows), default=0)
    parts = [table.title, *_wrapped(table.caption), ""]
    for first in range(0, len(table.methods), _PANEL):
        panel = [["", *(f"{name} " for name in table.methods[first : first + _PANEL])]]
        for name, heading, *entries in table.rows:
            # A blank in place of a mark aligns the digits.
            texts = [
                text if text.endswith((FEWER, BEST)) else f"{text} "
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
    """Return a table for GitHub, the best figures in bold."""

    def bold(text: str) -> str:
        return f"**{text.removesuffix(BEST)}**" if text.endswith(BEST) else text

    rows: list[Any] = [
        ["Data set", "", *table.methods],
        ["---", "---", *("---:" for _ in table.methods)],
        *([name, heading, *map(bold, row)] for name, heading, *row in table.rows),
    ]
    body = [f"| {' | '.join(row)} |" for row in rows]
    notes = [f"- {note}" for note in table.notes]
    head = f"**{table.title}.** {table.caption}"
    return "\n".join([head, "", *body, "", *notes]).rstrip() + "\n"


FORMATS = {"text": as_text, "markdown": as_markdown}


def render_table(results: Results, table: int, format: str = "text") -> str:
    """Return a table as text.

    Parameters
    ----------
    results : Results
        From `read_results` or `Study.run`.
    table : {2, 3, 4}
        Its number in the paper: Bayes error, accuracy or training time.
    format : {"text", "markdown"}, default="text"
        For terminals or for web pages.

    Returns
    -------
    str
        The table with its notes.
    """
    check_type("results", results, Results, "the results of a study")
    if format not in list(FORMATS):
        raise ValueError(f"format must be one of {list(FORMATS)}, got {format!r}")
    return FORMATS[format](make_table(results, table))
