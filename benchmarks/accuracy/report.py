"""The page docs/accuracy.md, made from a folder of results."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.stats import rankdata

from benchmarks.accuracy.methods import (
    LIMITS,
    MANY_ROWS,
    METHODS,
    OURS,
    PEERS,
    RECOMMENDED,
    SAMPLE,
    TIMED_PEER,
    TUNED_PEERS,
)
from benchmarks.accuracy.study import (
    BINS,
    DATASETS,
    SET_ASIDE,
    Score,
    calibration_error,
)
from benchmarks.report import section
from heterolda.experiments.catalogue import CATALOGUE
from heterolda.experiments.ranks import compare
from heterolda.experiments.results import Cell, Results

# What must hold: percentage points below the best untuned peer, and the ratio of
# training times on sets with at least so many rows.
LARGEST_LOSS = 1.0
LARGEST_RATIO, ROWS_FOR_TIMES = 1.0, 2000
MARK = "†"


class Comparisons:
    """What the page and the picture compare.

    Parameters
    ----------
    results : Results
        What was computed.
    development : bool
        Whether the sets that are set aside are left out.
    """

    def __init__(self, results: Results, development: bool = False):
        self.results = results
        self.development = development
        hidden = SET_ASIDE if development else ()
        order = [*DATASETS, *(n for n in CATALOGUE if n not in DATASETS)]
        self.datasets = [n for n in order if n in results.datasets and n not in hidden]
        self.methods = [m for m in METHODS if m in results.methods]

    def cell(self, dataset: str, method: str) -> Cell | None:
        """A method on a set, if there are any results."""
        return self.results.cells.get((dataset, method))

    def accuracy(self, dataset: str, method: str) -> float:
        """Mean over trials in %, NaN where folds are missing."""
        cell = self.cell(dataset, method)
        complete = cell is not None and cell.complete
        return float(cell.accuracies.mean()) if complete else np.nan

    @cached_property
    def table(self) -> np.ndarray:
        """Accuracies of shape (n_datasets, n_methods)."""
        return np.array(
            [[self.accuracy(d, m) for m in self.methods] for d in self.datasets]
        ).reshape(len(self.datasets), len(self.methods))

    @cached_property
    def ranked(self) -> list[str]:
        """Methods that are complete on every set, which ranks can compare."""
        complete = np.isfinite(self.table).all(axis=0)
        return [m for m, yes in zip(self.methods, complete, strict=True) if yes]

    @cached_property
    def ranks(self) -> np.ndarray:
        """Ranks of those methods, of shape (n_datasets, n_ranked)."""
        columns = [self.methods.index(m) for m in self.ranked]
        return rankdata(-self.table[:, columns], axis=1)

    def differences(self, peers: list[str]) -> dict[str, tuple[float, str]]:
        """By set: points of the recommended recipe above the best peer, and that."""
        found = {}
        for dataset in self.datasets:
            scores = {m: self.accuracy(dataset, m) for m in peers if m in self.methods}
            scores = {m: a for m, a in scores.items() if np.isfinite(a)}
            ours = self.accuracy(dataset, RECOMMENDED)
            if scores and np.isfinite(ours):
                best = max(scores, key=scores.__getitem__)
                found[dataset] = (ours - scores[best], best)
        return found

    def time_ratios(self) -> dict[str, float]:
        """By set: training time of the recommended recipe over the timed peer's."""
        found = {}
        for dataset in self.datasets:
            ours = self.cell(dataset, RECOMMENDED)
            peer = self.cell(dataset, TIMED_PEER)
            ratio = ours.time_ratio(peer) if ours and peer else None
            if ratio is not None and CATALOGUE[dataset].n >= ROWS_FOR_TIMES:
                found[dataset] = ratio
        return found


def joined(parts: list[Results], trials: int) -> Results:
    """Results of several folders together, of the first so many trials.

    Parameters
    ----------
    parts : list of Results
        Computed with the same folds. Where two have the same row, the first counts.
    trials : int
        Number of trials to look at.

    Returns
    -------
    Results
        All rows, and the plans of all.
    """
    rows: dict[tuple[str, str, int, int], Score] = {}
    plan: dict[str, dict[str, int]] = {}
    for part in parts:
        for key in ("folds", "seed"):
            if part.run[key] != parts[0].run[key]:
                raise ValueError(
                    f"{str(part.folder)!r} was computed with {key} = {part.run[key]}, "
                    f"{str(parts[0].folder)!r} with {parts[0].run[key]}: they do not "
                    "compare"
                )
        for row in part.rows:
            if row.trial < trials:
                rows.setdefault(row.key, row)
        for dataset, counts in part.run["plan"].items():
            for method, n in counts.items():
                plan.setdefault(dataset, {}).setdefault(method, min(n, trials))
    run = parts[0].run | {"plan": plan}
    return Results(parts[0].folder, tuple(rows.values()), run)


