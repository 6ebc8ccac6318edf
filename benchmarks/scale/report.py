"""The page docs/benchmarks_scale.md, made from the record of a run."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.report import figure, median_time, section, spread, verdict
from benchmarks.scale.streams import ALLOWANCE, LARGEST_GROWTH

Record = dict[str, Any]

THROUGHPUT = (
    "Class statistics of Parquet files against a bare sum of products: the peer reads "
    "the same batches of the same columns with pyarrow in a plain loop, makes one "
    "matrix of float64 of each, and adds up X.T @ X, without classes, means or checks. "
    "One peer lays out the rows; the other leaves the columns as Arrow has them. In "
    "both, and in ours, pyarrow decodes with as many threads as it takes by default, "
    "{threads}. *Share* is our throughput as a share of the peer's; the target is 0.8."
)
GROWTH = (
    "Time for the statistics of the first of these files, in rounds through all sizes. "
    "*Per row* is the time for a row against that at the size before; the target is "
    f"1, give or take {ALLOWANCE:.0%}."
)
CLUSTER = (
    "`fit` of a Dask data frame that is read from the files, on a local cluster of two "
    "worker processes against one of a single one; each has one thread, and so has its "
    "BLAS. *Speed* is how many times as fast two are; the target is 1.4."
)
MEMORY = (
    "Most resident memory of a fresh process that gathers the statistics, Python and "
    "all libraries included. The target is below 1 GB, and for the larger data at most "
    f"{LARGEST_GROWTH:g} times what the smaller takes."
)


def page(record: Record) -> str:
    """The whole page."""
    results = record["results"]
    found = {kind: [r for r in results if r["kind"] == kind] for kind in KINDS}
    parts = [_head(record), _verdicts(results)]
    parts += [table(found[k], record) for k, table in KINDS.items() if found[k]]
    return "\n".join(parts)


def _head(record: Record) -> str:
    here = record["machine"]
    libraries = ", ".join(f"{k} {v}" for k, v in here["libraries"].items())
    lines = [
        "# Benchmarks on data larger than memory",
        "",
        f"Made by `{record['command']}`; do not edit. Gaussian classes, four of them, "
        "of 30 features, in Parquet files of "
        f"{record['file_rows']:,} rows. What is compared takes turns in the same run; "
        "figures are medians over the turns, with quartiles.",
        "",
        f"Machine: {here['processors']} processors ({here['architecture']}, "
        f"{here['system']}), Python {here['python']}, heterolda {record['heterolda']}, "
        f"{libraries}; BLAS: {'; '.join(here['blas'])}.",
    ]
    if record["quick"]:
        lines += ["", "**A quick run**, of far smaller data than the targets mean."]
    if record["missing"]:
        lines += ["", "**Not complete**: " + "; ".join(record["missing"])]
    return "\n".join([*lines, ""])


def _judged(results: list[Record]) -> list[tuple[str, Record]]:
    """All rows of all tables that have a verdict."""
    rows = [(r["name"], line) for r in results for line in r.get("lines", [r])]
    return [(name, row) for name, row in rows if row["met"] is not None]


def _verdicts(results: list[Record]) -> str:
    judged = _judged(results)
    missed = [(name, row) for name, row in judged if not row["met"]]
    met = f"{len(judged) - len(missed)} of {len(judged)} targets are met"
    small = any(not row["full_size"] for _, row in judged)
    lines = ["## Targets", "", met + (" at a smaller size." if small else ".")]
    if missed:
        lines += ["Not met:", ""]
    for name, row in missed:
        lines.append(f"- {name}, {row['data']}: {figure(row['ratio'])}")
    return "\n".join([*lines, ""])


def _against(share: str, about: str, title: str, entries: list[Record]) -> str:
    """A table of our times against a peer's."""
    rows = [
        (
            e["data"],
            e["peer"],
            median_time(e, "ours_seconds"),
            median_time(e, "peer_seconds"),
            figure(1 / e["ratio"]),
            spread([1 / q for q in reversed(e["quartiles"])]),
            str(len(e["ours_seconds"])),
            verdict(e),
            e["remark"],
        )
        for e in entries
    ]
    head = f"data|peer|our time|peer's|{share}|quartiles|turns|verdict|remark"
    return section(title, about, head, rows)


def _throughput(entries: list[Record], record: Record) -> str:
    about = THROUGHPUT.format(threads=record["decoding_threads"])
    return _against("share", about, "throughput of Parquet files", entries)


def _cluster(entries: list[Record], record: Record) -> str:
    return _against("speed", CLUSTER, "two workers of Dask", entries)


def _growth(entries: list[Record], record: Record) -> str:
    rows = [
        (
            line["data"],
            median_time(line, "seconds"),
            f"{1e9 * median(line['seconds']) / line['rows']:.0f} ns",
            figure(line.get("ratio")),
            spread(line.get("quartiles")),
            str(len(line["seconds"])),
            verdict(line),
        )
        for line in entries[0]["lines"]
    ]
    head = "data|time|a row|per row|quartiles|rounds|verdict"
    return section("growth with rows", GROWTH, head, rows)


def _memory(entries: list[Record], record: Record) -> str:
    rows = [
        (
            e["source"],
            line["data"],
            f"{line['bytes'] / 1e6:,.0f} MB",
            "" if line["peak"] is None else f"{line['peak'] / 1e6:.0f} MB",
            figure(line["ratio"]),
            verdict(line),
        )
        for e in entries
        for line in e["lines"]
    ]
    head = "files|data|on disk|peak|against the smaller|verdict"
    return section("memory", MEMORY, head, rows)


KINDS = {
    "throughput": _throughput,
    "growth": _growth,
    "cluster": _cluster,
    "memory": _memory,
}
