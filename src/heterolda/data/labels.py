"""Labels as files have them: numbered as they appear, or found among known classes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.data.batches import Batch
from heterolda.data.columns import OpenFile
from heterolda.data.warn import look_of, warn_of_labels
from heterolda.foundations.arrays import Index
from heterolda.foundations.wording import named


class LabelNumbers:
    """The labels of a source, numbered in order of appearance."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._kinds: dict[str, str] = {}
        self._is_text = True

    def __len__(self) -> int:
        return len(self._numbers)

    def of(self, batch: Batch) -> NDArray[np.int64]:
        """The number of each row's label; new ones are entered."""
        self._is_text &= batch.file.is_text
        present = np.bincount(batch.codes, minlength=len(batch.labels)) > 0
        lookup = np.zeros(len(batch.labels), np.int64)
        for code in np.flatnonzero(present):
            lookup[code] = self._number(batch.labels[code], batch.file)
        return lookup[batch.codes]

    def _number(self, label: Any, file: OpenFile) -> int:
        kind = "text" if isinstance(label, str) else "numbers"
        self._kinds.setdefault(kind, file.name)
        if len(self._kinds) > 1:
            text, numbers = self._kinds["text"], self._kinds["numbers"]
            raise ValueError(
                f"{file.name}: column {file.columns.target!r} of the labels is text in "
                f"{text}, but numbers in {numbers}: convert one of them"
            )
        return self._numbers.setdefault(label, len(self._numbers))

    @property
    def classes(self) -> NDArray[Any]:
        """The labels by number. Those of text files are integers if all of them are."""
        labels = list(self._numbers)
        whole = r"0|-?[1-9]\d{0,17}"
        if self._is_text and all(re.fullmatch(whole, label) for label in labels):
            labels = [int(label) for label in labels]
        classes = np.array(labels)
        for label, kept in zip(labels, classes.tolist(), strict=True):
            if kept != label:  # large integers collapse in float64
                raise ValueError(
                    f"the labels have no type in common that holds {label!r}: convert "
                    "them to text"
                )
        return classes


class ClassFinder:
    """Finds labels as files have them among the classes of a model.

    Text files have text where the model may have numbers; ``true`` and ``True`` are
    the same.
    """

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes = classes
        labels = classes.tolist()
        self._by_label = {label: k for k, label in enumerate(labels)}
        self._by_text = {text_of(label): k for k, label in enumerate(labels)}

    def of(self, batch: Batch) -> Index:
        """Index of the class of each row; a note on labels that only look like one."""
        present = np.unique(batch.codes)
        labels = [batch.labels[code] for code in present]
        where = f"{batch.file.name}: column {batch.file.columns.target!r} has labels"
        found = [self.find(label) for label in labels]
        alike = [
            self._alike(label) if k < 0 else k
            for k, label in zip(found, labels, strict=True)
        ]
        unknown = [label for k, label in zip(alike, labels, strict=True) if k < 0]
        if unknown:
            raise ValueError(
                f"{where} {unknown[:5]} that are not classes of the model, "
                f"{named(self.classes, 10)}: leave these rows out"
            )
        known = self.classes.tolist()
        taken = {
            b: known[k] for a, k, b in zip(found, alike, labels, strict=True) if a < 0
        }
        if taken:
            warn_of_labels(
                f"{where} {named([*taken])}, which look like the classes "
                f"{named([*taken.values()])} of the model and are taken for these"
            )
        places = np.full(len(batch.labels), -1)
        places[present] = alike
        truth: Index = places[batch.codes]
        return truth

    def _alike(self, label: Any) -> int:
        """Index of the only class that looks like a label, or -1."""
        look = look_of(label)
        same = [k for k, c in enumerate(self.classes.tolist()) if look_of(c) == look]
        return same[0] if len(same) == 1 else -1

    def find(self, label: Any) -> int:
        """Index of the class of a label, or -1."""
        if label is None:
            return -1
        return self._by_label.get(label, self._by_text.get(text_of(label), -1))


def text_of(label: Any) -> str:
    """A label, or a number, as a text file has it."""
    if isinstance(label, float) and label % 1 == 0 and abs(label) < 1e18:
        label = int(label)
    text = str(label)
    return text.lower() if text in ("True", "False") else text
