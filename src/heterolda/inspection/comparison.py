"""Several classifiers on the same folds, and which of them to use."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_X_y

from heterolda.data.lazy import lazy_backend
from heterolda.estimators.local_search import LocalNeighborhoodSearch
from heterolda.exceptions import ParameterError, SearchInterruptedWarning, Setting
from heterolda.foundations.types import Array, Index
from heterolda.foundations.validation import check_number
from heterolda.foundations.wording import count, named, text_table
from heterolda.inspection._compared_models import check_models
from heterolda.inspection._held_out import NOT_FINISHED, FoldedRows, HeldOut, judge
from heterolda.inspection.displays.comparison_chart import draw_comparison

# A model this many standard errors of the difference behind the best is behind it.
_STANDARD_ERRORS = 2.0
_WIDTH = 88

# Is called with the share of the work that is done, and the name of the model at work.
CompareProgress = Callable[[float, str], None]


@dataclass(frozen=True)
class Comparison:
    r"""What :func:`compare` finds; ``print`` shows it as a table.

    All figures are of rows held out. With the weight :math:`w_i` of row i,
    :math:`W = \sum_i w_i` and the values :math:`v_i`, which are 1 for a row that is
    right and 0 for others, accuracy and standard error are

    .. math::
        \bar v = \frac1W \sum_i w_i v_i, \quad
        \sqrt{\frac1{W (W - 1)} \sum_i w_i (v_i - \bar v)^2}.

    Those of the difference to the best model have the differences of the two models'
    values in place of :math:`v_i`: rows that both models decide alike drop out, so it
    is known far better than either accuracy.

    Attributes
    ----------
    names : tuple of str
        The models, simplest first.
    classes : ndarray of shape (n_classes,)
        Labels.
    rows : ndarray of shape (n_rows,)
        Indices of the rows that were held out, each once.
    folds : ndarray of shape (n_rows,)
        The fold that held out each of them.
    truth : ndarray of shape (n_rows,)
        Their class indices.
    weights : ndarray of shape (n_rows,)
        Their weights.
    predictions : ndarray of shape (n_models, n_rows)
        Class indices that the models predict; -1 for a model that failed.
    log_loss : ndarray of shape (n_models,)
        Mean of minus the logarithm of the true class's probability; NaN for a model
        without probabilities.
    fit_seconds : ndarray of shape (n_models,)
        Mean time of one fit.
    linear : ndarray of bool of shape (n_models,)
        Which models have linear boundaries: those with `coef_`.
    failures : dict
        Why models failed, by their names, also those that were not finished.
    notes : tuple of str
        What the models warned of, and rows on which no model was judged.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from heterolda import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare(X, y, models={"LDA": None, "naive Bayes": GaussianNB()})
    >>> found.accuracy.round(3)
    array([0.98 , 0.953])
    >>> found.difference.round(3), found.difference_error.round(3)
    (array([ 0.   , -0.027]), array([0.   , 0.016]))
    """

    names: tuple[str, ...]
    classes: NDArray[Any]
    rows: Index
    folds: Index
    truth: Index
    weights: Array
    predictions: Index
    log_loss: Array
    fit_seconds: Array
    linear: NDArray[np.bool_]
    failures: dict[str, str]
    notes: tuple[str, ...]

    @property
    def right(self) -> Array:
        """1 where a model is right and 0 elsewhere, (n_models, n_rows); or NaN."""
        right: Array = (self.predictions == self.truth).astype(np.float64)
        right[self._failed] = np.nan
        return right

    @property
    def accuracy(self) -> Array:
        """Share of the held-out rows that each model has right; NaN if it failed."""
        return self._mean_and_error(self.right)[0]

    @property
    def standard_error(self) -> Array:
        """Standard errors of `accuracy`."""
        return self._mean_and_error(self.right)[1]

    @property
    def difference(self) -> Array:
        """Accuracy of each model less that of the best: 0 or negative."""
        return self._mean_and_error(self.right - self.right[self._best])[0]

    @property
    def difference_error(self) -> Array:
        """Standard errors of `difference`, of which each row is a pair of answers."""
        return self._mean_and_error(self.right - self.right[self._best])[1]

    @property
    def finished(self) -> bool:
        """Whether all models were tried; not so after an interrupt."""
        return NOT_FINISHED not in self.failures.values()

    @property
    def best(self) -> str | None:
        """The model with the most held-out rows right, the simplest of equals."""
        return None if self._failed.all() else self.names[self._best]

    @property
    def choice(self) -> str | None:
        """The simplest model that is not clearly behind the best.

        That is, not by more than two standard errors of the difference.
        """
        return None if self._failed.all() else self.names[self._choose(~self._failed)]

    def _choose(self, among: NDArray[np.bool_]) -> int:
        """The simplest of some models that is not clearly behind the best of them."""
        right = self.right
        # Sums in another order may differ in their last digit.
        best = np.argmax(np.where(among, self.accuracy.round(12), -1.0))
        mean, error = self._mean_and_error(right - right[best])
        near = among & (mean >= -_STANDARD_ERRORS * error - 1e-12)
        return int(np.argmax(near))

    @property
    def _failed(self) -> NDArray[np.bool_]:
        return np.array([name in self.failures for name in self.names])

    @property
    def _best(self) -> int:
        if self._failed.all():
            return 0
        # Sums in another order may differ in their last digit.
        return int(np.nanargmax(self.accuracy.round(12)))

    def _mean_and_error(self, values: Array) -> tuple[Array, Array]:
        """Weighted mean over the rows, and its standard error."""
        total = self.weights.sum()
        mean = values @ self.weights / total
        squares = (values - mean[:, None]) ** 2 @ self.weights
        error: Array = np.sqrt(squares / (total * max(total - 1, 1.0)))
        return mean, error

    @property
    def recommendation(self) -> str:
        """Which model to use, and why, in a few plain sentences."""
        if self.best is None or self.choice is None:
            return "No model could be fitted: the reasons are below."
        best, k = self._best, self.names.index(self.choice)
        simpler = set(self.names[:k]) - set(self.failures)
        if k == best:
            rest = "it is the simplest"
            if simpler:
                rest = (
                    "the simpler ones are behind by more than two standard errors of "
                    "the difference"
                )
            reason = f"no model has more of the held-out rows right, and {rest}"
        else:
            gap, error = -100 * self.difference[k], 100 * self.difference_error[k]
            rest = "no simpler model is so near" if simpler else "it is the simplest"
            reason = (
                f"it is {gap:.2f} points behind {self.best}, the best here, which is "
                f"within two standard errors of the difference (2 x {error:.2f}), and "
                f"{rest}"
            )
        return (
            f"Use {self.choice}: {reason}.{self._of_linear()}{self._against_constant()}"
        )

    def _of_linear(self) -> str:
        """Which linear model to use, if the choice is not linear."""
        among = self.linear & ~self._failed
        if not among.any() or among[self.names.index(self.choice or "")]:
            return ""
        k = self._choose(among)
        return (
            f" If the boundaries have to be linear, use {self.names[k]} "
            f"({100 * self.accuracy[k]:.2f} %)."
        )

    def _against_constant(self) -> str:
        """A warning if nothing is better than the label of the largest class."""
        label, share = self._largest_class()
        best = self.right[self._best]
        constant = self.truth == np.searchsorted(self.classes, label)
        mean, error = self._mean_and_error((best - constant)[None])
        if mean[0] > _STANDARD_ERRORS * error[0]:
            return ""
        return (
            f" But no model is clearly better than always answering {label!r}, which "
            f"is right for {100 * share:.2f} %."
        )

    def _largest_class(self) -> tuple[Any, float]:
        """Label of the class with most of the rows, and its share."""
        totals = np.bincount(self.truth, self.weights, len(self.classes))
        k = int(totals.argmax())
        return self.classes.tolist()[k], float(totals[k] / totals.sum())

    @property
    def _caveat(self) -> str:
        n = int(np.sum(~self._failed))
        caveat = (
            "The simplest model is first. Standard errors (+-) are those of the rows "
            "held out; they do not cover that other training rows would give other "
            "rules."
        )
        if n > 1:
            caveat += (
                f" The best of {n} on the same rows is flattered a little: part of its "
                "lead may be luck."
            )
        return caveat

    @property
    def _head(self) -> str:
        label, share = self._largest_class()
        return (
            f"{count(len(self.names), 'model')} on the same "
            f"{count(len(np.unique(self.folds)), 'fold')} of "
            f"{count(len(self.rows), 'row')}, each row held out once. Always answering "
            f"{label!r} is right for {100 * share:.2f} %."
        )

    @property
    def _remarks(self) -> list[str]:
        """What went wrong, and what to know besides."""
        failed = [
            f"{name} failed: {why}"
            for name, why in self.failures.items()
            if why != NOT_FINISHED
        ]
        return [*failed, *self.notes]

    def _table(self) -> list[list[str]]:
        """Head and rows of the table, as text."""
        table = [["model", "accuracy", "+-", "to best", "+-", "log loss", "one fit"]]
        figures = zip(
            self.names,
            self.accuracy,
            self.standard_error,
            self.difference,
            self.difference_error,
            self.log_loss,
            self.fit_seconds,
            strict=True,
        )
        for name, accuracy, error, difference, paired, loss, seconds in figures:
            if name in self.failures:
                unfinished = self.failures[name] == NOT_FINISHED
                word = NOT_FINISHED if unfinished else "failed"
                table.append([name, word, *[""] * 5])
                continue
            is_best = name == self.best
            table.append(
                [
                    name,
                    f"{100 * accuracy:.2f} %",
                    f"{100 * error:.2f}",
                    "best" if is_best else f"{100 * difference:.2f}",
                    "" if is_best else f"{100 * paired:.2f}",
                    "-" if np.isnan(loss) else f"{loss:.4f}",
                    _duration(seconds),
                ]
            )
        return table

    def __str__(self) -> str:
        paragraphs = [self.recommendation, self._caveat, *self._remarks]
        wrapped = [textwrap.fill(text, _WIDTH) for text in [self._head, *paragraphs]]
        table = "\n".join(text_table(self._table()))
        return "\n\n".join([wrapped[0], table, *wrapped[1:]])

    def _repr_html_(self) -> str:
        head, *body = self._table()
        style = 'style="text-align: right"'
        heads = "".join(f'<th scope="col" {style}>{escape(cell)}</th>' for cell in head)
        lines = []
        for name, *cells in body:
            shown = escape(name)
            shown = f"<strong>{shown}</strong>" if name == self.choice else shown
            lines.append(
                f'<tr><th scope="row">{shown}</th>'
                + "".join(f"<td {style}>{escape(cell)}</td>" for cell in cells)
                + "</tr>"
            )
        remarks = "".join(f"<li>{escape(remark)}</li>" for remark in self._remarks)
        return (
            f"<div><p>{escape(self._head)}</p>"
            f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody>"
            f"</table><p><strong>{escape(self.recommendation)}</strong></p>"
            f"<p>{escape(self._caveat)}</p>"
            + (f"<ul>{remarks}</ul>" if remarks else "")
            + "</div>"
        )

    def to_frame(self) -> Any:
        """The models as a pandas DataFrame, one row each, with shares from 0 to 1."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas") from error
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
        """Draw the accuracies, and how far the models are from the best.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib axes
            Where it was drawn.
        """
        return draw_comparison(self, ax)  # type: ignore[no-untyped-call]


