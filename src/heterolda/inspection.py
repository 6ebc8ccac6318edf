"""A model in words: its rules, what they weigh, and what others would cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from heterolda.model_facts import (
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
from heterolda.wording import aligned, count, named, percent

__all__ = ["choose_pairs", "describe_model", "describe_rule", "model_line"]

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
    shares = mean_weights(model)
    names = feature_names(model)
    order = np.argsort(-shares, kind="stable")
    rows = [[names[j], percent(shares[j])] for j in order[:_MOST_FEATURES]]
    lines = ["Features that weigh most, over all rules:", *aligned(rows)]
    if len(order) > len(rows):
        rest = shares[order[_MOST_FEATURES:]].sum()
        lines.append(f"and {count(len(order) - len(rows), 'more feature')} with ")
        lines[-1] += percent(rest)
    return lines


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
    coef, intercept = model.coef_[pair.index], float(model.intercept_[pair.index])
    head = pair.name
    if not np.isnan(pair.rates[0]):
        head += (
            f": {percent(pair.rates[0])} of {first} and {percent(pair.rates[1])} of "
            f"{second} wrong under the Gaussian model"
        )
        if model is not discriminant_of(model):
            head += ", before the refinement"
    if not coef.any():
        answer = second if intercept > 0 else first
        return [head, f"  The answer is always {answer}: no hyperplane is better."]
    shares = feature_weights(model)[pair.index]
    order = np.argsort(-shares, kind="stable")
    scale = deviations(model)
    rows = [
        [
            f"  {name}",
            percent(shares[j]),
            f"{coef[j]:.6g}",
            *([] if scale is None else [f"{scale[j]:.4g}"]),
            "-" if coef[j] == 0 else second if coef[j] > 0 else first,
        ]
        for j, name in ((j, feature_names(model)[j]) for j in order[:_MOST_FEATURES])
    ]
    heads = ["  feature", "weight", "coefficient"]
    heads += [] if scale is None else ["deviation"]
    lines = [
        head,
        f"  The answer is {second} where the sum of coefficient times feature exceeds "
        f"{-intercept:.6g}, else {first}.",
        *aligned([[*heads, "more speaks for"], *rows]),
    ]
    if len(order) > len(rows):
        rest = shares[order[_MOST_FEATURES:]].sum()
        more = count(len(order) - len(rows), "more feature")
        lines.append(f"  and {more} with {percent(rest)} of the weight")
    points = operating_points(model, pair)
    if points:
        table = [
            [
                "  other rules for this pair",
                f"{first} wrong",
                f"{second} wrong",
                "error",
            ]
        ]
        for name, *figures in points:
            table.append([f"  {name}", *map(percent, figures)])
        lines += ["", *aligned(table)]
    elif OTHERS in pair.classes:
        lines.append("  Other operating points are known for pairs of classes only.")
    return lines
