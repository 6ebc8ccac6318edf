"""The picture: points of EM above or below every peer, set by set."""

from __future__ import annotations

import numpy as np

from benchmarks.gaps.comparisons import ACCURACY, Comparisons
from benchmarks.gaps.regimes import REGIMES
from benchmarks.gaps.report import TITLES, shown
from benchmarks.pages import OURS, PEER, canvas, png

# Differences beyond are drawn at the edge.
EDGE = 12.0
COLOURS = {"LDA": PEER, "GLD": OURS}


def draw(c: Comparisons) -> bytes:
    """A panel for each way of removing values, a row for each peer, as PNG."""
    figure, panels = canvas(1.2 + 0.5 * len(c.peers), 2, 2, sharey=True, sharex=True)
    places = np.arange(len(c.peers))[::-1]
    rng = np.random.default_rng(0)
    for panel, regime in zip(panels.flat, REGIMES, strict=True):
        panel.axvline(0, color="0.3", linewidth=0.9, zorder=2)
        for place, peer in zip(places, c.peers, strict=True):
            gains = c.gains(regime, ACCURACY, peer)
            gains = gains[np.isfinite(gains)].clip(-EDGE, EDGE)
            colour = COLOURS[shown(peer).rpartition(" ")[2]]
            height = place + rng.uniform(-0.22, 0.22, len(gains))
            panel.plot(gains, height, "o", color=colour, markersize=2.5, alpha=0.5)
            if len(gains):
                panel.plot(np.median(gains), place, "|", color="k", ms=11, mew=2)
        panel.set_title(TITLES[regime].replace("depending on", "by"), fontsize=10)
        panel.set_xlim(-EDGE - 0.8, EDGE + 0.8)
        panel.set_yticks(places, [shown(peer) for peer in c.peers])
    figure.supxlabel(
        "points of EM above the peer: right of 0 EM is better\n"
        "(a dot is a set, the bar their median)",
        fontsize=9,
    )
    return png(figure)
