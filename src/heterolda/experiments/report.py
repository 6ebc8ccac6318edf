"""The report of a study: one page with the tables and pictures, for any browser."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from heterolda.exceptions import TrivialRuleWarning
from heterolda.experiments import paper
from heterolda.experiments.datasets import (
    CATALOGUE,
    PART_OF,
    DataDir,
    dataset_source,
    load_dataset,
)
from heterolda.experiments.ranks import Comparison, compare_ranks
from heterolda.experiments.results import Results, read_results
from heterolda.experiments.study import METHODS
from heterolda.experiments.tables import INCOMPLETE, MISSING, Table, make_table
from heterolda.foundations.files import written_whole
from heterolda.foundations.wording import count
from heterolda.inspection.blocks import (
    Block,
    Figure,
    Heading,
    Paragraph,
    to_page,
)
from heterolda.inspection.blocks import Table as TableBlock
from heterolda.inspection.displays.base import pyplot
from heterolda.inspection.displays.error_curve import ErrorCurveDisplay

__all__ = ["write_report"]

_SEARCHES = "algorithm-2", "gld+algorithm-2"
_MARKERS = "osD^v*PX<>ph"
_INTRODUCTION = (
    "Linear classifiers for classes with unequal covariances: Tables 2 to 4 of "
    "K. S. Gyamfi, J. Brusey, A. Hunt and E. Gaura (2017), Linear classifier design "
    "under heteroscedasticity in Linear Discriminant Analysis, Expert Systems with "
    "Applications 79, 44-52. Where the paper has a data set, its figures follow ours.",
    "gld is heterolda's discriminant, the certified optimum; algorithm-1 is the "
    "paper's iterative procedure for the same rule, and algorithm-2 its local "
    "neighborhood search, which starts from algorithm-1, or in gld+algorithm-2 from "
    "gld. pairwise-lda, as in the paper, pools the covariances of two classes at a "
    "time; lda is scikit-learn's, which pools those of all classes.",
)
_TRADE_OFFS = (
    "Mean accuracy on held-out rows against the median training time of a fold. The "
    "dashed line joins the methods than which no other is both faster and more "
    "accurate."
)
_CURVES = (
    "One pair of classes of each data set: the pair on which pairwise LDA loses most. "
    "The curve is the error, if the classes were exactly normal, along the arc of all "
    "rules that can be optimal."
)
_HISTORIES = (
    "Errors of Algorithm 2 on the training rows of the same pairs. Thin lines are the "
    "current rule, thick lines the best so far."
)


def write_report(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    data_dir: DataDir = None,
) -> Path:
    """Write the report of a folder of results.

    Parameters
    ----------
    folder : str or path-like
        Where ``results.csv`` and ``run.json`` are.
    out : str or path-like or None, default=None
        The file to write; ``report.html`` in the folder by default.
    data_dir : str or path-like or None, default=None
        Folder of the data sets, for the pictures that need the data; the one that
        HETEROLDA_DATA names by default.

    Returns
    -------
    Path
        The file. It needs nothing else, and no network.
    """
    results = read_results(folder)
    path = Path(folder) / "report.html" if out is None else Path(out)
    plt: Any = pyplot()  # type: ignore[no-untyped-call]
    with (
        written_whole(path) as file,  # before the work, to fail early
        # Names are not formulas, and the user's style is for other pictures.
        plt.style.context(["default", {"text.parse_math": False}]),
    ):
        file.write(make_page(results, data_dir).encode())
    return path


def make_page(results: Results, data_dir: DataDir = None) -> str:
    """Return the page of a study, in HTML."""
    blocks: list[Block] = [
        Paragraph(_INTRODUCTION),
        Paragraph(_facts(results), small=True),
    ]
    for number in (2, 3, 4):
        made = make_table(results, number)
        blocks += [Heading(f"Table {number}. {made.title}"), *_table(made)]
    blocks += [Heading("Accuracy against training time"), *_trade_offs(results)]
    blocks += [Heading("Ranks over data sets"), *_ranks(results)]
    blocks += [Heading("Pairs of classes in detail"), *_pairs(results, data_dir)]
    name = "The paper's study, reproduced"
    return to_page(f"heterolda: {name[0].lower()}{name[1:]}", name, blocks)


def _facts(results: Results) -> list[str]:
    """Return what was run, and what a run that has not ended lacks."""
    run = results.run
    facts = [
        f"{count(results.trials, 'trial')} of {results.folds} folds, seed {run['seed']}"
    ]
    for key in ("versions", "machine"):
        facts.append(", ".join(f"{name} {value}" for name, value in run[key].items()))
    lines = [f"{'; '.join(filter(None, facts))}."]
    if results.n_complete < results.n_planned:
        lines.append(
            f"This run is incomplete: {results.n_complete} of {results.n_planned} "
            f"combinations of data set and method are finished. {INCOMPLETE} marks "
            f"figures of unfinished ones, {MISSING} missing figures."
        )
    return lines


def _table(made: Table) -> list[Block]:
    rows = made.body(lambda text: f"{text}*")
    notes = [made.caption, *made.notes, "* best of its line"]
    head = ["data set", "", *made.methods]
    return [TableBlock(head, rows), Paragraph(notes, small=True)]


def pareto_front(points: dict[str, tuple[float, float]]) -> list[str]:
    """Return the methods than which no other is both faster and more accurate.

    They come from the fastest to the most accurate; of equals all are in.
    """
    front = [
        name
        for name, (time, score) in points.items()
        if not any(
            t <= time and s >= score and (t, s) != (time, score)
            for t, s in points.values()
        )
    ]
    return sorted(front, key=lambda name: points[name])


def _trade_offs(results: Results) -> list[Block]:
    """Return pictures of accuracy against training time, one for each data set."""
    blocks: list[Block] = [Paragraph([_TRADE_OFFS], small=True)]
    for dataset in results.datasets:
        points = {
            method: (max(cell.fit_seconds, 1e-9), round(cell.accuracies.mean(), 9))
            for (name, method), cell in results.cells.items()
            if name == dataset and cell.complete
        }
        if points:
            draw = partial(_draw_trade_off, dataset, points, results.methods)
            caption = f"{dataset}. No other is both faster and more accurate: "
            caption += ", ".join(pareto_front(points))
            blocks.append(Figure(draw, caption, size=(6.4, 5.2)))
    return blocks


def _draw_trade_off(
    title: str, points: dict[str, tuple[float, float]], methods: list[str], canvas: Any
) -> None:
    axes = canvas.subplots()
    front = [points[method] for method in pareto_front(points)]
    axes.step(*zip(*front, strict=True), "--", where="post", color="0.5", zorder=1)
    for k, method in enumerate(methods):
        if method in points:
            style = f"{_MARKERS[k % len(_MARKERS)]}C{k % 10}"
            axes.plot(*points[method], style, ms=8, label=method)
    axes.set(xscale="log", title=title)
    axes.set(xlabel="training time of a fold, s", ylabel="accuracy, %")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}")
    canvas.legend(loc="outside lower center", ncols=3, fontsize="small")


def _ranks(results: Results) -> list[Block]:
    """Return critical-difference diagrams of the study and of the paper's Table 3.

    Ours has the sets on which all methods are complete. Those whose rows are among the
    rows of another set would count twice.
    """
    datasets = [
        d
        for d in results.datasets
        if PART_OF.get(d) not in results.datasets
        and all(
            (d, m) in results.cells and results.cells[d, m].complete
            for m in results.methods
        )
    ]
    if len(datasets) < 2 or len(results.methods) < 2:
        need = (
            "Ranks need at least two data sets on which at least two methods are "
            "complete."
        )
        ours: Block = Paragraph([need], small=True)
    else:
        scores = [
            [results.cells[d, m].accuracies.mean() for m in results.methods]
            for d in datasets
        ]
        comparison = compare_ranks(results.methods, np.array(scores))
        ours = _ranking(comparison, f"This study: accuracy on {', '.join(datasets)}.")
    printed = compare_ranks(paper.METHODS, np.array(list(paper.TABLES[3].values())))
    heading = "The paper's Table 3: its printed accuracies."
    return [ours, _ranking(printed, heading)]


def _ranking(comparison: Comparison, heading: str) -> Figure:
    """Return a diagram with the result of the tests in words."""
    k, n = len(comparison.methods), comparison.n_datasets
    words = f"{heading} {k} methods on {n} data sets. "
    if not np.isnan(comparison.p_value):
        words += (
            f"Friedman's test: chi-square {comparison.chi_square:.2f} with {k - 1} "
            f"degrees of freedom, p = {comparison.p_value:.2g}. "
        )
    words += (
        "Average ranks; 1 is best. Thick lines join methods that Nemenyi's test cannot "
        f"separate at the {100 * comparison.alpha:g} % level (critical difference "
        f"{comparison.critical_difference:.2f})."
    )
    draw = partial(draw_ranks, comparison=comparison)
    return Figure(draw, words, size=(9, 3), place="wide")


def draw_ranks(canvas: Any, comparison: Comparison) -> None:
    """Draw the average ranks, with a thick line over groups that do not differ."""
    axes = canvas.subplots()
    ranks, names = comparison.ranks, comparison.methods
    half = (len(names) + 1) // 2
    top = 0.5 * len(comparison.cliques) + 0.5
    for k, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        left = k < half
        y = top + (k if left else len(names) - 1 - k)
        end = 0.9 if left else len(names) + 0.1
        axes.plot([rank, rank, end], [0, y, y], color="0.4", lw=1)
        text = f"{name}  {rank:.2f} " if left else f" {rank:.2f}  {name}"
        axes.text(end, y, text, ha="right" if left else "left", va="center")
    for k, (first, last) in enumerate(comparison.cliques):
        ends = ranks[first] - 0.05, ranks[last] + 0.05
        axes.plot(ends, [0.5 * k + 0.4] * 2, color="C3", lw=4, solid_capstyle="round")
    axes.set(xlim=(0.9, len(names) + 0.1), ylim=(top + half - 0.5, 0))
    axes.xaxis.tick_top()
    axes.set_yticks([])
    axes.spines[["left", "right", "bottom"]].set_visible(False)


def _pairs(results: Results, data_dir: DataDir) -> list[Block]:
    """Return the pictures of single pairs, where the data are on this machine."""
    curves: list[Block] = [Paragraph([_CURVES], small=True)]
    histories: list[Block] = [Paragraph([_HISTORIES], small=True)]
    absent = []
    for name in results.datasets:
        if name not in CATALOGUE or dataset_source(name, data_dir) is None:
            absent.append(name)
            continue
        curve, history, caption = _pair(name, data_dir)
        curves.append(Figure(curve, name))
        histories.append(Figure(history, caption))
    if absent:
        text = (
            "Not drawn, because the data are not in the catalogue or not on this "
            f"machine: {', '.join(absent)}. Set --data-dir or HETEROLDA_DATA to their "
            "folder and write the report again."
        )
        histories.append(Paragraph([text], small=True))
    return [*curves, *histories]


def _pair(
    name: str, data_dir: DataDir
) -> tuple[Callable[[Any], None], Callable[[Any], None], str]:
    """Return two drawings of the pair on which LDA's rule costs most, and a caption."""
    X, y = load_dataset(name, data_dir)
    with warnings.catch_warnings():
        # Rare classes are part of the paper's study.
        warnings.simplefilter("ignore", TrivialRuleWarning)
        lda, best = (clone(METHODS[m]).fit(X, y) for m in ("pairwise-lda", "gld"))
        loss = lda.bayes_error_ - best.bayes_error_
        loss *= lda.statistics_.weights[lda.pairs_].sum(axis=1)
        pair = lda.classes_[lda.pairs_[np.argmax(loss)]]
        rows = np.isin(y, pair)
        searches = {m: clone(METHODS[m]).fit(X[rows], y[rows]) for m in _SEARCHES}
    errors = {method: model.history_[0] for method, model in searches.items()}

    def curve(canvas: Any) -> None:
        display: Any = ErrorCurveDisplay
        display.from_estimator(best, pair=tuple(pair), ax=canvas.subplots())

    def history(canvas: Any) -> None:
        axes = canvas.subplots()
        for color, (method, counts) in zip(("C0", "C1"), errors.items(), strict=True):
            iterations = np.arange(1, len(counts) + 1)
            best_so_far = np.minimum.accumulate(counts)
            axes.plot(iterations, counts, color=color, lw=0.8)
            axes.plot(iterations, best_so_far, color=color, lw=2.5, label=method)
        axes.set(xlabel="iteration", ylabel=f"training errors of {rows.sum()} rows")
        axes.set_title(f"{pair[0]} or {pair[1]}")
        axes.legend()

    courses = [f"{m} {counts[0]:g} → {counts.min():g}" for m, counts in errors.items()]
    return curve, history, f"{name}. Training errors: {', '.join(courses)}"
