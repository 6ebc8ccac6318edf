"""The page about mutants, with a reason for each that survived."""

from __future__ import annotations

from benchmarks.mutation.mutants import Mutant


def page(outcomes: list[tuple[Mutant, str]], total: int) -> str:
    return ""
