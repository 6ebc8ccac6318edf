"""The pictures: leads over each peer and on each set, and mean ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.accuracy.comparisons import ASIDE, CONTENDERS, Comparisons
from benchmarks.accuracy.methods import POWER, RECOMMENDED, TUNED
from benchmarks.pages import OURS, PEER, bars, canvas, in_order, png
from heterolda.experiments.ranks import Comparison

RED, BLUE = OURS, PEER


def pictures(c: Comparisons) -> dict[str, bytes]:
    """PNG files by name; none without the recommended recipe and a peer."""
    found = {}
    if c.leads(CONTENDERS[1:]):
        found["accuracy_peers.png"] = _peers(c)
        found["accuracy.png"] = _differences(c)
    if diagrams := c.rank_diagrams():
        found["accuracy_ranks.png"] = png(_rank_diagrams(diagrams))
    return found


def _peers(c: Comparisons) -> bytes:
    """Mean lead over the closest variant of each peer, tuned or not."""
    closest: dict[str, str] = {}
    rivals = c.rivals(c.datasets)
    for peer in sorted(rivals, key=lambda m: rivals[m].points):
        closest.setdefault(peer.removesuffix(POWER).removesuffix(TUNED), peer)
    leads = {m: rivals[m].points for m in closest.values()}
    figure, panels = canvas(1.1 + 0.3 * len(leads))
    panel = panels[0, 0]
    bars(panel, {m: (x, f"{x:+.2f}", RED) for m, x in leads.items()})
    panel.axvline(0, color="0.3", linewidth=0.9)
    panel.margins(x=0.14)
    panel.set_xlabel("mean lead of recommended(), in points")
    return png(figure)


def _differences(c: Comparisons) -> bytes:
    """The sets in order of the lead over the best peer."""
    leads = c.leads(CONTENDERS[1:])
    figure, panels = canvas(3.6)
    gains = {d: (lead.points, 2 * lead.error) for d, lead in leads.items()}
    in_order(panels[0, 0], gains, "")
    panels[0, 0].set_ylabel("points above the best peer")
    panels[0, 0].set_xlabel(f"{len(gains)} data sets, in order")
    return png(figure)


def _rank_diagrams(diagrams: dict[str, Comparison]) -> Any:
    """A critical-difference diagram for each group of sets."""
    rows = max(len(diagram.methods) for diagram in diagrams.values())
    figure, panels = canvas(len(diagrams) * (1.3 + 0.13 * rows), len(diagrams))
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
