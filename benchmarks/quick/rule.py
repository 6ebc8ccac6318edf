"""The rule for changes: how much slower than the base they may be."""

from __future__ import annotations

from collections.abc import Callable, Collection
from statistics import geometric_mean

# Limits of the time divided by that of the base: the geometric mean of a group of
# cases, and a single case.
GROUP_LIMIT, CASE_LIMIT = 1.07, 1.25

Key = tuple[str, str]  # group and case; all cases of the group if the case is empty
Ratios = dict[Key, float]


def with_means(ratios: Ratios) -> Ratios:
    """Return the ratios of cases, and the geometric mean of each group."""
    groups: dict[str, list[float]] = {}
    for (group, _), ratio in ratios.items():
        groups.setdefault(group, []).append(ratio)
    return ratios | {
        (name, ""): geometric_mean(group) for name, group in groups.items()
    }


def too_slow(ratios: Ratios) -> Ratios:
    """Return the ratios, and means of groups, that are above their limit."""
    return {
        (group, case): ratio
        for (group, case), ratio in with_means(ratios).items()
        if ratio > (CASE_LIMIT if case else GROUP_LIMIT)
    }


def too_slow_twice(
    measure: Callable[[Collection[Key]], Ratios], cases: Collection[Key]
) -> dict[Key, tuple[float, float]]:
    """Measure cases; return the ratios that are too slow, also when measured again."""
    first = too_slow(measure(cases))
    again = [case for case in cases if case in first or (case[0], "") in first]
    second = too_slow(measure(again)) if again else {}
    return {key: (first[key], second[key]) for key in first if key in second}
