"""The pictures: points above or below the best peer, and mean ranks."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from benchmarks.accuracy.comparisons import (
    ASIDE,
    CONTENDERS,
    DEVELOPMENT,
    FEW_ROWS,
    Comparisons,
)
from benchmarks.accuracy.methods import RECOMMENDED
from benchmarks.accuracy.verdicts import by_size
from heterolda.experiments.ranks import Comparison

RED, BLUE, GREY = "#c1272d", "#1f5fa8", "0.55"
# Colour and mark of the sets of each half.
MARKS = {
    ASIDE: (RED, "o"),
    DEVELOPMENT: (BLUE, "s"),
    "study and scikit-learn": (GREY, "D"),
}


def pictures(c: Comparisons) -> dict[str, bytes]:
    """PNG files by name; none without the recommended recipe and a peer."""
    found = {}
    if c.leads(CONTENDERS[1:]):
        found["accuracy.png"] = _drawn(_differences, c)
    if diagrams := c.rank_diagrams():
        found["accuracy_ranks.png"] = _drawn(_rank_diagrams, diagrams)
    return found


def _drawn(draw: Any, content: Any) -> bytes:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = draw(plt, content)
    file = io.BytesIO()
    figure.savefig(file, format="png", metadata={"Software": None})
    plt.close(figure)
    return file.getvalue()


def _differences(plt: Any, c: Comparisons) -> Any:
    """Two panels by number of rows, in each the sets in order of their differences."""
    leads = c.leads(CONTENDERS[1:])
    sizes = {
        f"fewer than {FEW_ROWS:,} rows": by_size(list(leads), True),
        f"{FEW_ROWS:,} rows or more": by_size(list(leads), False),
    }
    sizes = {title: names for title, names in sizes.items() if names}
    most = max(map(len, sizes.values()))
    figure, panels = plt.subplots(
        1,
        len(sizes),
        figsize=(9.6, 1.5 + 0.2 * most),
        dpi=130,
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    for panel, (title, names) in zip(panels[0], sizes.items(), strict=True):
        order = sorted(names, key=lambda d: leads[d].points)
        for half, (colour, mark) in MARKS.items():
            places = [k for k, d in enumerate(order) if d in c.halves.get(half, [])]
            own = [leads[order[k]] for k in places]
            panel.errorbar(
                [lead.points for lead in own],
                places,
                xerr=[2 * lead.error for lead in own],
                fmt=mark,
                color=colour,
                markersize=5,
                elinewidth=1.1,
                alpha=0.9,
                label=half,
                zorder=3,
            )
        panel.axvline(0, color="0.3", linewidth=0.9, zorder=2)
        panel.set_yticks(range(len(order)), order, fontsize=8)
        panel.set_ylim(len(order) - most - 0.7, len(order) - 0.3)
        panel.set_title(f"{title} ({len(order)} sets)", fontsize=10, color="0.3")
        panel.grid(color="0.92", axis="x")
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    figure.supxlabel(
        "accuracy on rows held out, recommended() less the best linear peer of the "
        "set, in points",
        fontsize=9,
    )
    handles, labels = panels[0, -1].get_legend_handles_labels()
    kept = [k for k, label in enumerate(labels) if label in c.halves]
    figure.legend(
        [handles[k] for k in kept],
        [labels[k] for k in kept],
        loc="outside upper center",
        ncols=3,
        frameon=False,
        fontsize=9,
    )
    return figure


def _rank_diagrams(plt: Any, diagrams: dict[str, Comparison]) -> Any:
    """A critical-difference diagram for each group of sets."""
    rows = max(len(diagram.methods) for diagram in diagrams.values())
    figure, panels = plt.subplots(
        len(diagrams),
        1,
        figsize=(7.4, len(diagrams) * (1.3 + 0.11 * rows)),
        dpi=130,
        squeeze=False,
        layout="constrained",
    )
    low = min(np.floor(diagram.ranks[0]) for diagram in diagrams.values())
    high = max(np.ceil(diagram.ranks[-1]) for diagram in diagrams.values())
    for panel, (title, diagram) in zip(panels[:, 0], diagrams.items(), strict=True):
        _rank_diagram(panel, title, diagram, low, high)
    return figure


def _rank_diagram(
    panel: Any, title: str, diagram: Comparison, low: float, high: float
) -> None:
    """Names hang from an axis of mean ranks; bars join what cannot be told apart."""
    ranks, n = diagram.ranks, len(diagram.ranks)
    pad = 0.32 * (high - low)
    half = (n + 1) // 2
    depth = len(diagram.cliques)
    first = 0.5 + 0.4 * depth
    for k, (method, rank) in enumerate(zip(diagram.methods, ranks, strict=True)):
        left = k < half
        level = first + (k if left else n - 1 - k) * 0.75
        end = low if left else high
        colour = RED if method == RECOMMENDED else "0.25"
        panel.plot([rank, rank, end], [0, level, level], color=colour, linewidth=0.9)
        panel.annotate(
            f"{method}  {rank:.1f}" if left else f"{rank:.1f}  {method}",
            (end, level),
            xytext=(-4 if left else 4, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            fontsize=8.5,
            color=colour,
            fontweight="bold" if method == RECOMMENDED else "normal",
        )
    for k, (i, j) in enumerate(diagram.cliques):
        place = 0.35 + 0.4 * k
        panel.plot(
            [ranks[i] - 0.04, ranks[j] + 0.04],
            [place, place],
            color=BLUE,
            linewidth=3.2,
            solid_capstyle="round",
            zorder=4,
        )
    panel.plot([low, high], [0, 0], color="0.3", linewidth=1)
    for tick in np.arange(low, high + 1):
        panel.plot([tick, tick], [0, -0.18], color="0.3", linewidth=1)
        panel.text(tick, -0.3, f"{tick:g}", ha="center", va="bottom", fontsize=8)
    distance = diagram.critical_difference
    panel.plot([low, low + distance], [-1.5, -1.5], color="0.3", linewidth=1.6)
    panel.text(
        low + distance,
        -1.5,
        f"  critical difference {distance:.2f}",
        va="center",
        fontsize=8,
    )
    sets = f"{diagram.n_datasets} sets{' set aside' if title == ASIDE else ''}"
    title = f"mean ranks on {sets} (1 is the best)"
    panel.set_title(title, fontsize=10, color="0.3")
    panel.set_xlim(low - pad, high + pad)
    panel.set_ylim(first + (half - 0.5) * 0.75, -2)
    panel.axis("off")
