"""A page about a projection: the map of the classes, components and their features."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from heterolda.estimators.projection import HeteroscedasticProjection
from heterolda.foundations.files import written_whole
from heterolda.foundations.wording import count, percent
from heterolda.inspection.displays.class_map import ClassMapDisplay
from heterolda.inspection.model_facts import feature_names
from heterolda.inspection.page import (
    bar,
    features_table,
    figure,
    note,
    page,
    paragraph,
    picture,
    section,
    table,
)
from heterolda.inspection.projection_text import (
    feature_shares,
    origin,
    total_deviations,
)
from heterolda.inspection.sentences import PLUG_IN

_MOST_COMPONENTS = 5  # whose features are listed


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
        file.write(_page(projection, X, y, name).encode())


def map_figure(projection: HeteroscedasticProjection, X: Any, y: Any) -> str:
    """The map of two components, or of three in three panels, with its caption."""
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

    size = (8.2, 6.2) if n == 2 else (11.0, 8.6)
    kept = percent(projection.explained_[:n].sum())
    caption = (
        f"All classes in {count(n, 'component')}, which keep {kept} of their "
        "separation (plug-in). An ellipse holds half of its class under the Gaussian "
        "model; the regions are those of the quadratic rule in the components shown."
    )
    if X is not None:
        caption += " Points are rows, a sample of them if there are many."
    shown = figure(picture(draw, size), caption, "Map of the classes")
    return f'<div class="{"map" if n == 2 else "wide"}">{shown}</div>'


def _page(projection: HeteroscedasticProjection, X: Any, y: Any, name: str) -> str:
    """The page as HTML."""
    statistics = projection.statistics_
    n = len(projection.explained_)
    kept = percent(projection.explained_.sum())
    lead = [
        f"{count(statistics.weights.sum(), 'row')} of "
        f"{count(statistics.n_classes, 'class')} and "
        f"{count(statistics.n_features, 'feature')}, in {count(n, 'component')} "
        f"{origin(projection)}.",
        f"The components keep {kept} of the separation of the classes ({PLUG_IN}).",
    ]
    shares = projection.explained_
    rows = [
        [f"component {k + 1}", bar(share, shares.max()), percent(shares[: k + 1].sum())]
        for k, share in enumerate(shares)
    ]
    picture = note("A map needs two components, and there is only one.")
    if n > 1:
        picture = map_figure(projection, X, y)
    body = [
        section("Map of the classes", picture),
        section(
            "Components",
            note("Shares of the separation of the classes, plug-in."),
            table(["", "share that it adds", "together"], rows),
        ),
        section("Features that weigh most", *_features(projection)),
    ]
    title = f"{name}: map of the classes"
    return page(title, name, [paragraph(line) for line in lead], body)


def _features(projection: HeteroscedasticProjection) -> list[str]:
    """For each component the features with the largest shares."""
    about = (
        "A component is the sum of scaling times feature, less a constant. Weights are "
        "shares of the scalings, each times the standard deviation of its feature."
    )
    parts = [note(about)]
    names = feature_names(projection)
    deviations = total_deviations(projection.statistics_)
    weights = feature_shares(projection)
    n = projection.scalings_.shape[1]
    for k, scalings in enumerate(projection.scalings_.T[:_MOST_COMPONENTS]):
        shares = weights[k]
        rows = [
            (names[j], float(shares[j]), f"{scalings[j]:.6g}", f"{deviations[j]:.4g}")
            for j in np.argsort(-shares, kind="stable")
        ]
        head = [f"component {k + 1}", "weight", "scaling", "deviation"]
        parts.append(features_table(head, rows))
    if n > _MOST_COMPONENTS:
        parts.append(note(f"And {n - _MOST_COMPONENTS} more components."))
    return parts
