"""The tables and the picture of docs/speed.md, from the record of a run."""

from __future__ import annotations

from collections import defaultdict
from statistics import geometric_mean, median

from benchmarks.pages import (
    OURS,
    PEER,
    Record,
    canvas,
    comparisons,
    figure,
    origin,
    png,
    section_table,
)
from benchmarks.speed import cases

TABLES = {
    "fit": cases.FIT,
    "fit, small": cases.SMALL,
    "fit, large": cases.LARGE,
    "predict": cases.PREDICT,
    "other classifiers": cases.OTHERS,
}
# Groups that share a table, one line each.
MORE = (
    *(cases.ONE_ROW, cases.SMOOTHED, cases.PROJECT, cases.SEARCH),
    *(cases.KERNELS, cases.FRESH),
)


def parts(record: Record) -> dict[str, str]:
    """Return all parts of the page by their names."""
    groups = defaultdict(list)
    for entry in record["times"]:
        groups[entry["group"]].append(entry)
    return {
        "speed": _summary(groups),
        "faster": _where_peers_are_faster(record["times"]),
        **{name: comparisons(groups[group]) for name, group in TABLES.items()},
        "more": section_table(
            "what|peer|cases|median ratio|range",
            [_line(group, groups[group]) for group in MORE],
        ),
        "memory": _memory(record["memory"]),
        "machine": origin("speed", "Speed and memory"),
    }


def _summary(groups: dict[str, list[Record]]) -> str:
    """Return the first sentences of the page."""
    fits = [e["ratio"] for e in groups[cases.FIT]]
    lda = [e for e in groups[cases.PREDICT] if e["peer"] == "predict LDA"]
    real = [e["ratio"] for e in lda if ": " in e["data"]]
    most = max(lda, key=lambda e: e["ratio"])
    return (
        f"On {len(fits)} real data sets a fit of `GaussianLinearDiscriminant()` "
        f"(*GLD*) takes {figure(geometric_mean(fits))} times as long as one of "
        f"scikit-learn's LDA (geometric mean; {figure(min(fits))} to "
        f"{figure(max(fits))}), and predictions take {figure(min(real))} to "
        f"{figure(max(real))} times as long, or {figure(most['ratio'])} times "
        f"with {most['data'].partition(', ')[2]}."
    )


def _where_peers_are_faster(times: list[Record]) -> str:
    """Return rows in which even the lower quartile of the ratio is above 1, by peer."""
    slower = defaultdict(list)
    for e in times:
        if e["peer"] not in (cases.GRAM, cases.SCORES) and e["quartiles"][0] > 1:
            slower[e["ours"], e["peer"]].append(
                f"{e['data']} ({figure(e['ratio'])})".strip()
            )
    return "\n".join(
        f"- *{peer}* vs. our *{ours}*: {'; '.join(where)}"
        for (ours, peer), where in slower.items()
    )


def _line(group: str, entries: list[Record]) -> tuple[str, ...]:
    """Return the range of the ratios of a group."""
    ratios = [e["ratio"] for e in entries]
    peers = sorted({e["peer"] for e in entries})
    span = f"{figure(min(ratios))} to {figure(max(ratios))}"
    return group, ", ".join(peers), str(len(ratios)), figure(median(ratios)), span


def _memory(entries: list[Record]) -> str:
    rows = [
        (
            *(e["data"], e["method"], f"{e['bytes'] / 1e6:.1f} MB"),
            *(figure(e["traced"]), figure(e["resident"])),
        )
        for e in entries
    ]
    return section_table("data|method|X|traced|resident", rows)


def picture(times: list[Record]) -> bytes:
    """Draw a row for each set, with a mark for a fit and one for a prediction."""
    ratios: dict[str, dict[str, float]] = defaultdict(dict)
    for e in times:
        name, _, shape = e["data"].partition(": ")
        if shape and e["group"] in (cases.FIT, cases.PREDICT):
            ratios[name][e["group"]] = e["ratio"]
    figure_, panels = canvas(1.5 + 0.24 * len(ratios))
    panel, names = panels[0, 0], sorted(ratios, key=lambda n: -ratios[n][cases.FIT])
    marks = {cases.FIT: (OURS, "o", "fit"), cases.PREDICT: (PEER, "^", "predict")}
    for group, (color, mark, label) in marks.items():
        values = [ratios[name][group] for name in names]
        panel.plot(values, range(len(names)), mark, color=color, label=label)
    panel.axvline(1, color="0.3", linewidth=0.9)
    panel.set(xscale="log", ylim=(-0.7, len(names) - 0.3))
    ticks = (0.1, 0.2, 0.5, 1, 2)
    panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    panel.minorticks_off()
    panel.set_yticks(range(len(names)), names)
    panel.set_xlabel("our time over LDA's: left of 1 GLD is faster", fontsize=10)
    figure_.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=10)
    return png(figure_)
