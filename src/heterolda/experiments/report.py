"""The report of a run: one page with the tables and the pictures, for any browser."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from html import escape
from pathlib import Path
from string import Template

import numpy as np

from heterolda.experiments import figures, paper
from heterolda.experiments.datasets import DataDir
from heterolda.experiments.formats import INCOMPLETE, MISSING, ResultTable, TableRow
from heterolda.experiments.methods import title
from heterolda.experiments.pairs import PairStudy, study_pair
from heterolda.experiments.ranks import Comparison, compare_ranks
from heterolda.experiments.results import Results, read_results
from heterolda.experiments.tables import make_table
from heterolda.foundations.files import written_whole
from heterolda.foundations.wording import count

__all__ = ["write_report"]

# Sets whose points are those of another one: ranks must not count them twice.
_PART_OF = {"D2-0.53": "D2", "digits": "optdigits"}
_SECTIONS = {
    "table-2": "Bayes error",
    "table-3": "Accuracy",
    "table-4": "Training time",
    "trade-off": "Accuracy against time",
    "ranks": "Ranks",
    "curves": "Error against s",
    "searches": "Algorithm 2",
}


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
    with written_whole(path) as file:  # before the work, to fail early
        file.write(make_page(results, data_dir).encode())
    return path


def make_page(results: Results, data_dir: DataDir = None) -> str:
    """The page of a run, in HTML."""
    studies = {name: study_pair(name, data_dir) for name in results.datasets}
    found = [study for study in studies.values() if study is not None]
    absent = [name for name, study in studies.items() if study is None]
    plots = [figures.trade_off(results, name) for name in results.datasets]
    template = Path(__file__).with_name("page.html").read_text("utf-8")
    return Template(template).substitute(
        links=" ".join(f'<a href="#{k}">{v}</a>' for k, v in _SECTIONS.items()),
        facts=_facts(results),
        warning=_warning(results),
        tables="\n".join(_table(make_table(results, number)) for number in (2, 3, 4)),
        legend=_legend(results.methods),
        trade_offs=_figures((plot, "") for plot in plots if plot is not None),
        ranks=_ranks(results),
        curves=_grid(((figures.curve(s), _choices(s)) for s in found), absent),
        searches=_grid(((figures.history(s), _courses(s)) for s in found), absent),
    )


def _facts(results: Results) -> str:
    """What was run, as the rows of a definition list."""
    run = results.run
    facts = {
        "Command": run["command"],
        "Protocol": f"{results.folds}-fold cross-validation, "
        + count(results.trials, "trial"),
        "Seed": run["seed"],
        "Versions": run["versions"],
        "Machine": run["machine"],
    }
    return "\n".join(
        f"<dt>{name}</dt><dd>{escape(_plain(fact))}</dd>"
        for name, fact in facts.items()
        if fact not in ({}, "")
    )


def _plain(fact: object) -> str:
    if isinstance(fact, dict):
        return ", ".join(f"{key} {_plain(value)}" for key, value in fact.items())
    return fact if isinstance(fact, str) else json.dumps(fact)


def _warning(results: Results) -> str:
    """A box that says what a run that has not ended lacks."""
    wanted = sum(len(counts) for counts in results.run["plan"].values())
    whole = sum(cell.complete for cell in results.cells.values())
    if whole == wanted:
        return ""
    return (
        f'<p class="warning" role="note">This run is incomplete: {whole} of {wanted} '
        f"combinations of data set and method are finished. {INCOMPLETE} marks figures "
        f"from unfinished ones, {MISSING} missing figures. Finish the run, then write "
        "the report again.</p>"
    )


def _table(table: ResultTable) -> str:
    """A table with its heading and notes; rows can be sorted by any column."""
    first = "descending" if table.number == 3 else "ascending"
    heads = [
        '<th scope="col" data-first="ascending"><button type="button">Data set'
        "</button></th>",
        "<td></td>",
        *(
            f'<th scope="col" data-first="{first}"><button type="button">'
            f"{_in_two_lines(head)}</button></th>"
            for head in table.heads
        ),
    ]
    rows = [_row(table, i, row) for i, row in enumerate(table.rows)]
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
    return f"""<section id="table-{table.number}">
