"""The tables of docs/speed.md, from the record of a run."""

from __future__ import annotations

import os
import platform
from collections import defaultdict
from importlib.metadata import version
from statistics import median
from typing import Any

from threadpoolctl import threadpool_info

from benchmarks import cases
from benchmarks.methods import LIMITS
from benchmarks.pages import figure, median_time, on_machine, section_table, spread
from benchmarks.runner import geometric_mean
from heterolda import kernels

Record = dict[str, Any]

LIBRARIES = ("numpy", "scipy", "scikit-learn")
# Names of methods as readers know them; the keys of results stay as they are.
SHOWN = {
    "global without guard": "GLD without guard",
    "global": "GLD",
    "fixed-point": "Algorithm 1",
    "c-hld": "C-HLD",
    "r-hld-1": "R-HLD-1",
    "r-hld-2": "R-HLD-2",
    "local search": "Algorithm 2",
    "LDA svd": "LDA",
    "LDA lsqr": "LDA (lsqr)",
    "LDA eigen": "LDA (eigen)",
}


def shown(name: str) -> str:
    """The name of a method, or of a call of it, as readers know it."""
    for key, words in SHOWN.items():
        if f" {key} " in f" {name} ".replace(",", " "):
            return name.replace(key, words)
    return name


def machine() -> Record:
    """The machine in neutral words; call it with the limits on threads in force."""
    blas = {
        f"{pool['internal_api']} {pool['version']}, threads: {pool['num_threads']}"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }
    return {
        "processors": os.cpu_count(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in LIBRARIES},
        "blas": sorted(blas),
        "kernels": kernels.in_use(),
    }


def with_summary(times: list[Record]) -> list[Record]:
    """The rows with the geometric means over the study's shapes after them."""
    means = [
        geometric_mean(
            [e for e in times if e["group"] == group], cases.GEOMETRIC_MEAN, count
        )
        for group, count in cases.MEANS.items()
    ]
    return [*times, *(mean for mean in means if mean is not None)]


# Groups with a table of their own; the others share one.
TABLES = {
    "fit": (cases.FIT_REAL,),
    "fit, large": (cases.FIT_LARGE, cases.FIT_WIDE),
    "predict": (cases.PREDICT,),
}
# One set of all those on which other classifiers are timed.
OTHERS = "satellite: "


def parts(record: Record) -> dict[str, str]:
    """Return all parts of the page by their names."""
    times = record["times"]
    tables = {
        name: _times([e for e in times if e["group"] in groups])
        for name, groups in TABLES.items()
    }
    others = [e for e in times if e["group"] == cases.OTHERS]
    return {
        "speed": _summary(times),
        "faster": _where_peers_are_faster(times),
        **tables,
        "other classifiers": _times([e for e in others if OTHERS in e["data"]]),
        "more": _more(times),
        "growth": _growth(record["growth"]),
        "memory": _memory(record["memory"]),
        "machine": "- **Speed and memory**: "
        + on_machine(record["machine"], record["heterolda"]).partition(": ")[2]
        + (f" {record['date']}." if "date" in record else ""),
    }


def _summary(times: list[Record]) -> str:
    """Return the first sentences of the page."""
    fits = [e for e in times if e["group"] == cases.FIT_REAL and e["ratio"]]
    mean = next((e for e in fits if e["data"].startswith("geometric")), None)
    ratios = [e["ratio"] for e in fits if e is not mean]
    lda = [
        e["ratio"]
        for e in times
        if e["group"] == cases.PREDICT and e["peer"] == "predict LDA svd" and e["ratio"]
    ]
    if not (mean and lda):
        return "Not measured in this run."
    return (
        f"On {len(ratios)} real data sets a fit of `GaussianLinearDiscriminant()` "
        f"(*GLD*) takes {figure(mean['ratio'])} times as long as one of "
        f"scikit-learn's LDA (geometric mean; {figure(min(ratios))} to "
        f"{figure(max(ratios))}), and "
        f"predictions take {figure(min(lda))} to {figure(max(lda))} times as long, "
        "and longer the more classes there are."
    )


def _more(times: list[Record]) -> str:
    """Return the range of ratios of the groups without a table of their own."""
    shown_groups = {group for groups in TABLES.values() for group in groups}
    rows = []
    for group in cases.GROUPS:
        ratios = [e["ratio"] for e in times if e["group"] == group and e["ratio"]]
        if ratios and group not in shown_groups | {cases.OTHERS}:
            peers = {shown(e["peer"]) for e in times if e["group"] == group}
            peer = peers.pop() if len(peers) == 1 else ""
            rows.append(
                (
                    *(group, peer, str(len(ratios)), figure(median(ratios))),
                    f"{figure(min(ratios))} to {figure(max(ratios))}",
                )
            )
    return section_table("what|peer|cases|median ratio|range", rows)


def beside_lda(times: list[Record]) -> dict[str, dict[str, float]]:
    """By set with a name, the ratios of our times to LDA's of fits and predictions."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for e in times:
        name, _, shape = e["data"].partition(": ")
        lda = e["peer"].endswith(" LDA svd") and e["group"] != cases.RECOMMENDED
        if shape and lda and e["ratio"] is not None:
            found[name].setdefault(e["peer"].partition(" ")[0], e["ratio"])
    return dict(found)


def _where_peers_are_faster(times: list[Record]) -> str:
    """Return rows in which even the lower quartile of the ratio is above 1, by peer."""
    slower = defaultdict(list)
    for e in times:
        other = e["peer"] not in LIMITS and e["group"] not in cases.OWN
        if other and "ours_seconds" in e and e["quartiles"][0] > 1:
            slower[e["ours"], e["peer"]].append(e)
    lines = []
    for (ours, peer), entries in slower.items():
        unique = {e["data"]: e["ratio"] for e in entries}
        where = "; ".join(f"{data} ({figure(r)})".strip() for data, r in unique.items())
        lines.append(f"- {shown(peer)} compared with our {shown(ours)}: {where}")
    return "\n".join(lines) or "Nowhere in this run."


def _times(entries: list[Record]) -> str:
    rows = [
        (
            e["data"],
            shown(e["ours"]),
            shown(e["peer"]),
            median_time(e, "ours_seconds"),
            median_time(e, "peer_seconds"),
            figure(e["ratio"]),
            spread(e.get("quartiles")),
            e["remark"],
        )
        for e in entries
    ]
    head = "data|ours|peer|our time|peer's|ratio|quartiles"
    if any(row[-1] for row in rows):
        return section_table(f"{head}|remark", rows)
    return section_table(head, [row[:-1] for row in rows])


def _growth(sweeps: list[Record]) -> str:
    rows = [
        (
            f"{sweep['axis']} ({sweep['fixed']})",
            shown(line["method"]),
            f"{line['sizes'][0]:,} to {line['sizes'][-1]:,}",
            figure(line.get("exponent")),
            spread(line.get("quartiles")),
        )
        for sweep in sweeps
        for line in sweep["lines"]
        if line["method"] in ("fit global", "fit LDA svd")
    ]
    return section_table("axis|method|sizes|exponent|quartiles", rows)


def _memory(entries: list[Record]) -> str:
    rows = [
        (
            e["data"],
            shown(e["method"]),
            f"{e['bytes'] / 1e6:.1f} MB",
            figure(e["traced"]),
            figure(e["resident"]),
        )
        for e in entries
    ]
    return section_table("data|method|X|traced|resident", rows)
