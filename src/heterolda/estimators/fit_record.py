"""The record of a fit: its data, and how accurate the model was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from heterolda.estimators.categories import Category, meanings_of

# Paired differences of more standard errors than this are taken to be real.
STANDARD_ERRORS = 2.0


@dataclass(frozen=True)
class Judgement:
    r"""Accuracy of a model and of LDA on the same held-out rows.

    With weights :math:`v_i` that sum to n, let :math:`d_i` be 1 where only the model is
    right, -1 where only LDA is right, and 0 otherwise. The difference of the accuracies
    is the mean :math:`\bar d`, with the standard error
    :math:`\sqrt{\sum_i v_i (d_i - \bar d)^2} / n`.

    Parameters
    ----------
    method : str
        How the rows were held out, such as "10-fold cross-validation".
    n_rows : float
        Total weight of the rows.
    accuracy : float
        Accuracy of the model on these rows.
    lda_accuracy : float
        Accuracy of linear discriminant analysis on these rows.
    standard_error : float
        Standard error of the difference.

    See Also
    --------
    FitRecord : The fit that a judgement belongs to.

    Examples
    --------
    >>> from heterolda import Judgement
    >>> truth = [0, 0, 0, 1, 1, 1, 1, 1]
    >>> ours, lda = [0, 0, 0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1, 0]
    >>> judgement = Judgement.of("5-fold cross-validation", truth, ours, lda)
    >>> judgement.difference, judgement.better
    (0.5, 'model')
    """

    method: str
    n_rows: float
    accuracy: float
    lda_accuracy: float
    standard_error: float

    @classmethod
    def of(
        cls,
        method: str,
        truth: ArrayLike,
        predictions: ArrayLike,
        lda_predictions: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> Judgement:
        """Compare both predictions with the true labels.

        Parameters
        ----------
        method : str
            As for the class.
        truth, predictions, lda_predictions : array-like of shape (n_samples,)
            True labels, and those that the model and LDA predict.
        sample_weight : array-like of shape (n_samples,), default=None
            Frequencies.

        Returns
        -------
        Judgement
            The judgement.
        """
        labels = np.asarray(truth)
        weight = np.ones(len(labels)) if sample_weight is None else sample_weight
        right = np.asarray(predictions) == labels
        lda_right = np.asarray(lda_predictions) == labels
        return cls.from_counts(
            method,
            right=np.sum(weight, where=right),
            lda_right=np.sum(weight, where=lda_right),
            one_right=np.sum(weight, where=right != lda_right),
            n=np.sum(weight),
        )

    @classmethod
    def from_counts(
        cls, method: str, right: float, lda_right: float, one_right: float, n: float
    ) -> Judgement:
        """Compare accuracies given as total weights of rows.

        Parameters
        ----------
        method : str
            As for the class.
        right, lda_right, one_right, n : float
            Total weight of the rows that the model gets right, that LDA gets right,
            that only one of them gets right, and of all rows.

        Returns
        -------
        Judgement
            The judgement.
        """
        difference = (right - lda_right) / n
        variance = max(one_right / n - difference**2, 0.0)  # of d, which is -1, 0 or 1
        return cls(
            method=method,
            n_rows=float(n),
            accuracy=float(right / n),
            lda_accuracy=float(lda_right / n),
            standard_error=float(np.sqrt(variance / n)),
        )

    @property
    def difference(self) -> float:
        """Return the accuracy of the model minus that of LDA."""
        return self.accuracy - self.lda_accuracy

    @property
    def better(self) -> str | None:
        """Return "model" or "LDA" if it is better by two standard errors, or None."""
        if abs(self.difference) <= STANDARD_ERRORS * self.standard_error:
            return None
        return "model" if self.difference > 0 else "LDA"


@dataclass(frozen=True)
class FitRecord:
    """Record of the data a model was fitted to, and of its accuracy.

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
    judgement : Judgement or None, default=None
        Accuracy of the model and of LDA on held-out rows, if known.
    categories : tuple of heterolda.data.Category, default=()
        Categorical columns, which the model has as features of zeros and ones.
    marks : tuple of str, default=()
        Additional strings for missing values in the files.
    n_columns : int or None, default=None
        Number of columns of the files, if they had no header.

    See Also
    --------
    save : Writes the record into the model file.

    Examples
    --------
    >>> from heterolda import FitRecord, Judgement
    >>> FitRecord("species", "iris.csv", "2026-11-30", 150).target
    'species'
    """

    target: str
    data: str
    date: str
    n_rows: float
    judgement: Judgement | None = None
    categories: tuple[Category, ...] = ()
    marks: tuple[str, ...] = ()
    n_columns: int | None = None


def fewer_rows_than_features(model: Any, statistics: Any) -> bool:
    """Return whether a model is known to come from fewer rows than features.

    Then any labels can be separated, and errors under the model mean nothing.
    `statistics` may be None.
    """
    record = getattr(model, "fit_record_", None)
    if statistics is not None:
        return bool(statistics.weights.sum() < model.n_features_in_)
    return record is not None and bool(record.n_rows < model.n_features_in_)


def feature_meanings(model: Any) -> list[str] | None:
    """Return the name of each feature, or its category, if the model has names."""
    names, record = (
        getattr(model, key, None) for key in ("feature_names_in_", "fit_record_")
    )
    if names is None:
        return None
    return meanings_of(map(str, names), () if record is None else record.categories)
