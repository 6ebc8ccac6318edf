"""A model in words, tables and pictures: for a terminal, and as a page."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from heterolda.estimators.base import OTHERS
from heterolda.foundations.files import written_whole
from heterolda.foundations.wording import amount, count, percent
from heterolda.inspection.blocks import (
    Block,
    Figure,
    Heading,
    Paragraph,
    Table,
    to_lines,
    to_page,
)
from heterolda.inspection.displays.boundary import BoundaryDisplay
from heterolda.inspection.displays.error_curve import ErrorCurveDisplay
from heterolda.inspection.displays.frontier_curve import FrontierDisplay
from heterolda.inspection.displays.projection import ProjectionDisplay
from heterolda.inspection.map_page import map_figure
from heterolda.inspection.model_facts import ModelFacts, PairFacts
from heterolda.inspection.sentences import (
    GAP,
    IF_NORMAL,
    MISSED,
    gain_if_normal,
    record_sentence,
)

# Rows of a terminal and of a page.
_MOST_FEATURES = 10, 20
_MOST_PAIRS = 10, 30
_MOST_CLASSES = 12, None
_MOST_WORK = 2e7  # some 0.2 seconds for a line about components
_MOST_WORK_OF_A_MAP = 1e9  # some ten seconds
_ABOUT_FEATURES = (
    "The weight of a feature is its share of the coefficients, each times the standard "
    "deviation of its feature within the classes; averaged over all rules."
)
_CAPTIONS = {
    ProjectionDisplay: "Both classes along the direction in which the rule measures: "
    "densities times priors, the threshold, and the shares decided wrongly.",
    FrontierDisplay: "The optimal trade-off between the two error rates, and the place "
    "of this rule on it.",
    ErrorCurveDisplay: "The error of all admissible rules, and the rules that the "
    "methods find.",
    BoundaryDisplay: "The plane across the boundary: the classes as ellipses of one "
    "and two standard deviations, and the rules.",
}


def describe_fit(
    facts: ModelFacts, name: str, target: str, accuracy: list[str], remedy: str
) -> list[str]:
    """Return lines on what was fitted: accuracy on held-out rows, classes, pairs.

    The lines about the accuracy come first; the remedy is one for small classes.
    """
    sizes = [count(facts.n_rows, "row"), count(len(facts.features), "feature")]
    classes = f"{count(len(facts.classes), 'class')} in {target!r}"
    head = f"{name}: {', '.join([*sizes, classes])}"
    below = [*_components(facts), *_search(facts), *facts.notes(remedy)]
    return to_lines(
        [
            Paragraph([head, *facts.reading_lines()]),
            *([Paragraph(accuracy)] if accuracy else []),
            _classes(facts),
            *_pairs(facts),
            *([Paragraph(below)] if below else []),
        ]
    )


def describe_model(
    facts: ModelFacts, name: str, pairs: list[PairFacts], *, tradeoff: bool = False
) -> list[str]:
    """Return a model and the rules of some of its pairs in words.

    `tradeoff` adds the rules of the optimal trade-off of each pair.
    """
    first, *blocks = _blocks(facts, pairs, tradeoff=tradeoff)
    named = [f"{name}: {first.lines[0]}", *first.lines[1:]]
    return to_lines([Paragraph(named), *blocks])


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
        blocks = list(_blocks(facts, pairs, tradeoff=True, pictures=True))
        file.write(to_page(f"{name}: model card", name, blocks).encode())


def _blocks(
    facts: ModelFacts,
    pairs: Sequence[PairFacts],
    *,
    tradeoff: bool,
    pictures: bool = False,
) -> Iterator[Any]:
    """Yield what there is to say of a model and of the rules of some of its pairs."""
    record = facts.record
    known = [] if record is None else [record_sentence(record), *facts.reading_lines()]
    yield Paragraph([facts.sentence, *facts.accuracy_lines(), *known])
    notes = facts.notes()
    if facts.statistics is None:
        notes.append(
            "There are no class statistics, so weights are those of the features as "
            "they are, and there are no pictures nor other operating points."
        )
    if notes:
        yield Paragraph(notes, small=True)
    yield Heading("Classes")
    yield _classes(facts)
    projection = facts.projection(_MOST_WORK_OF_A_MAP) if pictures else None
    if projection is not None:
        own = "The model itself decides by the rules below, which use all features."
        yield map_figure(projection, None, None)
        yield Paragraph([own], small=True)
    if len(facts.pairs) > 1:
        yield Heading("Features that weigh most, over all rules")
        yield Paragraph([_ABOUT_FEATURES], small=True)
        yield _features(["feature", "weight"], facts.mean_shares())
    if not facts.has_few_rows and facts.discriminant is not None:
        yield Heading("Rules")
        yield from _pairs(facts)
    n, every = len(pairs), len(facts.pairs)
    if n < every:
        order = ", the worst first" if n > 1 else ""
        yield Paragraph([f"Below: {n} of {every} rules{order}."], small=True)
    for pair in pairs:
        yield from _rule(facts, pair, tradeoff=tradeoff)
        if pictures:
            yield from _pictures(facts, pair)


def _classes(facts: ModelFacts) -> Table:
    head, rows = facts.class_table()
    more = f"and {{}} more of {len(rows)} classes"
    return Table(
        head,
        rows,
        most=_MOST_CLASSES,
        more=lambda n: more.format(len(rows) - n),
    )


def _features(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """Return a table of features, the largest shares first."""

    def more(n: int) -> str:
        rest = sum(share for _, share, *_ in rows[n:])
        return f"and {count(len(rows) - n, 'more feature')} with {percent(rest)}"

    return Table(head, rows, most=_MOST_FEATURES, more=more, bars=True)


def _pairs(facts: ModelFacts) -> list[Block]:
    """Return the errors of the pairs in a table, and LDA's in a sentence, if any."""
    if facts.has_few_rows:
        return []
    kind = "Expected costs" if facts.has_costs else "Errors"
    head, rows = facts.pair_table()
    every = facts.pairs

    def more(n: int) -> str:
        least = facts.cost(every[n].value)
        return f"and {len(every) - n} more pairs, none with more than {least}"

    lines = [f"{MISSED} {GAP}" if facts.has_proven_gap else MISSED]
    if not np.isnan(every[0].rival):
        lines.append(_gain(facts))
    title = f"{kind} {IF_NORMAL}, worst pairs first"
    return [Table(head, rows, title, _MOST_PAIRS, more), Paragraph(lines)]


