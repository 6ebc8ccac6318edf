"""A picture of models on rows held out: how good, and how far behind the best."""

from __future__ import annotations

import numpy as np

from heterolda.inspection.displays.base import COLOURS, INK, pyplot


def draw_comparison(comparison, ax=None):
    """Draw a `Comparison`; see there.

    The bars of a model are two standard errors of its difference to the best long, so
    that a bar that reaches the line of the best is not clearly behind it.
    """
    names = comparison.names
    if ax is None:
        height = 1.4 + 0.34 * len(names)
        ax = pyplot().subplots(figsize=(6.4, height), layout="constrained")[1]
    ax.spines[["top", "right"]].set_visible(False)
    places = np.arange(len(names))
    accuracy = 100 * comparison.accuracy
    drawn = np.isfinite(accuracy)
    chosen = np.array([name == comparison.choice for name in names])
    best = np.array([name == comparison.best for name in names])
    for name, k in zip(names, places, strict=True):
        if not drawn[k]:
            _write_failure(ax, k, comparison.failures[name])
    if drawn.any():
        ax.axvline(
            accuracy[best][0], color="0.6", lw=1, ls=(0, (4, 3)), label="the best"
        )
        ax.errorbar(
            accuracy[drawn],
            places[drawn],
            xerr=100 * comparison.standard_error[drawn],
            fmt="none",
            ecolor="0.85",
            elinewidth=7,
            label="accuracy, one standard error",
        )
        others = drawn & ~best
        ax.errorbar(
            accuracy[others],
            places[others],
            xerr=200 * comparison.difference_error[others],
            fmt="none",
            ecolor=INK,
            elinewidth=1.2,
            capsize=3,
            label="difference to the best, two standard errors",
        )
        for mask, colour, label in (
            (drawn & ~chosen, COLOURS[0], None),
            (chosen, COLOURS[1], "recommended: the simplest that reaches the best"),
        ):
            ax.plot(accuracy[mask], places[mask], "o", color=colour, ms=7, label=label)
        ax.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, -0.22),
            ncols=1,
            fontsize="small",
            frameon=False,
        )
    ax.set_yticks(places, names)
    ax.set(ylim=(len(names) - 0.4, -0.6), xlabel="held-out rows that are right, %")
    return ax


def _write_failure(ax, place, reason):
    """Say in place of a dot that there is none."""
    word = reason if reason == "not finished" else "failed"
    ax.text(
        0.02,
        place,
        word,
        transform=ax.get_yaxis_transform(),
        va="center",
        color="0.5",
        style="italic",
    )