def page(c: Comparisons) -> str:
    """The whole page."""
    groups = {
        "Ours": OURS,
        "Peers at their defaults": PEERS,
        "Peers, tuned": TUNED_PEERS,
    }
    parts = [
        _head(c),
        _verdicts(c),
        *(_accuracies(c, title, names) for title, names in groups.items()),
        _ranks(c),
        _differences(c),
        _times(c),
        _calibration(c),
        _methods(c),
        _remarks(c),
    ]
    return "\n".join(part for part in parts if part)


def _head(c: Comparisons) -> str:
    run = c.results.run
    versions = ", ".join(f"{name} {v}" for name, v in run["versions"].items())
    aside = ", ".join(SET_ASIDE)
    lines = [
        "# Accuracy",
        "",
        "Made by `python -m benchmarks.accuracy`; do not edit. "
        f"{c.results.folds} stratified folds, {c.results.trials} shuffles, the same "
        "for every method. Figures are means over shuffles in %, with the standard "
        "deviation over shuffles; the best of a set is bold. Peers get standardised "
        "features; tuned ones choose among five values by three inner folds. A figure "
        "in parentheses is of an incomplete run and not compared.",
        "",
    ]
    if c.development:
        lines += [f"**Without the sets that are set aside**: {aside}."]
    else:
        lines += [
            f"{MARK} These sets were set aside before the first full run and looked at "
            f"once in the end: {aside}. (scikit-learn's digits are a part of "
            "optdigits, so these two are not independent.)"
        ]
    lines += ["", f"Versions: {versions}.", ""]
    lines += ["![Mean ranks and differences](images/accuracy.png)", ""]
    return "\n".join(lines)


def _verdicts(c: Comparisons) -> str:
    if RECOMMENDED not in c.ranked:
        return ""
    means = dict(zip(c.ranked, c.ranks.mean(axis=0), strict=True))
    best = min(means, key=means.__getitem__)
    lines = ["## What should hold", ""]

    def say(text: str, holds: bool) -> None:
        lines.append(f"- {text}: {'met' if holds else '**not met**'}")

    say(
        f"the recommended recipe has the best mean rank ({means[RECOMMENDED]:.2f}; "
        f"the best is {best}, {means[best]:.2f})",
        means[RECOMMENDED] <= means[best],
    )
    points = {d: difference for d, (difference, _) in c.differences(PEERS).items()}
    if points:
        worst = min(points, key=points.__getitem__)
        say(
            f"nowhere more than {LARGEST_LOSS:.1f} points below the best untuned peer "
            f"(at worst {points[worst]:+.2f}, on {worst})",
            points[worst] >= -LARGEST_LOSS,
        )
    ratios = c.time_ratios()
    if ratios:
        slow = max(ratios, key=ratios.__getitem__)
        say(
            f"trains no longer than {TIMED_PEER} where n >= {ROWS_FOR_TIMES} (at "
            f"worst {ratios[slow]:.2g} times as long, on {slow})",
            ratios[slow] <= LARGEST_RATIO,
        )
    return "\n".join([*lines, ""])


def _accuracies(c: Comparisons, title: str, names: list[str]) -> str:
    names = [m for m in names if m in c.methods]
    if not names:
        return ""
    with np.errstate(invalid="ignore"):
        best = np.nanmax(np.nan_to_num(c.table, nan=-1), axis=1)

    def figure(row: int, dataset: str, method: str) -> str:
        cell = c.cell(dataset, method)
        if cell is None:
            return "-"
        values = cell.accuracies
        text = f"{values.mean():.2f}"
        if not cell.complete:
            return f"({text})"
        if np.isclose(values.mean(), best[row]):
            text = f"**{text}**"
        return f"{text} ± {values.std(ddof=1):.2f}" if len(values) > 1 else text

    rows = [
        (_name(dataset), *(figure(k, dataset, m) for m in names))
        for k, dataset in enumerate(c.datasets)
    ]
    return section(title, "", "|".join(["set", *names]), rows)


