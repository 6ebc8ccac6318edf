"""Labels as files have them: numbered as they appear, or found among known classes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.data.batches import Batch
from heterolda.data.columns import OpenFile
from heterolda.data.warn import look_of
from heterolda.foundations.types import Index
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
                f"{file.name}: column {file.columns.target!r} of the labels holds text "
                f"in {text} and numbers in {numbers}: convert one of them"
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
        self._by_text = {_text(label): k for k, label in enumerate(labels)}

    def of(self, batch: Batch) -> Index:
        """Index of the class of each row."""
        indices = np.array([self.find(label) for label in batch.labels], np.intp)
        truth: Index = indices[batch.codes]
        if (truth < 0).any():
            codes = np.unique(batch.codes[truth < 0])
            unknown = [batch.labels[code] for code in codes]
            raise ValueError(
                f"{batch.file.name}: column {batch.file.columns.target!r} has labels "
                + self._unknown(unknown)
            )
        return truth

    def _unknown(self, labels: list[Any]) -> str:
        """What is wrong with labels that are not classes, and what to do."""
        alike = {
            label: like for label in labels for like in [self.alike(label)] if like
        }
        if not alike:
            return (
                f"{labels[:5]} that are not classes of the model, "
                f"{named(self.classes, 10)}: leave these rows out"
            )
        return (
            f"{named([*alike])} that look like the classes {named([*alike.values()])} "
            "of the model, but are written differently: write them as those"
        )

    def alike(self, label: Any) -> str | None:
        """The class, as text, that differs from a label only in how it is written."""
        known = {look_of(k): _text(k) for k in self.classes.tolist()}
        return known.get(look_of(label))

    def find(self, label: Any) -> int:
        """Index of the class of a label, or -1."""
        if label is None:
            return -1
        return self._by_label.get(label, self._by_text.get(_text(label), -1))


def _text(label: Any) -> str:
    """A label as a text file has it."""
    if isinstance(label, float) and label == int(label):
        label = int(label)
    text = str(label)
    return text.lower() if text in ("True", "False") else text
