"""The tables of docs/benchmarks.md, from the record of a run."""

from __future__ import annotations

import os
import platform
from collections import defaultdict
from importlib.metadata import version
from typing import Any

from threadpoolctl import threadpool_info

from benchmarks import cases
from benchmarks.methods import LIMITS
from benchmarks.pages import figure, median_time, on_machine, section_table, spread
from benchmarks.runner import geometric_mean
from benchmarks.stages import STAGES
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


def parts(record: Record) -> dict[str, str]:
    """Return all parts of the page by their names; groups of times by theirs."""
    groups = defaultdict(list)
    for entry in record["times"]:
        groups[entry["group"]].append(entry)
    times = {group: _times(groups[group]) for group in cases.GROUPS if groups[group]}
    return {
        "faster": _where_peers_are_faster(record["times"]),
        **(dict.fromkeys(cases.GROUPS, "Not measured in this run.") | times),
        "stages": _stages(record["stages"]),
        "growth": _growth(record["growth"]),
        "memory": _memory(record["memory"]),
        "installed": "\n\n".join(map(_installed, record["installed"])),
        "machine": "- " + on_machine(record["machine"], record["heterolda"]),
        "goals": _goals(record),
    }


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


def _stages(entries: list[Record]) -> str:
    columns = [*STAGES, "fit", "LDA svd"]
    rows = [(e["data"], *(f"{1e3 * e[c]:.2f}" for c in columns)) for e in entries]
    return section_table("|".join(["data", *map(shown, columns)]), rows)


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


def _installed(entry: Record) -> str:
    rows = [(name, f"{size / 1e6:.1f}") for name, size in entry["sizes"].items()]
    rows.append(("**all**", f"{entry['total'] / 1e6:.1f}"))
    return section_table("package|MB", rows)


def _goals(record: Record) -> str:
    """Return how many goals are met, and which are not."""
    named = [(_name(e), e) for e in record["times"]]
    for e in record["memory"]:
        named.append((f"memory, {shown(e['method'])}, {e['data']}", e))
    named += [("installed size in MB", e) for e in record["installed"]]
    for sweep in record["growth"]:
        for line in sweep["lines"]:
            entry = {"met": None, **line, "target": sweep["target"]}
            named.append((f"growth in {sweep['axis']}", entry))
    judged = [(name, e) for name, e in named if e["met"] is not None]
    missed = [(name, e) for name, e in judged if not e["met"]]
    lines = [f"{len(judged) - len(missed)} of {len(judged)} goals are met."]
    lines += ["Not met, with the ratio that we aimed at:", ""] if missed else []
    for name, entry in missed:
        value = entry["exponent" if "exponent" in entry else "ratio"]
        lines.append(f"- {name}: {figure(value)}, goal {figure(entry['target'])}")
    return "\n".join(lines)


def _name(entry: Record) -> str:
    data = f", {entry['data']}" if entry["data"] else ""
    return f"{shown(entry['ours'])} against {shown(entry['peer'])}{data}"
