"""A picture of models on rows held out: how good, and how far behind the best."""

from __future__ import annotations

import io
import warnings

import numpy as np

from heterolda.inspection.displays.base import COLOURS, INK, pyplot


def draw_comparison(comparison, ax=None):
    """Draw a `Comparison`; see there.

    The bars of a model are two standard errors of its difference to the best long, so
    that a bar that reaches the line of the best is not clearly behind it.
    """
    names = comparison.names
    if ax is None:
        size = _size(comparison)
        ax = pyplot().subplots(figsize=size, layout="constrained")[1]
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
            (chosen, COLOURS[1], "to be used: the simplest that reaches the best"),
        ):
            ax.plot(accuracy[mask], places[mask], "o", color=colour, ms=7, label=label)
        _write_legend(ax)
    ax.set_yticks(places, names)
    ax.set(ylim=(len(names) - 0.4, -0.6), xlabel="held-out rows that are right, %")
    return ax


def comparison_picture(comparison, form):
    """The picture as a file's content, "png" or "svg"."""
    plt = pyplot()
    # The same comparison makes the same file.
    settings = {"svg.hashsalt": "heterolda", "svg.fonttype": "path"}
    with plt.rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of glyphs that a font lacks
        # Not one of pyplot's, which would open a window and stay in memory.
        figure = plt.Figure(figsize=_size(comparison), layout="constrained")
        draw_comparison(comparison, figure.subplots())
        buffer = io.BytesIO()
        metadata = {"Date": None} if form == "svg" else None
        figure.savefig(buffer, format=form, dpi=150, metadata=metadata)
    return buffer.getvalue()


def _size(comparison):
    """Width and height in inches."""
    return 6.4, 1.9 + 0.3 * len(comparison.names)


def _write_legend(ax):
    """The legend, below the axes at a distance that does not grow with them."""
    from matplotlib.transforms import ScaledTranslation

    below = ScaledTranslation(0, -0.5, ax.figure.dpi_scale_trans)
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + below,
        fontsize="small",
        frameon=False,
    )


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
