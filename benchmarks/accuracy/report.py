"""The page docs/accuracy.md, made from a folder of results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from benchmarks.accuracy.comparisons import CONTENDERS, ROWS_FOR_TIMES, Comparisons
from benchmarks.accuracy.methods import (
    ITERATIONS,
    MANY_ROWS,
    METHODS,
    OURS,
    PEERS,
    RECOMMENDED,
    SAMPLE,
    TIMED_PEER,
    TUNED_PEERS,
)
from benchmarks.accuracy.sets import SET_ASIDE, SIZES
from benchmarks.accuracy.study import unpacked
from benchmarks.report import section
from heterolda.experiments.ranks import compare_ranks
from heterolda.experiments.results import Cell

# What must hold: percentage points below the best untuned peer, and the ratio of
# training times.
LARGEST_LOSS, LARGEST_RATIO = 1.0, 1.0
MARK = "†"
BINS = 10


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
    aside = ", ".join(SET_ASIDE)
    lines = [
        "# Accuracy",
        "",
        "Made by `python -m benchmarks.accuracy`; do not edit. "
        f"{c.results.folds} stratified folds, the same for every method. Figures are "
        "means over shuffles in %, with the standard deviation over shuffles. Peers "
        "get standardised features; tuned ones choose among five values by three inner "
        "folds.",
        "",
        "On each set those shuffles count that are complete for every method that has "
        "a complete one; the column *shuffles* says how many. Where a method has fewer "
        "by plan, their number is in brackets, and it is compared with each of the "
        "others on these alone. All comparisons are of exact counts of hits. A method "
        "that no other is better than on a set is bold. A figure in parentheses is of "
        "a method without a complete shuffle that counts, and is not compared.",
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
    versions = c.versions()
    for text, methods in versions.items():
        where = f" of {', '.join(methods)}" if len(versions) > 1 else ""
        lines += ["", f"Versions{where}: {text}."]
    lines += ["", "![Mean ranks and differences](images/accuracy.png)", ""]
    return "\n".join(lines)


def _verdicts(c: Comparisons) -> str:
    if RECOMMENDED not in c.methods:
        return ""
    lines = ["## What should hold", ""]

    def say(text: str, figures: str, holds: bool, lacking: list[str]) -> None:
        verdict = "met" if holds else "**not met**"
        if lacking:
            so_far = f" (so far {verdict})" if figures else ""
            verdict = f"**not decided**{so_far}; missing: {'; '.join(lacking)}"
        lines.append(f"- {text}{figures}: {verdict}")

    rivals = c.rivals()
    gaps = {m: theirs - ours for m, (ours, theirs) in rivals.items()}
    figures = ""
    if gaps:
        first = min(gaps, key=gaps.__getitem__)
        ours, theirs = rivals[first]
        figures = f" ({ours:.2f}; the best peer is {first}, {theirs:.2f})"
    say(
        "among the peers, the recommended recipe has the best mean rank",
        figures,
        all(gap >= 0 for gap in gaps.values()),
        _by_set(c.missing(CONTENDERS)),
    )
    points = {d: difference for d, (difference, _) in c.differences(PEERS).items()}
    worst = min(points, key=points.__getitem__, default="")
    say(
        f"nowhere more than {LARGEST_LOSS:.1f} points below the best untuned peer",
        f" (at worst {points[worst]:+.2f}, on {worst})" if points else "",
        all(difference >= -LARGEST_LOSS for difference in points.values()),
        _by_set(c.missing([RECOMMENDED, *PEERS])),
    )
    ratios = c.time_ratios()
    slow = max(ratios, key=ratios.__getitem__, default="")
    untimed = [d for d in c.timed if d not in ratios]
    say(
        f"trains no longer than {TIMED_PEER} where n >= {ROWS_FOR_TIMES}",
        f" (at worst {ratios[slow]:.2g} times as long, on {slow})" if ratios else "",
        all(ratio <= LARGEST_RATIO for ratio in ratios.values()),
        [f"times of one run on {', '.join(untimed)}"] if untimed else [],
    )
    return "\n".join([*lines, ""])


def _by_set(cells: list[tuple[str, str]]) -> list[str]:
    """Sets with the methods that are missing there."""
    methods = defaultdict(list)
    for dataset, method in cells:
        methods[dataset].append(method)
    return [f"{d} ({', '.join(names)})" for d, names in methods.items()]


def _accuracies(c: Comparisons, title: str, names: list[str]) -> str:
    names = [m for m in names if m in c.methods]
    if not names:
        return ""

    def figure(dataset: str, method: str) -> str:
        cell = c.cell(dataset, method)
        if cell is None:
            part = c.results.cells.get((dataset, method))
            return f"({part.accuracies.mean():.2f})" if part else "-"
        text = f"{c.accuracy(dataset, method):.2f}"
        if c.is_best(dataset, method):
            text = f"**{text}**"
        if cell.n_trials > 1:
            text += f" ± {cell.accuracies.std(ddof=1):.2f}"
        fewer = cell.n_trials < c.n_shuffles(dataset)
        return f"{text} [{cell.n_trials}]" if fewer else text

    rows = [
        (_name(d), str(c.n_shuffles(d)), *(figure(d, m) for m in names))
        for d in c.datasets
    ]
    return section(title, "", "|".join(["set", "shuffles", *names]), rows)


def _ranks(c: Comparisons) -> str:
    if len(c.methods) < 2 or len(c.datasets) < 2:
        return ""
    ranks = dict(zip(c.methods, c.ranks(c.methods).T, strict=True))
    among = c.mean_ranks(CONTENDERS) if RECOMMENDED in c.methods else {}
    rows = [
        (
            m,
            f"{mean:.2f}",
            f"{among[m][0]:.2f}" if m in among else "",
            str(n),
            *("-" if np.isnan(r) else f"{r:g}" for r in ranks[m]),
        )
        for m, (mean, n) in c.mean_ranks(c.methods).items()
    ]
    shuffles = [str(c.n_shuffles(d)) for d in c.datasets]
    rows.append(("*shuffles*", "", "", "", *shuffles))
    about = (
        "One more than the number of methods that are better; an equal one counts "
        "half. The mean is over the sets that a method has. *Among peers* is the mean "
        f"rank without our methods other than {RECOMMENDED}."
    )
    whole = [m for m in c.methods if np.isfinite(ranks[m]).all()]
    if len(whole) > 1:
        test = compare_ranks(whole, -c.ranks(whole))
        about += (
            f" Of the {len(whole)} methods that have every set, mean ranks that differ "
            f"by less than {test.critical_difference:.2f} cannot be told apart "
            f"(Nemenyi, 5 %); Friedman's test: p = {test.p_value:.2g}."
        )
    lacking = [(d, m) for d, m in c.missing(c.methods) if d in c.datasets]
    if lacking:
        about += f" Missing: {'; '.join(_by_set(lacking))}."
    head = "|".join(["method", "mean", "among peers", "sets", *map(_name, c.datasets)])
    return section("Ranks", about, head, rows)


def _differences(c: Comparisons) -> str:
    groups = c.differences(PEERS), c.differences(TUNED_PEERS)
    if not any(groups):
        return ""

    def texts(found: dict[str, tuple[float, str]], dataset: str) -> tuple[str, str]:
        if dataset not in found:
            return "", ""
        return f"{found[dataset][0]:+.2f}", found[dataset][1]

    rows = [
        (_name(d), str(c.n_shuffles(d)), *texts(groups[0], d), *texts(groups[1], d))
        for d in c.datasets
    ]
    about = (
        "Points of the recommended recipe above the best peer of each set, on the "
        "shuffles that both have."
    )
    head = "set|shuffles|at defaults|which|tuned|which"
    return section("Recommended against the best peers", about, head, rows)


def _times(c: Comparisons) -> str:
    if not {RECOMMENDED, TIMED_PEER} <= set(c.methods):
        return ""
    ratios = c.time_ratios()
    rows = [
        (_name(d), "{} x {}, {} classes".format(*SIZES[d]), f"{ratio:.2g}")
        for d, ratio in ratios.items()
    ]
    lines = [
        f"Training time of the recommended recipe as a ratio to {TIMED_PEER}: "
        "processor time of one thread, the median over folds."
    ]
    lacking = {d for d, _ in c.missing([RECOMMENDED, TIMED_PEER])}
    apart = [d for d in c.timed if d not in ratios and d not in lacking]
    if apart:
        lines.append(
            f"Left out because the two were not timed in one run: {', '.join(apart)}."
        )
    if not rows:
        return "\n".join(["## Training time", "", *lines, ""]) if apart else ""
    return section("Training time", " ".join(lines), "set|size|ratio", rows)


def _calibration(c: Comparisons) -> str:
    names = [
        m
        for m in c.methods
        if any((cell := c.cell(d, m)) and cell.rows[0].forecasts for d in c.datasets)
    ]
    if not names:
        return ""

    def error(cell: Cell) -> str:
        parts = [unpacked(row.forecasts) for row in cell.rows if row.forecasts]
        if not parts:
            return ""
        top, hits = (np.concatenate(column) for column in zip(*parts, strict=True))
        bins = np.array_split(np.argsort(top, kind="stable"), BINS)
        gaps = sum(abs(np.sum(top[rows] - hits[rows])) for rows in bins)
        return f"{gaps / len(top):.3f}"

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
        f"{BINS} bins of equal count, the rows of all folds and shuffles together."
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
    lines = [
        "## Limits",
        "",
        f"- Convergence warnings: {total}, see above by method.",
        f"- With more than {MANY_ROWS:,} training rows, SVC-tuned chooses C with a "
        f"stratified sample of {SAMPLE:,} of them and is then fitted to all. Its "
        f"solver stops after {ITERATIONS:,} iterations for each pair of classes, on "
        "every set. Without either, a large C would take hours; with it, SVC-tuned can "
        "be worse than SVC where it stops too early, and its rank there says little.",
    ]
    if {"D1", "D2"} & set(c.datasets):
        lines.append("- D1 and D2 are drawn anew for each shuffle.")
    return "\n".join([*lines, ""])


def _name(dataset: str) -> str:
    return f"{dataset} {MARK}" if dataset in SET_ASIDE else dataset
