"""A page about a projection: the map of the classes, components and their features."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from heterolda.estimators.projection import HeteroscedasticProjection
from heterolda.foundations.files import written_whole
from heterolda.foundations.wording import count, percent
from heterolda.inspection.blocks import (
    Block,
    Figure,
    Heading,
    Paragraph,
    Table,
    to_page,
)
from heterolda.inspection.displays.class_map import ClassMapDisplay
from heterolda.inspection.model_facts import feature_names
from heterolda.inspection.projection_text import (
    SHARES,
    feature_shares,
    origin,
    total_deviations,
)

_MOST_COMPONENTS = 5  # whose features are listed
_MOST_FEATURES = 20
_ABOUT = (
    "A component is the sum of scaling times feature, less a constant. Weights are "
    "shares of the scalings, each times the standard deviation of its feature."
)


def write_map_page(
    projection: HeteroscedasticProjection,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    name: str,
) -> None:
    """Write the page of a fitted projection, which needs nothing else and no network.

    X and y are rows and labels to show on the map, or None; `name` is that of the data.
    """
    with written_whole(path) as file:  # before the work, to fail early
        blocks = _blocks(projection, X, y)
        file.write(to_page(f"{name}: map of the classes", name, blocks).encode())


def map_figure(projection: HeteroscedasticProjection, X: Any, y: Any) -> Figure:
    """Return the map of two components, or of three in three panels."""
    display: Any = ClassMapDisplay
    n = min(len(projection.explained_), 3)

    def draw(canvas: Any) -> None:
        if n == 2:
            axes = canvas.subplots()
        else:
            grid = canvas.subplots(2, 2).ravel()
            grid[3].set_axis_off()
            axes = grid[:3]
        display.from_estimator(projection, X, y, components=n, ax=axes)

    kept = percent(projection.explained_[:n].sum())
    caption = (
        f"All classes in {count(n, 'component')}, which keep {kept} of their "
        "separation. An ellipse holds half of its class if that is normal; the regions "
        "are those of the quadratic rule in the components shown."
    )
    if X is not None:
        caption += " Points are rows, a sample of them if there are many."
    size, place = ((8.2, 6.2), "map") if n == 2 else ((11.0, 8.6), "wide")
    return Figure(draw, caption, "Map of the classes", size, place)


def _blocks(projection: HeteroscedasticProjection, X: Any, y: Any) -> list[Block]:
    """Return what there is to say of a projection."""
    stats, shares = projection.statistics_, projection.explained_
    n = len(shares)
    sizes = {"row": stats.weights.sum(), "class": stats.n_classes}
    sizes["feature"] = stats.n_features
    rows, classes, features = (count(value, what) for what, value in sizes.items())
    components = f"in {count(n, 'component')} {origin(projection)}"
    together = [percent(shares[: k + 1].sum()) for k in range(n)]
    return [
        Paragraph(
            [
                f"{rows} of {classes} and {features}, {components}.",
                f"The components keep {together[-1]} of the separation of the classes.",
            ]
        ),
        Heading("Map of the classes"),
        map_figure(projection, X, y)
        if n > 1
        else Paragraph(["A map needs two components, and there is only one."]),
        Heading("Components"),
        Paragraph([f"{SHARES}."], small=True),
        Table(
            ["", "share that it adds", "together"],
            [[f"component {k + 1}", shares[k], together[k]] for k in range(n)],
            bars=True,
        ),
        Heading("Features that weigh most"),
        Paragraph([_ABOUT], small=True),
        *_features(projection),
    ]


def _features(projection: HeteroscedasticProjection) -> list[Block]:
    """Return for each component the features with the largest shares."""
    names, weights = feature_names(projection), feature_shares(projection)
    deviations = total_deviations(projection.statistics_)
    tables: list[Block] = []
    for k, shares in enumerate(weights[:_MOST_COMPONENTS]):
        scalings = projection.scalings_[:, k]
        rows = [
            [names[j], float(shares[j]), f"{scalings[j]:.6g}", f"{deviations[j]:.4g}"]
            for j in np.argsort(-shares, kind="stable")
        ]
        head = [f"component {k + 1}", "weight", "scaling", "deviation"]
        tables.append(Table(head, rows, most=(None, _MOST_FEATURES), bars=True))
    if len(weights) > _MOST_COMPONENTS:
        more = f"And {len(weights) - _MOST_COMPONENTS} more components."
        tables.append(Paragraph([more], small=True))
    return tables
