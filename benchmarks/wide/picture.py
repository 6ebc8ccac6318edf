"""The picture: points of the default above or below every peer, set by set."""

from __future__ import annotations

import io

import numpy as np

from benchmarks.wide.methods import DEFAULT, PEERS
from benchmarks.wide.report import Results, means

COLOURS = ["0.55", "#1f5fa8", "#2f7d4f", "#8cc08f", "#8a5a9e", "#e8a33d"]
MARKS = "ovsPD^"


def draw(results: Results) -> bytes:
    """A row for each set, a mark for each peer, as PNG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panel = plt.subplots(figsize=(7.4, 1.9 + 0.32 * len(results)), dpi=130)
    places = np.arange(len(results))[::-1]
    ours = means(results, DEFAULT)
    for peer, colour, mark in zip(PEERS, COLOURS, MARKS, strict=True):
        points = ours - means(results, peer)
        panel.plot(points, places, mark, color=colour, label=peer, zorder=3, alpha=0.85)
    panel.axvline(0, color="0.3", linewidth=0.9, zorder=2)
    panel.set_yticks(places, list(results))
    panel.set_xlabel("accuracy on rows held out, our default less the other, in points")
    panel.grid(color="0.92")
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(bbox_to_anchor=(1, 1), loc="upper left", frameon=False)
    figure.tight_layout()
    file = io.BytesIO()
    figure.savefig(file, format="png", metadata={"Software": None})
    plt.close(figure)
    return file.getvalue()
