"""The picture: points of EM above or below every peer, set by set."""

from __future__ import annotations

import io

import numpy as np

from benchmarks.gaps.comparisons import ACCURACY, Comparisons
from benchmarks.gaps.regimes import REGIMES
from benchmarks.gaps.report import TITLES

# Differences beyond are drawn at the edge.
EDGE = 12.0
COLOURS = {"LDA": "#e8a33d", "ours": "#1f5fa8"}


def draw(c: Comparisons) -> bytes:
    """A panel for each way of removing values, a row for each peer, as PNG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    size = (9.6, 1.5 + 0.36 * len(c.peers))
    figure, panels = plt.subplots(1, len(REGIMES), sharey=True, figsize=size, dpi=130)
    places = np.arange(len(c.peers))[::-1]
    rng = np.random.default_rng(0)
    for panel, regime in zip(panels, REGIMES, strict=True):
        panel.axvline(0, color="0.3", linewidth=0.9, zorder=2)
        for place, peer in zip(places, c.peers, strict=True):
            gains = c.gains(regime, ACCURACY, peer)
            gains = gains[np.isfinite(gains)].clip(-EDGE, EDGE)
            colour = COLOURS[peer.rpartition(" ")[2]]
            height = place + rng.uniform(-0.22, 0.22, len(gains))
            panel.plot(gains, height, "o", color=colour, markersize=3, alpha=0.55)
            if len(gains):
                panel.plot(np.median(gains), place, "|", color="k", ms=13, mew=2)
        panel.set_title(TITLES[regime], fontsize=9)
        panel.set_xlim(-EDGE - 0.8, EDGE + 0.8)
        panel.set_yticks(places, c.peers)
        panel.grid(color="0.92")
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    figure.supxlabel(
        "accuracy of EM less that of the peer, in points: right of zero EM is better; "
        "a dot is a set, the bar their median",
        fontsize=9,
    )
    figure.tight_layout()
    file = io.BytesIO()
    figure.savefig(file, format="png", metadata={"Software": None})
    plt.close(figure)
    return file.getvalue()