<h2>Table {table.number}. {escape(table.title)}</h2>
<p class="caption">{escape(table.caption)} The best of each data set is
shaded; press a heading to sort.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Table {table.number}">
<table class="sortable"><thead><tr>{"".join(heads)}</tr></thead>
<tbody>
{chr(10).join(rows)}
</tbody></table></div>
<ul class="notes">{notes}</ul>
</section>"""


def _in_two_lines(name: str) -> str:
    """A long name in two lines, cut at its first space."""
    return escape(name) if len(name) < 12 else escape(name).replace(" ", "<br>", 1)


def _row(table: ResultTable, position: int, row: TableRow) -> str:
    """The row of a data set: a stack of figures for each method."""
    main = table.lines[0]
    lines = [line for line in table.lines if line is main or row.figures[line.key]]
    letter = f' <span class="letter">{row.label}</span>' if row.label else ""
    cells = [
        f'<th scope="row" data-value="{position}">{escape(row.dataset)}{letter}</th>',
        '<td class="kind">'
        + "".join(f"<span>{escape(line.heading)}</span>" for line in lines)
        + "</td>",
    ]
    for method in table.methods:
        value = row.figures[main.key].get(method)
        stack = "".join(
            f"<span>{table.entry(row, line, method, lambda t: f'<b>{t}</b>')}</span>"
            for line in lines
        )
        best = ' class="best"' if method in row.best else ""
        data = "" if value is None else f' data-value="{value!r}"'
        cells.append(f"<td{best}{data}>{stack}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _legend(methods: list[str]) -> str:
    items = []
    for method in methods:
        css = figures.css_class(method).split()[-1]
        items.append(
            f'<li><button type="button" aria-pressed="false" data-method="{css}">'
            f"{figures.marker(method)}{escape(title(method))}</button></li>"
        )
    return "\n".join(items)


def _figures(pictures: Iterable[tuple[str, str]]) -> str:
    """Pictures with their captions."""
    return "\n".join(
        f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>"
        for picture, caption in pictures
    )


def _choices(study: PairStudy) -> str:
    errors = [f"{title(m)} {100 * e:.3g}" for m, (_, e) in study.choices.items()]
    return f"Error under the Gaussian model, in %: {', '.join(errors)}"


def _courses(study: PairStudy) -> str:
    courses = [f"{title(m)} {h[0]:g} → {h.min():g}" for m, h in study.histories.items()]
    return f"Errors on the training rows: {', '.join(courses)}"


def _grid(pictures: Iterable[tuple[str, str]], absent: list[str]) -> str:
    """Pictures in a grid, and for which sets there are none."""
    note = ""
    if absent:
        note = (
            f'<p class="caption">Not drawn, because the data are not on this machine: '
            f"{escape(', '.join(absent))}. Set --data-dir or HETEROLDA_DATA to their "
            "folder and write the report again.</p>"
        )
    return f'<div class="grid-of-plots">{_figures(pictures)}</div>{note}'


def _ranks(results: Results) -> str:
    """Critical-difference diagrams of the run and of the paper's Table 3."""
    parts = []
    methods, datasets, left_out = _complete(results)
    if len(datasets) < 2 or len(methods) < 2:
        parts.append(
            '<p class="caption">Ranks need at least two methods with complete results '
            "on at least two data sets.</p>"
        )
    else:
        scores = [
            [float(results.cells[d, m].accuracies.mean()) for m in methods]
            for d in datasets
        ]
        ours = compare_ranks(methods, np.array(scores))
        heading = f"This run: accuracy on {', '.join(datasets)}"
        parts.append(_ranking(ours, heading, left_out))
    accuracies = np.array(list(paper.TABLES[3].values()))
    printed = compare_ranks(paper.METHODS, accuracies)
    parts.append(_ranking(printed, "The paper's Table 3: its printed accuracies", []))
    return "\n".join(parts)


def _complete(results: Results) -> tuple[list[str], list[str], list[str]]:
    """Methods and sets that are complete with each other, and what is left out."""
    datasets = [
        name for name in results.datasets if _PART_OF.get(name) not in results.datasets
    ]
    left_out = [
        f"{name}, whose rows are among those of {_PART_OF[name]}"
        for name in results.datasets
        if name not in datasets
    ]

    def there(dataset: str, method: str) -> bool:
        cell = results.cells.get((dataset, method))
        return cell is not None and cell.complete

    def shared(methods: list[str]) -> list[str]:
        return [d for d in datasets if all(there(d, m) for m in methods)]

    # Methods with many sets first; so many of them that most figures take part.
    ranked = sorted(results.methods, key=lambda m: -len(shared([m])))
    choices = [ranked[:k] for k in range(1, len(ranked) + 1)]
    chosen = max(choices, key=lambda some: len(some) * len(shared(some)), default=[])
    methods = [m for m in results.methods if m in chosen]
    whole = shared(methods)
    left_out += [
        f"{title(name)} (incomplete)"
        for name in [*results.methods, *datasets]
        if name not in methods and name not in whole
    ]
    return methods, whole, left_out


def _ranking(comparison: Comparison, heading: str, left_out: list[str]) -> str:
    """A diagram with the result of the tests in words."""
    k, n = len(comparison.methods), comparison.n_datasets
    words = f"{k} methods on {n} data sets. "
    if not np.isnan(comparison.p_value):
        words += (
            f"Friedman's test: chi-square {comparison.chi_square:.2f} with {k - 1} "
            f"degrees of freedom, p = {comparison.p_value:.2g}. "
        )
    words += (
        "Average ranks; 1 is best. Thick lines join methods that Nemenyi's test cannot "
        f"tell apart at the {100 * comparison.alpha:g} % level (critical difference "
        f"{comparison.critical_difference:.2f})."
    )
    if left_out:
        words += f" Left out: {'; '.join(left_out)}."
    return (
        '<figure class="wide" tabindex="0"><figcaption><strong>'
        f"{escape(heading)}.</strong> "
        f"{escape(words)}</figcaption>{figures.ranking(comparison, heading)}</figure>"
    )