def compare(
    X: ArrayLike,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    models: Mapping[str, Any] | None = None,
    cv: int = 10,
    random_state: Any = 0,
    progress: CompareProgress | None = None,
) -> Comparison:
    """Compare classifiers on the same folds, and say which one to use.

    Every row is held out once, and every model is judged on the rows that it was not
    fitted to; what a model chooses, it chooses without them. The recommended model is
    the simplest that is not behind the best by more than two standard errors of the
    difference.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows: real numbers, without missing values.
    y : array-like of shape (n_samples,)
        Class labels.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Frequencies: weight 3 equals three copies of the row. A model that takes no
        weights is given copies, if all are whole numbers.
    models : dict or None, default=None
        Classifiers by the names that the table gives them, the simplest first. In
        place of a classifier, None stands for the one of these seven that has the
        name; by default all seven are compared:

        - "LDA": linear discriminant analysis, one covariance for all classes;
        - "GLD": `GaussianLinearDiscriminant()`;
        - "GLD with shrinkage": the same with ``shrinkage="cv"``;
        - "logistic regression" and
        - "linear SVM", both on standardised features;
        - "recommended()": :func:`recommended`, which chooses by cross-validation of
          its own;
        - "QDA": quadratic discriminant analysis, last because it alone has curved
          boundaries, with a covariance matrix for each class to keep and to explain.
    cv : int, default=10
        Number of folds. The rows of each class are dealt out evenly, and equal rows of
        a class go to the same fold. Classes that have no two rows left without one of
        their folds are never held out, and a note names them.
    random_state : int, RandomState instance or None, default=0
        For the folds.
    progress : callable or None, default=None
        Called when a model begins and after each of its folds, with the share of the
        work that is done and the name of the model; ``progress=print`` will do.

    Returns
    -------
    Comparison
        ``print`` shows a table and a recommendation, as do notebooks; `plot` draws,
        `to_frame` gives a DataFrame.

    Notes
    -----
    A model that raises an error is shown as failed, with the reason; the others go on.
    KeyboardInterrupt ends the comparison with the models that are finished, and a
    `SearchInterruptedWarning`. Searches, which take longest, come last.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from heterolda import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare(X, y, models={"LDA": None, "GLD": None, "QDA": None})
    >>> found.choice
    'LDA'
    """
    chosen = check_models(models)
    check_number("compare", "cv", cv, 2, 1000, integer=True)
    if lazy_backend(X) is not None:
        raise TypeError("compare needs all rows in memory: call compute() first")
    numbers, labels = check_X_y(X, y, dtype=np.float64)
    rows, kept = FoldedRows.from_arrays(numbers, labels, sample_weight)
    rows = rows.dealt(int(cv), random_state)
    if not len(rows.folds):
        raise ParameterError(
            Setting("y"),
            ": no class has three different rows, so that none can be held out: are "
            "these labels of classes?",
        )
    found = _judge_all(chosen, rows, progress)
    judged = rows.judged
    weights = np.ones(len(rows.codes)) if rows.weight is None else rows.weight
    losses = np.array([model.log_loss for model in found.values()])
    return Comparison(
        names=tuple(found),
        classes=rows.classes,
        rows=kept[judged],
        folds=rows.fold[judged],
        truth=rows.codes[judged],
        weights=weights[judged],
        predictions=np.array([model.predictions for model in found.values()]),
        log_loss=losses @ weights[judged] / weights[judged].sum(),
        fit_seconds=np.array([model.seconds for model in found.values()]),
        linear=np.array([model.linear for model in found.values()]),
        failures={k: model.failure for k, model in found.items() if model.failure},
        notes=(*_never_held_out(rows), *_warned(found)),
    )


