"""The picture: mean accuracies of the reductions, and gains over LDA set by set."""

from __future__ import annotations

import numpy as np

from benchmarks.pages import OURS, PEER, THIRD, canvas, in_order, png
from benchmarks.projection.reductions import REDUCTIONS
from benchmarks.projection.report import (
    SHOWN,
    Results,
    accuracies,
    mean_differences,
    shown,
)
from benchmarks.projection.study import CLASSIFIERS

MARKS = {"QDA": (PEER, "s"), "5-NN": (THIRD, "^"), "discriminant": (OURS, "o")}


def draw(results: Results) -> bytes:
    """A row for each reduction with a mark for each classifier; sets below, as PNG."""
    figure, panels = canvas(5.6, 2, height_ratios=(1.1, 1))
    above, below = panels[:, 0]
    present = [
        r for r in REDUCTIONS if all(r in one["accuracy"] for one in results.values())
    ]
    places = np.arange(len(present))[::-1]
    for classifier in CLASSIFIERS:
        colour, mark = MARKS[classifier]
        means = [np.nanmean(accuracies(results, r, SHOWN, classifier)) for r in present]
        above.plot(means, places, mark, color=colour, label=shown(classifier))
    above.set_yticks(places, [shown(r).strip("*") for r in present])
    above.set_xlabel(f"mean accuracy in % on {SHOWN} components")
    gains = {n: (gain, 0.0) for n, gain in mean_differences(results, "LDA").items()}
    in_order(below, gains, "")
    below.set_ylabel("points above LDA")
    below.set_xlabel(f"{len(gains)} data sets, in order (mean of three classifiers)")
    handles = above.get_legend_handles_labels()
    place = {"loc": "outside upper center", "ncols": 3, "frameon": False}
    figure.legend(*handles, fontsize=10, **place)
    return png(figure)
