"""A projection as plain text: what its components keep, and what they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from heterolda.foundations.arrays import Array
from heterolda.foundations.wording import count, percent
from heterolda.inspection.blocks import Block, Paragraph, Table, to_lines
from heterolda.inspection.model_facts import feature_names
from heterolda.inspection.sentences import IF_NORMAL, wide_sentence
from heterolda.statistics.class_statistics import ClassStatistics

_MOST_COMPONENTS = 10
_MOST_FEATURES = 5
SHARES = f"Shares of the separation, {IF_NORMAL}"


def component_names(n_components: int) -> list[str]:
    """Return names of components in tables: component_1, component_2, ..."""
    return [f"component_{k}" for k in range(1, n_components + 1)]


def feature_shares(projection: Any) -> Array:
    """Return how much each feature weighs in each component, (components, features).

    A share is that of the coefficient times the standard deviation of the feature in
    all rows, in absolute value. A feature that varies between classes only, perhaps
    because it gives the label away, is seen so.
    """
    sizes = np.abs(projection.scalings_.T * total_deviations(projection.statistics_))
    shares: Array = sizes / sizes.sum(axis=1, keepdims=True)
    return shares


def total_deviations(stats: ClassStatistics) -> Array:
    """Return standard deviations of the features in the rows of all classes."""
    weights, means = stats.weights, stats.means
    shifts = means - weights @ means / weights.sum()
    squares = stats.squares.sum(axis=0) + weights @ shifts**2
    deviations: Array = np.sqrt(squares / (weights.sum() - 1))
    return deviations


def describe_projection(projection: Any, name: str, target: str) -> list[str]:
    """Return the components of a projection in words."""
    stats, features = projection.statistics_, feature_names(projection)
    n, d = stats.weights.sum(), stats.n_features
    sizes = f"{count(n, 'row')}, {count(d, 'feature')}"
    classes = f"{count(stats.n_classes, 'class')} in {target!r}"
    names = component_names(len(projection.explained_))
    shares = dict(zip(names, projection.explained_.tolist(), strict=True))
    shown = names[:_MOST_COMPONENTS]
    table = [[one, percent(shares[one])] for one in shown]
    if len(names) > len(shown):
        rest = sum(shares[one] for one in names[len(shown) :])
        table.append([f"{len(names) - len(shown)} more", percent(rest)])
    table.append(["together", percent(sum(shares.values()))])
    found = f"{count(len(names), 'component')} {origin(projection)}. {SHARES}"
    about = "Features that weigh most, in units of their standard deviation"
    weights = zip(shown, feature_shares(projection), strict=False)
    blocks: list[Block] = [
        Paragraph([f"{name}: {sizes}, {classes}"]),
        Table([], table, title=found),
        Paragraph([about, *(_weights(one, row, features) for one, row in weights)]),
    ]
    if n < d:
        blocks.append(Paragraph([f"{wide_sentence(n, d)}."]))
    return to_lines(blocks)


def origin(projection: Any) -> str:
    """Return how the components were found, and whether rows have changed them."""
    found, added = f"by the method {projection.method}", projection.guarded_
    if added == 1:
        # LDA has one component less than there are classes; others come after these.
        is_lda = len(projection.explained_) < len(projection.classes_)
        lead = "of LDA" if is_lda else "led by those of LDA"
        return f"{lead}, since training rows are separated badly {found}"
    if added:
        found += f" with covariances moved towards the pooled one by {added:g}, since "
        found += "training rows are separated badly without"
    return found


def _weights(name: str, shares: Array, features: list[str]) -> str:
    """Return the features of a component with the largest shares."""
    order = np.argsort(-shares, kind="stable")
    most = [f"{features[j]} {percent(shares[j])}" for j in order[:_MOST_FEATURES]]
    rest = order[_MOST_FEATURES:]
    if len(rest):
        more = count(len(rest), "more feature")
        most.append(f"{more} {percent(shares[rest].sum())}")
    return f"{name}: {', '.join(most)}"
