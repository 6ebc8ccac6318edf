"""Draw an evaluation: the confusion matrix, and the reliability of probabilities."""

from __future__ import annotations

import numpy as np

from heterolda.inspection.displays.base import COLORS, GRAY, pyplot

_MAX_LABELS = 12  # of cells with numbers


def draw_evaluation(result, axes=None):
    """Draw shares of the rows of each class, and of right answers by probability."""
    if axes is None:
        size = {"figsize": (10, 4.6), "layout": "constrained"}
        axes = pyplot().subplots(1, 2, **size)[1]
    matrix, chances = axes
    _draw_confusion(matrix, result)
    _draw_reliability(chances, result)
    return axes


def _draw_confusion(ax, result):
    """Draw the confusion matrix; colors are shares of the rows of a class."""
    weights = result.confusion.sum(axis=1, keepdims=True)
    shares = result.confusion / np.where(weights > 0, weights, 1)
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1.25)
    labels, places = [*map(str, result.classes.tolist())], np.arange(len(weights))
    ax.set_xticks(places, labels, rotation=45 if max(map(len, labels)) > 3 else 0)
    ax.set_yticks(places, labels)
    if len(labels) <= _MAX_LABELS:
        for (i, j), share in np.ndenumerate(shares):
            text = f"{result.confusion[i, j]:g}"
            color = "white" if share > 0.6 else "black"
            ax.text(j, i, text, ha="center", va="center", color=color, fontsize=8)
    title = f"{100 * result.error:.1f} % wrong: {result.method}"
    ax.set(xlabel="predicted class", ylabel="class")
    ax.set_title(title, fontsize="medium", wrap=True)


def _draw_reliability(ax, result):
    """Draw the share of right answers against their probability; dots by weight."""
    weight, sums, right = result.reliability
    ax.plot([0, 1], [0, 1], color=GRAY, lw=1, ls=(0, (4, 3)))
    known = weight > 0
    if known.any():
        x, y = sums[known] / weight[known], right[known] / weight[known]
        ax.plot(x, y, color=COLORS[0], lw=1.2)
        ax.scatter(x, y, s=20 + 300 * weight[known] / weight.sum(), color=COLORS[0])
    else:
        ax.text(0.5, 0.5, "no probabilities", ha="center", color=GRAY)
    ax.set(
        xlim=(0, 1.03),
        ylim=(0, 1.03),
        aspect="equal",
        xlabel="probability of the predicted class",
        ylabel="share of right answers",
    )
    ax.set_title("reliability; larger dots have more rows", fontsize="medium")
