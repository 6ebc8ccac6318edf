"""What a choice among refinements was, and why, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heterolda.foundations.wording import percent

Row = Mapping[str, Any]

# What tells candidates apart; not every table has all.
_KEYS = ("loss", "anchor", "voting")


def explained(**selection: Any) -> dict[str, Any]:
    """A selection with its `reason`, which follows from the rest of it."""
    text = reason(selection["candidates"], selection)
    if selection.get("transformed"):
        text = f"Features were transformed. {text}"
    return selection | {"reason": text}


def reason(table: Sequence[Row], chosen: Row) -> str:
    """Say in a sentence what was chosen, and why.

    `table` has all candidates: their `loss`, `anchor`, `voting`, the `error` on rows
    held out and the `weight` in the mean that was taken. `chosen` has the same of the
    best of them, but its `error` does not matter.
    """
    name = _name(chosen, table)
    if not table:
        return f"Nothing was compared on rows held out: {name} was taken."
    if len(table) == 1:
        error = percent(table[0]["error"])
        return f"The only candidate, {name}, had {error} errors on rows held out."
    best = min(table, key=lambda row: row["error"])
    fewest, number = best["error"], f"{len(table)} candidates"
    averaged = [row for row in table if row.get("weight", 0) > 0]
    if len(averaged) > 1:
        return (
            f"The rule is the mean of {len(averaged)} of {number}, whose errors on "
            f"rows held out can hardly be told apart; {_name(best, table)} had the "
            f"fewest, {percent(fewest)}{_rival(table, best)}."
        )
    # A file may say anything, even that something else than a candidate was chosen.
    own = next((row for row in table if _key(row) == _key(chosen)), best)
    if own["error"] > fewest:
        return (
            f"Of {number} {name} was taken, with {percent(own['error'])} errors on "
            f"rows held out: {_name(best, table)} had the fewest, {percent(fewest)}, "
            "but not clearly fewer."
        )
    if all(row["error"] == fewest for row in table):
        return (
            f"All {number} had {percent(fewest)} errors on rows held out: {name} was "
            "taken."
        )
    return (
        f"Of {number} {name} had the fewest errors on rows held out, "
        f"{percent(fewest)}{_rival(table, own)}."
    )


def _rival(table: Sequence[Row], row: Row) -> str:
    """The best refinement beside the start, or the start beside a refinement."""
    others = [other for other in table if _is_start(other) != _is_start(row)]
    if not others:
        return ""
    error = min(other["error"] for other in others)
    text = percent(error)
    if text == percent(row["error"]):
        text = "as many" if error == row["error"] else "nearly as many"
    return f"; the {'best refinement' if _is_start(row) else 'start itself'} had {text}"


def _is_start(row: Row) -> bool:
    return bool(row["loss"] == "none")


def _key(row: Row) -> list[Any]:
    return [row.get(key) for key in _KEYS]


def _name(row: Row, table: Sequence[Row]) -> str:
    """A candidate in words, by what tells it apart from the others."""
    name = "the start itself"
    if not _is_start(row):
        kind = "rule" if row["loss"] == "ridge" else "refinement"
        name = f"the {kind} with loss {row['loss']!r} and anchor {row['anchor']:g}"
    if len({other["voting"] for other in table}) > 1:
        name += f" (voting {row['voting']!r})"
    return name
