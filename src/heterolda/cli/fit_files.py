"""Fits to files: the settings by the text of labels, and the fit itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.data.labels import ClassFinder
from heterolda.data.table import RowProgress, Table
from heterolda.estimators.bounded_error import BoundedErrorClassifier
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.local_search import LocalNeighborhoodSearch
from heterolda.estimators.recipes import recommended
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Amount, Array
from heterolda.foundations.wording import named
from heterolda.inspection.model_facts import discriminant_of
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.moments import RangeError
from heterolda.statistics.rows import check_frequencies
from heterolda.statistics.samples import RowSample, as_frequencies

Numbers = dict[str, float]
# Features, labels and weights.
Rows = tuple[Array, NDArray[Any], Array | None]

# Rows that --recommended is fitted to; of more, a random sample is taken.
MOST_ROWS = 100_000
# Numbers, rows times features, up to which models are fitted again unasked.
MOST_NUMBERS = 2_000_000


@dataclass(frozen=True)
class FitSettings:
    """What to fit, by the parameters of the estimators.

    Labels are text here, since classes are known only after reading. Without a voting
    the estimator has its own.
    """

    solver: str = "global"
    shrinkage: Amount = None
    multiclass: str = "ovo"
    voting: str | None = None
    criterion: str = "bayes"
    priors: Numbers | str | None = None
    costs: dict[str, Numbers] | None = None
    max_error: Numbers | None = None
    confidence: float | None = None  # of the bound on new rows; None: under the model
    recommended: bool = False
    refine: bool = False
    class_weight: Numbers | str | None = None
    seed: int = 0
    missing: str = "error"

    def check(self) -> None:
        """Reject combinations in which one option would silently be ignored."""
        if self.recommended and (
            self.refine or self.voting or self.confidence or self.solver != "global"
        ):
            raise ValueError(
                "--recommended has its own solver and voting: leave it out to choose "
                "--refine, --voting, --solver or --confidence"
            )
        if self.missing == "em" and not self.can_take_gaps:
            raise ValueError(
                "--missing em cannot be combined with --recommended or --refine, which "
                "need complete rows: leave these out, or use --missing drop"
            )
        aims = self.costs, self.max_error, self.criterion != "bayes"
        if self.recommended and any(aims):
            raise ValueError(
                "--recommended aims at few errors, not at --costs, --criterion or "
                "--max-error: weigh errors with --priors"
            )
        if self.refine and any(aims):
            raise ValueError(
                "--refine minimizes training errors, which would undo --costs, "
                "--criterion and --max-error: weigh errors with --class-weight"
            )
        if not self.can_take_gaps and self.multiclass == "ova":
            raise ValueError(
                "--recommended and --refine work on pairs of classes: use --multiclass "
                "ovo"
            )
        if not self.refine and self.class_weight is not None:
            raise ValueError("--class-weight needs --refine: use --costs or --priors")
        if not self.refine and self.voting == "coupled":
            raise ValueError("--voting coupled needs --refine: add it")
        if self.costs is not None and self.criterion != "bayes":
            raise ValueError("--costs needs --criterion bayes: leave one of them out")
        if self.max_error is not None:
            bounds = list(self.max_error.values())
            if len(bounds) > 1 or not 0 < bounds[0] < 1:
                raise ValueError(
                    "--max-error bounds one of the two classes: write one LABEL=BOUND, "
                    "with a bound between 0 and 1, such as ill=0.05"
                )
        if self.confidence is not None:
            self._check_confidence(self.confidence)
        elif (self.max_error is None) == (self.criterion == "neyman-pearson"):
            if self.max_error is None:
                raise ValueError(
                    "--criterion neyman-pearson needs a bound on the error of one of "
                    "two classes: add --max-error LABEL=BOUND"
                )
            raise ValueError(
                "--max-error is for two classes: add --confidence 0.95 to hold it on "
                "new rows, or --criterion neyman-pearson to hold it under the fitted "
                "model"
            )

    def _check_confidence(self, confidence: float) -> None:
        if self.max_error is None:
            raise ValueError("--confidence needs a bound: add --max-error")
        if not 0 < confidence < 1:
            raise ValueError(
                f"--confidence {confidence:g}: must be between 0 and 1, such as 0.95"
            )
        if self.costs is not None or self.criterion == "minimax":
            raise ValueError(
                "--confidence sets the threshold so that --max-error holds: leave out "
                "--costs and --criterion minimax"
            )

    @property
    def can_take_gaps(self) -> bool:
        """Whether the estimator can do without some values of a row."""
        return not (self.recommended or self.refine)

    def needs_memory(self, folds: int | None) -> bool:
        """Whether all rows have to be in memory, perhaps to be cross-validated."""
        if self.missing == "em" and folds is not None:
            return True  # moments by EM do not add up
        aside = self.confidence is not None
        return aside or not self.can_take_gaps or self.shrinkage == "cv"

    def estimator(self, classes: NDArray[Any]) -> Any:
        """The estimator, with labels in place of their text."""
        finder = ClassFinder(classes)
        max_error = by_label("max_error", self.max_error, finder)
        bounded = self.confidence is not None
        if bounded and len(classes) > 2:
            raise ParameterError(
                "max_error",
                f"needs two classes, but there are {len(classes)}: merge all others "
                "into one class",
            )
        priors = by_label("priors", self.priors, finder)
        if self.recommended:
            shrinkage = "cv" if self.shrinkage is None else self.shrinkage
            return recommended(priors=priors, shrinkage=shrinkage, n_jobs=-1)
        start = GaussianLinearDiscriminant(
            solver=self.solver,
            shrinkage=self.shrinkage,
            multiclass=self.multiclass,
            criterion="bayes" if bounded else self.criterion,
            priors=priors,
            costs=by_label("costs", self.costs, finder),
            max_error=None if bounded else max_error,
            missing="em" if self.missing == "em" else "error",
            random_state=self.seed,
        )
        if bounded:
            return BoundedErrorClassifier(  # type: ignore[no-untyped-call]
                start,
                max_error=max_error,
                confidence=self.confidence,
                random_state=self.seed,
            )
        if not self.refine:
            return start.set_params(voting=self.voting or start.voting)
        return LocalNeighborhoodSearch(  # type: ignore[no-untyped-call]
            estimator=start,
            voting=self.voting or "auto",
            class_weight=by_label("class_weight", self.class_weight, finder),
            n_jobs=-1,
        )


def by_label(parameter: str, given: Any, finder: ClassFinder) -> Any:
    """Dictionaries by labels instead of their text; other values as they are."""
    if not isinstance(given, dict):
        return given
    labels = finder.classes.tolist()
    found = {}
    for text, value in given.items():
        k = finder.find(text)
        if k < 0:
            raise ParameterError(
                parameter, f": {text!r} is not one of the classes {named(labels, 10)}"
            )
        found[labels[k]] = by_label(parameter, value, finder)
    return found


@dataclass(frozen=True)
class Fitted:
    """A model, the number of rows, and all rows or a sample, as they are in memory."""

    model: Any
    n_rows: int
    rows: Rows | None = None
    parts: Sequence[ClassStatistics] = ()  # statistics of each fold
    sample: RowSample | None = None
    n_gaps: int = 0  # rows with missing values

    @property
    def size(self) -> int:
        """Number of rows times features."""
        return self.n_rows * int(self.model.n_features_in_)

    @property
    def is_sampled(self) -> bool:
        """Whether the rows in memory are a random sample."""
        return self.rows is not None and len(self.rows[1]) < self.n_rows

    @property
    def is_whole(self) -> bool:
        """Whether the sample has all rows, copies of a row being one."""
        total = self.model.statistics_.weights.sum()
        return self.sample is not None and bool(
            np.isclose(self.sample.weight.sum(), total)
        )

    @property
    def some_rows(self) -> Rows:
        """All rows, or a sample of them."""
        if self.sample is not None and self.is_whole:
            return self.sample.X, self.sample.y, self.sample.weight
        if self.sample is not None:
            return self.sample.in_proportion()
        return self.rows or (np.empty((0, 0)), np.empty(0), None)

    def with_gaps(self, data: Table) -> Fitted:
        """The same with rows as they are, if not too many, for a sample filled in."""
        if self.size <= MOST_NUMBERS:
            X, y, weight, _ = data.in_memory()
            rows = X, y, check_frequencies(weight, len(y))
            return Fitted(self.model, self.n_rows, rows, n_gaps=_with_gaps(X))
        n_gaps = sum(batch.n_gaps for batch in data.batches())
        return Fitted(self.model, self.n_rows, n_gaps=n_gaps)


def _with_gaps(X: Array) -> int:
    """Number of rows with missing values."""
    return int(np.isnan(X).any(axis=1).sum())


def fit_files(
    settings: FitSettings,
    data: Table,
    progress: RowProgress,
    *,
    in_memory: bool,
    n_folds: int = 0,
) -> Fitted:
    """Fit a model to files, with all rows in memory or batch by batch.

    The latter gathers statistics for some folds.
    """
    n_rows = 0

    def count(n: int) -> None:
        nonlocal n_rows
        n_rows = n
        progress(n)

    if in_memory:
        most = MOST_ROWS if settings.recommended else None
        X, y, weight, names = data.in_memory(count, most, settings.seed)
        weight = check_frequencies(weight, len(y))
        model = settings.estimator(np.unique(y))
        try:
            model.fit(X, y, sample_weight=weight)
        except RangeError as error:
            column = f"column {names[error.feature]!r}"
            raise ValueError(f"the values of {column} {error.problem}") from error
        for estimator in (model, discriminant_of(model)):
            estimator.feature_names_in_ = np.array(names, dtype=object)
            if hasattr(estimator, "statistics_"):
                estimator.statistics_.feature_names = estimator.feature_names_in_
        return Fitted(model, n_rows, (X, y, weight), n_gaps=_with_gaps(X))
    (total, *parts), sample = data.parts_and_sample(n_folds, count)
    statistics, scaled = as_frequencies(total, sample)
    if scaled is not sample:
        factor = statistics.weights.sum() / total.weights.sum()
        parts, sample = [part.scaled(factor) for part in parts], scaled
    estimator = settings.estimator(statistics.classes)
    model = estimator._fit_sampled(statistics, sample)
    fitted = Fitted(model, n_rows, parts=parts, sample=sample)
    return fitted.with_gaps(data) if statistics.estimated_by else fitted
