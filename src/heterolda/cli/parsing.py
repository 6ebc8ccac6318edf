"""Values of options that are more than a word or a number."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from functools import partial
from typing import Any

INTERRUPTED = 130  # the status of a command that was interrupted
_BREAK = "\ue000"  # a character of private use


class UsageError(ValueError):
    """What was typed is wrong."""


def split_names(text: str | None) -> tuple[str, ...]:
    """Return names separated by commas; quotes protect a comma."""
    if text is None:
        return ()
    # The csv module would take a line break for the end of a row.
    line = text.replace("\n", _BREAK)
    names = [name.strip() for name in next(csv.reader([line], skipinitialspace=True))]
    return tuple(name.replace(_BREAK, "\n") for name in names if name)


def join_names(names: Iterable[Any]) -> str:
    """Return names separated by commas: the inverse of `split_names`."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def parse_shrinkage(text: str | None) -> Any:
    """Return a number, or two separated by a comma; anything else as it is."""
    try:
        numbers = tuple(float(part) for part in (text or "").split(","))
    except ValueError:
        return text
    return numbers[0] if len(numbers) == 1 else numbers


def parse_numbers(option: str, text: str | None, word: str = "") -> Any:
    """Return numbers by label, ``a=0.3,b=0.7`` or a JSON object; or the word."""
    if text is None or (word and text == word):
        return text
    given = _json(option, text)
    if given is None:
        parts = [part.rpartition("=") for part in split_names(text)]
        given = _once(option, [(a.strip(), _number(value)) for a, _, value in parts])
    if not given or "" in given or not all(map(_is_number, given.values())):
        other = f", or {word}" if word else ""
        raise UsageError(
            f"{option} {text}: write LABEL=NUMBER separated by commas, or a JSON "
            f"object{other}"
        )
    return {label: float(value) for label, value in given.items()}


def parse_costs(text: str | None) -> dict[str, dict[str, float]] | None:
    """Return costs by true and decided label, ``ill:well=10`` or nested JSON."""
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
        raise UsageError(
            f"--costs {text}: write TRUE:DECIDED=COST separated by commas, for "
            'instance ill:well=10, or nested JSON such as {"ill": {"well": 10}}'
        )
    return costs


def _json(option: str, text: str) -> dict[str, Any] | None:
    """Return a JSON object, or None if the text does not look like one."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text, object_pairs_hook=partial(_once, option))
    except json.JSONDecodeError as error:
        raise UsageError(f"{option}: cannot read this JSON: {error}") from error
    return value if isinstance(value, dict) else None


def _once(option: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a dictionary of pairs whose keys differ."""
    given = dict(pairs)
    if len(given) < len(pairs) and "" not in given:  # which is refused anyway
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"{option}: {twice!r} is given more than once")
    return given


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
