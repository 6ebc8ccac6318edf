"""The page docs/benchmarks.md, made from the record of a run."""

from __future__ import annotations

import os
import platform
from collections import defaultdict
from importlib.metadata import version
from typing import Any

from threadpoolctl import threadpool_info

from benchmarks import cases
from benchmarks.methods import LIMITS
from benchmarks.pages import (
    compose,
    figure,
    median_time,
    on_machine,
    section,
    spread,
)
from benchmarks.runner import geometric_mean
from benchmarks.stages import STAGES
from heterolda import kernels

Record = dict[str, Any]

LIBRARIES = ("numpy", "scipy", "scikit-learn")
SIDES = "ours", "peer"
PICTURE = (
    "![Time of GLD over that of LDA on each set, to fit and to predict: mostly below 1 "
    "for fits, mostly around 1 for predictions](images/benchmarks_lda.png)"
)

ABOUT = {
    cases.FIT_REAL: (
        "Fit, the study's real data",
        "The sets of the paper's Table 1 and pendigits, with all settings at their "
        "defaults, the guard included. Some of the sets are singular.",
    ),
    cases.FIT_DRAWN: (
        "Fit, Gaussian data of the same shapes",
        "As many rows, features and classes as the study's sets have, but Gaussian.",
    ),
    cases.FIT_LARGE: (
        "Fit, many rows or classes",
        "The bare product is the least that reading all the data can cost. With 100 "
        "classes there are 4,950 pairs, each with a rule of its own.",
    ),
    cases.FIT_WIDE: (
        "Fit, fewer rows than features",
        "A few factors that all features share, and noise. Ours chooses the amount of "
        "shrinkage by leaving rows out; LDA has none.",
    ),
    cases.PREDICT: (
        "Predict",
        "Models were fitted to at most 20,000 rows. LDA has a score for each class, "
        "ours a rule for each pair of classes; W has a column for each pair.",
    ),
    cases.ONE_ROW: (
        "Predict one row",
        "Models were fitted to at most 20,000 rows. Each call predicts the first row.",
    ),
    cases.GUARD: (
        "What the guard costs",
        "Here the peer is our own fit with `guard=False`.",
    ),
    cases.SOLVERS: (
        "The paper's other solvers beside ours",
        "The peer is our own default, which is compiled.",
    ),
    cases.KERNELS: (
        "Compiled loops beside NumPy",
        "The peer is the same call without the compiled loops, as with "
        "`HETEROLDA_KERNELS=numpy`.",
    ),
    cases.RECOMMENDED: (
        "The recommended recipe",
        "A set with 4,950 pairs of classes. LDA gives the scale; it does far less.",
    ),
    cases.PROJECT: (
        "Two components, from class statistics",
        "Ours starts from `ClassStatistics`, LDA fits to rows. "
        '"fisher" and "chernoff" are closed forms, "error" is a search.',
    ),
    cases.TRANSCRIBED: (
        "The paper's procedures as printed",
        "The peer follows the paper's text: one matrix inverse for each trial rule.",
    ),
    cases.OTHERS: (
        "Other classifiers",
        "QDA, GaussianNB, LogisticRegression and LinearSVC fit other models, so only "
        "the times compare. So does empulse's ProfMEMPM: it too finds a linear rule "
        "from two means and two covariances, but the best one for the worst "
        "distribution that has them.",
    ),
    cases.FRESH: (
        "A fresh process",
        "Timed inside fresh interpreters, one after the other: imports, and the first "
        "calls after them on 3,000 x 8, 2 classes.",
    ),
    cases.local_search.GROUP: (
        "Algorithm 2, the local search",
        "The naive form computes X @ w for each of the 2 (d + 1) neighbours of each "
        "iteration; both take the same path. A *whole fit* leaves out only the fit of "
        "the start. *Touched* is the share of rows whose neighbours had to be "
        "evaluated.",
    ),
}
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


def page(record: Record) -> str:
    """The whole page."""
    groups = defaultdict(list)
    for entry in record["times"]:
        groups[entry["group"]].append(entry)
    order = [group for group in ABOUT if group in groups]
    tables = [
        _where_peers_are_faster(record["times"]),
        *(_times(group, groups[group]) for group in order),
        _stages(record["stages"]),
        _growth(record["growth"]),
        _memory(record["memory"]),
        *map(_installed, record["installed"]),
    ]
    return compose(
        "Benchmarks",
        _opening(record, groups),
        tables,
        _made(record),
        _goals(record),
        PICTURE if beside_lda(record["times"]) else "",
    )


