"""Compare several classifiers on the same held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import check_X_y

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Index, import_pandas, reject_device
from heterolda.foundations.threads import silent
from heterolda.foundations.validation import (
    check_type,
    label_array,
    missing_values_as,
    readable_rows,
)
from heterolda.foundations.wording import count, percent
from heterolda.inspection.blocks import Block, Paragraph, Shown, Table
from heterolda.inspection.displays.comparison_chart import draw_comparison
from heterolda.inspection.evaluation import (
    Aim,
    check_classifier,
    check_in_memory,
    constant_answers,
    held_rows,
    sums_of,
)
from heterolda.inspection.held_out import LDA, Answers, HeldOut, answers_of, by_rows
from heterolda.inspection.losses import Losses, conclusion
from heterolda.inspection.splits import FOLDS

# Regularization of QDA on standardized features if a covariance is singular. On five
# data sets its accuracy is at most 3 points below that with 0.001, and its log loss is
# lower; 0.1 loses up to 13 points.
_REG_PARAM = 0.01
_SINGULAR = (
    "the covariance of a class is singular, so it was run on standardized features "
    f"with reg_param={_REG_PARAM}"
)
_CAVEAT = (
    "Standard errors (±) cover the choice of held-out rows, not that of training "
    "rows. The best of several models on the same rows looks slightly too good: part "
    "of its lead may be luck."
)


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """The result of :func:`compare`; ``print`` shows it as a table.

    All figures are of held-out rows. Rows for which two models predict the same class
    cancel in the difference of their accuracies, which is far more precise than either.
    With groups, standard errors are those of groups.

    Attributes
    ----------
    method : str
        How the rows were held out, in words.
    names : tuple of str
        The models.
    classes : ndarray of shape (n_classes,)
        Labels.
    rows : ndarray of shape (n_rows,)
        Indices of the rows that were held out.
    truth : ndarray of shape (n_rows,)
        Their class indices.
    predictions : ndarray of shape (n_models, n_rows)
        Predicted class indices; -1 for a model that failed.
    losses : object
        Losses of the models that did not fail and of the constant rule, and their
        paired differences.
    constant : object
        The class that the constant rule answers.
    log_loss : ndarray of shape (n_models,)
        Mean of minus the logarithm of the true class's probability; NaN for a model
        without probabilities.
    fit_seconds : ndarray of shape (n_models,)
        Mean time of one fit.
    code : dict
        How to make each model in Python.
    failures : dict
        Reasons why models failed, by name.
    notes : tuple of str
        Warnings of the models, and what the figures do not cover.

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

    method: str
    names: tuple[str, ...]
    classes: NDArray[Any]
    rows: Index
    truth: Index
    predictions: Index
    losses: Losses
    constant: Any
    fit_seconds: Array
    code: dict[str, str]
    failures: dict[str, str]
    notes: tuple[str, ...]

    @property
    def accuracy(self) -> Array:
        """Return the share of held-out rows each model gets right; NaN if it failed."""
        return self._of_models(1 - self.losses.error)

    @property
    def standard_error(self) -> Array:
        """Return the standard errors of `accuracy`."""
        return self._of_models(self.losses.value_error)

    @property
    def log_loss(self) -> Array:
        """Return the log losses; NaN for models without probabilities."""
        return self._of_models(self.losses.log_loss)

    @property
    def difference(self) -> Array:
        """Return each model's accuracy minus the best."""
        k = int(self.losses.error[:-1].argmin()) if self.best else 0
        return self._of_models(self.losses.difference[k])

    @property
    def difference_error(self) -> Array:
        """Return the standard errors of `difference`, from paired predictions."""
        k = int(self.losses.error[:-1].argmin()) if self.best else 0
        return self._of_models(self.losses.standard_error[k])

    def _of_models(self, values: Array) -> Array:
        """Return values by model, NaN for those that failed."""
        by_name = dict(zip(self.losses.names[:-1], values, strict=False))
        return np.array([by_name.get(name, np.nan) for name in self.names])

    @property
    def best(self) -> str | None:
        """Return the model with the highest accuracy; the first of several that tie."""
        if np.isnan(self.accuracy).all():
            return None
        return self.names[int(np.nanargmax(self.accuracy))]

    @property
    def as_good(self) -> tuple[str, ...]:
        """Return the models that are not clearly worse than the best.

        These are all within two standard errors of the difference. None is, if no model
        is clearly better than always answering the same class.
        """
        return tuple(self.losses.names[k] for k in self.losses.as_good)

    @property
    def choice(self) -> str | None:
        """Return LDA if it is as good, or the model of `as_good` of least log loss."""
        k = self.losses.choice
        return None if k is None else self.losses.names[k]

    @property
    def conclusion(self) -> str:
        """Return which model to use, why, and how, in a few sentences."""
        if self.best is None:
            return "No model could be fitted. The reasons are below."
        text = conclusion(self.losses, self.constant)
        if self.choice in self.code:
            text += f" In Python, {self.choice} is {self.code[self.choice]}."
        return text

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
        always = f"Always answering {self.constant!r} is wrong for "
        about = (
            f"{count(len(self.names), 'model')}, {self.method}: "
            f"{count(len(np.unique(self.rows)), 'row')}. {always}"
            f"{percent(float(self.losses.error[-1]))}."
        )
        failed = [f"{name} failed: {reason}" for name, reason in self.failures.items()]
        notes = [Paragraph([n], small=True) for n in [_CAVEAT, *failed, *self.notes]]
        advice = Paragraph([self.conclusion])
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


