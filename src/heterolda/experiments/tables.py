"""Tables 2, 3 and 4 of the paper from the results of a run: ours beside the paper's."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from heterolda.experiments import paper
from heterolda.experiments.formats import (
    FORMATS,
    INCOMPLETE,
    LIMITED,
    MISSING,
    Line,
    Table,
    TableRow,
)
from heterolda.experiments.results import Cell, Results

__all__ = ["make_table", "render_table"]

# The method that times are compared with.
PEER = "LDA"

_TITLES = {
    2: "Mean Bayes error of the pairs of classes",
    3: "Accuracy on the test folds, in %",
    4: f"Training time, as a ratio to {PEER}",
}
_LINES = {
    2: [
        Line("percent", "ours, %", 3),
        Line("factor", "ours x 10/n", 4),
        Line("paper", "paper", 4, of_paper=True),
        Line("difference", "difference", 4, signed=True),
    ],
    3: [
        Line("accuracy", "ours", 2),
        Line("deviation", "std. dev.", 2),
        Line("paper", "paper", 2, of_paper=True),
        Line("difference", "difference", 2, signed=True),
    ],
    4: [
        Line("ratio", "ours", None),
        Line("paper", "paper", None, of_paper=True),
        Line("quotient", "ours / paper", None),
    ],
}
_CAPTIONS = {
    2: (
        "The error that the Gaussian model predicts for a rule, averaged over pairs, "
        "folds and trials: in %, and times 10/n as the paper prints it."
    ),
    3: (
        "Share of the test points of a trial that are classified correctly, averaged "
        "over trials; the standard deviation is that over trials."
    ),
    4: (
        "Training time of a method divided by that of LDA on the same fold of the same "
        "run: the median over all folds and trials."
    ),
}


def render_table(results: Results, table: int, format: str) -> str:
    """A table as text.

    Parameters
    ----------
    results : Results
        From `read_results`.
    table : {2, 3, 4}
        The paper's number: Bayes error, accuracy or training time.
    format : {"text", "markdown", "csv", "latex"}
        What kind of text.

    Returns
    -------
    str
        The table with its notes; CSV has the figures alone, one line for each data
        set and method.
    """
    if format not in FORMATS:
        raise ValueError(f"format must be one of {list(FORMATS)}, got {format!r}")
    return FORMATS[format](make_table(results, table))


def make_table(results: Results, number: int) -> Table:
    """A table of the study, by the paper's number.

    A method stands in Table 2 if it has a Bayes error on any set. Incomplete figures
    are marked and not among the best.
    """
    makers = {2: _bayes_error, 3: _accuracy, 4: _time}
    if number not in makers:
        raise ValueError(f"table must be one of {list(makers)}, got {number!r}")
    figures = {
        (dataset, method): makers[number](results, dataset, method, cell)
        for (dataset, method), cell in results.cells.items()
    }
    main = _LINES[number][0].key
    methods = [
        method
        for method in results.methods
        if any(main in figures.get((d, method), {}) for d in results.datasets)
    ]
    rows = [
        _table_row(results, number, name, methods, figures) for name in results.datasets
    ]
    lines = [
        line
        for line in _LINES[number]
        if any(row.figures[line.key] for row in rows) or line.key == main
    ]
    return Table(
        number=number,
        title=_TITLES[number],
        caption=_CAPTIONS[number],
        methods=methods,
        lines=lines,
        rows=rows,
        notes=_notes(results, methods or [PEER])
        + paper.paper_slips(number, results.datasets),
    )


Figures = dict[str, float]


def _bayes_error(results: Results, dataset: str, method: str, cell: Cell) -> Figures:
    p_e = cell.bayes_error
    if math.isnan(p_e):
        return {}
    figures = {"percent": 100 * p_e, "factor": 1000 * p_e / cell.n}
    printed = paper.printed_figure(2, dataset, method)
    if printed is not None:
        figures |= {"paper": printed, "difference": figures["factor"] - printed}
    return figures


def _accuracy(results: Results, dataset: str, method: str, cell: Cell) -> Figures:
    trials = cell.accuracies
    figures = {"accuracy": float(trials.mean())}
    if len(trials) > 1:
        figures["deviation"] = float(np.std(trials, ddof=1))
    printed = paper.printed_figure(3, dataset, method)
    if printed is not None:
        figures |= {"paper": printed, "difference": figures["accuracy"] - printed}
    return figures


def _time(results: Results, dataset: str, method: str, cell: Cell) -> Figures:
    peer = results.cells.get((dataset, PEER))
    ratio = None if peer is None else cell.time_ratio(peer)
    if ratio is None:
        return {}
    figures = {"ratio": ratio}
    seconds = paper.printed_figure(4, dataset, method)
    of_peer = paper.printed_figure(4, dataset, PEER)
    if seconds is not None and of_peer is not None:
        printed = seconds / of_peer
        figures |= {"paper": printed, "quotient": ratio / printed}
    return figures


def _table_row(
    results: Results,
    number: int,
    dataset: str,
    methods: list[str],
    figures: dict[tuple[str, str], Figures],
) -> TableRow:
    """The figures of a data set, turned from columns into lines."""
    lines = {
        line.key: {
            method: figures[dataset, method][line.key]
            for method in methods
            if line.key in figures.get((dataset, method), {})
        }
        for line in _LINES[number]
    }
    main = _LINES[number][0]
    cells = {method: results.cells.get((dataset, method)) for method in methods}
    marks = {
        method: LIMITED if cell.complete else INCOMPLETE
        for method, cell in cells.items()
        if cell is not None and cell.remark()
    }
    whole = {m: v for m, v in lines[main.key].items() if marks.get(m) != INCOMPLETE}
    row = paper.TABLES[1].get(paper.VARIANTS.get(dataset, dataset))
    return TableRow(
        dataset=dataset,
        label=row[0] if row else "",
        figures=lines,
        best=_best(whole, number, main.write),
        paper_best=_best(_printed_row(number, dataset), number, str),
        marks=marks,
    )


def _printed_row(number: int, dataset: str) -> Figures:
    """All figures of the paper for a data set."""
    row = {m: paper.printed_figure(number, dataset, m) for m in paper.METHODS}
    return {method: value for method, value in row.items() if value is not None}


def _best(values: Figures, number: int, write: Callable[[float], str]) -> set[str]:
    """Methods with the best figure, ties in the printed digits included."""
    if not values:
        return set()
    goal = max(values.values()) if number == 3 else min(values.values())
    return {method for method, v in values.items() if write(v) == write(goal)}


def _notes(results: Results, methods: list[str]) -> list[str]:
    """What is missing, what is incomplete and what was limited."""
    missing: list[str] = []
    remarks: dict[tuple[str, str], list[str]] = {}
    for dataset in results.datasets:
        for method in methods:
            cell = results.cells.get((dataset, method))
            if cell is None:
                missing.append(f"{method} on {dataset}")
            elif cell.remark():
                sign = LIMITED if cell.complete else INCOMPLETE
                text = f"on {dataset}: {cell.remark()}."
                remarks.setdefault((sign, text), []).append(method)
    notes = [
        f"{sign} {_listed(names, methods)} {text}"
        for (sign, text), names in remarks.items()
    ]
    if any(sign == INCOMPLETE for sign, _ in remarks):
        notes.append(f"{INCOMPLETE} Incomplete figures are not among the best.")
    if missing:
        notes.append(f"{MISSING} No results: {', '.join(missing)}.")
    if results.unfinished:
        notes.append("The last line of results.csv is cut off and left out.")
    return notes


def _listed(names: list[str], methods: list[str]) -> str:
    """Names with commas between, or what stands for all of them."""
    return "All" if names == methods and len(names) > 1 else ", ".join(names)
