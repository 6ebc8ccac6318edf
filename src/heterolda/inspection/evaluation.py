"""Evaluate a classifier on rows that its fits have not seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Index, import_pandas, on_host
from heterolda.foundations.collections import lazy_backend
from heterolda.foundations.draws import seed_of, smallest
from heterolda.foundations.threads import Progress, silent
from heterolda.foundations.validation import (
    check_labels,
    encode,
    label_array,
    readable_rows,
)
from heterolda.foundations.wording import percent
from heterolda.inspection.blocks import Block, Shown
from heterolda.inspection.displays.evaluation import draw_evaluation
from heterolda.inspection.evaluation_text import evaluation_blocks
from heterolda.inspection.held_out import (
    LDA,
    Answers,
    Constant,
    HeldOut,
    RefitError,
    answers_of,
    by_rows,
)
from heterolda.inspection.losses import Losses, Sums, conclusion
from heterolda.inspection.splits import FOLDS, ONE_GROUP, Splits, codes_of, splits_of
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.rows import check_frequencies
from heterolda.statistics.samples import RowSample
from heterolda.tradeoff.criteria import check_costs, check_max_error

MODEL = "this model"
_MANY_COPIES, _EXAMINED = 0.05, 200_000  # share of the rows, and how many are examined
_NO_LDA = "LDA was not compared, as it needs rows of numbers."


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation(Shown):
    r"""The result of :func:`evaluate`; ``print`` and notebooks show it.

    All figures are of rows that the fit has not seen. Intervals have 95 % confidence:
    Wilson's, for as many rows as a fit has, since tests of fits that share rows are not
    independent. Rows of a group count as alike; then intervals are wider, with
    Student's quantile for so many groups.

    Attributes
    ----------
    method : str
        How the rows were held out, in words.
    n_rows : float
        Total weight of the tested rows.
    n_groups : int
        Number of groups among them; 0 if rows are independent.
    classes : ndarray of shape (n_classes,)
        Labels.
    confusion : ndarray of shape (n_classes, n_classes)
        Weight of the rows by true class (rows) and predicted class (columns).
    error_interval : ndarray of shape (2,)
        Interval of `error`.
    recall_interval, precision_interval : ndarray of shape (n_classes, 2)
        Intervals of `recall` and `precision`.
    reliability : ndarray of shape (3, 10)
        In equal bins of the probability of the predicted class: weight of the rows,
        their weighted sum of this probability, and weight of those that are right.
    losses : object
        Losses of the model, LDA and the constant rule, and their paired differences.
    constant : object
        The class that the constant rule answers most often.
    bounded : object or None
        The class whose error rate is bounded.
    notes : tuple of str
        What the figures do not cover.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from heterolda import SmoothedLinearDiscriminant, evaluate
    >>> X, y = load_wine(return_X_y=True)
    >>> result = evaluate(SmoothedLinearDiscriminant(), X, y)
    >>> result.method, result.recall.round(2)
    ('5-fold cross-validation', array([1.  , 0.97, 0.98]))
    """

    method: str
    n_rows: float
    n_groups: int
    classes: NDArray[Any]
    confusion: Array
    error_interval: Array
    recall_interval: Array
    precision_interval: Array
    reliability: Array
    losses: Losses
    constant: Any
    bounded: Any = None
    notes: tuple[str, ...] = ()

    @property
    def error(self) -> float:
        """Return the share of the rows that are wrong."""
        return float(self.losses.error[0])

    @property
    def accuracy(self) -> float:
        """Return the share of the rows that are right."""
        return 1 - self.error

    @property
    def log_loss(self) -> float:
        """Return the log loss; NaN without probabilities."""
        return float(self.losses.log_loss[0])

    @property
    def brier_score(self) -> float:
        """Return the mean squared error of the probabilities, summed over classes."""
        return float(self.losses.brier_score[0])

    @property
    def expected_cost(self) -> float:
        """Return the mean cost of a row; NaN if the model has no costs."""
        decides = self.losses.decides_by == "expected cost"
        return float(self.losses.value[0]) if decides else np.nan

    @property
    def expected_cost_interval(self) -> Array:
        """Return the interval of `expected_cost`."""
        half = self.losses.critical * self.losses.value_error[0]
        low = max(self.expected_cost - half, 0) if self.expected_cost >= 0 else np.nan
        return np.array([low, self.expected_cost + half])

    @property
    def bounded_rate(self) -> float:
        """Return the error rate of the bounded class; NaN without a bound."""
        return np.nan if self.bounded is None else float(self.losses.class_rate[0])

    @property
    def lda_error(self) -> float:
        """Return the error of LDA on the same rows; NaN if it was not compared."""
        lda = "LDA" in self.losses.names
        return float(self.losses.error[1]) if lda else np.nan

    @property
    def recall(self) -> Array:
        """Return the share of the rows of each class that are right; NaN without any.

        The error rate of a class is one minus this.
        """
        return _shares(self.confusion.diagonal(), self.confusion.sum(axis=1))

    @property
    def precision(self) -> Array:
        """Return the share of the answers of each class that are right, or NaN."""
        return _shares(self.confusion.diagonal(), self.confusion.sum(axis=0))

    @property
    def calibration_error(self) -> float:
        """Return the mean distance of probabilities from shares of right answers.

        It is NaN without probabilities.
        """
        weight, chances, right = self.reliability
        distance = float(np.abs(chances - right).sum())
        return distance / float(weight.sum()) if weight.any() else np.nan

    @property
    def conclusion(self) -> str:
        """Return whether to use the model, LDA or neither, and why."""
        return self.conclude()

    def conclude(self, model: str = MODEL, lda: str = "LDA") -> str:
        """Return the conclusion with names of the model and of LDA."""
        losses = replace(self.losses, names=(model, *self.losses.names[1:]))
        return conclusion(losses, self.constant, lda)

    def to_frame(self) -> Any:
        """Return the figures of the classes as a pandas DataFrame, one row each."""
        pd = import_pandas("to_frame")
        columns = {"rows": self.confusion.sum(axis=1)}
        for name in ("recall", "precision"):
            ends = getattr(self, f"{name}_interval").T
            columns[name] = getattr(self, name)
            columns |= {f"{name} low": ends[0], f"{name} high": ends[1]}
        return pd.DataFrame(columns, index=pd.Index(self.classes, name="class"))

    def plot(self, ax: Any = None) -> Any:
        """Draw the confusion matrix, and the reliability of the probabilities.

        Parameters
        ----------
        ax : sequence of two matplotlib axes or None, default=None
            Axes to draw on; a new figure by default.

        Returns
        -------
        ndarray of two matplotlib axes
            The axes.
        """
        return draw_evaluation(self, ax)  # type: ignore[no-untyped-call]

    def __repr__(self) -> str:
        low, high = self.error_interval
        return (
            f"Evaluation(error={self.error:.4f}, interval=({low:.4f}, {high:.4f}), "
            f"n_rows={self.n_rows:g}, method={self.method!r})"
        )

    def _blocks(self) -> list[Block]:
        return evaluation_blocks(self)

    @classmethod
    def of(
        cls, sums: Sums, aim: Aim, method: str, notes: tuple[str, ...] = ()
    ) -> Evaluation:
        """Return the evaluation that sums of rows amount to."""
        error, recall, precision = sums.intervals()
        groups = sums.groups
        return cls(
            method=method,
            n_rows=sums.weight,
            n_groups=0 if groups is None else len(groups),
            classes=sums.classes,
            confusion=sums.confusions[0],
            error_interval=error,
            recall_interval=recall,
            precision_interval=precision,
            reliability=sums.reliability,
            losses=sums.losses(aim.bound, minimax=aim.minimax),
            constant=sums.most_constant,
            bounded=None if aim.bound is None else sums.classes.tolist()[aim.bound[0]],
            notes=notes,
        )


def _shares(parts: Array, wholes: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(wholes > 0, parts / wholes, np.nan)


@dataclass(frozen=True)
class Aim:
    """The aim of a classifier, besides few errors, and the priors it is fitted with."""

    costs: Array | None = None  # that decide between classifiers
    bound: tuple[int, float] | None = None  # on the error rate of a class
    minimax: bool = False
    priors: Any = None
    class_weight: Any = None

    @classmethod
    def of(cls, model: Any, classes: NDArray[Any]) -> Aim:
        """Read the parameters of a classifier, or of the one inside it."""
        given: dict[str, Any] = {}
        settings = model.get_params() if hasattr(model, "get_params") else {}
        for name in sorted(settings, key=lambda name: name.count("__")):
            if settings[name] is not None:
                given.setdefault(name.rpartition("__")[2], settings[name])
        names = "priors", "class_weight"
        priors: dict[str, Any] = {name: given.get(name) for name in names}
        limit = given.get("max_error")
        is_one = not isinstance(limit, dict) or len(limit) == 1
        if limit is not None and is_one and len(classes) == 2:
            one = cls.of_bound(limit, classes)
            return cls(one.costs, one.bound, **priors)
        minimax = given.get("criterion") == "minimax"
        given_costs = given.get("costs")
        costs = None if given_costs is None else check_costs(given_costs, classes)
        return cls(costs, None, minimax, **priors)

    @classmethod
    def of_bound(cls, limit: Any, classes: NDArray[Any]) -> Aim:
        """Return the aim of few errors in one class, and a bound in the other."""
        if not isinstance(limit, dict):
            limit = {classes.tolist()[1]: limit}
        k, q = check_max_error(limit, classes)
        others = np.zeros((2, 2))
        others[1 - k, k] = 1.0
        return cls(others, (k, q))

    @property
    def constant_costs(self) -> Array | None:
        """Return the costs by which the constant rule chooses its class.

        Only the bounded class keeps a bound.
        """
        if self.costs is None or self.bound is None:
            return self.costs
        return np.asarray(self.costs.T)


def evaluate(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    cv: Any = FOLDS,
    random_state: Any = 0,
) -> Evaluation:
    """Evaluate a classifier, LDA and the constant rule on rows held out of their fits.

    Parameters
    ----------
    model : classifier
        Any scikit-learn classifier or pipeline; copies of it are fitted.
    X : array-like of shape (n_samples, n_features)
        Rows, as the classifier takes them.
    y : array-like of shape (n_samples,)
        Class labels.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Frequencies. A row of weight 3 is held out as a whole. For classifiers that take
        no weights, they must be whole numbers, and rows are repeated.
    groups : array-like of shape (n_samples,) or None, default=None
        The group of each row, such as its patient, speaker or machine, if rows of a
        group are more alike than others and new rows will come from new groups. Whole
        groups are held out, and intervals count groups.
    cv : int, splitter or iterable, default=5
        Number of random folds, in which classes are balanced; a scikit-learn splitter,
        such as `LeaveOneGroupOut()` or `TimeSeriesSplit()`; or pairs of training and
        test rows. Not every row needs to be tested. Of a class too small to keep two
        rows in every fit, none is held out, and a note says so.
    random_state : int, RandomState instance or None, default=0
        Seed of random folds, which are drawn by row number.

    Returns
    -------
    Evaluation
        Error, recall and precision with intervals, confusion matrix, log loss, Brier
        score, expected cost if the model has `costs`, the rate of a class whose error
        is bounded, the same for LDA and the constant rule, and a conclusion.

    See Also
    --------
    compare : Evaluate several classifiers on the same folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from heterolda import GaussianLinearDiscriminant, evaluate
    >>> X, y = load_iris(return_X_y=True)
    >>> plant = np.arange(150) // 5  # if five flowers each came from one plant
    >>> evaluate(GaussianLinearDiscriminant(), X, y, groups=plant)
    Evaluation(error=0.0333, interval=(0.0110, 0.0967), n_rows=150, method='5-fold...
    """
    check_classifier("model", model)
    held = held_rows(X, y, sample_weight, groups, cv, random_state)
    return evaluation_of(model, held)


def check_classifier(name: str, model: Any, what: str = "") -> None:
    """Reject anything that is not an unfitted or fitted classifier."""
    is_model = hasattr(model, "fit") and hasattr(model, "predict")
    if isinstance(model, type) or not is_model:
        raise ParameterError(
            name,
            f"{what} must be a classifier such as LogisticRegression(), got "
            f"{model!r:.50}".lstrip(),
        )


def check_in_memory(X: Any) -> None:
    """Reject lazy collections."""
    if lazy_backend(X) is not None:
        raise TypeError("X must be in memory to be held out: call compute() first")


def held_rows(
    X: Any, y: Any, sample_weight: Any, groups: Any, cv: Any, random_state: Any
) -> HeldOut:
    """Return checked rows, and how they are held out."""
    check_in_memory(X)
    seed = seed_of(random_state)
    X, y, sample_weight, groups = on_host(X, y, sample_weight, groups)
    numbers = None
    try:
        with readable_rows(X):
            settings = {"accept_sparse": "csr", "ensure_all_finite": "allow-nan"}
            numbers = check_array(X, dtype=np.float64, **settings)
    except (TypeError, ValueError):
        pass  # the classifier may take them
    labels = column_or_1d(label_array(y))
    check_consistent_length(X, labels)
    weights = check_frequencies(sample_weight, len(labels))
    used = np.full(len(labels), True) if weights is None else weights > 0
    classes = check_labels(labels[used]) if used.any() else labels[:0]
    codes = np.full(len(labels), -1)
    codes[used] = encode(labels[used], classes)
    numbered = None
    if groups is not None:
        values = np.asarray(label_array(groups, "groups"))
        if values.shape != codes.shape:
            raise ParameterError(
                "groups",
                f"must have one value for each of the {len(codes)} rows, got "
                f"{groups!r:.50}",
            )
        numbered = codes_of(values)
    is_listed = isinstance(X, list | tuple)
    rows = numbers if is_listed and numbers is not None else X
    splits = splits_of(cv, (rows, labels), codes, classes, numbered, seed)
    if groups is None:
        splits = splits.with_notes(copies_note(numbers, codes))
    return HeldOut(rows, codes, classes, weights, splits, numbered, numbers)


def copies_note(X: Any, codes: Index) -> list[str]:
    """Return a note if many rows are exact copies of other rows of their class."""
    if not isinstance(X, np.ndarray):
        return []
    # Sums of integers that wrap around do not depend on the order of rows, as sums of
    # floats may.
    X, codes = X[:_EXAMINED], codes[:_EXAMINED]
    bits = np.ascontiguousarray(X + 0.0).view(np.uint64)
    keys = np.random.default_rng(0).integers(1, 2**63, X.shape[1], np.uint64) * 2 + 1
    hashes = (bits ^ (bits >> np.uint64(29))) @ keys + codes.astype(np.uint64)
    used = hashes[codes >= 0]
    share = 1 - len(np.unique(used)) / max(len(used), 1)
    if share <= _MANY_COPIES:
        return []
    return [
        f"{percent(share)} of the rows are exact copies of others, so that fits see "
        "rows that they are tested on: new rows may be wrong more often."
    ]


def held_sample(
    parts: dict[int, ClassStatistics], sample: RowSample, splits: Splits
) -> HeldOut:
    """Return rows drawn from those of the folds, of which there are the statistics.

    The rows to test are drawn in proportion; others are of rare classes.
    """
    if len(parts) < 2:
        raise ParameterError("groups", ONE_GROUP)
    classes = np.unique(np.concatenate([part.classes for part in parts.values()]))
    codes = encode(sample.y, classes)
    tested = np.zeros(len(codes), bool)
    tested[smallest(sample.keys, sample.n_together)] = True
    splits = splits.checked(codes, classes, sample.held_by)
    rest = sample.weight, splits, sample.held_by, sample.X
    return HeldOut(sample.X, codes, classes, *rest, parts, tested)


def evaluation_of(model: Any, held: HeldOut, progress: Progress = silent) -> Evaluation:
    """Fit and test a classifier, LDA and the constant rule."""
    aim, notes = Aim.of(model, held.classes), list(held.splits.notes)
    answers = {MODEL: answers_of(by_rows(model, held), held, progress)}
    if held.numbers is None:
        notes.append(_NO_LDA)
    else:
        try:
            answers["LDA"] = answers_of(LDA(aim.priors, aim.class_weight), held)
        except RefitError as error:
            notes.append(f"LDA was not compared: {error}.")
    answers["constant"] = constant_answers(held, aim)
    sums = sums_of(held, answers, aim.costs)
    return Evaluation.of(sums, aim, held.splits.words, tuple(notes))


def constant_answers(held: HeldOut, aim: Aim) -> Answers:
    """Return the answers of the constant rule that suits the aim."""
    return answers_of(lambda fold: Constant.fit(fold, aim.constant_costs), held)


def sums_of(
    held: HeldOut, answers: dict[str, Answers], costs: Array | None = None
) -> Sums:
    """Return the sums over the tested rows of a classifier and its alternatives."""
    rows: Index = held.rows
    sums = Sums(held.classes, list(answers), costs, held.share)
    weight = np.ones(len(rows)) if held.weights is None else held.weights[rows]
    groups = None if held.groups is None else held.groups[rows]
    if held.repeats:  # tests of one row are alike
        weight = weight / np.bincount(rows)[rows]
        groups = rows if groups is None else groups
    sums.add(held.codes[rows], list(answers.values()), weight, groups)
    return sums
