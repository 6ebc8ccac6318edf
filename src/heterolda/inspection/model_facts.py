"""What a fitted model says about itself, for its text and its page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from heterolda.estimators.base import OTHERS, pooled_deviations
from heterolda.estimators.categories import raw_columns
from heterolda.estimators.discriminant import GaussianLinearDiscriminant, solved_again
from heterolda.estimators.error_bound import ErrorBound
from heterolda.estimators.fit_record import FitRecord, fewer_rows_than_features
from heterolda.estimators.placement import host_of
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant
from heterolda.estimators.starts import unfrozen
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array
from heterolda.foundations.threads import no_warnings
from heterolda.foundations.wording import amount, count, named, names_text, percent
from heterolda.inspection.sentences import (
    accuracy_sentence,
    few_rows_note,
    guarded_sentence,
    most_frequent,
    verdict_sentence,
)
from heterolda.solvers import Fisher, resolve_solver


def discriminant_of(model: Any) -> Any:
    """Return the discriminant that a model is or starts from, or None."""
    start = unfrozen(getattr(model, "estimator_", model))
    return start if isinstance(start, GaussianLinearDiscriminant) else None


def feature_names(model: Any) -> list[str]:
    """Return names of the features, made up if the model has none."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{j}" for j in range(model.n_features_in_)]
    return [str(name) for name in names]


@dataclass(frozen=True)
class PairFacts:
    """The rule of a pair of classes, with NaN for unknown figures."""

    index: int  # of the rule in the model
    classes: tuple[str, str]  # the labels as text
    value: float  # error under the model, or risk if there are costs
    gap: float  # proven and relative, of what was minimized
    rates: tuple[float, float]  # error rates of the two classes under the model
    lda: float  # value of LDA's rule

    @property
    def name(self) -> str:
        """Both classes in words."""
        return " or ".join(self.classes)

    @property
    def missed(self) -> list[str]:
        """Share of each class that the rule assigns to the other one."""
        pairs = zip(self.rates, self.classes, strict=True)
        return [f"{percent(rate)} of {label}" for rate, label in pairs]