def _ranks(c: Comparisons) -> str:
    if len(c.ranked) < 2 or len(c.datasets) < 2:
        return ""
    order = np.argsort(c.ranks.mean(axis=0), kind="stable")
    columns = [c.methods.index(m) for m in c.ranked]
    test = compare(c.ranked, c.table[:, columns])
    rows = [
        (c.ranked[k], f"{c.ranks[:, k].mean():.2f}", *(f"{r:g}" for r in c.ranks[:, k]))
        for k in order
    ]
    about = (
        f"1 is the best of {len(c.ranked)}; equal accuracies share a rank. Mean ranks "
        f"that differ by less than {test.critical_difference:.2f} cannot be told apart "
        f"(Nemenyi, 5 %); Friedman's test: p = {test.p_value:.2g}."
    )
    absent = [m for m in c.methods if m not in c.ranked]
    if absent:
        about += f" Not complete, so not ranked: {', '.join(absent)}."
    head = "|".join(["method", "mean", *map(_name, c.datasets)])
    return section("Ranks", about, head, rows)


def _differences(c: Comparisons) -> str:
    groups = c.differences(PEERS), c.differences(TUNED_PEERS)
    if not any(groups):
        return ""

    def texts(found: dict[str, tuple[float, str]], dataset: str) -> tuple[str, str]:
        if dataset not in found:
            return "", ""
        return f"{found[dataset][0]:+.2f}", found[dataset][1]

    rows = [(_name(d), *texts(groups[0], d), *texts(groups[1], d)) for d in c.datasets]
    about = "Points of the recommended recipe above the best peer of each set."
    head = "set|at defaults|which|tuned|which"
    return section("Recommended against the best peers", about, head, rows)


def _times(c: Comparisons) -> str:
    rows = [
        (_name(d), CATALOGUE[d].size, f"{ratio:.2g}")
        for d, ratio in c.time_ratios().items()
    ]
    if not rows:
        return ""
    about = (
        f"Training time of the recommended recipe as a ratio to {TIMED_PEER}: "
        "processor time of one thread, the median over folds."
    )
    return section("Training time", about, "set|size|ratio", rows)


def _calibration(c: Comparisons) -> str:
    names = [
        m
        for m in c.methods
        if any((cell := c.cell(d, m)) and cell.rows[0].excess for d in c.datasets)
    ]
    if not names:
        return ""

    def error(cell: Cell) -> str:
        return f"{calibration_error(cell.rows):.3f}"

    def loss(cell: Cell) -> str:
        total = sum(row.n_test for row in cell.rows)
        return f"{sum(row.log_loss * row.n_test for row in cell.rows) / total:.3f}"

    def rows(figure: Callable[[Cell], str]) -> list[tuple[str, ...]]:
        return [
            (_name(d), *(figure(cell) if (cell := c.cell(d, m)) else "" for m in names))
            for d in c.datasets
        ]

    about = (
        "Expected calibration error of the largest probability: "
        f"{BINS} bins of equal width, the rows of all folds of a shuffle together."
    )
    head = "|".join(["set", *names])
    return "\n".join(
        [
            section("Calibration", about, head, rows(error)),
            section("Log loss", "Of the test rows.", head, rows(loss)),
        ]
    )


def _methods(c: Comparisons) -> str:
    rows = [
        (m, METHODS[m].description, str(n) if (n := _warnings(c, m)) else "")
        for m in c.methods
    ]
    about = "Warnings are scikit-learn's ConvergenceWarnings, in inner folds too."
    return section("Methods", about, "method|what it is|warnings", rows)


def _warnings(c: Comparisons, method: str) -> int:
    return sum(
        row.n_warnings
        for d in c.datasets
        if (cell := c.cell(d, method))
        for row in cell.rows
    )


def _remarks(c: Comparisons) -> str:
    total = sum(_warnings(c, m) for m in c.methods)
    limited = sorted(
        key.partition(":")[2]
        for key in LIMITS
        if key.startswith("SVC-tuned:") and key.partition(":")[2] in c.datasets
    )
    lines = [
        "## Limits",
        "",
        f"- Convergence warnings: {total}, see above by method.",
        f"- With more than {MANY_ROWS} training rows, SVC-tuned chooses C with a "
        f"stratified sample of {SAMPLE} of them and is then fitted to all, and it has "
        f"one shuffle only: a large C would take hours. Sets: {', '.join(limited)}.",
        "- SVC has one shuffle only on shuttle.",
        "- D1 and D2 are drawn anew for each shuffle.",
    ]
    return "\n".join([*lines, ""])


def _name(dataset: str) -> str:
    return f"{dataset} {MARK}" if dataset in SET_ASIDE else dataset
