"""Tables 2, 3 and 4 of the paper from the results of a run: ours beside the paper's."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from heterolda.experiments import paper
from heterolda.experiments.formats import (
    FORMATS,
    INCOMPLETE,
    LIMITED,
    MISSING,
    Line,
    ResultTable,
    TableRow,
)
from heterolda.experiments.methods import title
from heterolda.experiments.results import Cell, Results

__all__ = ["make_table", "render_table"]

# The method that times are compared with.
PEER = "LDA"

Figures = dict[str, float]


def _bayes_error(results: Results, dataset: str, method: str, cell: Cell) -> Figures:
    p_e = cell.bayes_error
    if math.isnan(p_e):
        return {}
    factor = 1000 * p_e / cell.n
    figures = {"percent": 100 * p_e, "factor": factor}
    return figures | _beside_paper(2, dataset, method, factor)


def _accuracy(results: Results, dataset: str, method: str, cell: Cell) -> Figures:
    trials = cell.accuracies
    figures = {"accuracy": float(trials.mean())}
    if len(trials) > 1:
        figures["deviation"] = float(np.std(trials, ddof=1))
    return figures | _beside_paper(3, dataset, method, figures["accuracy"])


def _beside_paper(number: int, dataset: str, method: str, ours: float) -> Figures:
    printed = paper.printed_figure(number, dataset, method)
    return {} if printed is None else {"paper": printed, "difference": ours - printed}


def _time(results: Results, dataset: str, method: str, cell: Cell) -> Figures:
    peer = results.cells.get((dataset, PEER))
    ratio = None if peer is None else cell.time_ratio(peer)
    if ratio is None:
        return {}
    seconds = paper.printed_row(4, dataset)
    if method not in seconds:
        return {"ratio": ratio}
    printed = seconds[method] / seconds[PEER]
    return {"ratio": ratio, "paper": printed, "quotient": ratio / printed}


class _Kind(NamedTuple):
    """What a table shows."""

    title: str
    caption: str
    lines: list[Line]  # the first has the figures that are compared
    figures: Callable[[Results, str, str, Cell], Figures]  # by the keys of the lines
    best: Callable[[Iterable[float]], float]  # of the figures of a line


_KINDS = {
    2: _Kind(
        "Mean Bayes error of the pairs of classes",
        "The error that the fitted Gaussian model predicts for its rules, averaged "
        "over pairs, folds and trials: in %, and times 10/n as in the paper. No rows "
        "are counted.",
        [
            Line("percent", "ours, %", 3),
            Line("factor", "ours x 10/n", 4),
            Line("paper", "paper", 4, of_paper=True),
            Line("difference", "difference", 4, signed=True),
        ],
        _bayes_error,
        min,
    ),
    3: _Kind(
        "Accuracy on the test folds, in %",
        "Share of the held-out rows of a trial that are classified correctly: mean and "
        "standard deviation over trials.",
        [
            Line("accuracy", "ours", 2),
            Line("deviation", "std. dev.", 2),
            Line("paper", "paper", 2, of_paper=True),
            Line("difference", "difference", 2, signed=True),
        ],
        _accuracy,
        max,
    ),
    4: _Kind(
        f"Training time, as a ratio to {title(PEER)}",
        f"Training time of a method divided by that of {title(PEER)} on the same fold "
        "of the same run: the median over all folds and trials.",
        [
            Line("ratio", "ours", None),
            Line("paper", "paper", None, of_paper=True),
            Line("quotient", "ours / paper", None),
        ],
        _time,
        min,
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
    format : {"text", "markdown", "latex"}
        What kind of text.

    Returns
    -------
    str
        The table with its notes.
    """
    if format not in FORMATS:
        raise ValueError(f"format must be one of {list(FORMATS)}, got {format!r}")
    return FORMATS[format](make_table(results, table))


def make_table(results: Results, number: int) -> ResultTable:
    """Make a table of the study, by the paper's number.

    Table 2 has the methods with a Bayes error on at least one set. Incomplete figures
    are marked and do not count among the best.
    """
    if number not in _KINDS:
        raise ValueError(f"table must be one of {list(_KINDS)}, got {number!r}")
    kind = _KINDS[number]
    figures = {
        (dataset, method): kind.figures(results, dataset, method, cell)
        for (dataset, method), cell in results.cells.items()
    }
    main = kind.lines[0].key
    methods = [
        method
        for method in results.methods
        if any(main in figures.get((d, method), {}) for d in results.datasets)
    ]
    rows = [
        _table_row(results, number, name, methods, figures) for name in results.datasets
    ]
    return ResultTable(
        number=number,
        title=kind.title,
        caption=kind.caption,
        methods=methods,
        lines=[
            line
            for line in kind.lines
            if line.key == main or any(row.figures[line.key] for row in rows)
        ],
        rows=rows,
        notes=[
            *_notes(results, methods or [PEER]),
            *_keys(methods),
            *paper.paper_slips(number, results.datasets),
        ],
    )


def _table_row(
    results: Results,
    number: int,
    dataset: str,
    methods: list[str],
    figures: dict[tuple[str, str], Figures],
) -> TableRow:
    """The figures of a data set, turned from columns into lines."""
    kind = _KINDS[number]
    lines = {
        line.key: {
            method: figures[dataset, method][line.key]
            for method in methods
            if line.key in figures.get((dataset, method), {})
        }
        for line in kind.lines
    }
    cells = {method: results.cells.get((dataset, method)) for method in methods}
    marks = {
        method: LIMITED if cell.complete else INCOMPLETE
        for method, cell in cells.items()
        if cell is not None and cell.remark()
    }

    def best(values: Figures, write: Callable[[float], str]) -> set[str]:
        """Methods with the best figure, ties in the printed digits included."""
        goal = write(kind.best(values.values())) if values else ""
        return {method for method, value in values.items() if write(value) == goal}

    main = kind.lines[0]
    whole = {m: v for m, v in lines[main.key].items() if marks.get(m) != INCOMPLETE}
    row = paper.TABLES[1].get(paper.VARIANTS.get(dataset, dataset))
    return TableRow(
        dataset=dataset,
        label=row[0] if row else "",
        figures=lines,
        best=best(whole, main.write),
        paper_best=best(paper.printed_row(number, dataset), str),
        marks=marks,
    )


def _notes(results: Results, methods: list[str]) -> list[str]:
    """What is missing, what is incomplete and what was limited."""
    missing: list[str] = []
    remarks: dict[tuple[str, str], list[str]] = {}
    for dataset in results.datasets:
        for method in methods:
            cell = results.cells.get((dataset, method))
            if cell is None:
                missing.append(f"{title(method)} on {dataset}")
            elif cell.remark():
                sign = LIMITED if cell.complete else INCOMPLETE
                text = f"on {dataset}: {cell.remark()}."
                remarks.setdefault((sign, text), []).append(method)
    notes = []
    for (sign, text), names in remarks.items():
        everyone = names == methods and len(names) > 1
        who = "All methods" if everyone else ", ".join(map(title, names))
        notes.append(f"{sign} {who} {text}")
    if any(sign == INCOMPLETE for sign, _ in remarks):
        notes.append(f"{INCOMPLETE} Incomplete figures do not count among the best.")
    if missing:
        notes.append(f"{MISSING} No results: {', '.join(missing)}.")
    return notes


def _keys(methods: list[str]) -> list[str]:
    """Which keys stand for methods that tables call something else."""
    pairs = [f"{m} for {title(m)}" for m in methods if title(m) != m]
    return [f"Keys in --methods and results.csv: {', '.join(pairs)}."] if pairs else []
