"""Values of options that are more than a word or a number."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
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
    """Return numbers by label, of ``a=0.3,b=0.7``; or the word, or None."""
    if text is None or (word and text == word):
        return text
    numbers: dict[str, float] = {}
    for part in split_names(text):
        label, _, value = (piece.strip() for piece in part.rpartition("="))
        if label in numbers:
            raise UsageError(f"{option}: {label!r} is given more than once")
        try:
            numbers[label] = float(value)
        except ValueError:
            numbers[""] = 0.0
    if not numbers or "" in numbers:
        other = f", or {word}" if word else ""
        raise UsageError(
            f"{option} {text}: write LABEL=NUMBER separated by commas{other}"
        )
    return numbers


def parse_costs(text: str | None) -> dict[str, dict[str, float]] | None:
    """Return costs by true and decided label, of ``ill:well=10,well:ill=1``."""
    if text is None:
        return None
    costs: dict[str, dict[str, float]] = {}
    for pair, cost in parse_numbers("--costs", text).items():
        true, _, decided = (label.strip() for label in pair.partition(":"))
        if not (true and decided):
            raise UsageError(
                f"--costs {text}: write TRUE:DECIDED=COST separated by commas, for "
                "instance ill:well=10"
            )
        costs.setdefault(true, {})[decided] = cost
    return costs
