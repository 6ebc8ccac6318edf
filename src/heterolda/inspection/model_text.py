"""A model in words: its rules, what they weigh, and what others would cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from heterolda.foundations.wording import count, named, percent, text_table
from heterolda.inspection.model_facts import (
    OTHERS,
    PairFacts,
    deviations,
    discriminant_of,
    feature_names,
    feature_weights,
    has_statistics,
    mean_weights,
    operating_points,
    pair_facts,
)

__all__ = [
    "COEFFICIENT_HEAD",
    "Coefficient",
    "choose_pairs",
    "coefficients",
    "describe_model",
    "describe_rule",
    "model_line",
    "rule_sentence",
]

_MOST_FEATURES = 10


def model_line(model: Any) -> str:
    """What a model is, in a sentence.

    Parameters
    ----------
    model : fitted estimator
        The model.

    Returns
    -------
    str
        The sentence.
    """
    k, d = len(model.classes_), model.n_features_in_
    text = f"{type(model).__name__} of {count(k, 'class')} and {count(d, 'feature')}"
    discriminant = discriminant_of(model)
    if discriminant is None:
        return f"{text}."
    fitted = discriminant._settings
    parts = [f"solver {_setting(fitted['solver'])}"]
    if fitted["shrinkage"] is not None:
        parts.append(f"shrinkage {fitted['shrinkage']}")
    if fitted["criterion"] != "bayes":
        parts.append(f"criterion {fitted['criterion']}")
    if fitted["costs"] is not None:
        parts.append("with costs")
    if model is not discriminant:
        parts.append(f"refined by the strategy {model.strategy}")
    if has_statistics(model):
        parts.append(
            f"fitted to {count(discriminant.statistics_.weights.sum(), 'row')}"
        )
    return f"{text}: {', '.join(parts)}."


def _setting(solver: Any) -> str:
    return solver if isinstance(solver, str) else repr(solver)


def choose_pairs(
    model: Any, labels: tuple[str, str] | None, most: int
) -> list[PairFacts]:
    """The pairs to speak of: one that is asked for, or the worst.

    Parameters
    ----------
    model : fitted estimator
        The model.
    labels : tuple of two str or None
        Labels of the pair that is asked for, as text, in any order.
    most : int
        How many of the worst.

    Returns
    -------
    list of PairFacts
        The pairs.
    """
    pairs = pair_facts(model)
    if labels is None:
        return pairs[:most]
    found = [pair for pair in pairs if set(pair.classes) == set(labels)]
    if not found:
        known = list(map(str, model.classes_.tolist()))
        raise ValueError(
            f"there is no pair {' and '.join(map(repr, labels))}: the classes are "
            f"{named(known, 10)}"
        )
    return found


def describe_model(model: Any, name: str, pairs: list[PairFacts]) -> list[str]:
    """A model and some of its rules in words.

    Parameters
    ----------
    model : fitted estimator
        The model.
    name : str
        Name of its file.
    pairs : list of PairFacts
        Whose rules to describe.

    Returns
    -------
    list of str
        Lines.
    """
    lines = [f"{name}: {model_line(model)}"]
    n_rules = len(model.pairs_)
    if n_rules > 1:
        lines += ["", *_overall(model)]
    for pair in pairs:
        lines += ["", *describe_rule(model, pair)]
    if len(pairs) < n_rules:
        lines += ["", f"These are {len(pairs)} of {n_rules} rules, the worst first."]
    if not has_statistics(model):
        lines += [
            "",
            "The file has no class statistics: features are not standardised, and "
            "other operating points are not known.",
        ]
    return lines


def _overall(model: Any) -> list[str]:
    """The features that weigh most over all rules."""
    shares, names = mean_weights(model), feature_names(model)
    order = np.argsort(-shares, kind="stable")
    rows = [[names[j], percent(shares[j])] for j in order[:_MOST_FEATURES]]
    return [
        "Features that weigh most, over all rules:",
        *text_table(rows),
        *_rest(shares[order].tolist()),
    ]


@dataclass(frozen=True)
class Coefficient:
    """What a feature does in a rule.

    Attributes
    ----------
    name : str
        The feature.
    share : float
        Its share of the weights.
    coefficient : float
        Its coefficient.
    deviation : float
        Its standard deviation within the classes; NaN if it is not known.
    speaks_for : str
        The class that larger values speak for.
    """

    name: str
    share: float
    coefficient: float
    deviation: float
    speaks_for: str

    @property
    def cells(self) -> list[str]:
        """Coefficient, deviation and class as text."""
        deviation = "-" if np.isnan(self.deviation) else f"{self.deviation:.4g}"
        return [f"{self.coefficient:.6g}", deviation, self.speaks_for]


COEFFICIENT_HEAD = ["feature", "weight", "coefficient", "deviation", "more speaks for"]


def coefficients(model: Any, pair: PairFacts) -> list[Coefficient]:
    """The features of a rule, the weightiest first.

    Parameters
    ----------
    model : fitted estimator
        The model.
    pair : PairFacts
        The pair.

    Returns
    -------
    list of Coefficient
        All features; none if the rule always gives the same answer.
    """
    coef = model.coef_[pair.index]
    if not coef.any():
        return []
    shares, names = feature_weights(model)[pair.index], feature_names(model)
    known = deviations(model)
    scale = np.full(len(coef), np.nan) if known is None else known
    return [
        Coefficient(
            names[j],
            float(shares[j]),
            float(coef[j]),
            float(scale[j]),
            "-" if coef[j] == 0 else pair.classes[int(coef[j] > 0)],
        )
        for j in np.argsort(-shares, kind="stable")
    ]


def rule_sentence(model: Any, pair: PairFacts) -> str:
    """How a rule decides.

    Parameters
    ----------
    model : fitted estimator
        The model.
    pair : PairFacts
        The pair.

    Returns
    -------
    str
        A sentence.
    """
    first, second = pair.classes
    intercept = float(model.intercept_[pair.index])
    if not model.coef_[pair.index].any():
        answer = second if intercept > 0 else first
        return f"The answer is always {answer}: no hyperplane is better."
    return (
        f"The answer is {second} where the sum of coefficient times feature exceeds "
        f"{-intercept:.6g}, else {first}."
    )


def describe_rule(model: Any, pair: PairFacts) -> list[str]:
    """The rule of a pair in words.

    Parameters
    ----------
    model : fitted estimator
        The model.
    pair : PairFacts
        The pair.

    Returns
    -------
    list of str
        Lines.
    """
    first, second = pair.classes
    head = pair.name
    if not np.isnan(pair.rates[0]):
        head += (
            f": {percent(pair.rates[0])} of {first} and {percent(pair.rates[1])} of "
            f"{second} wrong under the Gaussian model"
        )
        if model is not discriminant_of(model):
            head += ", before the refinement"
    lines = [head, f"  {rule_sentence(model, pair)}"]
    features = coefficients(model, pair)
    if features:
        table = [COEFFICIENT_HEAD]
        table += [
            [one.name, percent(one.share), *one.cells]
            for one in features[:_MOST_FEATURES]
        ]
        lines += [f"  {line}" for line in text_table(table)]
        lines += [f"  {line}" for line in _rest([one.share for one in features])]
    points = operating_points(model, pair)
    if points:
        table = [["other rules", f"{first} wrong", f"{second} wrong", "error"]]
        table += [[name, *map(percent, figures)] for name, *figures in points]
        lines += ["", *(f"  {line}" for line in text_table(table))]
    elif OTHERS in pair.classes:
        lines.append("  Other operating points are known for pairs of classes only.")
    return lines


def _rest(shares: list[float]) -> list[str]:
    """How many features are not shown, and what they weigh."""
    rest = shares[_MOST_FEATURES:]
    if not rest:
        return []
    return [f"and {count(len(rest), 'more feature')} with {percent(sum(rest))}"]