def beside_lda(times: list[Record]) -> dict[str, dict[str, float]]:
    """By set with a name, the ratios of our times to LDA's of fits and predictions."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for e in times:
        name, _, shape = e["data"].partition(": ")
        lda = e["peer"].endswith(" LDA svd") and e["group"] != cases.RECOMMENDED
        if shape and lda and e["ratio"] is not None:
            found[name].setdefault(e["peer"].partition(" ")[0], e["ratio"])
    return dict(found)


def _opening(record: Record, groups: dict[str, list[Record]]) -> list[str]:
    """Who is faster, where not, and what that means."""
    sentences = [
        "How long fits and predictions of `GaussianLinearDiscriminant()` (*GLD*) take "
        "beside those of scikit-learn's `LinearDiscriminantAnalysis()` (*LDA*) and "
        "other classifiers, on the same data in the same process."
    ]
    real = [e for e in groups[cases.FIT_REAL] if e["ratio"] is not None]
    mean = next((e for e in real if "mean" in e["data"]), None)
    if mean:
        ratios = [e["ratio"] for e in real if e is not mean]
        sentences.append(
            f"On {len(ratios)} real data sets a fit takes {mean['ratio']:.2f} times as "
            f"long as LDA's (geometric mean; {min(ratios):.2f} to {max(ratios):.2f}), "
            "although it proves an optimum for each pair of classes."
        )
    predict = [
        e["ratio"]
        for e in groups[cases.PREDICT]
        if "LDA svd" in e["peer"] and e["ratio"] is not None
    ]
    if predict:
        sentences.append(
            f"Predictions take {min(predict):.2f} to {max(predict):.1f} times as long "
            "as LDA's, more the more classes there are."
        )
    for e in groups[cases.FIT_LARGE]:
        if "LDA svd" in e["peer"] and (e["ratio"] or 0) > 3:
            ours, peer = (median_time(e, f"{side}_seconds") for side in SIDES)
            sentences.append(
                f"**LDA wins clearly with many classes**: {ours} against {peer} to fit "
                f"{e['data']}."
            )
    for e in groups[cases.RECOMMENDED]:
        if "ours_seconds" in e:
            sentences.append(
                "`recommended()`, which tries many rules by cross-validation, costs "
                f"far more: {median_time(e, 'ours_seconds')} on {e['data']}."
            )
    if mean:
        sentences.append(
            "In short: with up to some 25 classes time is no reason to prefer "
            "LDA; with a hundred it may be."
        )
    opening = [" ".join(sentences)]
    if record["quick"]:
        opening.append("**A quick run**: large shapes are scaled down, turns are few.")
    if not record["complete"]:
        opening.append("**Not complete**: a selection, or the run was interrupted.")
    if record["failed"]:
        opening.append("**Failed**: " + "; ".join(record["failed"]))
    return opening


def _made(record: Record) -> list[str]:
    sources = {entry["source"] for entry in record["times"]}
    lines = [
        f"Made by `{record['command']}`; run it again instead of editing the page.",
        "**Times**: ours and the peer's run in the same process on the same data, in "
        "turns. Each ratio is our time over the peer's: the median over the turns, "
        "with quartiles. Below 1 means that ours is faster.",
    ]
    if "stand-in" in sources:
        lines.append(
            "**Data**: the study's real sets were not at hand; Gaussian classes stand "
            "in for them."
        )
    if "real" in sources:
        lines.append("**Data**: the real sets come from the folder `HETEROLDA_DATA`.")
    kernels_in_use = f"Loops: {record['machine']['kernels']}."
    return [*lines, on_machine(record["machine"], record["heterolda"]), kernels_in_use]


def _all_judged(record: Record) -> list[tuple[str, Record]]:
    named = [(_name(e), e) for e in record["times"]]
    for e in record["memory"]:
        named.append((f"memory, {shown(e['method'])}, {e['data']}", e))
    named += [("installed size in MB", e) for e in record["installed"]]
    for sweep in record["growth"]:
        for line in sweep["lines"]:
            extra = {"target": sweep["target"], "full_size": sweep["full_size"]}
            named.append((f"growth in {sweep['axis']}", {"met": None, **line, **extra}))
    return [(name, e) for name, e in named if e["met"] is not None]


def _goals(record: Record) -> str:
    """How many are met, and which are not, by whether the size is the full one."""
    lines = []
    for full, where in ((True, ""), (False, " at a smaller size")):
        judged = [(n, e) for n, e in _all_judged(record) if e["full_size"] is full]
        missed = [(n, e) for n, e in judged if not e["met"]]
        if not judged:
            continue
        met = len(judged) - len(missed)
        lines.append(f"{met} of {len(judged)} goals are met{where}.")
        if missed:
            lines += [f"Not met{where}, with the ratio that we aimed at:", ""]
        for name, entry in missed:
            value = entry["exponent" if "exponent" in entry else "ratio"]
            lines.append(f"- {name}: {figure(value)}, goal {figure(entry['target'])}")
        lines.append("")
    return "\n".join(lines)


def _where_peers_are_faster(times: list[Record]) -> str:
    """Rows in which even the lower quartile of the ratio is above 1, by peer."""
    if not times:
        return ""
    slower = defaultdict(list)
    for e in times:
        other = e["peer"] not in LIMITS and e["group"] not in cases.OWN
        if other and "ours_seconds" in e and e["quartiles"][0] > 1:
            slower[e["ours"], e["peer"]].append(e)
    lines = ["## Where others are faster", ""]
    if not slower:
        return "\n".join([*lines, "Nowhere in this run.", ""])
    lines += [
        "Our time over theirs is in parentheses. A case counts if even the lower "
        "quartile of the ratio is above 1. Bare matrix products, which nothing can "
        "beat, are left out.",
        "",
    ]
    for (ours, peer), entries in slower.items():
        unique = {e["data"]: e["ratio"] for e in entries}
        where = "; ".join(f"{data} ({figure(r)})".strip() for data, r in unique.items())
        lines.append(f"- {shown(peer)} beside our {shown(ours)}: {where}")
    return "\n".join([*lines, ""])


def _times(group: str, entries: list[Record]) -> str:
    rows = [
        (
            e["data"],
            shown(e["ours"]),
            shown(e["peer"]),
            median_time(e, "ours_seconds"),
            median_time(e, "peer_seconds"),
            figure(e["ratio"]),
            spread(e.get("quartiles")),
            str(len(e["ours_seconds"])) if "ours_seconds" in e else "",
            e["remark"],
        )
        for e in entries
    ]
    head = "data|ours|peer|our time|peer's|ratio|quartiles|turns|remark"
    return section(*ABOUT[group], head, rows, ("ours", "peer"))


def _stages(entries: list[Record]) -> str:
    if not entries:
        return ""
    columns = [*STAGES, "fit", "LDA svd"]
    rows = [(e["data"], *(f"{1e3 * e[c]:.2f}" for c in columns)) for e in entries]
    about = (
        "Medians in milliseconds, one thread. *Rules*: the optima of all pairs and "
        "their proofs. *Model*: a fit without the guard. *Eigh*, for comparison: one "
        "bare call of NumPy's `eigh` on the matrices of all pairs, the least that a "
        "method with eigenvectors can cost. LDA makes one decomposition for all "
        "classes and proves nothing."
    )
    head = "|".join(["data", *map(shown, columns)])
    return section("Where the time of a fit goes", about, head, rows)


def _growth(sweeps: list[Record]) -> str:
    if not sweeps:
        return ""
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
    about = (
        "![Seconds to fit against rows, features and classes, for GLD and nine other "
        "methods](images/benchmarks.png)\n\nThe time to fit grows with size to the "
        "power of the exponent, fitted to the four largest sizes. In theory ours costs "
        "n d² + K² d³: exponents of 1 in n, 3 in d and 2 in K at most. A curve ends "
        "where a call would take too long."
    )
    head = "axis|method|sizes|exponent|quartiles"
    return section("How time grows with size", about, head, rows)


def _memory(entries: list[Record]) -> str:
    if not entries:
        return ""
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
    about = (
        "Peak memory while fitting, X included, as a multiple of the bytes of X: as "
        "allocated (tracemalloc) and as resident in a child process. Where rows are "
        "few, the matrices of the pairs outweigh the data."
    )
    head = "data|method|X|traced|resident"
    return section("memory", about, head, rows)


def _installed(entry: Record) -> str:
    rows = [(name, f"{size / 1e6:.1f}") for name, size in entry["sizes"].items()]
    rows.append(("**all**", f"{entry['total'] / 1e6:.1f}"))
    about = "The files that `pip install .` needs, without extras."
    return section("installed size", about, "package|MB", rows)


def _name(entry: Record) -> str:
    data = f", {entry['data']}" if entry["data"] else ""
    return f"{shown(entry['ours'])} against {shown(entry['peer'])}{data}"
