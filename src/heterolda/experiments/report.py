"""Write the report of a study: an HTML page with the tables and ranks."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from heterolda.experiments.ranks import Comparison, compare_ranks
from heterolda.experiments.results import Results, read_results
from heterolda.experiments.tables import LEGEND, make_table
from heterolda.foundations.files import atomic_write
from heterolda.foundations.validation import check_type
from heterolda.foundations.wording import count
from heterolda.inspection.blocks import Block, Figure, Heading, Paragraph, to_page
from heterolda.inspection.blocks import Table as TableBlock
from heterolda.inspection.displays.base import pyplot

_INTRODUCTION = (
    "Linear classifiers for classes with unequal covariances: Tables 2 to 4 of "
    "K. S. Gyamfi, J. Brusey, A. Hunt and E. Gaura (2017), Linear classifier design "
    "under heteroscedasticity in Linear Discriminant Analysis, Expert Systems with "
    "Applications 79, 44-52. For the paper's data sets, its figures follow ours.",
    "gld is heterolda's discriminant, the certified optimum; algorithm-1 is the "
    "paper's iterative procedure for the same rule, and algorithm-2 its local "
    "neighborhood search, which starts from algorithm-1, or in gld+algorithm-2 from "
    "gld. pairwise-lda, as in the paper, pools the covariances of two classes at a "
    "time; lda is scikit-learn's, which pools those of all classes.",
)
# Sets whose rows are part of another set, to count them once in ranks.
_PART_OF = {"D2-0.53": "D2", "digits": "optdigits"}


def write_report(
    folder: str | os.PathLike[str], out: str | os.PathLike[str] | None = None
) -> Path:
    """Write the report of a folder of results.

    Parameters
    ----------
    folder : str or path-like
        Where ``results.csv`` and ``run.json`` are.
    out : str or path-like or None, default=None
        The file to write; ``report.html`` in the folder by default.

    Returns
    -------
    Path
        The file, which is self-contained.
    """
    check_type("out", out, str | os.PathLike | None, "a path or None")
    results = read_results(folder)
    path = Path(folder) / "report.html" if out is None else Path(out)
    plt: Any = pyplot()  # type: ignore[no-untyped-call]
    with (
        atomic_write(path) as file,  # before the work, to fail early
        # Names are not formulas, and the user's style does not apply.
        plt.style.context(["default", {"text.parse_math": False}]),
    ):
        file.write(_page(results).encode())
    return path


def _page(results: Results) -> str:
    """Return the page of a study, in HTML."""
    blocks: list[Block] = [
        Paragraph(_INTRODUCTION),
        Paragraph([_facts(results)], small=True),
    ]
    for number in (2, 3, 4):
        table = make_table(results, number)
        blocks += [
            Heading(table.title),
            TableBlock(["data set", "", *table.methods], table.rows),
            Paragraph([table.caption, *table.notes, LEGEND], small=True),
        ]
    blocks += [Heading("Ranks over data sets"), _ranking(results)]
    name = "the paper's study, reproduced"
    return to_page(f"heterolda: {name}", name.capitalize(), blocks)


def _facts(results: Results) -> str:
    """Return the size of the study, the versions and the machine."""
    run = results.run
    trials = max((row.trial for row in results.rows), default=-1) + 1
    facts = [f"{count(trials, 'trial')} of {run['folds']} folds, seed {run['seed']}"]
    for key in ("versions", "machine"):
        facts.append(", ".join(f"{name} {value}" for name, value in run[key].items()))
    return f"{'; '.join(filter(None, facts))}."


def _ranking(results: Results) -> Block:
    """Return the diagram of ranks over the sets that all methods completed."""
    cells, methods = results.cells, results.methods
    datasets = [
        d
        for d in results.datasets
        if _PART_OF.get(d) not in results.datasets
        and all((d, m) in cells and cells[d, m].complete for m in methods)
    ]
    if len(datasets) < 2 or len(methods) < 2:
        need = "Ranks need at least two methods and two data sets that they completed."
        return Paragraph([need], small=True)
    scores = [[cells[d, m].accuracies.mean() for m in methods] for d in datasets]
    comparison = compare_ranks(methods, np.array(scores))
    k = len(methods)
    caption = (
        f"Accuracy of {k} methods on {len(datasets)} data sets: {', '.join(datasets)}. "
    )
    if not np.isnan(comparison.p_value):
        caption += (
            f"Friedman's test: chi-square {comparison.chi_square:.2f} with {k - 1} "
            f"degrees of freedom, p = {comparison.p_value:.2g}. "
        )
    caption += (
        "Average ranks; 1 is best. Thick lines join methods that Nemenyi's test cannot "
        "separate at the 5 % level (critical difference "
        f"{comparison.critical_difference:.2f})."
    )
    draw = partial(_draw_ranks, comparison=comparison)
    return Figure(draw, caption, size=(9, 3), place="wide")


def _draw_ranks(canvas: Any, comparison: Comparison) -> None:
    """Draw the average ranks, with thick lines over methods that do not differ."""
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
