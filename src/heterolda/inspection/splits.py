"""Choose which rows are tested, and which rows the tested models are fitted to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.draws import folds_of, group_folds_of
from heterolda.foundations.validation import check_number, check_several_classes
from heterolda.foundations.wording import count, named

FOLDS = 5
ONE_GROUP = (
    "has too few values to hold any of them out: use another column, or leave groups "
    "out"
)
_MIN_REST = 2  # rows of a class that are fitted, whichever fold is held out


class TooFewRowsError(ParameterError):
    """Report that no class has enough rows to hold some out."""


@dataclass(frozen=True, eq=False)
class Splits:
    """Test rows of several fits, and the rows that each is fitted to."""

    words: str
    # The fold in which each row is tested, -1 for rows that are in all fits; or None.
    folds: Index | None = None
    in_time: bool = False  # fits see earlier folds only; otherwise all others
    pairs: Sequence[tuple[Index, Index]] = ()  # rows fitted and tested, without folds
    notes: tuple[str, ...] = ()

    @property
    def numbers(self) -> list[int]:
        """Return the numbers of the folds that are tested, or of the pairs."""
        if self.folds is None:
            return list(range(len(self.pairs)))
        numbers: list[int] = np.unique(self.folds[self.folds >= 0]).tolist()
        return numbers[1:] if self.in_time else numbers

    def fitted(self, k: int) -> list[int]:
        """Return the folds that the fit tested on fold k sees."""
        return [j for j in self.all_folds if (j < k if self.in_time else j != k)]

    @property
    def all_folds(self) -> list[int]:
        """Return the numbers of all folds, and -1 for rows that are in all fits."""
        return [] if self.folds is None else np.unique(self.folds).tolist()

    def __iter__(self) -> Iterator[tuple[Index, Index]]:
        for k in self.numbers:
            if self.folds is None:
                yield self.pairs[k]
                continue
            fitted = self.folds < k if self.in_time else self.folds != k
            yield np.flatnonzero(fitted), np.flatnonzero(self.folds == k)

    def checked(
        self, codes: Index, classes: NDArray[Any], groups: Index | None
    ) -> Splits:
        """Add notes on classes that fits lack and groups on both sides; reject others.

        `codes` are -1 for rows of weight zero, which are left out.
        """
        notes, n_fits, n_shared = list(self.notes), 0, 0
        lacking: Counter[int] = Counter()
        for fitted, tested in self:
            n_fits += 1
            present = np.bincount(codes[fitted] + 1, minlength=len(classes) + 1)[1:]
            if np.count_nonzero(present) < 2:
                what = count(int(np.count_nonzero(present)), "class")
                raise ParameterError(
                    "cv",
                    f": the rows of fit {n_fits} have {what}, but two are needed: use "
                    "other splits, or fewer folds",
                )
            absent = np.unique(codes[tested][codes[tested] >= 0])
            lacking.update(absent[present[absent] == 0].tolist())
            if groups is not None:
                n_shared += bool(np.isin(groups[tested], groups[fitted]).any())
        for k, n in sorted(lacking.items()):
            notes.append(
                f"Class {classes.tolist()[k]!r} is absent from the rows of {n} of "
                f"{n_fits} fits, so that its rows tested there count as wrong."
            )
        if n_shared:
            notes.append(
                f"In {n_shared} of {n_fits} fits, rows of a tested group are fitted: "
                "the error of new groups may be larger."
            )
        return replace(self, notes=tuple(notes))

    def with_notes(self, notes: list[str]) -> Splits:
        """Return the splits with more notes."""
        return replace(self, notes=(*self.notes, *notes))


def splits_of(
    cv: Any,
    data: tuple[Any, Any],
    codes: Index,
    classes: NDArray[Any],
    groups: Index | None = None,
    random_state: Any = 0,
) -> Splits:
    """Return the splits of rows, of which those with code -1 are left out.

    `cv` is a number of folds, a scikit-learn splitter of `data` (X and y), or an
    iterable of pairs of training and test rows.
    """
    check_several_classes(len(classes))
    n = len(codes)
    if isinstance(cv, Splits):
        splits = cv
    elif isinstance(cv, int | float | np.number):
        check_number("cv", cv, 2, 1000, integer=True)
        splits = _by_number(int(cv), codes, classes, groups, random_state)
    elif hasattr(cv, "split") and not isinstance(cv, str):
        pairs = list(cv.split(*data, groups))
        words = f"{count(len(pairs), 'test')} by {type(cv).__name__}"
        splits = Splits(words, pairs=_checked_pairs(pairs, n))
    else:
        pairs = _checked_pairs(cv, n)
        splits = Splits(f"{count(len(pairs), 'given split')}", pairs=pairs)
    return splits.checked(codes, classes, groups)


def _checked_pairs(pairs: Any, n: int) -> list[tuple[Index, Index]]:
    """Return pairs of row numbers; reject anything else."""
    checked = []
    try:
        for fitted, tested in pairs:
            both = np.arange(n)[np.asarray(fitted)], np.arange(n)[np.asarray(tested)]
            if not all(len(part) and part.ndim == 1 for part in both):
                raise ValueError
            checked.append(both)
    except (TypeError, ValueError, IndexError) as error:
        raise ParameterError(
            "cv",
            "must be a number of folds, a scikit-learn splitter or pairs of training "
            f"and test rows of {n}, none of them empty, got {pairs!r:.50}",
        ) from error
    if not checked:
        raise ParameterError("cv", "has no splits: give at least one")
    if any(len(np.intersect1d(*both)) for both in checked):
        raise ParameterError(
            "cv", "has rows in a test that are fitted there, too: leave them out"
        )
    return checked


def _by_number(
    n_folds: int,
    codes: Index,
    classes: NDArray[Any],
    groups: Index | None,
    random_state: Any,
) -> Splits:
    """Return random folds of rows, or of whole groups; classes are balanced."""
    notes: list[str] = []
    if groups is None:
        folds = folds_of(codes, n_folds, random_state)
        counts = np.zeros((len(classes), n_folds), np.intp)
        np.add.at(counts, (codes[codes >= 0], folds[codes >= 0]), 1)
        small = counts.sum(axis=1) - counts.max(axis=1) < _MIN_REST
        if small.all():
            raise TooFewRowsError(
                "y",
                ": no class has three rows, so none can be held out: are these class "
                "labels?",
            )
        if small.any():
            folds[np.isin(codes, np.flatnonzero(small))] = -1
            notes.append(
                f"{count(int(counts[small].sum()), 'row')} of the classes "
                f"{named(classes[small])} were never held out: these classes are too "
                "small, so their rows are in every fit."
            )
        n_folds = len(np.unique(folds[folds >= 0]))
        return Splits(f"{n_folds}-fold cross-validation", folds, notes=tuple(notes))
    used = codes >= 0
    present, numbers = np.unique(groups[used], return_inverse=True)
    if len(present) < 2:
        raise ParameterError("groups", ONE_GROUP)
    if len(present) < n_folds:
        notes.append(
            f"There are {count(len(present), 'group')}, so there are as many folds."
        )
    n_folds = min(n_folds, len(present))
    folds = np.full(len(codes), -1)
    folds[used] = group_folds_of(codes[used], numbers, n_folds, random_state)
    words = f"{n_folds}-fold cross-validation of whole groups"
    return Splits(words, folds, notes=tuple(notes))


def blocks_in_time(times: Array, n_folds: int = FOLDS) -> Splits:
    """Return splits that test rows by fits to earlier ones; equal times stay together.

    The rows are cut into one block more than there are folds, of about as many rows.
    """
    distinct, codes, counts = np.unique(times, return_inverse=True, return_counts=True)
    middle = counts.cumsum() - counts / 2
    blocks = (middle * (n_folds + 1) / len(times)).astype(np.intp)
    _, folds = np.unique(blocks[codes], return_inverse=True)
    n = int(folds.max())
    if not n:
        raise ParameterError(
            "time", f"has one value, {distinct[0]:g}, so that no rows are earlier"
        )
    words = f"{count(n, 'test')} of rows later than those of the fit"
    return Splits(words, folds, in_time=True)


def codes_of(values: Iterable[Any]) -> Index:
    """Return a number for each value, in the order in which they first appear."""
    labels = np.asarray(values)
    if labels.dtype.kind == "O":
        numbers: dict[Any, int] = {}
        each = (numbers.setdefault(value, len(numbers)) for value in labels.tolist())
        return np.fromiter(each, np.intp, len(labels))
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes]
