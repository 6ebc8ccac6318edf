"""Values of options that are more than a word or a number."""

from __future__ import annotations

import json
from enum import StrEnum
from functools import partial
from typing import Any

from heterolda.cli.shared import split_names

__all__ = [
    "Criterion",
    "Missing",
    "Multiclass",
    "SolverName",
    "Strategy",
    "Voting",
    "parse_costs",
    "parse_numbers",
    "parse_shrinkage",
]


class SolverName(StrEnum):
    """Solvers."""

    best = "global"
    fixed_point = "fixed-point"
    c_hld = "c-hld"
    r_hld_1 = "r-hld-1"
    r_hld_2 = "r-hld-2"
    fisher = "fisher"


class Multiclass(StrEnum):
    """Rules for pairs, or for each class against the rest."""

    ovo = "ovo"
    ova = "ova"


class Voting(StrEnum):
    """How pairs decide together."""

    weighted = "weighted"
    majority = "majority"
    coupled = "coupled"


class Criterion(StrEnum):
    """What a rule is optimal for."""

    bayes = "bayes"
    minimax = "minimax"
    neyman_pearson = "neyman-pearson"


class Strategy(StrEnum):
    """How rules are refined."""

    paper = "paper"
    exact = "exact"
    smooth = "smooth"


class Missing(StrEnum):
    """What to do with rows that have missing values."""

    error = "error"
    drop = "drop"


def parse_shrinkage(text: str | None) -> float | str | None:
    """A number from 0 to 1, "auto" or "cv".

    Parameters
    ----------
    text : str or None
        The value of the option.

    Returns
    -------
    float, str or None
        The setting.
    """
    if text is None or text in ("auto", "cv"):
        return text
    number = _number(text)
    if number is None or not 0 <= number <= 1:
        raise ValueError(
            f"--shrinkage {text}: must be a number from 0 to 1, auto or cv"
        )
    return number


def parse_numbers(
    option: str, text: str | None, *words: str
) -> dict[str, float] | str | None:
    """Numbers by label, ``a=0.3,b=0.7`` or a JSON object; or one of some words.

    Parameters
    ----------
    option : str
        Its name, for messages.
    text : str or None
        Its value.
    *words : str
        What it may be instead.

    Returns
    -------
    dict, str or None
        The setting.
    """
    if text is None or text in words:
        return text
    given = _json(option, text)
    if given is None:
        parts = [part.rpartition("=") for part in split_names(text)]
        given = _once(option, [(a.strip(), _number(value)) for a, _, value in parts])
    wrong = [label for label, value in given.items() if not _is_number(value)]
    if wrong or not given or "" in given:
        other = "".join(f", or {word}" for word in words)
        raise ValueError(
            f"{option} {text}: write LABEL=NUMBER with commas between, or a JSON "
            f"object{other}"
        )
    return {label: float(value) for label, value in given.items()}


def parse_costs(text: str | None) -> dict[str, dict[str, float]] | None:
    """Costs by true and decided label, ``ill:well=10,well:ill=1`` or nested JSON.

    Parameters
    ----------
    text : str or None
        The value of the option.

    Returns
    -------
    dict of dict or None
        The setting.
    """
    if text is None:
        return None
    given = _json("--costs", text)
    costs: dict[str, dict[str, Any]] = {}
    if given is None:
        for part in split_names(text):
            pair, _, value = part.rpartition("=")
            true, colon, decided = pair.partition(":")
            cost = _number(value) if colon and true and decided else None
            row = costs.setdefault(true.strip(), {})
            row |= _once("--costs", [*row.items(), (decided.strip(), cost)])
    else:
        costs = {k: row if isinstance(row, dict) else {} for k, row in given.items()}
    if not costs or not all(
        row and all(map(_is_number, row.values())) for row in costs.values()
    ):
        raise ValueError(
            f"--costs {text}: write TRUE:DECIDED=COST with commas between, for "
            'instance ill:well=10, or nested JSON such as {"ill": {"well": 10}}'
        )
    return costs


def _json(option: str, text: str) -> dict[str, Any] | None:
    """A JSON object, or None if the text does not look like one."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text, object_pairs_hook=partial(_once, option))
    except json.JSONDecodeError as error:
        raise ValueError(f"{option}: this JSON cannot be read: {error}") from error
    return value if isinstance(value, dict) else None


def _once(option: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A dictionary of pairs whose keys differ."""
    given = dict(pairs)
    if len(given) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{option}: {twice!r} is there more than once")
    return given


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