def _gain(facts: ModelFacts) -> str:
    """Compare the rules with LDA's under the model, in a sentence."""
    sign = -1 if facts.is_fisher else 1
    pair = max(facts.pairs, key=lambda pair: sign * (pair.rival - pair.value))
    best, lda = (pair.value, pair.rival)[::sign]
    rule = "the best line" if facts.is_optimal or facts.is_fisher else "this rule"
    between = " and ".join(pair.classes)
    if not facts.has_costs:
        return gain_if_normal(best, lda, between, rule)
    return (
        f"If the classes were exactly normal, {rule} would cost "
        f"{max(lda - best, 0.0):.4g} less than LDA's between {between} ({best:.4g} "
        f"against {lda:.4g})."
    )


def _components(facts: ModelFacts) -> list[str]:
    """Say how much of the separation of the classes a plane can show."""
    projection = facts.projection(_MOST_WORK)
    if projection is None:
        return []
    kept = percent(projection.explained_.sum())
    keep = f"two components keep {kept} of the separation of the classes"
    return [f"If the classes were exactly normal, {keep}."]


def _search(facts: ModelFacts) -> list[str]:
    """Say what the local search has gained, or which width was taken."""
    model = facts.model
    if not hasattr(model, "n_errors_start_"):
        return [facts.reason.strip()] if facts.reason else []
    before, after = model.n_errors_start_.sum(), model.n_errors_.sum()
    return [
        f"Refined by Algorithm 2: from {amount(before)} to {amount(after)} errors on "
        "the training rows, over all pairs."
    ]


def _rule(facts: ModelFacts, pair: PairFacts, *, tradeoff: bool) -> Iterator[Block]:
    """Yield the rule of a pair."""
    first, second = pair.classes
    lines = [facts.rule_sentence(pair)]
    if not np.isnan(pair.rates[0]) and not facts.has_few_rows:
        of_first, of_second = pair.missed
        lines.append(
            f"If the classes were exactly normal, {of_first} would be taken for "
            f"{second} and {of_second} for {first}"
            + (", before the refinement." if facts.has_local_search else ".")
        )
    yield Heading(pair.name)
    yield Paragraph(lines)
    features = facts.coefficients(pair)
    if features:
        yield _features(facts.coefficient_head, features)
    points = facts.operating_points(pair) if tradeoff else []
    if points:
        head = ["optimal trade-off", f"{first} missed", f"{second} missed", "error"]
        title = "Other error rates to choose from, if the classes were exactly normal"
        yield Table(head, points, title=title, folded=True)
    elif tradeoff and OTHERS in pair.classes:
        only = "Only pairs of classes have other operating points."
        yield Paragraph([only], small=True)


def _pictures(facts: ModelFacts, pair: PairFacts) -> Iterator[Block]:
    """Yield the displays of a pair, as far as it has them."""
    discriminant = facts.discriminant
    if facts.statistics is None or facts.has_few_rows or discriminant.pairs_[0, 0] < 0:
        return
    labels = tuple(discriminant.classes_[discriminant.pairs_[pair.index]].tolist())
    if facts.has_local_search:
        before = "The pictures show the rule before the refinement."
        yield Paragraph([before], small=True)
    for display, caption in _CAPTIONS.items():

        def draw(canvas: Any, display: Any = display) -> None:
            display.from_estimator(discriminant, pair=labels, ax=canvas.subplots())

        # One feature has no plane, a constant answer no normal.
        yield Figure(draw, caption, pair.name, optional=True)
