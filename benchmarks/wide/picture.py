"""The picture: points of the default above or below every peer, set by set."""

from __future__ import annotations

import numpy as np

from benchmarks.pages import canvas, png
from benchmarks.wide.methods import DEFAULT, PEERS
from benchmarks.wide.report import Results, means

COLOURS = ["0.55", "#1f5fa8", "#2f7d4f", "#8cc08f", "#8a5a9e", "#e8a33d"]
MARKS = "ovsPD^"


def draw(results: Results) -> bytes:
    """A row for each set, a mark for each peer, as PNG."""
    figure, panels = canvas(1.9 + 0.32 * len(results))
    panel, places = panels[0, 0], np.arange(len(results))[::-1]
    ours = means(results, DEFAULT)
    for peer, colour, mark in zip(PEERS, COLOURS, MARKS, strict=True):
        points = ours - means(results, peer)
        panel.plot(points, places, mark, color=colour, label=peer, zorder=3, alpha=0.85)
    panel.axvline(0, color="0.3", linewidth=0.9, zorder=2)
    panel.set_yticks(places, list(results))
    panel.set_xlabel("points above the peer: right of 0 GLD is more accurate")
    place = {"loc": "outside upper center", "ncols": 3, "frameon": False}
    figure.legend(fontsize=9, columnspacing=1, handletextpad=0.2, **place)
    return png(figure)
