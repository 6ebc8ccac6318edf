"""What to fit, by the options of the command, before the classes are known."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.cli.messages import options_text
from heterolda.cli.parsing import UsageError
from heterolda.data.labels import ClassFinder
from heterolda.estimators.bounded_error import BoundedErrorClassifier
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.local_search import LocalNeighborhoodSearch
from heterolda.estimators.recipes import recommended
from heterolda.exceptions import ParameterError
from heterolda.foundations.threads import no_warnings
from heterolda.foundations.wording import named
from heterolda.statistics.class_statistics import ClassStatistics

# Options that the first one has no use for.
_CONTRADICTIONS = {
    "recommended": (
        *("refine", "voting", "solver", "multiclass", "class_weight", "criterion"),
        *("costs", "max_error", "confidence"),
    ),
    "refine": ("costs", "criterion", "max_error", "multiclass"),
    "confidence": ("costs", "criterion"),
}
_REMEDIES = {
    ("recommended", "costs"): "weigh errors with --priors",
    ("refine", "costs"): "weigh errors with --class-weight",
}


@dataclass(frozen=True)
class FitSettings:
    """What to fit, by the parameters of the estimators.

    Labels are text here, since classes are known only after reading. Without a voting
    the estimator has its own.
    """

    solver: str = "global"
    shrinkage: Any = None
    multiclass: str = "ovo"
    voting: str | None = None
    criterion: str = "bayes"
    priors: Any = None
    costs: Any = None
    max_error: Any = None
    confidence: float | None = None  # of the bound on new rows; None: under the model
    recommended: bool = False
    refine: bool = False
    class_weight: Any = None
    seed: int = 0
    missing: str = "error"

    @property
    def given(self) -> list[str]:
        """Names of the options that are not at their defaults."""
        return [f.name for f in fields(self) if getattr(self, f.name) != f.default]

    def check(self) -> None:
        """Refuse options that contradict each other, and values that estimators refuse.

        For the latter a discriminant is fitted to classes that are made up, of the
        labels that the options name.
        """
        given = self.given
        for option, others in _CONTRADICTIONS.items():
            for other in others:
                if option in given and other in given:
                    text = _REMEDIES.get((option, other), "leave one of them out")
                    raise UsageError(
                        f"{options_text({other: None})} cannot be combined with "
                        f"{options_text({option: None})}: {text}"
                    )
        if self.missing == "em" and not self.can_take_missing:
            raise UsageError(
                "--missing em cannot be combined with --recommended or --refine, which "
                "need complete rows: use --missing drop"
            )
        if "class_weight" in given and not self.refine:
            raise UsageError("--class-weight needs --refine: use --costs or --priors")
        if "max_error" in given and {"confidence", "criterion"}.isdisjoint(given):
            raise UsageError(
                "--max-error is for two classes: add --confidence 0.95 to hold it on "
                "new rows, or --criterion neyman-pearson to hold it under the model"
            )
        if "confidence" in given and "max_error" not in given:
            raise UsageError("--confidence needs a bound: add --max-error LABEL=RATE")
        self._try_on_made_up_classes()

    def _try_on_made_up_classes(self) -> None:
        if isinstance(self.priors, dict) and len(self.priors) < 2:
            return  # others are lacking, but which ones only the data say
        given = self.priors, self.costs, self.max_error, self.class_weight
        labels = list(_labels_in(*given))
        while len(labels) < 2:
            labels.append(f"class {len(labels) + 1}")
        estimator = self.estimator(np.array(labels))
        with no_warnings():
            estimator._validate_params()
            inner = getattr(estimator, "estimator", estimator)
            if not isinstance(inner, GaussianLinearDiscriminant):
                inner = GaussianLinearDiscriminant(priors=self.priors)
            inner._validate_params()  # type: ignore[no-untyped-call]
            if inner.shrinkage == "cv":
                inner.shrinkage = None
            n = len(labels)
            moments = np.full(n, 99), np.arange(n)[:, None], np.ones((n, 1, 1))
            inner.fit_statistics(ClassStatistics.from_moments(labels, *moments))
            if isinstance(estimator, BoundedErrorClassifier):
                estimator._check_bound(np.array(labels))

    @property
    def can_take_missing(self) -> bool:
        """Whether the estimator can do without some values of a row."""
        return not (self.recommended or self.refine)

    def needs_memory(self, n_folds: int | None) -> bool:
        """Return whether all rows have to be in memory, perhaps for so many folds."""
        if self.missing == "em" and n_folds:
            return True  # moments by EM do not add up
        aside = self.confidence is not None
        return aside or not self.can_take_missing or self.shrinkage == "cv"

    def estimator(self, classes: NDArray[Any]) -> Any:
        """Return the estimator, with labels in place of their text."""
        finder = ClassFinder(classes)
        max_error = by_label("max_error", self.max_error, finder)
        priors = by_label("priors", self.priors, finder)
        if self.recommended:
            shrinkage = "cv" if self.shrinkage is None else self.shrinkage
            return recommended(priors=priors, shrinkage=shrinkage, n_jobs=-1)
        bounded = self.confidence is not None
        start = GaussianLinearDiscriminant(
            solver=self.solver,
            shrinkage=self.shrinkage,
            multiclass=self.multiclass,
            criterion=self.criterion,
            priors=priors,
            costs=by_label("costs", self.costs, finder),
            max_error=None if bounded else max_error,
            missing="em" if self.missing == "em" else "error",
            random_state=self.seed,
        )
        if bounded:
            if len(classes) > 2:
                raise ParameterError(
                    "max_error",
                    f"needs two classes, but there are {len(classes)}: merge all "
                    "others into one class",
                )
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


def _labels_in(*given: Any) -> dict[str, None]:
    """Return the labels that dictionaries, and those within them, name."""
    found: dict[str, None] = {}
    for one in given:
        if isinstance(one, dict):
            found |= dict.fromkeys(one) | _labels_in(*one.values())
    return found


def by_label(parameter: str, given: Any, finder: ClassFinder) -> Any:
    """Return dictionaries by labels instead of their text; other values as they are."""
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
