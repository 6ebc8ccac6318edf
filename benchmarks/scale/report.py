"""The page docs/benchmarks_scale.md, made from the record of a run."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.pages import (
    GREY,
    OURS,
    bars,
    canvas,
    compose,
    figure,
    listed,
    median_time,
    on_machine,
    png,
    section,
    spread,
)
from benchmarks.scale.streams import ALLOWANCE, LARGEST_GROWTH

Record = dict[str, Any]

PICTURE = (
    "![Seconds against rows, a straight line; and memory, which stays the same while "
    "the files grow twentyfold](images/benchmarks_scale.png)"
)
THROUGHPUT = (
    "Class statistics of Parquet files beside the least that one can do with them: the "
    "peer reads the same batches of the same columns with pyarrow, makes a float64 "
    "matrix of each and adds up X.T @ X, without classes, means or checks. One peer "
    "lays out rows, the other leaves the columns as Arrow has them. All decode with "
    "pyarrow's default number of threads, {threads}. *Share* is our throughput over "
    "the peer's: above 1 ours is faster."
)
GROWTH = (
    "Time to gather the statistics of the first so many rows, in rounds through all "
    "sizes. *Per row* is the time for one row over that at the size before: 1 means "
    "that time grows in proportion to rows."
)
CLUSTER = (
    "`fit` of a Dask data frame that is read from the files, with two worker processes "
    "beside one (the peer). Each worker and its BLAS have one thread. *Speed* is how "
    "many times as fast two are."
)
MEMORY = (
    "Peak resident memory of a fresh process that gathers the statistics, Python and "
    "all libraries included."
)
GOAL = (
    "We aim at 0.8 of the throughput of the bare sums; a time per row that stays "
    f"within {ALLOWANCE:.0%}; two workers 1.4 times as fast as one; and less than 1 GB "
    f"of memory, for the larger data at most {LARGEST_GROWTH:g} times as much as for "
    "the smaller."
)


def page(record: Record) -> str:
    """The whole page."""
    results = record["results"]
    found = {kind: [r for r in results if r["kind"] == kind] for kind in KINDS}
    return compose(
        "Data larger than memory",
        _opening(record, found),
        [table(found[k], record) for k, table in KINDS.items() if found[k]],
        [
            f"Made by `{record['command']}`; run it again instead of editing the page.",
            "**Data**: four Gaussian classes of 30 features, in Parquet files of "
            f"{record['file_rows']:,} rows. Every figure is of gathering class "
            "statistics, or of a fit, from files.",
            "**Times**: what is compared takes turns in the same run. Figures are "
            "medians over the turns, with quartiles.",
            on_machine(record["machine"], record["heterolda"]),
        ],
        _goals(results),
        PICTURE if found["growth"] and found["memory"] else "",
    )


def draw(record: Record) -> bytes:
    """The picture: time against rows, and memory beside the size of files, as PNG."""
    lines = {r["kind"]: r["lines"] for r in reversed(record["results"]) if "lines" in r}
    drawn, panels = canvas(4.9, 2)
    above, below = panels[:, 0]
    rows = [line["rows"] / 1e6 for line in lines.get("growth", [])]
    times = [median(line["seconds"]) for line in lines.get("growth", [])]
    above.plot(rows, times, "o-", color=OURS)
    above.set(xlim=0, ylim=0, xlabel="million rows of 30 features", ylabel="seconds")
    found = {}
    for line in lines.get("memory", []):
        name = line["data"].partition(" x ")[0].replace(",000,000", " million")
        for what, size, colour in (
            ("files", line["bytes"], GREY),
            ("memory", line["peak"], OURS),
        ):
            if size is not None:
                text = f"{size / 1e6:,.0f} MB"
                found[f"{name}: {what}"] = size / 1e6, text, colour
    if found:
        bars(below, found)
        below.set_xlim(0, 1.2 * max(one[0] for one in found.values()))
    below.set_xlabel("MB of files, and of memory at the peak")
    return png(drawn)


def _opening(record: Record, found: dict[str, list[Record]]) -> list[str]:
    """What it means for a user, of what there is."""
    sentences = [
        "Files of any size are fitted batch by batch: a model needs the class "
        "statistics only, and these are gathered in one pass."
    ]
    if found["growth"]:
        last = found["growth"][0]["lines"][-1:]
        for line in last:
            sentences.append(
                f"Those of {line['rows']:,} rows of 30 features take "
                f"{median_time(line, 'seconds')} on {record['machine']['processors']} "
                "processors, and time grows in proportion to rows."
            )
    if shares := [1 / e["ratio"] for e in found["throughput"]]:
        sentences.append(
            f"That is {listed([figure(share) for share in shares])} times the "
            "throughput of plain loops that only read the files and multiply"
            + (": one of these is faster than ours." if min(shares) < 1 else ".")
        )
    for e in found["memory"]:
        line = e["lines"][-1]
        if line["peak"] is not None:
            sentences.append(
                f"{line['bytes'] / 1e6:,.0f} MB of {e['source']} need "
                f"{line['peak'] / 1e6:.0f} MB of memory, Python included."
            )
    for e in found["cluster"]:
        sentences.append(
            f"Two Dask workers are {figure(1 / e['ratio'])} times as fast as one."
        )
    opening = [" ".join(sentences)]
    if record["quick"]:
        opening.append("**A quick run**, of far smaller data than is meant.")
    if record["missing"]:
        opening.append("**Not complete**: " + "; ".join(record["missing"]))
    return opening


def _judged(results: list[Record]) -> list[tuple[str, Record]]:
    """All rows of all tables that have a verdict."""
    rows = [(r["name"], line) for r in results for line in r.get("lines", [r])]
    return [(name, row) for name, row in rows if row["met"] is not None]


def _goals(results: list[Record]) -> str:
    judged = _judged(results)
    missed = [(name, row) for name, row in judged if not row["met"]]
    small = any(not row["full_size"] for _, row in judged)
    met = f"{len(judged) - len(missed)} of {len(judged)} are met"
    lines = [GOAL, "", met + (" at a smaller size." if small else ".")]
    lines += ["Not met:", ""] * bool(missed)
    for name, row in missed:
        lines.append(f"- {name}, {row['data']}: {figure(row['ratio'])}")
    return "\n".join(lines)


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
            e["remark"],
        )
        for e in entries
    ]
    head = f"data|peer|our time|peer's|{share}|quartiles|turns|remark"
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
        )
        for line in entries[0]["lines"]
    ]
    head = "data|time|a row|per row|quartiles|rounds"
    return section("growth with rows", GROWTH, head, rows)


def _memory(entries: list[Record], record: Record) -> str:
    rows = [
        (
            e["source"],
            line["data"],
            f"{line['bytes'] / 1e6:,.0f} MB",
            "" if line["peak"] is None else f"{line['peak'] / 1e6:.0f} MB",
            figure(line["ratio"]),
        )
        for e in entries
        for line in e["lines"]
    ]
    head = "files|data|on disk|peak|over the smaller"
    return section("memory", MEMORY, head, rows)


KINDS = {
    "throughput": _throughput,
    "growth": _growth,
    "cluster": _cluster,
    "memory": _memory,
}
