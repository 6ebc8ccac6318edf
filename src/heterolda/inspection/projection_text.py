"""Describe a projection in text, and on a page with the map of the classes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from heterolda.foundations.arrays import Array
from heterolda.foundations.files import atomic_write
from heterolda.foundations.wording import count, percent
from heterolda.inspection.blocks import (
    Block,
    Figure,
    Heading,
    Paragraph,
    Table,
    to_lines,
    to_page,
)
from heterolda.inspection.displays.class_map import ClassMapDisplay
from heterolda.inspection.model_facts import feature_names
from heterolda.inspection.sentences import FEW_ROWS, IF_NORMAL
from heterolda.statistics.class_statistics import ClassStatistics

_MAX_COMPONENTS = 5  # with a list of features
_MAX_FEATURES = 5
_ABOUT = (
    "A component is the sum of scaling times feature, less a constant. Weights are "
    "shares of the scalings, each times the standard deviation of its feature."
)


def describe_projection(projection: Any, name: str, target: str) -> list[str]:
    """Return lines of text on the components of a projection."""
    return to_lines(_blocks(projection, f"{name}: ", f" in {target!r}"))


def write_map_page(
    projection: Any, X: Any, y: Any, path: str | os.PathLike[str], name: str
) -> None:
    """Write a self-contained page of a projection of the data `name`."""
    with atomic_write(path) as file:  # before the work, to fail early
        picture: Block = Paragraph(["A map needs two components: there is only one."])
        if len(projection.explained_) > 1:
            picture = map_figure(projection, X, y)
        lead, *others = _blocks(projection)
        blocks = [lead, Heading("Map of the classes"), picture, *others]
        file.write(to_page(f"{name}: map of the classes", name, blocks).encode())


def map_figure(projection: Any, X: Any, y: Any) -> Figure:
    """Return the map of the first two components."""
    display: Any = ClassMapDisplay

    def draw(canvas: Any) -> None:
        display.from_estimator(projection, X, y, ax=canvas.subplots())

    kept = percent(projection.explained_[:2].sum())
    caption = (
        f"All classes in 2 components, which keep {kept} of their separation. An "
        "ellipse holds half of its class if the class is normal; the regions are the "
        "decisions of the quadratic rule in these components."
    )
    if X is not None:
        caption += " Points are rows, a sample of them if there are many."
    return Figure(draw, caption, "Map of the classes", (6.4, 5.0), "map")


def _blocks(projection: Any, name: str = "", target: str = "") -> list[Block]:
    """Return the blocks of a projection."""
    stats, shares = projection.statistics_, projection.explained_
    rows, features = stats.weights.sum(), stats.n_features
    cumulative = [percent(share) for share in np.cumsum(shares)]
    lead = [
        f"{name}{count(rows, 'row')}, {count(features, 'feature')}, "
        f"{count(stats.n_classes, 'class')}{target}",
        f"{count(len(shares), 'component')} with method {projection.method!r}.",
        f"The components keep {cumulative[-1]} of the separation of the classes, "
        f"{IF_NORMAL}.",
    ]
    if added := projection.guarded_:
        lead.append(
            f"The guard moved covariances toward the pooled one by {added:g} (at 1, "
            "components of LDA come first): without this they separate training rows "
            "badly."
        )
    if rows < features:
        lead.append(FEW_ROWS)
    return [
        Paragraph(lead),
        Heading("Components"),
        Table(
            ["component", "share added", "cumulative"],
            [[k + 1, share, cumulative[k]] for k, share in enumerate(shares)],
            max_rows=10,
            bars=True,
        ),
        Heading("Features that weigh most"),
        Paragraph([_ABOUT], small=True),
        *_features(projection),
    ]


def _features(projection: Any) -> list[Block]:
    """Return a table of the features with the largest shares for each component."""
    names, deviations = feature_names(projection), _deviations(projection.statistics_)
    n = projection.scalings_.shape[1]
    blocks: list[Block] = []
    for k, scalings in enumerate(projection.scalings_.T[:_MAX_COMPONENTS]):
        sizes = np.abs(scalings * deviations)
        shares = sizes / sizes.sum()
        rows = [
            [names[j], float(shares[j]), f"{scalings[j]:.6g}", f"{deviations[j]:.4g}"]
            for j in np.argsort(-shares, kind="stable")
        ]
        head = ["feature", "weight", "scaling", "deviation"]
        title = f"Component {k + 1}"
        blocks.append(Table(head, rows, title, _MAX_FEATURES, bars=True))
    if n > _MAX_COMPONENTS:
        blocks.append(Paragraph([f"And {n - _MAX_COMPONENTS} more components."]))
    return blocks


def _deviations(stats: ClassStatistics) -> Array:
    """Return deviations over all rows: some features vary only between classes."""
    weights, means = stats.weights, stats.means
    shifts = means - weights @ means / weights.sum()
    squares = stats.squares.sum(axis=0) + weights @ shifts**2
    deviations: Array = np.sqrt(squares / (weights.sum() - 1))
    return deviations
