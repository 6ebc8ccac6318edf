"""The parts of docs/speed.md, on data larger than memory, from the record of a run."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.pages import (
    GREY,
    OURS,
    bars,
    canvas,
    figure,
    median_time,
    png,
    section_table,
    spread,
    timed,
)

Record = dict[str, Any]


def parts(record: Record) -> dict[str, str]:
    """Return the parts of the page by their names."""
    results = record["results"]
    groups = {kind: [r for r in results if r["kind"] == kind] for kind in KINDS}
    tables = {f"scale, {kind}": table(groups[kind]) for kind, table in KINDS.items()}
    return {
        "scale": _summary(groups),
        **tables,
        "scale, machine": f"- **Larger than memory**: {record['machine']}",
    }


def _summary(groups: dict[str, list[Record]]) -> str:
    """Return what the tables say, in two sentences."""
    rows = [line for e in groups["growth"] for line in e["lines"]]
    files = [(e["source"], e["lines"][-1]) for e in groups["memory"]]
    sizes = [
        f"{line['bytes'] / 1e6:,.0f} MB of {source} files need "
        f"{line['peak'] / 1e6:,.0f} MB of memory"
        for source, line in files
    ]
    last = rows[-1]
    workers = [f"{1 / e['ratio']:.2f}" for e in groups["cluster"]]
    return (
        f"Class statistics of {last['rows']:,} rows of 30 features take "
        f"{timed(median(last['seconds']))} on two cores, and time grows in proportion "
        f"to rows. {' and '.join(sizes)}, Python included. Two Dask workers are "
        f"{workers[0]} times as fast as one."
    )


def draw(record: Record) -> bytes:
    """Return the picture: time against rows, memory and size of files, as PNG."""
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
        for what, size, color in (
            ("files", line["bytes"], GREY),
            ("memory", line["peak"], OURS),
        ):
            if size is not None:
                text = f"{size / 1e6:,.0f} MB"
                found[f"{name}: {what}"] = size / 1e6, text, color
    if found:
        bars(below, found)
        below.set_xlim(0, 1.2 * max(one[0] for one in found.values()))
    below.set_xlabel("MB of files, and of memory at the peak")
    return png(drawn)


def _against(share: str, entries: list[Record]) -> str:
    """Return a table of our times against a peer's."""
    rows = [
        (
            e["data"],
            e["peer"],
            median_time(e, "ours_seconds"),
            median_time(e, "peer_seconds"),
            figure(1 / e["ratio"]),
            spread([1 / q for q in reversed(e["quartiles"])]),
            e["remark"],
        )
        for e in entries
    ]
    return section_table(f"data|peer|our time|peer's|{share}|quartiles|remark", rows)


def _growth(entries: list[Record]) -> str:
    rows = [
        (
            line["data"],
            median_time(line, "seconds"),
            f"{1e9 * median(line['seconds']) / line['rows']:.0f} ns",
            figure(line.get("ratio")),
            spread(line.get("quartiles")),
        )
        for e in entries
        for line in e["lines"]
    ]
    return section_table("data|time|a row|per row|quartiles", rows)


def _memory(entries: list[Record]) -> str:
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
    return section_table("files|data|on disk|peak|over the smaller", rows)


KINDS = {
    "throughput": lambda entries: _against("share", entries),
    "growth": _growth,
    "cluster": lambda entries: _against("speed", entries),
    "memory": _memory,
}
