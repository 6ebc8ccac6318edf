"""Fits to files: the settings by the text of labels, and the fit itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.data.labelled_data import LabelledData, Places, Progress, nothing
from heterolda.data.out_of_core import FileRows
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.local_search import LocalNeighborhoodSearch
from heterolda.foundations.wording import named
from heterolda.inspection.model_facts import discriminant_of

Array = NDArray[np.float64]
Numbers = dict[str, float]

__all__ = ["EQUAL", "FitSettings", "Fitted", "fit_files"]

EQUAL = "equal"
_MEMORY = 2**30  # bytes for the rows that a search of files keeps


@dataclass(frozen=True)
class FitSettings:
    """What to fit. Labels are text here, since classes are known only after reading.

    Attributes
    ----------
    solver, shrinkage, multiclass, criterion
        As of :class:`GaussianLinearDiscriminant`.
    voting : str or None
        As of the estimator; None is its default.
    priors : dict or "equal" or None
        Prior of each class.
    costs : dict of dict or None
        Costs by true and decided class.
    max_error : dict or None
        Bound of one class's error rate.
    strategy : {"paper", "exact", "smooth"} or None
        How :class:`LocalNeighborhoodSearch` refines the rules; None: not at all.
    class_weight : dict, "balanced" or None
        What the search counts an error for.
    seed : int
        For all that is random.
    """

    solver: str = "global"
    shrinkage: float | str | None = None
    multiclass: str = "ovo"
    voting: str | None = None
    criterion: str = "bayes"
    priors: Numbers | str | None = None
    costs: dict[str, Numbers] | None = None
    max_error: Numbers | None = None
    strategy: str | None = None
    class_weight: Numbers | str | None = None
    seed: int = 0

    def check(self) -> None:
        """Refuse settings that contradict each other, in the words of the options."""
        aims = self.costs, self.max_error, self.criterion != "bayes"
        if self.strategy is not None and any(aims):
            raise ValueError(
                "--refine lessens training errors and so undoes --costs, --criterion "
                "and --max-error: say by --class-weight what errors cost"
            )
        if self.strategy is not None and self.multiclass == "ova":
            raise ValueError("--refine works on pairs of classes: use --multiclass ovo")
        if self.strategy is None and self.class_weight is not None:
            raise ValueError("--class-weight is for --refine: use --costs or --priors")
        if self.strategy is None and self.voting == "coupled":
            raise ValueError("--voting coupled is for --refine")
        if (self.max_error is None) == (self.criterion == "neyman-pearson"):
            raise ValueError(
                "--criterion neyman-pearson and --max-error LABEL=BOUND go together"
            )
        if self.costs is not None and self.criterion != "bayes":
            raise ValueError("--costs are for --criterion bayes")

    def needs_memory(self, folds: int | None) -> bool:
        """Whether all rows have to be in memory, perhaps to be cross-validated."""
        if self.strategy == "paper" and self.shrinkage != "cv":
            return folds is not None  # a single search goes through the files
        return self.strategy is not None or self.shrinkage == "cv"

    def estimator(self, classes: NDArray[Any]) -> Any:
        """The estimator, with labels in place of their text.

        Parameters
        ----------
        classes : ndarray of shape (n_classes,)
            Labels.

        Returns
        -------
        estimator
            Not fitted.
        """
        find = _Finder(classes)
        start = GaussianLinearDiscriminant(
            solver=self.solver,
            shrinkage=self.shrinkage,
            multiclass=self.multiclass,
            criterion=self.criterion,
            priors=self._prior_array(find),
            costs=None if self.costs is None else find.nested("--costs", self.costs),
            max_error=self.max_error and find.keys("--max-error", self.max_error),
            random_state=self.seed,
        )
        if self.strategy is None:
            return start.set_params(voting=self.voting or start.voting)
        weight = self.class_weight
        if isinstance(weight, dict):
            weight = find.keys("--class-weight", weight)
        return LocalNeighborhoodSearch(  # type: ignore[no-untyped-call]
            start,
            strategy=self.strategy,
            voting=self.voting or "auto",
            class_weight=weight,
            random_state=self.seed,
            n_jobs=-1,
        )

    def _prior_array(self, find: _Finder) -> list[float] | None:
        classes = find.places.classes
        if self.priors is None:
            return None
        if isinstance(self.priors, str):
            return [1 / len(classes)] * len(classes)
        given = find.keys("--priors", self.priors)
        absent = [label for label in classes.tolist() if label not in given]
        if absent:
            raise ValueError(f"--priors lack the classes {named(absent)}")
        return [given[label] for label in classes.tolist()]


class _Finder:
    """Labels by their text."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self.places = Places(classes)

    def label(self, option: str, text: str) -> Any:
        k = self.places.find(text)
        classes = self.places.classes
        if k < 0:
            raise ValueError(
                f"{option}: {text!r} is none of the classes {named(classes, 10)}"
            )
        return classes.tolist()[k]

    def keys(self, option: str, given: Numbers) -> dict[Any, float]:
        return {self.label(option, text): value for text, value in given.items()}

    def nested(
        self, option: str, given: dict[str, Numbers]
    ) -> dict[Any, dict[Any, float]]:
        return {
            self.label(option, text): self.keys(option, row)
            for text, row in given.items()
        }


@dataclass(frozen=True)
class Fitted:
    """A model, and what is known of its data.

    Attributes
    ----------
    model : fitted estimator
        The model.
    n_rows : int
        Number of rows that were read.
    rows : tuple or None
        Features, labels and weights, if they had to be in memory.
    """

    model: Any
    n_rows: int
    rows: tuple[Array, NDArray[Any], Array | None] | None = None


def fit_files(
    settings: FitSettings,
    data: LabelledData,
    progress: Progress = nothing,
    *,
    in_memory: bool,
) -> Fitted:
    """Fit a model to files.

    Parameters
    ----------
    settings : FitSettings
        What to fit.
    data : LabelledData
        The rows.
    progress : callable
        Called with the number of rows so far.
    in_memory : bool
        Whether to read all rows at once, if :meth:`FitSettings.needs_memory`.

    Returns
    -------
    Fitted
        The model.
    """
    counter = _Counter(progress)
    if in_memory:
        return _fit_rows(settings, data, counter)
    if settings.strategy is not None:
        rows = FileRows(data, _MEMORY, counter)
        search = settings.estimator(rows.statistics.classes)
        return Fitted(search._fit_in_passes(rows), counter.n_rows)
    statistics = data.statistics(counter)
    model = settings.estimator(statistics.classes).fit_statistics(statistics)
    return Fitted(model, counter.n_rows)


def _fit_rows(settings: FitSettings, data: LabelledData, counter: _Counter) -> Fitted:
    """Fit with all rows in memory."""
    X, y, weight, names = data.in_memory(counter)
    model = settings.estimator(np.unique(y)).fit(X, y, weight)
    for part in (model, discriminant_of(model)):
        part.feature_names_in_ = np.array(names, dtype=object)
        if hasattr(part, "statistics_"):
            part.statistics_.feature_names = part.feature_names_in_
    return Fitted(model, counter.n_rows, (X, y, weight))


class _Counter:
    """Passes on the number of rows and keeps it."""

    def __init__(self, progress: Progress) -> None:
        self.n_rows = 0
        self._progress = progress

    def __call__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self._progress(n_rows)
