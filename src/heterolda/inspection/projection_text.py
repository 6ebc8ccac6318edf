"""A projection as plain text: what its components keep, and what they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from heterolda.foundations.arrays import Array
from heterolda.foundations.wording import count, percent, text_table
from heterolda.inspection.model_facts import feature_names
from heterolda.inspection.sentences import PLUG_IN, wide_sentence
from heterolda.statistics.class_statistics import ClassStatistics

_MOST_COMPONENTS = 10
_MOST_FEATURES = 5


def component_names(n_components: int) -> list[str]:
    """Names of the components in tables: component_1, component_2, ..."""
    return [f"component_{k}" for k in range(1, n_components + 1)]


def feature_shares(projection: Any) -> Array:
    """How much each feature weighs in each component, in shares that sum to one.

    A share is that of the coefficient times the standard deviation of the feature in
    all rows, in absolute value, (n_components, n_features). One that varies between
    classes only, perhaps because it gives the label away, is seen so.
    """
    sizes = np.abs(projection.scalings_.T * total_deviations(projection.statistics_))
    shares: Array = sizes / sizes.sum(axis=1, keepdims=True)
    return shares


def total_deviations(statistics: ClassStatistics) -> Array:
    """Standard deviations of the features in the rows of all classes together."""
    weights, means = statistics.weights, statistics.means
    shifts = means - weights @ means / weights.sum()
    squares = statistics.squares.sum(axis=0) + weights @ shifts**2
    deviations: Array = np.sqrt(squares / (weights.sum() - 1))
    return deviations


def describe_projection(projection: Any, name: str, target: str) -> list[str]:
    """The components of a projection in words."""
    statistics = projection.statistics_
    rows = count(statistics.weights.sum(), "row")
    features = count(statistics.n_features, "feature")
    classes = count(statistics.n_classes, "class")
    names = component_names(len(projection.explained_))
    shares = dict(zip(names, projection.explained_.tolist(), strict=True))
    shown = names[:_MOST_COMPONENTS]
    table = [[one, percent(shares[one])] for one in shown]
    if len(names) > len(shown):
        rest = sum(shares[one] for one in names[len(shown) :])
        table.append([f"{len(names) - len(shown)} more", percent(rest)])
    whole = ["together", percent(sum(shares.values()))]
    weights = zip(shown, feature_shares(projection), strict=False)
    n, d = statistics.weights.sum(), statistics.n_features
    return [
        f"{name}: {rows}, {features}, {classes} in {target!r}",
        "",
        f"{count(len(names), 'component')} {origin(projection)}, and the share of the "
        f"separation that each adds ({PLUG_IN})",
        *text_table([*table, whole]),
        "",
        "Features that weigh most, in units of their standard deviation",
        *(_weights(one, row, feature_names(projection)) for one, row in weights),
        *(["", f"{wide_sentence(n, d)}."] if n < d else []),
    ]


def origin(projection: Any) -> str:
    """How the components were found, and whether rows have changed them."""
    found, added = f"by the method {projection.method}", projection.guarded_
    if added == 1:
        # LDA has one component less than there are classes; others come after these.
        is_lda = len(projection.explained_) < len(projection.classes_)
        lead = "of LDA" if is_lda else "led by those of LDA"
        return f"{lead}, since training rows are told apart badly {found}"
    if added:
        found += f" with covariances moved towards the pooled one by {added:g}, since "
        found += "training rows are told apart badly without"
    return found


def _weights(name: str, shares: Array, features: list[str]) -> str:
    """The features of a component with the largest shares."""
    order = np.argsort(-shares, kind="stable")
    most = [f"{features[j]} {percent(shares[j])}" for j in order[:_MOST_FEATURES]]
    rest = order[_MOST_FEATURES:]
    if len(rest):
        more = count(len(rest), "more feature")
        most.append(f"{more} {percent(shares[rest].sum())}")
    return f"{name}: {', '.join(most)}"
