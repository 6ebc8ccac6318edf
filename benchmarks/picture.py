"""The pictures: time beside LDA's, and time against size, from the record of a run."""

from __future__ import annotations

from typing import Any

from benchmarks.pages import OURS, PEER, canvas, png
from benchmarks.report import beside_lda, shown

STYLES = {
    "fit global": (OURS, "o", "-"),
    "fit LDA svd": (PEER, "s", "-"),
    "fit LDA lsqr": ("#4f94d8", "v", "-"),
    "fit LDA eigen": ("#9cc6ee", "^", "-"),
    "fit QDA": ("#2f7d4f", "D", "-"),
    "fit GaussianNB": ("#8cc08f", "P", "-"),
    "fit LogisticRegression": ("#8a5a9e", "X", "-"),
    "fit LinearSVC": ("#c39bd3", "*", "-"),
    "fit OneVsOne(LDA)": ("#d98e2b", "h", "-"),
    "bare X.T @ X": ("0.45", None, ":"),
}
AXES = {"n": "rows n", "d": "features d", "K": "classes K"}
CALLS = {"fit": (OURS, "o"), "predict": (PEER, "^")}


def pictures(record: dict[str, Any]) -> dict[str, bytes]:
    """PNG files by name."""
    found = {}
    if ratios := beside_lda(record["times"]):
        found["speed.png"] = draw_ratios(ratios)
    if record["growth"]:
        found["growth.png"] = draw_growth(record["growth"])
    return found


def draw_ratios(ratios: dict[str, dict[str, float]]) -> bytes:
    """A row for each set, a mark for a fit and one for a prediction, as PNG."""
    figure, panels = canvas(1.5 + 0.24 * len(ratios))
    panel, names = panels[0, 0], sorted(ratios, key=lambda n: -ratios[n].get("fit", 1))
    for call, (colour, mark) in CALLS.items():
        found = [(ratios[n][call], k) for k, n in enumerate(names) if call in ratios[n]]
        if found:
            panel.plot(*zip(*found, strict=True), mark, color=colour, label=call)
    panel.axvline(1, color="0.3", linewidth=0.9)
    panel.set(xscale="log", ylim=(-0.7, len(names) - 0.3))
    ticks = (0.1, 0.2, 0.5, 1, 2)
    panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    panel.minorticks_off()
    panel.set_yticks(range(len(names)), names)
    panel.set_xlabel("our time over LDA's: left of 1 GLD is faster", fontsize=10)
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=10)
    return png(figure)


def draw_growth(sweeps: list[dict[str, Any]]) -> bytes:
    """A panel for each sweep, as PNG."""
    figure, panels = canvas(1.4 + 2.6 * len(sweeps), len(sweeps))
    for panel, sweep in zip(panels[:, 0], sweeps, strict=True):
        for line in reversed(sweep["lines"]):  # ours on top
            colour, marker, dash = STYLES[line["method"]]
            ours = line["method"] == "fit global"
            panel.plot(
                line["sizes"],
                line["seconds"],
                color=colour,
                marker=marker,
                linestyle=dash,
                linewidth=2.8 if ours else 1.4,
                markersize=6.5 if ours else 4.5,
                label=shown(line["method"]).removeprefix("fit "),
            )
        panel.set(xscale="log", yscale="log", ylabel="seconds to fit")
        panel.set_xlabel(f"{AXES[sweep['axis']]} ({sweep['fixed']})")
        if sweep["axis"] != "n":
            sizes = max((line["sizes"] for line in sweep["lines"]), key=len)
            panel.set_xticks(sizes, [str(size) for size in sizes])
            panel.minorticks_off()
    handles, labels = panels[0, 0].get_legend_handles_labels()
    place = {"loc": "outside lower center", "ncols": 3, "frameon": False}
    figure.legend(handles[::-1], labels[::-1], fontsize=9, **place)
    return png(figure)
