"""A model card: one page with the rules, tables and pictures, for any browser."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from heterolda.foundations.files import written_whole
from heterolda.inspection.displays.boundary import BoundaryDisplay
from heterolda.inspection.displays.error_curve import ErrorCurveDisplay
from heterolda.inspection.displays.frontier_curve import FrontierDisplay
from heterolda.inspection.displays.projection import ProjectionDisplay
from heterolda.inspection.map_page import map_figure
from heterolda.inspection.model_facts import ModelFacts, PairFacts
from heterolda.inspection.page import (
    features_table,
    figure,
    folded,
    note,
    page,
    paragraph,
    picture,
    section,
    table,
)
from heterolda.inspection.sentences import GAP, MISSED, record_sentence

_MOST_PAIRS = 30
_MOST_WORK = 1e9  # some ten seconds for the map
_ABOUT_FEATURES = (
    "The weight of a feature is its share of the coefficients, each times the standard "
    "deviation of its feature within the classes; averaged over all rules."
)
_ABOUT_RULES = (
    "Errors are plug-in: computed from the fitted Gaussian model, not counted on rows. "
    f"Check them on rows that were held out of the fit. {MISSED}"
)
_CAPTIONS = {
    ProjectionDisplay: "Both classes along the direction in which the rule measures: "
    "densities times priors, the threshold, and the shares decided wrongly (plug-in).",
    FrontierDisplay: "The optimal trade-off between the two plug-in error rates, and "
    "the place of this rule on it.",
    ErrorCurveDisplay: "The plug-in error of all admissible rules, and the rules that "
    "the methods find.",
    BoundaryDisplay: "The plane across the boundary: the classes as ellipses of one "
    "and two standard deviations, and the rules.",
}


def write_card(
    facts: ModelFacts,
    name: str,
    path: str | os.PathLike[str],
    pairs: Sequence[PairFacts],
) -> None:
    """Write the page of a model, with a section and pictures for some of its pairs.

    The page needs nothing else, and no network.
    """
    with written_whole(path) as file:  # before the work, to fail early
        file.write(_page(facts, name, pairs).encode())


def _page(facts: ModelFacts, name: str, pairs: Sequence[PairFacts]) -> str:
    """The page of a model as HTML."""
    notes = facts.notes()
    if facts.statistics is None:
        notes.append(
            "The model has no class statistics, so weights are those of the features "
            "as they are, and there are no pictures."
        )
    record = facts.record
    known = [] if record is None else [record_sentence(record), *facts.reading_lines()]
    lead = [*facts.accuracy_lines(), facts.sentence, *known]
    about = f"{_ABOUT_RULES} {GAP}" if facts.has_proven_gap else _ABOUT_RULES
    body = [
        section("Classes", table(*facts.class_table()), _class_map(facts)),
        section(
            "Features that weigh most",
            note(_ABOUT_FEATURES),
            features_table(["feature", "weight"], facts.mean_shares()),
        ),
        "" if facts.has_few_rows else section("Rules", note(about), _pairs(facts)),
        *(_rule(facts, pair) for pair in pairs),
    ]
    lines = [*map(paragraph, lead), *map(note, notes)]
    return page(f"{name}: model card", name, lines, body)


def _class_map(facts: ModelFacts) -> str:
    """All classes in a picture, if there are more than two and a plane to show them."""
    projection = facts.projection(_MOST_WORK)
    if projection is None:
        return ""
    own = "The model itself decides by the rules below, which use all features."
    return map_figure(projection, None, None) + note(own)


def _pairs(facts: ModelFacts) -> str:
    """All pairs, or the worst of very many."""
    if facts.discriminant is None:
        return note("The errors of these rules are unknown.")
    more = len(facts.pairs) - _MOST_PAIRS
    rest = note(f"And {more} more pairs with smaller errors.") if more > 0 else ""
    return table(*facts.pair_table(_MOST_PAIRS, "\n")) + rest


def _rule(facts: ModelFacts, pair: PairFacts) -> str:
    """The section of a pair."""
    first, second = pair.classes
    parts = [paragraph(facts.rule_sentence(pair))]
    features = facts.coefficients(pair)
    if features:
        parts.append(features_table(facts.coefficient_head, features))
    points = facts.operating_points(pair)
    if points:
        head = ["optimal trade-off (plug-in)", f"{first} missed", f"{second} missed"]
        title = "Other error rates to choose from"
        parts.append(folded(title, [*head, "error"], points))
    parts.append(_pictures(facts, pair))
    return section(pair.name, *parts)


def _pictures(facts: ModelFacts, pair: PairFacts) -> str:
    """The displays of a pair; those that it cannot have are left out."""
    discriminant = facts.discriminant
    if facts.statistics is None or facts.has_few_rows or discriminant.pairs_[0, 0] < 0:
        return ""
    labels = tuple(discriminant.classes_[discriminant.pairs_[pair.index]].tolist())
    figures = []
    for display, caption in _CAPTIONS.items():

        def draw(canvas: Any, display: Any = display) -> None:
            display.from_estimator(discriminant, pair=labels, ax=canvas.subplots())

        try:
            figures.append(figure(picture(draw), caption, pair.name))
        except ValueError:
            continue  # one feature has no plane, a constant answer no normal
    about = ""
    if facts.has_local_search:
        about = note("The pictures show the rule before the refinement.")
    return f'{about}<div class="pictures">{"".join(figures)}</div>'
