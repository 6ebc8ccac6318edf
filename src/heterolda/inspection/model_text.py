"""A model as plain text: what was fitted, and what its rules are."""

from __future__ import annotations

from typing import Any

import numpy as np

from heterolda.estimators.base import OTHERS
from heterolda.foundations.wording import amount, count, percent, text_table
from heterolda.inspection.model_facts import (
    ModelFacts,
    PairFacts,
)
from heterolda.inspection.sentences import GAP, MISSED, plug_in_gain, record_sentence

_MOST_FEATURES = 10
_MOST_PAIRS = 10
_MOST_CLASSES = 12
_MOST_WORK = 2e7  # some 0.2 seconds for a line about components


def describe_fit(
    facts: ModelFacts, name: str, target: str, accuracy: list[str], remedy: str
) -> list[str]:
    """What was fitted: accuracy on held-out rows, classes, plug-in errors of pairs.

    The lines about the accuracy come first; the remedy is one for small classes.
    """
    classes = count(len(facts.classes), "class")
    features = count(len(facts.features), "feature")
    rows = count(facts.n_rows, "row")
    return [
        f"{name}: {rows}, {features}, {classes} in {target!r}",
        *facts.reading_lines(),
        "",
        *accuracy,
        *([""] if accuracy else []),
        *_classes(facts),
        "",
        *_pairs(facts),
        *_components(facts),
        *_local_search(facts),
        *facts.notes(remedy),
    ]


def _classes(facts: ModelFacts) -> list[str]:
    head, rows = facts.class_table()
    shown = rows if len(rows) <= _MOST_CLASSES else rows[: _MOST_CLASSES - 2]
    lines = text_table([head, *shown])
    if len(rows) > len(shown):
        lines.append(f"and {len(rows) - len(shown)} more classes")
    return lines


def _pairs(facts: ModelFacts) -> list[str]:
    """The errors of the pairs in a table, and LDA's in a sentence; or nothing."""
    if facts.has_few_rows:
        return []
    kind = "Expected costs" if facts.has_costs else "Errors"
    head, rows = facts.pair_table(_MOST_PAIRS)
    lines = [
        f"{kind} under the fitted Gaussian model (plug-in, not counted on rows), worst "
        "pairs first",
        *text_table([head, *rows]),
    ]
    more = facts.pairs[_MOST_PAIRS:]
    if more:
        lines.append(
            f"and {len(more)} more pairs, none with more than "
            f"{facts.cost(more[0].value)}"
        )
    lines.append(f"{MISSED} {GAP}" if facts.has_proven_gap else MISSED)
    if not np.isnan(facts.pairs[0].rival):
        lines.append(_gain(facts))
    return lines


def _gain(facts: ModelFacts) -> str:
    """How the rules compare with LDA's under the model, in a sentence."""
    sign = -1 if facts.is_fisher else 1
    pair = max(facts.pairs, key=lambda pair: sign * (pair.rival - pair.value))
    best, lda = (pair.value, pair.rival)[::sign]
    rule = "the best line" if facts.is_optimal or facts.is_fisher else "this rule"
    between = " and ".join(pair.classes)
    if not facts.has_costs:
        return plug_in_gain(best, lda, between, rule)
    return (
        f"Plug-in: under the Gaussian model {rule} costs {max(lda - best, 0.0):.4g} "
        f"less than LDA's between {between} ({best:.4g} against {lda:.4g})."
    )


def _components(facts: ModelFacts) -> list[str]:
    """How much of the separation of the classes a plane can show."""
    projection = facts.projection(_MOST_WORK)
    if projection is None:
        return []
    kept = percent(projection.explained_.sum())
    return [f"Plug-in: two components keep {kept} of the separation of the classes."]


def _local_search(facts: ModelFacts) -> list[str]:
    """What the local search has gained, or which width was taken."""
    model = facts.model
    if not hasattr(model, "n_errors_start_"):
        return [facts.reason.strip()] if facts.reason else []
    before, after = model.n_errors_start_.sum(), model.n_errors_.sum()
    return [
        f"Refined by Algorithm 2: from {amount(before)} to {amount(after)} errors on "
        "the training rows, over all pairs."
    ]


def describe_model(
    facts: ModelFacts, name: str, pairs: list[PairFacts], *, tradeoff: bool = False
) -> list[str]:
    """A model and the rules of some of its pairs in words.

    `tradeoff` adds the rules of the optimal trade-off of each pair.
    """
    lines = [f"{name}: {facts.sentence}", *facts.accuracy_lines()]
    if facts.record is not None:
        lines += [record_sentence(facts.record), *facts.reading_lines()]
    lines += facts.notes()
    n_rules = len(facts.pairs)
    if n_rules > 1:
        lines += ["", "Features that weigh most, over all rules:"]
        lines += _features(facts.mean_shares())
    for pair in pairs:
        lines += ["", *_rule(facts, pair, tradeoff=tradeoff)]
    if len(pairs) < n_rules:
        lines += ["", _shown(len(pairs), n_rules)]
    if facts.statistics is None:
        lines += [
            "",
            "The file has no class statistics, so weights are those of the features "
            "as they are, and other operating points are unknown.",
        ]
    return lines


def _shown(n: int, n_rules: int) -> str:
    """How many of the rules are shown."""
    if n == 1:
        return f"This is 1 of {n_rules} rules."
    return f"These are {n} of {n_rules} rules, the worst first."


def _rule(facts: ModelFacts, pair: PairFacts, *, tradeoff: bool) -> list[str]:
    """The rule of a pair in words."""
    first, second = pair.classes
    head = pair.name
    if not np.isnan(pair.rates[0]) and not facts.has_few_rows:
        of_first, of_second = pair.missed
        head += (
            f": under the fitted Gaussian model (plug-in) {of_first} are taken for "
            f"{second} and {of_second} for {first}"
        )
        if facts.has_local_search:
            head += ", before the refinement"
    lines = [facts.rule_sentence(pair)]
    features = facts.coefficients(pair)
    if features:
        lines += _features(features, facts.coefficient_head)
    points = facts.operating_points(pair) if tradeoff else []
    if points:
        names = ["optimal trade-off (plug-in)", f"{first} missed", f"{second} missed"]
        lines += ["", *text_table([[*names, "error"], *points])]
    elif tradeoff and OTHERS in pair.classes:
        lines.append("Only pairs of classes have other operating points.")
    return [head, *(f"  {line}" if line else "" for line in lines)]


def _features(rows: list[tuple[Any, ...]], *head: list[str]) -> list[str]:
    """Names, shares and other cells of the first features, and how many are left."""
    shown = [
        [name, percent(share), *cells] for name, share, *cells in rows[:_MOST_FEATURES]
    ]
    lines = text_table([*head, *shown])
    rest = [share for _, share, *_ in rows[_MOST_FEATURES:]]
    if rest:
        more = count(len(rest), "more feature")
        lines.append(f"and {more} with {percent(sum(rest))}")
    return lines
