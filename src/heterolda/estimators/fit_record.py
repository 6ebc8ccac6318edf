"""Record of the data of a fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from json import dumps
from typing import Any


@dataclass(frozen=True)
class Category:
    """A categorical column, encoded as features of zeros and ones.

    Each of its `levels` has a feature, which is 1 in the rows of that level. In rows of
    the reference level all of them are 0: a separate feature would be one minus the
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
        """Return the names of the features."""
        levels = [*self.levels, *([] if self.other is None else [self.other])]
        return [f"{self.column}={level}" for level in levels]

    @cached_property
    def place_of(self) -> dict[str, int]:
        """Return the feature index of each level in the fit; -1 for the reference."""
        merged = dict.fromkeys(self.merged, self.place_of_unseen)
        places = {level: place for place, level in enumerate(self.levels)}
        return {self.reference: -1, **merged, **places}

    @property
    def place_of_unseen(self) -> int:
        """Return the feature index of levels unseen in the fit; -1 for none."""
        return -1 if self.other is None else len(self.levels)

    @property
    def meanings(self) -> list[str]:
        """Return a description of each feature in words."""
        quoted = [dumps(level, ensure_ascii=False) for level in self.levels]
        words = [f"1 if {self.column} is {level}, else 0" for level in quoted]
        if self.other is not None:
            levels = *quoted, dumps(self.reference, ensure_ascii=False)
            words.append(f"0 if {self.column} is one of {', '.join(levels)}, else 1")
        return words

    @property
    def unseen_count_as(self) -> str:
        """Return the level that levels unseen in the fit count as."""
        return repr(self.reference) if self.other is None else self.features[-1]


@dataclass(frozen=True)
class FitRecord:
    """Record of the data a model was fitted to.

    The command ``heterolda fit`` stores it in the model's attribute ``fit_record_`` and
    in the model file. In Python you may set that attribute yourself; fitting again
    removes it.

    Parameters
    ----------
    target : str
        Name of the label column.
    data : str
        Name of the data.
    date : str
        Date of the fit in UTC, such as "2026-11-30".
    n_rows : float
        Number of rows, or their total weight.
    categories : tuple of heterolda.data.Category, default=()
        Categorical columns, which the model sees as features of zeros and ones.
    marks : tuple of str, default=()
        Additional strings for missing values in the files.
    n_columns : int or None, default=None
        Number of columns of the files, if they had no header.

    See Also
    --------
    save : Writes the record into the model file.

    Examples
    --------
    >>> from heterolda.inspection import FitRecord
    >>> FitRecord("species", "iris.csv", "2026-11-30", 150).target
    'species'
    """

    target: str
    data: str
    date: str
    n_rows: float
    categories: tuple[Category, ...] = ()
    marks: tuple[str, ...] = ()
    n_columns: int | None = None


def encoded(
    columns: Iterable[str], categories: Sequence[Category]
) -> list[tuple[str, str]]:
    """Return pairs of a column and the name of a feature that encodes it."""
    features = {category.column: category.features for category in categories}
    return [
        (column, feature)
        for column in columns
        for feature in features.get(column, [column])
    ]


def raw_columns(
    features: Iterable[str], categories: Sequence[Category]
) -> tuple[str, ...]:
    """Return the columns of features, the inverse of `encoded`, or raise ValueError."""
    features = tuple(features)
    column_of = {name: c.column for c in categories for name in c.features}
    columns = tuple(dict.fromkeys(column_of.get(name, name) for name in features))
    if categories:
        expected = tuple(feature for _, feature in encoded(columns, categories))
        if expected != features or not {c.column for c in categories} <= set(columns):
            raise ValueError("the features are not those of the categories")
    return columns


def fewer_rows_than_features(model: Any, statistics: Any) -> bool:
    """Return whether a model was fitted to fewer rows than features, if known.

    Any labels can then be separated, and errors under the model mean nothing.
    `statistics` may be None.
    """
    record = getattr(model, "fit_record_", None)
    if statistics is not None:
        return bool(statistics.weights.sum() < model.n_features_in_)
    return record is not None and bool(record.n_rows < model.n_features_in_)


def feature_meanings(model: Any) -> list[str] | None:
    """Return the name of each feature, or what it encodes, if the model has names."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return None
    record = getattr(model, "fit_record_", None)
    meaning: dict[str, str] = {}
    for category in () if record is None else record.categories:
        meaning |= zip(category.features, category.meanings, strict=True)
    return [meaning.get(name, name) for name in map(str, names)]
