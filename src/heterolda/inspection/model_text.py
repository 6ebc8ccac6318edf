"""Describe a model in text, tables and pictures, on a terminal and as a page."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from heterolda.estimators.base import OTHERS
from heterolda.estimators.projection import HeteroscedasticProjection
from heterolda.foundations.files import atomic_write
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
from heterolda.inspection.model_facts import ModelFacts
from heterolda.inspection.projection_text import map_figure
from heterolda.inspection.sentences import IF_NORMAL

_MAX_ROWS = 10  # of a table of features or pairs
_MAX_CLASSES = 12
# Bounds on the error rate of one class in the table of the trade-off.
_BOUNDS = (0.05, 0.01, 0.001)
# Pairs of classes times the cube of the number of features in a map: about 10 seconds.
_MAX_WORK = 1e9
_NO_STATISTICS = (
    "There are no class statistics, so weights do not account for the scale of the "
    "features, and there are no pictures or other operating points."
)
_ABOUT_FEATURES = (
    "The weight of a feature is its share of the coefficients, each times the standard "
    "deviation of its feature within the classes; averaged over all rules."
)
_MISSED = "Missed: rows of a class that the rule assigns to the other."
_GAP = "Gap: no linear rule is better by more than this share (proven)."
_CAPTIONS = {
    ProjectionDisplay: "Both classes along the normal of the rule: densities times "
    "priors, the threshold, and the misclassified shares.",
    FrontierDisplay: "The optimal trade-off between the two error rates, and where "
    "this rule is on it.",
    ErrorCurveDisplay: "The error of all admissible rules, and the rules that the "
    "methods find.",
    BoundaryDisplay: "A plane across the boundary: the rules, and the classes as "
    "ellipses of one and two standard deviations.",
}


def describe_fit(facts: ModelFacts, name: str, accuracy: list[str]) -> list[str]:
    """Return lines of text on a fit: held-out accuracy, classes and pairs."""
    record: Any = facts.record
    rows, features = count(record.n_rows, "row"), count(len(facts.features), "feature")
    classes = f"{count(len(facts.classes), 'class')} in {record.target!r}"
    head = f"{name}: {rows}, {features}, {classes}"
    blocks = [
        Paragraph([head, *facts.record_lines()]),
        Paragraph(accuracy),
        _classes(facts),
        *_pairs(facts),
        Paragraph([*facts.search_lines(), *facts.notes()]),
    ]
    return to_lines(blocks)


def describe_model(facts: ModelFacts, name: str, pairs: Sequence[int]) -> list[str]:
    """Return lines of text on a model and the rules of selected pairs."""
    return to_lines(_blocks(facts, pairs, f"{name}: "))


def write_card(
    facts: ModelFacts, name: str, path: str | os.PathLike[str], pairs: Sequence[int]
) -> None:
    """Write a self-contained page of a model, with a section for each selected pair."""
    with atomic_write(path) as file:  # before the work, to fail early
        blocks = _blocks(facts, pairs, on_page=True)
        file.write(to_page(f"{name}: model card", name, blocks).encode())


def _blocks(
    facts: ModelFacts, pairs: Sequence[int], name: str = "", *, on_page: bool = False
) -> Iterator[Block]:
    """Yield the blocks of a model and of the rules of selected pairs."""
    lead = [name + facts.sentence, *facts.search_lines(), *facts.accuracy_lines()]
    record = facts.record
    if record is not None:
        rows = f"{count(record.n_rows, 'row')}, target {record.target!r}"
        lead.append(f"Fitted to {record.data} ({rows}) on {record.date}.")
    yield Paragraph([*lead, *facts.record_lines()])
    notes = facts.notes() + [_NO_STATISTICS] * (facts.statistics is None)
    yield Paragraph(notes, small=True)
    yield Heading("Classes")
    yield _classes(facts)
    if on_page:
        yield from _map(facts)
    if len(facts.pairs) > 1:
        yield Heading("Features that weigh most, over all rules")
        yield Paragraph([_ABOUT_FEATURES], small=True)
        shares = facts.feature_shares
        means = shares.sum(axis=0) / max(np.count_nonzero(shares.any(axis=1)), 1)
        order = np.argsort(-means, kind="stable")
        table = [(facts.features[j], float(means[j])) for j in order]
        yield Table(["feature", "weight"], table, max_rows=_MAX_ROWS, bars=True)
    if pairs_table := _pairs(facts):
        yield Heading("Rules")
        yield from pairs_table
    n, n_rules = len(pairs), len(facts.pairs)
    if n < n_rules:
        order_words = ", worst first" if n > 1 else ""
        yield Paragraph([f"Below: {n} of {n_rules} rules{order_words}."], small=True)
    for k in pairs:
        yield from _rule(facts, k)
        # Trade-off and pictures exist only for pairs of classes.
        has_model = facts.statistics is not None and OTHERS not in facts.pairs[k]
        if on_page and has_model and not facts.has_few_rows:
            yield _tradeoff(facts, k)
            yield from _pictures(facts, k)


def _classes(facts: ModelFacts) -> Table:
    """Return a table of the classes with their rows and priors."""
    columns = {"class": facts.classes}
    if facts.statistics is not None:
        columns["rows"] = [amount(w) for w in facts.statistics.weights.tolist()]
    priors = getattr(facts.discriminant or facts.model, "priors_", None)
    if priors is not None:
        columns["prior"] = [percent(p) for p in priors.tolist()]
    rows = list(zip(*columns.values(), strict=True))
    return Table(list(columns), rows, max_rows=_MAX_CLASSES)


def _map(facts: ModelFacts) -> Iterator[Block]:
    """Yield a map of three classes or more, unless it would take long."""
    k, d = len(facts.classes), len(facts.features)
    if facts.statistics is None or facts.has_few_rows or k < 3:
        return
    if k * (k - 1) / 2 * d**3 > _MAX_WORK:
        return
    kind: Any = HeteroscedasticProjection
    projection = kind(2, priors=facts.gaussian.priors_)
    try:
        projection.fit_statistics(facts.statistics)
    except ValueError:  # there are no two components
        return
    yield map_figure(projection, None, None)
    note = "The model itself decides by the rules below, which use all features."
    yield Paragraph([note], small=True)


def _pairs(facts: ModelFacts) -> list[Block]:
    """Return the errors of the pairs under the model, compared with those of LDA."""
    if facts.has_few_rows or facts.discriminant is None:
        return []

    def cost(value: float) -> str:
        return f"{value:.4g}" if facts.has_costs else percent(value)

    model, order, lda = facts.discriminant, facts.worst_first, facts.lda_values
    kind = "expected cost" if facts.has_costs else "error"
    columns = {
        "pair": [" or ".join(facts.pairs[k]) for k in order],
        kind: [cost(model.expected_cost_[k]) for k in order],
    }
    if lda is not None:
        columns["LDA"] = [cost(lda[k]) for k in order]
    about = _MISSED
    if not np.isnan(model.gap_).all():
        gaps = [model.gap_[k] for k in order]
        columns["gap"] = ["-" if np.isnan(gap) else percent(gap) for gap in gaps]
        about += f" {_GAP}"
    columns["missed"] = ["\n".join(facts.missed(k)) for k in order]
    before = " before the refinement," if facts.is_refined else ""
    title = f"{kind.capitalize()}s{before} {IF_NORMAL}, worst pairs first"
    rows = list(zip(*columns.values(), strict=True))
    return [Table(list(columns), rows, title, _MAX_ROWS), Paragraph([about])]


def _rule(facts: ModelFacts, k: int) -> Iterator[Block]:
    """Yield the rule of a pair."""
    first, second = facts.pairs[k]
    coef, intercept = facts.coef[k], float(facts.intercept[k])
    feature = "feature" if facts.powers is None else "transformed feature"
    lines = [
        f"The answer is {second} if the sum of coefficient times {feature} exceeds "
        f"{-intercept:.6g}, otherwise {first}."
    ]
    if not coef.any():
        answer = second if intercept > 0 else first
        lines = [f"The answer is always {answer}: no linear rule does better."]
    if facts.discriminant is not None and not facts.has_few_rows:
        of_first, of_second = facts.missed(k)
        before = ", before the refinement" if facts.is_refined else ""
        lines.append(
            f"If the classes were exactly normal, {of_first} would be taken for "
            f"{second} and {of_second} for {first}{before}."
        )
        rates = facts.discriminant.left_out_error_rates_[k].tolist()
        if not np.isnan(rates).any():
            of_first, of_second = map(percent, rates)
            lines.append(
                f"Of left-out rows of {first} and {second}, it misses {of_first} and "
                f"{of_second}{before}; as they chose it, new rows may be missed more."
            )
    yield Heading(f"{first} or {second}")
    yield Paragraph(lines)
    if coef.any():
        yield _coefficients(facts, k)


def _coefficients(facts: ModelFacts, k: int) -> Table:
    """Return the features of a rule, largest share first."""
    head = ["feature", "weight", "coefficient", "std. dev.", "higher values favor"]
    head += ["power"] * (facts.powers is not None)
    coef, shares = facts.coef[k], facts.feature_shares[k]
    rows: list[list[Any]] = []
    for j in np.argsort(-shares, kind="stable"):
        deviation = "-" if facts.deviations is None else f"{facts.deviations[k, j]:.4g}"
        favored = "-" if coef[j] == 0 else facts.pairs[k][int(coef[j] > 0)]
        name, share = facts.features[j], float(shares[j])
        rows.append([name, share, f"{coef[j]:.6g}", deviation, favored])
        if facts.powers is not None:
            rows[-1].append(f"{facts.powers.lambdas[j]:g}")
    return Table(head, rows, max_rows=_MAX_ROWS, bars=True)


def _tradeoff(facts: ModelFacts, k: int) -> Table:
    """Return other rules of the optimal trade-off of a pair."""
    first, second = facts.pairs[k]
    frontier = facts.gaussian.frontier_[k]
    points = {
        "least error": frontier.at(),
        "same share of both missed": frontier.at("minimax"),
    }
    for label in frontier.classes.tolist():
        for q in _BOUNDS:
            point = frontier.at("neyman-pearson", max_error={label: q})
            points[f"{100 * q:g} % of {label} missed"] = point
    figures = {
        name: [*point.error_rates.tolist(), point.error]
        for name, point in points.items()
    }
    if not facts.is_refined:
        model = facts.gaussian
        this_rule = [*model.error_rates_[k].tolist(), float(model.model_error_[k])]
        figures = {"this rule": this_rule} | figures
    rows = [[name, *map(percent, values)] for name, values in figures.items()]
    head = ["optimal trade-off", f"{first} missed", f"{second} missed", "error"]
    title = "Other error rates to choose from, if the classes were exactly normal"
    return Table(head, rows, title=title, folded=True)


def _pictures(facts: ModelFacts, k: int) -> Iterator[Block]:
    """Yield the displays of a pair."""
    model = facts.gaussian
    labels = tuple(model.classes_[model.pairs_[k]].tolist())
    if facts.is_refined:
        before = "The pictures show the rule before the refinement."
        yield Paragraph([before], small=True)
    for display, caption in _CAPTIONS.items():
        has_plane = len(facts.features) > 1 and not model.trivial_[k]
        if display is BoundaryDisplay and not has_plane:
            continue

        def draw(canvas: Any, display: Any = display) -> None:
            display.from_estimator(model, pair=labels, ax=canvas.subplots())

        yield Figure(draw, caption, " or ".join(facts.pairs[k]))
