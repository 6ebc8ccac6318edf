"""Number the labels of files, or match them with the classes of a model."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.data.formats import number_of
from heterolda.data.table import File
from heterolda.exceptions import SimilarLabelsWarning
from heterolda.foundations.arrays import Index
from heterolda.foundations.wording import named

_EXACT = 2.0**53  # whole numbers below differ in float64
_LONGEST = 1000  # characters of a label: each row of a sample holds its own


class LabelNumbers:
    """The labels of a table, numbered in order of appearance."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._files: dict[str, str] = {}  # first file with each kind of label
        self._is_text = True

    def __len__(self) -> int:
        return len(self._numbers)

    def of(self, codes: Index, labels: list[Any], file: File) -> NDArray[np.int64]:
        """Return the number of each row's label; number new labels."""
        self._is_text &= file.is_text
        lookup = np.zeros(len(labels), np.int64)
        for code in np.flatnonzero(np.bincount(codes, minlength=len(labels))):
            kind = "text" if isinstance(labels[code], str) else "numbers"
            if kind == "text" and len(labels[code]) > _LONGEST:
                raise ValueError(
                    f"{file.name}: column {file.table.target!r} has a label of "
                    f"{len(labels[code]):,} characters, {labels[code][:20]!r}...: name "
                    "another column with target=..."
                )
            self._files.setdefault(kind, file.name)
            lookup[code] = self._numbers.setdefault(labels[code], len(self._numbers))
        if len(self._files) > 1:
            raise ValueError(
                f"{file.name}: the label column {file.table.target!r} is text in "
                f"{self._files['text']}, but numbers in {self._files['numbers']}: "
                "convert one of them"
            )
        return lookup[codes]

    @property
    def classes(self) -> NDArray[Any]:
        """Return the labels by number, as integers if all labels of a text file are."""
        labels = list(self._numbers)
        integer = r"0|-?[1-9]\d{0,17}"
        if self._is_text and all(re.fullmatch(integer, label) for label in labels):
            labels = [int(label) for label in labels]
        return np.array(labels)


class ClassFinder:
    """Match labels of files, which may be text, with the classes of a model."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes = classes
        labels = classes.tolist()
        self._places = {text_of(label): k for k, label in enumerate(labels)}
        self._places |= {label: k for k, label in enumerate(labels)}
        self._alike: dict[object, list[int]] = {}
        for k, label in enumerate(labels):
            self._alike.setdefault(normalized(label), []).append(k)

    def __len__(self) -> int:
        return len(self.classes)

    def of(self, codes: Index, labels: list[Any], file: File) -> Index:
        """Return the class of each row; warn about labels that only look like one."""
        where = f"{file.name}: column {file.table.target!r} has labels"
        names = self.classes.tolist()
        index, alike, unknown = np.full(len(labels), -1), {}, []
        for code in np.unique(codes).tolist():
            label = labels[code]
            index[code] = k = self.find(label)
            similar = self._alike.get(normalized(label), ())
            if k < 0 and len(similar) == 1:
                index[code] = similar[0]
                alike[label] = names[similar[0]]
            elif k < 0:
                unknown.append(label)
        if unknown:
            raise ValueError(
                f"{where} {unknown[:5]} that are not classes of the model, "
                f"{named(self.classes, 10)}: leave these rows out"
            )
        if alike:
            warnings.warn(
                f"{where} {named([*alike])}, which look like the classes "
                f"{named([*alike.values()])} of the model and are read as such",
                SimilarLabelsWarning,
                stacklevel=2,
            )
        classes: Index = index[codes]
        return classes

    def find(self, label: Any) -> int:
        """Return the index of the class of a label, or -1."""
        if label is None:
            return -1
        return self._places.get(label, self._places.get(text_of(label), -1))


def text_of(label: Any) -> str:
    """Return a label or a number as it would be in a text file."""
    if isinstance(label, float) and label % 1 == 0 and abs(label) < 1e18:
        label = int(label)
    text = str(label)
    return text.lower() if text in ("True", "False") else text


def normalized(label: Any) -> object:
    """Return a label as a number, or as text in lower case without extra blanks."""
    text = " ".join(str(label).split())
    number = number_of(text)
    is_rounded = number is None or abs(number) >= _EXACT
    return text.casefold() if is_rounded else number


def warn_of_similar_labels(
    labels: Iterable[Any], subject: str = "these labels", kind: str = "classes"
) -> None:
    """Warn about text labels that may be meant to be the same."""
    groups: dict[object, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            groups.setdefault(normalized(label), []).append(label)
    alike = [group for group in groups.values() if len(group) > 1]
    if alike:
        names = "; ".join(" and ".join(map(repr, group[:5])) for group in alike[:5])
        warnings.warn(
            f"{subject} look alike, but are different {kind}: {names}. If they should "
            "be the same, write them alike",
            SimilarLabelsWarning,
            stacklevel=2,
        )
