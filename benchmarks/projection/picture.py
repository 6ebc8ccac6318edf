"""The picture: points above or below LDA, set by set."""

from __future__ import annotations

import io

import numpy as np

from benchmarks.projection.report import (
    SHOWN,
    Results,
    differences,
    mean_differences,
)
from benchmarks.projection.study import CLASSIFIERS

MARKS = {
    "QDA": ("#c1272d", "o"),
    "5-NN": ("#1f5fa8", "s"),
    "discriminant": ("#e8a33d", "^"),
}


def draw(results: Results) -> bytes:
    """A row for each set, a mark for each classifier, as PNG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    mean = mean_differences(results, "LDA")
    order = np.argsort(list(mean.values()))
    names = list(mean)
    figure, panel = plt.subplots(figsize=(7.4, 1.4 + 0.2 * len(names)), dpi=130)
    places = np.arange(len(names))
    for classifier in CLASSIFIERS:
        colour, mark = MARKS[classifier]
        points = differences(results, "LDA", SHOWN, classifier)[order]
        panel.plot(
            points, places, mark, color=colour, label=classifier, zorder=3, alpha=0.85
        )
    panel.axvline(0, color="0.3", linewidth=0.9, zorder=2)
    panel.set_yticks(places, [names[k] for k in order], fontsize=8)
    panel.set_ylim(-0.8, len(names) - 0.2)
    panel.set_xlabel(
        f"accuracy on rows held out, our {SHOWN} components less LDA's, in points"
    )
    panel.grid(color="0.92")
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(title="classifier", loc="lower right", frameon=True)
    figure.tight_layout()
    file = io.BytesIO()
    figure.savefig(file, format="png", metadata={"Software": None})
    plt.close(figure)
    return file.getvalue()
