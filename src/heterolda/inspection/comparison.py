"""Compare several classifiers on the same folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_X_y

from heterolda.estimators.fit_record import STANDARD_ERRORS
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Index, import_pandas, reject_device
from heterolda.foundations.collections import lazy_backend
from heterolda.foundations.draws import folds_of
from heterolda.foundations.validation import (
    check_labels,
    check_number,
    check_sample_weight,
    check_several_classes,
    check_type,
    encode,
    label_array,
    missing_values_as,
    readable_rows,
)
from heterolda.foundations.wording import count, named
from heterolda.inspection.blocks import Block, Paragraph, Shown, Table
from heterolda.inspection.compared_models import HeldOut, check_models, evaluate
from heterolda.inspection.displays.comparison_chart import draw_comparison
from heterolda.statistics.rows import copies_of_rows

_CAVEAT = (
    "Standard errors (±) cover the choice of held-out rows, not that of training "
    "rows. The best of several models on the same rows looks slightly too good: part "
    "of its lead may be luck."
)


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    r"""The result of :func:`compare`; ``print`` shows it as a table.

    All figures are of held-out rows. With values :math:`v_i`, 1 for a row that is
    classified correctly and 0 for others, accuracy and standard error are

    .. math::
        \bar v = \frac1n \sum_i v_i, \quad
        \sqrt{\frac1{n (n - 1)} \sum_i (v_i - \bar v)^2}.

    For the difference from the best model, :math:`v_i` is the difference of the two
    models' values. Rows for which both models predict the same class cancel, so the
    difference is far more precise than either accuracy.

    Attributes
    ----------
    names : tuple of str
        The models.
    classes : ndarray of shape (n_classes,)
        Labels.
    rows : ndarray of shape (n_rows,)
        Indices of the rows that were held out, as often as their weights say.
    folds : ndarray of shape (n_rows,)
        The fold in which each row was held out.
    truth : ndarray of shape (n_rows,)
        True class indices.
    predictions : ndarray of shape (n_models, n_rows)
        Predicted class indices; -1 for a model that failed.
    log_loss : ndarray of shape (n_models,)
        Mean of minus the logarithm of the true class's probability; NaN for a model
        without probabilities.
    fit_seconds : ndarray of shape (n_models,)
        Mean time of one fit.
    failures : dict
        Reasons why models failed, by name.
    notes : tuple of str
        Warnings of the models, and a note on rows that were never held out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from heterolda import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> result = compare(X, y, models={"LDA": None, "naive Bayes": GaussianNB()})
    >>> result.accuracy.round(3)
    array([0.98 , 0.953])
    >>> result.difference.round(3), result.difference_error.round(3)
    (array([ 0.   , -0.027]), array([0.   , 0.016]))
    """

    names: tuple[str, ...]
    classes: NDArray[Any]
    rows: Index
    folds: Index
    truth: Index
    predictions: Index
    log_loss: Array
    fit_seconds: Array
    failures: dict[str, str]
    notes: tuple[str, ...]

    @cached_property
    def accuracy(self) -> Array:
        """Return the share of held-out rows each model gets right; NaN if it failed."""
        return _mean_and_error(self._right)[0]

    @cached_property
    def standard_error(self) -> Array:
        """Return the standard errors of `accuracy`."""
        return _mean_and_error(self._right)[1]

    @cached_property
    def difference(self) -> Array:
        """Return each model's accuracy minus the best."""
        return _mean_and_error(self._right - self._right[self._best])[0]

    @cached_property
    def difference_error(self) -> Array:
        """Return the standard errors of `difference`, from paired predictions."""
        return _mean_and_error(self._right - self._right[self._best])[1]

    @property
    def best(self) -> str | None:
        """Return the model with the highest accuracy; the first of several that tie."""
        return None if np.isnan(self.accuracy).all() else self.names[self._best]

    @property
    def best_by_log_loss(self) -> str | None:
        """Return the model with the lowest log loss, or None."""
        return self._lowest_log_loss(self.names)

    @property
    def as_good(self) -> tuple[str, ...]:
        """Return the best model and all models within one standard error of it.

        The standard error is that of the difference from the best.
        """
        # A single row that only the best gets right is one standard error up to
        # rounding. The difference is NaN for models that failed.
        as_good = self.difference >= -self.difference_error * (1 + 1e-9)
        return tuple(self.names[k] for k in np.flatnonzero(as_good))

    @property
    def choice(self) -> str | None:
        """Return the model of `as_good` with the lowest log loss."""
        return self._lowest_log_loss(self.as_good) or self.best

    @property
    def recommendation(self) -> str:
        """Return which model to use, and why, in a few sentences."""
        best, choice, by_loss = self.best, self.choice, self.best_by_log_loss
        if best is None or choice is None:
            return "No model could be fitted. The reasons are below."
        text = f"Best by accuracy: {best} ({100 * self.accuracy[self._best]:.2f} %)"
        if by_loss is not None:
            loss = self.log_loss[self.names.index(by_loss)]
            text += f"; best by log loss: {by_loss} ({loss:.4f})"
        others = ", ".join(name for name in self.as_good if name != best)
        if others:
            reason = "of these models it has the lowest log loss"
            if np.isnan(self.log_loss[self.names.index(choice)]):
                reason = "none of these models predicts probabilities"
            text += f". Equally good on these data: {others}. Use {choice}: {reason}."
        else:
            text += f". No other model is within one standard error of {best}."
            text += f" Use {choice}."
        k, label, largest = self._largest_class
        mean, error = _mean_and_error(self._right[self._best] - (self.truth == k))
        if mean <= STANDARD_ERRORS * error:
            text += f" But no model is clearly better than always answering {label!r}, "
            text += f"which is right for {100 * largest:.2f} % of the rows."
        return text

    @cached_property
    def _right(self) -> Array:
        """Return 1 if a model is right, 0 if wrong, NaN if it failed, by row."""
        right = self.predictions == self.truth
        return np.where(self.predictions >= 0, right, np.nan)

    @property
    def _best(self) -> int:
        """Return the index of the most accurate model."""
        return int(np.argmax(np.nan_to_num(self.accuracy, nan=-1.0)))

    def _lowest_log_loss(self, names: Sequence[str]) -> str | None:
        """Return the one of these models with the lowest log loss, or None."""
        losses = dict(zip(self.names, self.log_loss.tolist(), strict=True))
        known = [name for name in names if np.isfinite(losses[name])]
        return min(known, key=losses.__getitem__, default=None)

    @property
    def _largest_class(self) -> tuple[int, Any, float]:
        """Return the index, label and share of the largest class."""
        counts = np.bincount(self.truth)
        k = int(counts.argmax())
        return k, self.classes.tolist()[k], float(counts[k] / counts.sum())

    def _table(self) -> Table:
        """Return the figures of the models."""
        accuracy, error = 100 * self.accuracy, 100 * self.standard_error
        difference, paired = 100 * self.difference, 100 * self.difference_error
        rows = []
        for k, name in enumerate(self.names):
            if name in self.failures:
                rows.append([name, "failed", "", "", ""])
                continue
            to_best = f"{difference[k]:.2f} ±{paired[k]:.2f}"
            loss = self.log_loss[k]
            rows.append(
                [
                    name,
                    f"{accuracy[k]:.2f} % ±{error[k]:.2f}",
                    "best" if name == self.best else to_best,
                    "-" if np.isnan(loss) else f"{loss:.4f}",
                    f"{self.fit_seconds[k]:.2g} s",
                ]
            )
        return Table(["model", "accuracy", "to best", "log loss", "one fit"], rows)

    def __repr__(self) -> str:
        n_models, n_rows = len(self.names), len(self.rows)
        return f"Comparison({n_models=}, {n_rows=}, choice={self.choice!r})"

    def _blocks(self) -> list[Block]:
        _, label, share = self._largest_class
        about = (
            f"{count(len(self.names), 'model')} on the same "
            f"{count(len(np.unique(self.folds)), 'fold')} of "
            f"{count(len(self.rows), 'row')}, each row held out once. Always answering "
            f"{label!r} is right for {100 * share:.2f} %."
        )
        failed = [f"{name} failed: {reason}" for name, reason in self.failures.items()]
        notes = [Paragraph([n], small=True) for n in [_CAVEAT, *failed, *self.notes]]
        advice = Paragraph([self.recommendation])
        return [Paragraph([about]), self._table(), advice, *notes]

    def to_frame(self) -> Any:
        """Return the models as a pandas DataFrame, with shares from 0 to 1."""
        pd = import_pandas("to_frame")
        return pd.DataFrame(
            {
                "accuracy": self.accuracy,
                "standard_error": self.standard_error,
                "difference": self.difference,
                "difference_error": self.difference_error,
                "log_loss": self.log_loss,
                "fit_seconds": self.fit_seconds,
                "failure": [self.failures.get(name, "") for name in self.names],
            },
            index=pd.Index(self.names, name="model"),
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the accuracies and the differences from the best model.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib axes
            The axes.
        """
        return draw_comparison(self, ax)  # type: ignore[no-untyped-call]


def _mean_and_error(values: Array) -> tuple[Array, Array]:
    """Return means over the last axis, and their standard errors."""
    error = values.std(axis=-1, ddof=1) / np.sqrt(values.shape[-1])
    return values.mean(axis=-1), error


def compare(
    X: ArrayLike,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    models: Mapping[str, Any] | None = None,
    cv: int = 10,
    progress: Callable[[str, float], None] | None = None,
) -> Comparison:
    """Compare classifiers on the same folds and recommend one.

    Every row is held out once, and every model is evaluated on rows that neither its
    fit nor its tuning has seen. All models within one standard error of the best
    accuracy count as equally good, and the one of them with the lowest log loss is
    recommended.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows: real numbers, without missing values.
    y : array-like of shape (n_samples,)
        Class labels.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Whole numbers: weight 3 is three copies of the row, for every model.
    models : dict or None, default=None
        Classifiers by name. None in place of a classifier stands for the one of these
        seven with that name. By default all seven are compared:

        - "LDA": linear discriminant analysis, one covariance for all classes;
        - "GLD": `GaussianLinearDiscriminant()`;
        - "GLD with shrinkage": the same with ``shrinkage="cv"``;
        - "logistic regression" and
        - "linear SVM", both on standardized features;
        - "smoothed": :class:`SmoothedLinearDiscriminant`, for data that are not normal;
        - "QDA": quadratic discriminant analysis, whose boundaries are curved. If the
          covariance of a class is singular, it is run on standardized features with
          ``reg_param=0.01``, and a note says so.
    cv : int, default=10
        Number of folds, over which the rows of each class are dealt at random. Classes
        too small to keep two rows for training are never held out, and a note names
        them.
    progress : callable or None, default=None
        Called before each model and after each of its folds, with the name of the model
        and the share of the work done, for example ``progress=print``.

    Returns
    -------
    Comparison
        ``print`` and notebooks show a table and a recommendation; `plot` draws a chart,
        and `to_frame` returns a DataFrame.

    Notes
    -----
    A model that raises an error is shown as failed, with the reason; the others
    continue.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from heterolda import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> result = compare(X, y, models={"LDA": None, "GLD": None, "QDA": None})
    >>> result.best, result.as_good, result.choice
    ('LDA', ('LDA', 'QDA'), 'LDA')
    """
    chosen = check_models(models)
    check_number("cv", cv, 2, 1000, integer=True)
    if progress is not None:
        check_type("progress", progress, Callable, "a function or None")
    if lazy_backend(X) is not None:
        raise TypeError("compare needs all rows in memory: call compute() first")
    reject_device(X, "compare")
    with readable_rows(X), missing_values_as(None):
        numbers, labels = check_X_y(X, label_array(y), dtype=np.float64)
    weight = check_sample_weight(sample_weight, len(numbers))
    reason = "compare repeats rows, as some models take no weights"
    kept = copies_of_rows(np.arange(len(numbers)), weight, reason)
    # Copies of a row are held out together.
    folds = folds_of(np.unique(labels, return_inverse=True)[1], int(cv))[kept]
    numbers, labels = numbers[kept], labels[kept]
    classes = check_labels(labels) if len(labels) else labels
    check_several_classes(len(classes))
    codes = encode(labels, classes)
    for k in range(len(classes)):
        # At least two rows of a class must remain, whichever fold is held out.
        held = np.bincount(folds[codes == k])
        if held.sum() - held.max() < 2:
            folds[codes == k] = -1
    held_out = folds >= 0
    if not held_out.any():
        raise ParameterError(
            "y",
            ": no class has three rows, so none can be held out: are these "
            "class labels?",
        )
    outcomes: dict[str, HeldOut] = {}
    for name, model in chosen.items():

        def report(share: float, name: str = name) -> None:
            if progress is not None:
                progress(name, (len(outcomes) + share) / len(chosen))

        report(0)
        outcomes[name] = evaluate(model, numbers, labels, folds, report)
    notes = []
    if not held_out.all():
        others = codes[~held_out]
        notes.append(
            f"No model was evaluated on {count(len(others), 'row')} of the classes "
            f"{named(classes[np.unique(others)])}: these classes are too small to hold "
            "out any, so their rows are in every training set."
        )
    results = outcomes.values()
    notes += [f"{name}: {note}" for name in outcomes for note in outcomes[name].notes]
    return Comparison(
        names=tuple(outcomes),
        classes=classes,
        rows=kept[held_out],
        folds=folds[held_out],
        truth=codes[held_out],
        predictions=np.array([result.predictions[held_out] for result in results]),
        log_loss=np.array([result.log_loss[held_out].mean() for result in results]),
        fit_seconds=np.array([result.seconds for result in results]),
        failures={name: out.failure for name, out in outcomes.items() if out.failure},
        notes=tuple(notes),
    )