def _judge_all(
    models: dict[str, Any], rows: FoldedRows, progress: CompareProgress | None
) -> dict[str, HeldOut]:
    """Judge all models, in their order; after an interrupt those that are finished."""
    found: dict[str, HeldOut] = {}
    n_folds = len(rows.folds)

    def report(n_done: int, name: str) -> None:
        if progress is not None:
            progress((len(found) + n_done / n_folds) / len(models), name)

    # Searches come last: whoever loses patience has the others.
    order = sorted(
        models, key=lambda name: isinstance(models[name], LocalNeighborhoodSearch)
    )
    try:
        for name in order:
            report(0, name)
            found[name] = judge(models[name], rows, partial(report, name=name))
    except KeyboardInterrupt:
        if not found:
            raise
        warnings.warn(
            f"interrupted after {len(found)} of {len(models)} models: the others are "
            "shown as not finished",
            SearchInterruptedWarning,
            stacklevel=3,
        )
    missing = HeldOut.failed(len(rows.judged), NOT_FINISHED)
    return {name: found.get(name, missing) for name in models}


def _never_held_out(rows: FoldedRows) -> list[str]:
    """A note about rows on which no model was judged."""
    left = np.unique(rows.codes[rows.fold < 0])
    if not len(left):
        return []
    n = int(np.sum(rows.fold < 0))
    return [
        f"No model was judged on {count(n, 'row')} of the classes "
        f"{named(rows.classes[left])}: with so few, none can be held out, and they are "
        "in every training set."
    ]


def _warned(found: dict[str, HeldOut]) -> list[str]:
    """The warnings of the models."""
    return [f"{name}: {note}" for name, model in found.items() for note in model.notes]


def _duration(seconds: float) -> str:
    """A time with two digits or so: 0.8 ms, 12 ms, 3.4 s."""
    if seconds < 0.1:
        return f"{1000 * seconds:.2g} ms"
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"
