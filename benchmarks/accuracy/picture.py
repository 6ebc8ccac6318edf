"""The picture: mean ranks, and points above or below the best peers."""

from __future__ import annotations

import io
from typing import Any

from benchmarks.accuracy.comparisons import Comparisons
from benchmarks.accuracy.methods import OURS, PEERS, TUNED
from benchmarks.accuracy.report import MARK
from benchmarks.accuracy.sets import SET_ASIDE

RED, BLUE, PALE = "#c1272d", "#1f5fa8", "#9cc6ee"


def draw(c: Comparisons) -> bytes:
    """Mean ranks on the left, differences on the right, as PNG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    drawings = [_draw_ranks]
    if c.differences(PEERS):
        drawings.append(_draw_differences)
    figure, panels = plt.subplots(
        1, len(drawings), figsize=(5.2 * len(drawings), 4.9), dpi=130, squeeze=False
    )
    for panel, drawing in zip(panels[0], drawings, strict=True):
        drawing(panel, c)
        panel.grid(color="0.92", axis="x")
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    file = io.BytesIO()
    figure.savefig(file, format="png", metadata={"Software": None})
    plt.close(figure)
    return file.getvalue()


def _colour(method: str) -> str:
    if method in OURS:
        return RED
    return BLUE if method.endswith(TUNED) else PALE


def _draw_ranks(panel: Any, c: Comparisons) -> None:
    ranks = c.mean_ranks(c.methods)
    most = max((n for _, n in ranks.values()), default=0)
    bars = {
        m if n == most else f"{m} ({n} sets)": (mean, _colour(m))
        for m, (mean, n) in reversed(ranks.items())
    }
    means, colours = zip(*bars.values(), strict=True) if bars else ((), ())
    panel.barh(list(bars), means, color=colours)
    panel.set_xlabel(f"mean rank over {most} sets (1 is the best)")


def _draw_differences(panel: Any, c: Comparisons) -> None:
    found = c.differences(PEERS)
    names = [f"{d} {MARK}" if d in SET_ASIDE else d for d in found]
    points = [difference for difference, _ in found.values()]
    panel.barh(names[::-1], points[::-1], color=RED)
    panel.axvline(0, color="0.3", linewidth=0.8)
    panel.set_xlabel("recommended less the best untuned peer, in points")
