"""Columns of categories, such as cities, as features of zeros and ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from json import dumps


@dataclass(frozen=True)
class Category:
    """A categorical column, encoded as features of zeros and ones.

    Each of its `levels` has a feature, which is 1 in the rows of that level. In rows of
    the reference level all of them are 0: a feature of its own would be one minus the
    others and make the covariances singular.

    Parameters
    ----------
    column : str
        Name of the column.
    reference : str
        The level without a feature: the most frequent one in the fit.
    levels : tuple of str
        Levels with a feature each, sorted.
    merged : tuple of str
        Levels too rare in the fit for a feature of their own, sorted.
    other : str or None
        Name of the feature for all other levels, merged or unseen in the fit. If None,
        these count as the reference.

    Examples
    --------
    >>> from heterolda.data import Category
    >>> city = Category("city", "Paris", ("Lyon", "Nice"), ("Metz",), "other")
    >>> city.features
    ['city=Lyon', 'city=Nice', 'city=other']
    """

    column: str
    reference: str = ""
    levels: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    other: str | None = None

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        own = [*self.levels, *([] if self.other is None else [self.other])]
        return [f"{self.column}={level}" for level in own]

    @cached_property
    def place_of(self) -> dict[str, int]:
        """Return the feature index of each level in the fit; -1 for the reference."""
        merged = dict.fromkeys(self.merged, self.place_of_unseen)
        own = {level: place for place, level in enumerate(self.levels)}
        return {self.reference: -1, **merged, **own}

    @property
    def place_of_unseen(self) -> int:
        """Index of the feature of levels unseen in the fit."""
        return -1 if self.other is None else len(self.levels)

    @property
    def meanings(self) -> list[str]:
        """Description of each feature in words."""
        quoted = [dumps(level, ensure_ascii=False) for level in self.levels]
        words = [f"1 if {self.column} is {level}, else 0" for level in quoted]
        if self.other is not None:
            known = *quoted, dumps(self.reference, ensure_ascii=False)
            words.append(f"0 if {self.column} is one of {', '.join(known)}, else 1")
        return words

    @property
    def unseen_count_as(self) -> str:
        """Return the level that levels unseen in the fit count as."""
        return repr(self.reference) if self.other is None else self.features[-1]


def encoded(
    columns: Iterable[str], categories: Sequence[Category]
) -> list[tuple[str, str]]:
    """Return the names of all features, each after the column that it comes from."""
    of_column = {category.column: category.features for category in categories}
    return [(name, one) for name in columns for one in of_column.get(name, [name])]


def raw_columns(
    features: Iterable[str], categories: Sequence[Category]
) -> tuple[str, ...]:
    """Return the columns of features, the inverse of `encoded`, or raise ValueError."""
    features = tuple(features)
    column_of = {one: c.column for c in categories for one in c.features}
    columns = tuple(dict.fromkeys(column_of.get(name, name) for name in features))
    if categories:
        again = tuple(one for _, one in encoded(columns, categories))
        if again != features or not {c.column for c in categories}.issubset(columns):
            raise ValueError("the features are not those of the categories")
    return columns


def meanings_of(features: Iterable[str], categories: Iterable[Category]) -> list[str]:
    """Return features in words: the name of a number, or which level is meant."""
    meaning: dict[str, str] = {}
    for category in categories:
        meaning |= zip(category.features, category.meanings, strict=True)
    return [meaning.get(name, name) for name in features]