def compare(
    X: ArrayLike,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    models: Mapping[str, Any] | None = None,
    cv: Any = FOLDS,
    random_state: Any = 0,
    progress: Callable[[str, float], None] | None = None,
) -> Comparison:
    """Compare classifiers on the same held-out rows and recommend one.

    Every model is evaluated on rows that neither its fit nor its tuning has seen. All
    models within two standard errors of the best accuracy count as equally good. LDA is
    recommended if it is one of them, as it is the simplest; otherwise the one with the
    lowest log loss; and none if no model is clearly better than a constant answer.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows: real numbers, without missing values.
    y : array-like of shape (n_samples,)
        Class labels.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Frequencies; whole numbers, as some models take no weights: their rows are
        repeated.
    groups : array-like of shape (n_samples,) or None, default=None
        Groups of rows that are more alike, to be held out as a whole, as in
        :func:`evaluate`.
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
    cv : int, splitter or iterable, default=5
        How rows are held out, as in :func:`evaluate`.
    random_state : int, RandomState instance or None, default=0
        Seed of random folds.
    progress : callable or None, default=None
        Called before each model and after each of its folds, with the name of the model
        and the share of the work done, for example ``progress=print``.

    Returns
    -------
    Comparison
        ``print`` and notebooks show a table and a conclusion; `plot` draws a chart, and
        `to_frame` returns a DataFrame.

    See Also
    --------
    evaluate : Evaluate one classifier in more detail, on the same rows.

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
    ('LDA', ('LDA', 'GLD', 'QDA'), 'LDA')
    """
    chosen = check_models(models)
    if progress is not None:
        check_type("progress", progress, Callable, "a function or None")
    show = progress or silent
    check_in_memory(X)
    reject_device(X, "compare")
    with readable_rows(X), missing_values_as(None):
        numbers, labels = check_X_y(X, label_array(y), dtype=np.float64)
    held = held_rows(numbers, labels, sample_weight, groups, cv, random_state)
    answers: dict[str, Answers] = {}
    failures: dict[str, str] = {}
    for name, model in chosen.items():
        before = len(answers) + len(failures)

        def report(
            _: str, share: float, name: str = name, before: int = before
        ) -> None:
            show(name, (before + share) / len(chosen))

        report("", 0)
        try:
            answers[name] = _answers_of(model, held, report)
        except _ReportError as error:
            raise error.args[0] from None
        except Exception as error:
            if getattr(error, "parameter", None) == "sample_weight":
                raise
            cause = error.__cause__ or error
            failures[name] = f"{type(cause).__name__}: {cause}"
    codes = {name: one.codes for name, one in answers.items()}
    seconds = {name: one.seconds for name, one in answers.items()}
    notes = [f"{name}: {n}" for name, one in answers.items() for n in one.warnings]
    answers["constant"] = constant_answers(held, Aim())
    sums = sums_of(held, answers)
    failed = np.full(len(held.rows), -1)
    return Comparison(
        method=held.splits.words,
        names=tuple(chosen),
        classes=held.classes,
        rows=held.rows,
        truth=held.codes[held.rows],
        predictions=np.array([codes.get(name, failed) for name in chosen]),
        losses=sums.losses(),
        constant=sums.most_constant,
        fit_seconds=np.array([seconds.get(name, np.nan) for name in chosen]),
        code={name: _code(model) for name, model in chosen.items()},
        failures=failures,
        notes=(*held.splits.notes, *notes),
    )


