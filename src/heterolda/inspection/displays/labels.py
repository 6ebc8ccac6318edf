"""Names of classes on a map, none of which hides another."""

from __future__ import annotations

import numpy as np

from heterolda.foundations.wording import printable

_LONGEST = 18  # characters of a name
_ROUNDS = 500


def write_labels(ax, names, places, colors, ink, size):
    """Write names at places of axes whose limits are set, and return the texts.

    Names that would overlap are moved apart, and a line leads to where they belong.
    The size is that of the letters, in points.
    """
    ground = ax.get_facecolor()
    texts = [printable(str(name), _LONGEST) for name in names]
    # The layout of the figure may still change by a little: sizes are generous.
    wide = np.array([0.75 * size * len(text) + 8 for text in texts])
    sizes = np.column_stack([wide, np.full(len(texts), size + 9)])
    to_points = 72 / ax.figure.dpi
    wanted = to_points * ax.transData.transform(places)
    box = ax.get_window_extent()
    corners = to_points * np.array([box.min, box.max])
    shifts = move_apart(wanted, sizes, corners) - wanted
    written = []
    for k, text in enumerate(texts):
        leader = {"arrowstyle": "-", "color": colors[k], "lw": 1.2, "shrinkB": 0}
        moved = np.any(np.abs(shifts[k]) > 0.5 * sizes[k])
        label = ax.annotate(
            text,
            xy=places[k],
            xytext=shifts[k],
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=size,
            fontweight="bold",
            color=ink,
            bbox={
                "boxstyle": "round,pad=0.2",
                "facecolor": (*ground[:3], 0.85),
                "edgecolor": colors[k],
                "linewidth": 1.4,
            },
            arrowprops=leader if moved else None,
            zorder=5,
            annotation_clip=False,  # rounding may put a place outside the axes
            parse_math=False,
        )
        written.append(label)
    return written


def move_apart(wanted, sizes, box):
    """Return centers near the wanted ones of rectangles that overlap little.

    All stay within the box, the rows of which are its lower and its upper corner.
    """
    low, high = box[0] + 0.5 * sizes, box[1] - 0.5 * sizes
    middle = 0.5 * (low + high)
    low, high = np.minimum(low, middle), np.maximum(high, middle)
    needed = 0.5 * (sizes[:, None] + sizes[None])
    order = np.arange(len(wanted))
    # Rectangles at the same place part by their order.
    ties = np.sign(order[:, None] - order[None])[..., None]
    centers = np.clip(wanted, low, high)
    for _ in range(_ROUNDS):
        apart = centers[:, None] - centers[None]
        overlap = needed - np.abs(apart)
        both = np.all(overlap > 1e-6, axis=-1)
        np.fill_diagonal(both, False)
        if not both.any():
            break
        shorter = overlap == overlap.min(axis=-1, keepdims=True)
        push = np.where(both[..., None] & shorter, overlap, 0.0)
        push *= np.where(apart == 0, ties, np.sign(apart))
        centers = np.clip(centers + 0.5 * push.sum(axis=1), low, high)
    return centers
