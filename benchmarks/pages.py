"""Shared by all pages of results: commands, records, tables and pictures."""

from __future__ import annotations

import argparse
import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import circumstances
from heterolda.foundations.files import atomic_write

Record = dict[str, Any]

DOCS = Path(__file__).resolve().parents[1] / "docs"
RESULTS = Path(__file__).parent / "results"
MADE = "How these tables are made"
OURS, PEER, GRAY = "#c1272d", "#1f5fa8", "0.55"
# Inches: at most so wide that text of nine points can be read on a phone.
WIDTH = 5.2


def section_table(head: str, rows: list[tuple[str, ...]]) -> str:
    """Return a table in markdown."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (head.split("|"), *rows)]
    lines.insert(1, "|" + "---|" * (head.count("|") + 1))
    return "\n".join(lines)


def filled(page: str, parts: dict[str, str]) -> str:
    """Return a page with parts between the comments that name them written again.

    A part stands between ``<!-- made: name -->`` and ``<!-- end -->``.
    """
    for name, part in parts.items():
        begin = f"<!-- made: {name} -->\n"
        head, opening, body = page.partition(begin)
        _, end, tail = body.partition("<!-- end -->")
        if not (opening and end):
            raise ValueError(f"the page has no part {name!r}")
        page = f"{head}{begin}\n{part}\n\n{end}{tail}"
    return page


def listed(words: list[str]) -> str:
    """Return words as a sentence lists them."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def figure(value: float | None) -> str:
    """Return a number with three digits, or nothing."""
    return "" if value is None else f"{value:.3g}"


def timed(seconds: float) -> str:
    """Return a time with its unit."""
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def comparisons(entries: list[Record]) -> str:
    """Return a table of our calls and their peers'."""
    rows = [
        (
            *(e["data"], e["ours"], e["peer"]),
            *(timed(e["seconds"]), timed(e["peer_seconds"])),
            *(figure(e["ratio"]), " to ".join(map(figure, e["quartiles"]))),
        )
        for e in entries
    ]
    return section_table("data|ours|peer|our time|peer's|ratio|quartiles", rows)


def read_record(name: str) -> Record:
    """Return the record of a benchmark."""
    path = RESULTS / f"{name}.json"
    record: Record = json.loads(path.read_text(encoding="utf-8"))
    return record


def write_record(name: str, record: Record) -> None:
    """Write the record of a benchmark."""
    with atomic_write(RESULTS / f"{name}.json") as file:
        file.write(json.dumps(record, indent=1).encode() + b"\n")


def record_origin(name: str, origin: str) -> None:
    """Keep the machine, the versions and the date of a measurement."""
    write_record("origins", read_record("origins") | {name: origin})


def origin(name: str, title: str) -> str:
    """Return the line of a page that says where, when and with what was measured."""
    return f"- **{title}**: {read_record('origins')[name]}"


def command(
    name: str,
    measure: Callable[[], Record],
    publish: Callable[[Record], None],
    *libraries: str,
) -> None:
    """Measure, unless `--report` is given, keep the record, and write its page."""
    parser = argparse.ArgumentParser(f"benchmarks.{name}")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    if not parser.parse_args().report:
        write_record(name, measure())
        record_origin(name, circumstances(*libraries))
    publish(read_record(name))


def publish(
    page: str, parts: dict[str, str], pictures: dict[str, bytes] | None = None
) -> None:
    """Write parts into a page of the documentation, and the pictures it shows."""
    path = DOCS / f"{page}.md"
    text = filled(path.read_text(encoding="utf-8"), parts)
    files = {path: text.encode()}
    files |= {DOCS / "images" / name: data for name, data in (pictures or {}).items()}
    for name, data in files.items():
        with atomic_write(name) as file:
            file.write(data)


def holm(p: Any) -> Any:
    """Return p-values corrected for their number, by Holm's method."""
    order = np.argsort(p)
    steps = np.maximum.accumulate(np.asarray(p)[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(steps, 1.0)
    return corrected


def canvas(height: float, rows: int = 1, columns: int = 1, **more: Any) -> Any:
    """Return a figure as wide as a phone can show, and its panels in an array."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sizes = {"figsize": (WIDTH, height), "dpi": 150, "squeeze": False}
    drawn, panels = plt.subplots(rows, columns, layout="constrained", **sizes, **more)
    for panel in panels.flat:
        panel.grid(color="0.92")
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=9)
    return drawn, panels


def png(drawn: Any) -> bytes:
    """Return the figure as a file, and close it."""
    import matplotlib.pyplot as plt

    file = io.BytesIO()
    drawn.savefig(file, format="png", metadata={"Software": None})
    plt.close(drawn)
    return file.getvalue()


def dots(panel: Any, values: dict[str, tuple[float, str, str]]) -> None:
    """Draw dots from the top: by label length, text and color."""
    places = range(len(values))[::-1]
    lengths, texts, colors = zip(*values.values(), strict=True)
    panel.scatter(lengths, places, 55, colors, zorder=3)
    for place, length, text in zip(places, lengths, texts, strict=True):
        panel.annotate(
            text,
            (length, place),
            xytext=(7 if length >= 0 else -7, 0),
            textcoords="offset points",
            ha="left" if length >= 0 else "right",
            va="center",
            fontsize=9,
        )
    panel.set_yticks(places, list(values))
    panel.set_ylim(-0.6, len(values) - 0.4)
    panel.grid(visible=True, axis="y")


def in_order(panel: Any, gains: dict[str, tuple[float, float]]) -> None:
    """Draw sets in order of the gain on them, with error bars.

    The first one and the last three have their names next to them.
    """
    order = sorted(gains, key=lambda name: gains[name][0])
    values, errors = zip(*(gains[name] for name in order), strict=True)
    style = {"fmt": "o", "markersize": 4, "elinewidth": 1, "color": OURS, "zorder": 3}
    panel.errorbar(range(len(order)), values, yerr=errors, **style)
    panel.axhline(0, color="0.3", linewidth=0.9)
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
    label = {"textcoords": "offset points", "fontsize": 9, "bbox": ground, "zorder": 4}
    room = (max(values) - min(values) + max(errors)) / 12
    lowest = math.inf
    for k in range(len(order))[:-4:-1]:
        if values[k] < lowest - room:  # else names would lie on each other
            place = {"xytext": (-6, 0), "ha": "right", "va": "center"}
            panel.annotate(order[k], (k, values[k]), **place, **label)
            lowest = values[k]
    first = 0, values[0] - errors[0]
    panel.annotate(order[0], first, xytext=(0, -3), va="top", **label)
    panel.margins(y=0.1)
    panel.set_xticks([])
    panel.grid(visible=False, axis="x")