class ModelFacts:
    """Facts about a fitted classifier that has a rule for each pair of classes.

    `discriminant` is what the model is or starts from, and `statistics` those of its
    classes; None if the model has none.
    """

    def __init__(self, model: Any) -> None:
        self.model = model = host_of(model)
        self.discriminant = discriminant_of(model)
        self.statistics = getattr(self.discriminant, "statistics_", None)
        self.settings: dict[str, Any] = getattr(self.discriminant, "_settings", {})
        self.classes = [str(label) for label in model.classes_.tolist()]
        self.features = feature_names(model)
        # What features are transformed by, before rules and statistics see them.
        self.transformation = getattr(model, "transformation_", None)
        # Whether a search has replaced the rules of the discriminant.
        self.is_refined = model is not self.discriminant
        # What is guaranteed of one class, if anything is.
        self.bound: ErrorBound | None = getattr(model, "bound_", None)
        # Whether errors under the model mean nothing, and are not shown.
        self.has_few_rows = fewer_rows_than_features(model, self.statistics)
        self.has_costs = self.settings.get("costs") is not None
        # Whether the rules are, or start from, those of linear discriminant analysis.
        solver = resolve_solver(self.settings["solver"]) if self.settings else None
        self.is_fisher = isinstance(solver, Fisher)

    @property
    def record(self) -> FitRecord | None:
        """Describe the data of the fit and the accuracy of the model, if recorded."""
        record: FitRecord | None = getattr(self.model, "fit_record_", None)
        return record

    @property
    def n_rows(self) -> float:
        """Number of rows of the fit or their weight, with those held out."""
        aside = 0 if self.bound is None else self.bound.n_rows
        return float(self.discriminant.statistics_.weights.sum()) + aside

    @property
    def _takes_missing(self) -> bool:
        """Return whether rows with missing values can be classified."""
        plain = self.statistics is not None and not self.is_refined
        return plain and self.model.missing == "em"

    @property
    def sentence(self) -> str:
        """Describe the model."""
        kind = type(self.model).__name__
        if self.bound is not None:
            kind = "BoundedErrorClassifier"
        sizes = len(self.classes), len(self.features)
        text = f"{kind} of {count(sizes[0], 'class')} and {count(sizes[1], 'feature')}"
        if self.discriminant is None:
            return f"{text}."
        settings = self.settings
        by = getattr(self.statistics, "estimated_by", None)
        moments = "moments by EM from rows with missing values"
        smoothed = isinstance(self.model, SmoothedLinearDiscriminant)
        parts = {
            f"solver {settings['solver']}": True,
            f"shrinkage {settings['shrinkage']}": settings["shrinkage"] is not None,
            moments if by == "EM" else f"covariances by {by}": by is not None,
            "takes missing values": self._takes_missing,
            f"criterion {settings['criterion']}": settings["criterion"] != "bayes",
            "with costs": self.has_costs,
            "smoothed" if smoothed else "refined by Algorithm 2": self.is_refined,
        }
        return f"{text}: {', '.join(part for part, holds in parts.items() if holds)}."

    def search_lines(self) -> list[str]:
        """Say what the search has gained, or which widths are used."""
        model = self.model
        if isinstance(model, SmoothedLinearDiscriminant):
            used = [row for row in model.path_ if row["weight"] > 0]
            widths = [f"width {row['width']:g}" for row in used if row["ridge"] is None]
            if n_ridge := len(used) - len(widths):
                widths.append(count(n_ridge, "ridge logistic regression"))
            verb = "Average of" if len(used) > 1 else "Fitted with"
            line = (
                f"{verb} {', '.join(widths)}. Width 1 is the best line for normal "
                "classes; small widths aim at few training errors."
            )
            if np.isfinite(model.held_out_error_):
                line += f" Held-out error: {percent(model.held_out_error_)}."
            return [line]
        if not hasattr(model, "n_errors_start_"):
            return []
        before, after = model.n_errors_start_.sum(), model.n_errors_.sum()
        return [
            f"Refined by Algorithm 2: from {amount(before)} to {amount(after)} errors "
            "on the training rows, over all pairs."
        ]

    def record_lines(self) -> list[str]:
        """Return the columns that a model with categories needs, and its NA strings."""
        record = self.record
        if record is None:
            return []
        lines = []
        if record.marks:
            rule = "" if self._takes_missing else ": the model cannot decide such rows"
            marks = ", ".join(record.marks)
            lines.append(f"These also count as missing values: {marks}{rule}.")
        if record.categories:
            columns = names_text(raw_columns(self.features, record.categories))
            lines.append(f"Needs the columns {columns}.")
        for category in record.categories:
            levels = ", ".join(
                [f"{category.reference} (the reference)", *category.levels]
            )
            other = "the reference" if category.other is None else category.features[-1]
            lines.append(
                f"Categories of {category.column}: {levels}; any other counts as "
                f"{other}."
            )
        return lines

    @cached_property
    def pairs(self) -> list[PairFacts]:
        """Return the rules, worst first; errors are those of the discriminant."""
        pairs, discriminant = self.model.pairs_, self.discriminant
        labels = [*self.classes, OTHERS]
        value = gap = lda = np.full(len(pairs), np.nan)
        rates = np.full((len(pairs), 2), np.nan)
        if discriminant is not None:
            value, gap = discriminant.risk_, discriminant.gap_
            rates, lda = discriminant.error_rates_, self._lda_values()
        return [
            PairFacts(
                index=int(k),
                classes=(labels[pairs[k, 0]], labels[pairs[k, 1]]),
                value=float(value[k]),
                gap=float(gap[k]),
                rates=(float(rates[k, 0]), float(rates[k, 1])),
                lda=float(lda[k]),
            )
            for k in np.argsort(-value, kind="stable")
        ]

    def _lda_values(self) -> Array:
        """Return the errors or risks of LDA, NaN where they are no comparison."""
        other_aim = self.settings["criterion"] != "bayes" or self.bound is not None
        if other_aim or self.is_fisher or self.statistics is None or self.has_few_rows:
            return np.full(len(self.model.pairs_), np.nan)
        # Parameters may have been set after the fit.
        settings = {"criterion": "bayes", "costs": self.settings["costs"]}
        with no_warnings():  # those about LDA do not concern the user
            lda: Any = solved_again(  # type: ignore[no-untyped-call]
                self.discriminant, settings | {"solver": "fisher"}
            )
        values: Array = lda.risk_
        return values

    def chosen_pairs(
        self, labels: tuple[str, str] | None, most: int
    ) -> list[PairFacts]:
        """Return the pair of two labels, in any order, or the worst pairs."""
        if labels is None:
            return self.pairs[:most]
        chosen = [pair for pair in self.pairs if set(pair.classes) == set(labels)]
        if not chosen:
            raise ParameterError(
                "pair",
                f": there is no pair {' and '.join(map(repr, labels))}: the classes "
                f"are {named(self.classes, 10)}",
            )
        return chosen

    def accuracy_lines(self, lda: str = "LDA") -> list[str]:
        """Return accuracies on held-out rows, LDA's too, and which of them to use.

        Only the bound if they are not known; `lda` says how to get LDA.
        """
        lines, bound = [], self.bound
        if bound is not None:
            lines.append(
                f"A{str(bound)[1:]}: the threshold comes from "
                f"{count(bound.n_rows, 'row')} of {bound.label} that were held out; "
                f"its expected error rate is {percent(bound.expected_error)}."
            )
        judgement = None if self.record is None else self.record.judgement
        if judgement is None:
            return lines
        lines.append(accuracy_sentence(judgement))
        if bound is not None or (self.is_fisher and not self.is_refined):
            return lines
        weighs = getattr(self.model, "class_weight", None) is not None
        criterion = self.settings.get("criterion", "bayes")
        if weighs or self.has_costs or criterion != "bayes":
            lines.append(
                "LDA aims at the fewest errors and this model does not, so these "
                "figures do not tell you which of the two to use."
            )
            return lines
        constant = None
        if self.statistics is not None:
            weights = self.statistics.weights
            # With other priors than the shares of the rows, accuracy is not the aim.
            if np.allclose(self.discriminant.priors_, weights / weights.sum()):
                constant = most_frequent(judgement, self.classes, weights)
        return [*lines, verdict_sentence(judgement, lda=lda, constant=constant)]

    def notes(self) -> list[str]:
        """Return what to know before believing the figures of the model."""
        flags = getattr(self.discriminant, "guarded_", np.zeros(len(self.pairs), bool))
        guarded = [" and ".join(p.classes) for p in self.pairs if flags[p.index]]
        notes = guarded_sentence(guarded)
        if self.transformation is not None:
            notes.append(
                "Features are first transformed by powers (Yeo and Johnson's "
                "transformation, which preserves their order): coefficients, "
                "deviations, errors of the model and pictures are those of the "
                "transformed features."
            )
        if self.statistics is not None:
            weights = self.statistics.weights
            notes += few_rows_note(
                self.classes,
                weights,
                len(self.features),
                shrunk=self.settings.get("shrinkage") == "cv",
            )
        elif self.has_few_rows and self.record is not None:
            n_rows = np.array([self.record.n_rows])
            notes += few_rows_note([], n_rows, len(self.features))
        return notes

    @cached_property
    def deviations(self) -> Array | None:
        """Deviations of the features within each pair; None if they are not known."""
        if self.statistics is None:
            return None
        return pooled_deviations(self.statistics, self.model.pairs_)

    @cached_property
    def feature_shares(self) -> Array:
        """Return the weight of each feature in each rule, in shares that sum to one.

        A share is that of the standardized weight of the feature, as `summary` has it,
        in absolute value; where the deviations are not known they count as 1.
        A rule that always gives the same answer has zeros.
        """
        scale = 1.0 if self.deviations is None else self.deviations
        sizes = np.abs(self.model.coef_ * scale)
        totals = sizes.sum(axis=1, keepdims=True)
        shares: Array = sizes / np.where(totals > 0, totals, 1.0)
        return shares
