"""Values of options that are more than a word or a number."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from functools import partial
from typing import Any

_BREAK = "\ue000"  # a character of private use


def split_names(text: str | None) -> tuple[str, ...]:
    """Names separated by commas; quotes protect a comma."""
    if text is None:
        return ()
    # The csv module would take a line break for the end of a row.
    line = text.replace("\n", _BREAK)
    names = [name.strip() for name in next(csv.reader([line], skipinitialspace=True))]
    return tuple(name.replace(_BREAK, "\n") for name in names if name)


def join_names(names: Iterable[Any]) -> str:
    """The inverse of `split_names`."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def check_columns(columns: str | None, exclude: str | None) -> None:
    """Reject columns that would silently be ignored."""
    if columns and exclude:
        raise ValueError(
            "--columns names all features, so --exclude would have no effect: use only "
            "one of them"
        )


def parse_shrinkage(
    text: str | None, words: tuple[str, str] = ("auto", "cv")
) -> float | str | tuple[float, float] | None:
    """A number from 0 to 1, two of them separated by a comma, or one of two words."""
    if text is None or text in words:
        return text
    match [_number(part) for part in text.split(",")]:
        case [float(share)] if 0 <= share <= 1:
            return share
        case [float(share), float(other)] if 0 <= share <= 1 and 0 <= other <= 1:
            return share, other
    raise ValueError(
        f"--shrinkage {text}: must be a number from 0 to 1, two of them such as "
        f"0.3,0.1, {' or '.join(words)}"
    )


def parse_numbers(option: str, text: str | None, *words: str) -> Any:
    """Numbers by label, ``a=0.3,b=0.7`` or a JSON object; or one of some words."""
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
            f"{option} {text}: write LABEL=NUMBER separated by commas, or a JSON "
            f"object{other}"
        )
    return {label: float(value) for label, value in given.items()}


def parse_costs(text: str | None) -> dict[str, dict[str, float]] | None:
    """Costs by true and decided label, ``ill:well=10,well:ill=1`` or nested JSON."""
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
            f"--costs {text}: write TRUE:DECIDED=COST separated by commas, for "
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
        raise ValueError(f"{option}: cannot read this JSON: {error}") from error
    return value if isinstance(value, dict) else None


def _once(option: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A dictionary of pairs whose keys differ."""
    given = dict(pairs)
    if len(given) < len(pairs) and "" not in given:  # which is refused anyway
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{option}: {twice!r} is given more than once")
    return given


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
