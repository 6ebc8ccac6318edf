"""The picture of time against size, made from the record of a run."""

from __future__ import annotations

import io
from typing import Any

STYLES = {
    "fit global": ("#c1272d", "o", "-"),
    "fit LDA svd": ("#1f5fa8", "s", "-"),
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


def draw(sweeps: list[dict[str, Any]]) -> bytes:
    """A panel for each sweep, as PNG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        1,
        len(sweeps),
        figsize=(4.1 * len(sweeps), 4.9),
        dpi=130,
        squeeze=False,
        sharey=True,
    )
    for panel, sweep in zip(panels[0], sweeps, strict=True):
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
                label="heterolda global"
                if ours
                else line["method"].removeprefix("fit "),
            )
        panel.set(xscale="log", yscale="log", xlabel=AXES[sweep["axis"]])
        panel.set_title(sweep["fixed"], fontsize=10, color="0.3")
        if sweep["axis"] != "n":
            sizes = max((line["sizes"] for line in sweep["lines"]), key=len)
            panel.set_xticks(sizes, [str(size) for size in sizes])
            panel.minorticks_off()
        panel.grid(color="0.92", which="major")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0, 0].set_ylabel("seconds to fit")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(
        handles[::-1], labels[::-1], loc="lower center", ncols=5, frameon=False
    )
    figure.tight_layout(rect=(0, 0.12, 1, 1))
    file = io.BytesIO()
    figure.savefig(file, format="png", metadata={"Software": None})
    plt.close(figure)
    return file.getvalue()
