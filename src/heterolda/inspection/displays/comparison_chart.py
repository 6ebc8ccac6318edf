"""Chart of the held-out accuracies of models and their distances from the best."""

from __future__ import annotations

import numpy as np

from heterolda.inspection.displays.base import COLORS, GRAY, INK, pyplot


def draw_comparison(comparison, ax=None):
    """Draw a `Comparison`; models whose thin bar reaches the best are as good."""
    from matplotlib.transforms import ScaledTranslation

    names = np.array(comparison.names)
    if ax is None:
        size = 6.4, 1.9 + 0.3 * len(names)
        ax = pyplot().subplots(figsize=size, layout="constrained")[1]
    ax.spines[["top", "right"]].set_visible(False)
    y = np.arange(len(names))
    ax.set_yticks(y, names)
    ax.set(ylim=(len(names) - 0.4, -0.6), xlabel="accuracy on held-out rows, %")
    accuracy = 100 * comparison.accuracy
    drawn = np.isfinite(accuracy)
    for k in y[~drawn]:
        across = ax.get_yaxis_transform()  # x is a share of the width
        ax.text(0.02, k, "failed", transform=across, va="center", color=GRAY)
    if not drawn.any():
        return ax
    best, chosen = names == comparison.best, names == comparison.choice
    style = {"color": GRAY, "lw": 1, "ls": (0, (4, 3)), "label": "the best model"}
    ax.axvline(accuracy[best][0], **style)
    error = 100 * comparison.standard_error
    paired = 100 * comparison.losses.critical * comparison.difference_error
    style = {"fmt": "none", "ecolor": "0.8", "elinewidth": 7}
    style["label"] = "accuracy ± one standard error"
    ax.errorbar(accuracy[drawn], y[drawn], xerr=error[drawn], **style)
    others = drawn & ~best
    style = {"fmt": "none", "ecolor": INK, "elinewidth": 1.2, "capsize": 3}
    style["label"] = "difference from the best, with 95 % confidence"
    ax.errorbar(accuracy[others], y[others], xerr=paired[others], **style)
    ax.plot(accuracy[drawn], y[drawn], "o", color=COLORS[0], ms=7)
    label = "recommended of the models that reach the line"
    ax.plot(accuracy[chosen], y[chosen], "o", color=COLORS[1], ms=7, label=label)
    # The legend is at a fixed distance below the axes.
    below = ax.transAxes + ScaledTranslation(0, -0.5, ax.figure.dpi_scale_trans)
    style = {"bbox_to_anchor": (0.5, 0.0), "bbox_transform": below, "frameon": False}
    ax.legend(loc="upper center", fontsize="small", **style)
    return ax