def _defaults() -> dict[str, Any]:
    """Return the models that are compared by default."""
    return {
        "LDA": LDA(),
        "GLD": GaussianLinearDiscriminant(),
        "GLD with shrinkage": GaussianLinearDiscriminant(shrinkage="cv"),
        "logistic regression": make_pipeline(
            StandardScaler(), LogisticRegression(max_iter=1000)
        ),
        "linear SVM": make_pipeline(StandardScaler(), LinearSVC(random_state=0)),
        "smoothed": SmoothedLinearDiscriminant(),  # type: ignore[no-untyped-call]
        "QDA": QuadraticDiscriminantAnalysis(),
    }


def check_models(models: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return classifiers by name, replacing None with the default of that name."""
    defaults = _defaults()
    if models is None:
        return defaults
    if not isinstance(models, Mapping) or not models:
        raise ParameterError(
            "models", f"must be a dict of classifiers by name, got {models!r:.50}"
        )
    chosen = {}
    for name, model in models.items():
        if model is None and name not in defaults:
            raise ParameterError(
                "models",
                f": None is allowed only for {list(defaults)}, got {name!r}",
            )
        if model is not None:
            check_classifier("models", model, f": {name!r}")
        chosen[str(name)] = defaults[name] if model is None else model
    return chosen


def _code(model: Any) -> str:
    """Return how to make a model in Python."""
    if isinstance(model, LDA):
        return "LinearDiscriminantAnalysis() of sklearn"
    steps = getattr(model, "steps", [("", model)])
    text = ", ".join(" ".join(repr(step).split()) for _, step in steps)
    package = type(steps[-1][1]).__module__.partition(".")[0]
    return f"make_pipeline({text})" if len(steps) > 1 else f"{text} of {package}"


def _answers_of(
    model: Any, held: HeldOut, report: Callable[[str, float], None]
) -> Answers:
    """Return the answers of a model; QDA of singular covariances is regularized."""

    def show(text: str, share: float) -> None:
        try:
            report(text, share)
        except Exception as error:  # the caller's, not the model's
            raise _ReportError(error) from error

    is_plain_qda = type(model) is QuadraticDiscriminantAnalysis and not model.reg_param
    text = ""
    try:
        fit = model if isinstance(model, LDA) else by_rows(model, held)
        answers = answers_of(fit, held, show)
        text = " ".join(answers.warnings)
    except ValueError as error:  # newer versions of scikit-learn raise it
        text = str(error)
        if not (is_plain_qda and _is_singular(text)):
            raise
    if is_plain_qda and _is_singular(text):
        qda = QuadraticDiscriminantAnalysis(reg_param=_REG_PARAM)
        again = _answers_of(make_pipeline(StandardScaler(), qda), held, report)
        return replace(again, warnings=(_SINGULAR, *again.warnings))
    return answers


def _is_singular(text: str) -> bool:
    return "not full rank" in text or "collinear" in text


class _ReportError(Exception):
    """Carry an error of the function that shows progress."""
