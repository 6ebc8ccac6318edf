"""Gather facts about a fitted model for its description and its page."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from heterolda.estimators.again import as_discriminant, solve_again
from heterolda.estimators.base import OTHERS, host_of, pooled_deviations
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.error_bound import ErrorBound
from heterolda.estimators.fit_record import (
    FitRecord,
    fewer_rows_than_features,
    raw_columns,
)
from heterolda.estimators.pair_rules import unfrozen
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array
from heterolda.foundations.threads import no_warnings
from heterolda.foundations.wording import amount, count, named, names_text, percent
from heterolda.inspection.sentences import (
    FEW_ROWS,
    accuracy_sentence,
    chosen_note,
    few_rows_note,
    span,
    verdict_sentence,
)


def discriminant_of(model: Any) -> Any:
    """Return the discriminant that a model is or starts from, or None."""
    initial = unfrozen(getattr(model, "estimator_", model))
    return initial if isinstance(initial, GaussianLinearDiscriminant) else None


def feature_names(model: Any) -> list[str]:
    """Return the names of the features, x0, x1, ... if the model has none."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{j}" for j in range(model.n_features_in_)]
    return [str(name) for name in names]


class ModelFacts:
    """Facts about a fitted classifier; those of pairs are in the order of its rules."""

    def __init__(self, model: Any) -> None:
        self.model = model = host_of(model)
        self.discriminant = discriminant_of(model)
        self.statistics = getattr(self.discriminant or model, "statistics_", None)
        fitted = self.discriminant or model
        self.settings: dict[str, Any] = getattr(fitted, "_settings", {})
        self.classes = [str(label) for label in model.classes_.tolist()]
        self.features = feature_names(model)
        # Powers of the features that rules refer to, or None.
        self.coef, self.intercept, self.powers = model._rules
        self.bound: ErrorBound | None = getattr(model, "bound_", None)
        self.record: FitRecord | None = getattr(model, "fit_record_", None)
        # With few rows, errors under the model mean nothing and are not shown.
        self.has_few_rows = fewer_rows_than_features(model, self.statistics)
        both = self.settings.get("costs"), getattr(model, "costs", None)
        self.has_costs = any(costs is not None for costs in both)
        # A search has replaced the rules of the discriminant.
        self.is_refined = hasattr(model, "n_errors_start_")
        has_statistics = self.statistics is not None
        self.takes_missing = has_statistics and getattr(model, "missing", "") == "em"
        labels = [*self.classes, OTHERS]
        self.pairs = [(labels[i], labels[j]) for i, j in model.pairs_.tolist()]

    @cached_property
    def gaussian(self) -> Any:
        """Return the discriminant of displays, perhaps of transformed features."""
        return self.discriminant or as_discriminant(self.model)  # type: ignore[no-untyped-call]

    @property
    def sentence(self) -> str:
        """Describe the model."""
        kind = type(self.model).__name__
        if self.bound is not None:
            kind = "BoundedErrorClassifier"
        sizes = len(self.classes), len(self.features)
        text = f"{kind} of {count(sizes[0], 'class')} and {count(sizes[1], 'feature')}"
        if not self.settings:
            return f"{text}."
        settings = self.settings
        solver = settings.get("solver")
        estimated_by = getattr(self.statistics, "estimated_by", None)
        parts = {
            f"solver {solver}": solver is not None,
            f"shrinkage {settings['shrinkage']}": settings["shrinkage"] != "auto",
            "moments by EM from rows with missing values": estimated_by == "EM",
            f"covariances by {estimated_by}": estimated_by not in (None, "EM"),
            "takes missing values": self.takes_missing,
            f"criterion {settings['criterion']}": settings["criterion"] != "bayes",
            "with costs": self.has_costs,
            "refined by Algorithm 2": self.is_refined,
        }
        named_parts = [part for part, holds in parts.items() if holds]
        return f"{text}{': ' * bool(named_parts)}{', '.join(named_parts)}."

    def search_lines(self) -> list[str]:
        """Return how rows were smoothed, or the gain of the search."""
        model = self.model
        if isinstance(model, SmoothedLinearDiscriminant):
            return self._smoothing_lines()
        if not hasattr(model, "n_errors_start_"):
            return []
        before, after = model.n_errors_start_.sum(), model.n_errors_.sum()
        return [
            f"Refined by Algorithm 2: from {amount(before)} to {amount(after)} errors "
            "on the training rows, over all pairs."
        ]

    def _smoothing_lines(self) -> list[str]:
        """Return the widths of a smoothed model, its powers and its errors."""
        model, powers = self.model, ""
        widths = f"Width of the smoothed rows: {span(model.widths_)}"
        if model.ridge_weights_.any():
            weights = span(model.ridge_weights_, percent)
            widths += f"; weight of ridge logistic regressions: {weights}"
        if self.powers is not None:
            n = int(np.count_nonzero(self.powers.lambdas != 1))
            powers = f" Powers change {n} of {count(len(self.features), 'feature')}."
        return [
            f"{widths}. Width 1 is the best line for normal classes; small widths aim "
            f"at few training errors.{powers}",
            f"Errors of the pairs: {span(model.left_out_error_, percent)} of left-out "
            f"rows, which is optimistic, and {span(model.smoothed_error_, percent)} of "
            "the smoothed rows of the model.",
        ]

    def record_lines(self) -> list[str]:
        """Return the columns that a model with categories needs, and its NA strings."""
        record, lines = self.record, []
        if record is None:
            return []
        if record.marks:
            rule = (
                "" if self.takes_missing else "; the model does not predict such rows"
            )
            marks = ", ".join(record.marks)
            lines.append(f"These also count as missing values: {marks}{rule}.")
        if record.categories:
            columns = names_text(raw_columns(self.features, record.categories))
            lines.append(f"Needs the columns {columns}.")
        for category in record.categories:
            first = f"{category.reference} (the reference)"
            other = "the reference" if category.other is None else category.features[-1]
            lines.append(
                f"Categories of {category.column}: "
                f"{', '.join([first, *category.levels])}; any other counts as {other}."
            )
        return lines

    @cached_property
    def worst_first(self) -> list[int]:
        """Return the rules by error or risk under the model, or on left-out rows."""
        errors = getattr(self.model, "left_out_error_", np.zeros(len(self.pairs)))
        errors = getattr(self.discriminant, "expected_cost_", errors)
        order: list[int] = np.argsort(-errors, kind="stable").tolist()
        return order

    def missed(self, k: int) -> list[str]:
        """Return the share of each class that rule k assigns to the other class."""
        rates = self.discriminant.error_rates_[k].tolist()
        pairs = zip(rates, self.pairs[k], strict=True)
        return [f"{percent(rate)} of {label}" for rate, label in pairs]

    @cached_property
    def lda_values(self) -> Array | None:
        """Return the errors or risks of LDA; None if they are not comparable."""
        differs = self.settings["criterion"] != "bayes" or self.bound is not None
        if differs or self.statistics is None or self.has_few_rows:
            return None
        # Parameters may have been set after the fit.
        settings = {"criterion": "bayes", "costs": self.settings["costs"]}
        with no_warnings():  # warnings about LDA do not concern the user
            lda: Any = solve_again(  # type: ignore[no-untyped-call]
                self.discriminant, settings | {"solver": "fisher"}
            )
        values: Array = lda.expected_cost_
        return values

    def chosen_pairs(self, labels: tuple[str, str] | None, max_pairs: int) -> list[int]:
        """Return the rule of two labels, in either order, or the worst rules."""
        if labels is None:
            return self.worst_first[:max_pairs]
        chosen = [k for k, pair in enumerate(self.pairs) if set(pair) == set(labels)]
        if not chosen:
            raise ParameterError(
                "pair",
                f": there is no pair {' and '.join(map(repr, labels))}: the classes "
                f"are {named(self.classes, 10)}",
            )
        return chosen

    def accuracy_lines(self, lda: str = "LDA") -> list[str]:
        """Return the bound, held-out accuracies, and what to use, perhaps `lda`."""
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
        criterion = self.settings.get("criterion", "bayes")
        if bound is not None or self.has_costs or criterion != "bayes":
            lines.append(
                "LDA aims at the fewest errors and this model does not, so these "
                "figures do not tell you which of the two to use."
            )
            return lines
        return [*lines, verdict_sentence(judgement, self.statistics, lda=lda)]

    def notes(self) -> list[str]:
        """Return caveats about the figures of the model."""
        flags = getattr(self.discriminant, "chosen_on_rows_", ())
        notes = chosen_note([self.pairs[k] for k in np.flatnonzero(flags)])
        if self.powers is not None:
            notes.append(
                "Features are first transformed by powers (Yeo and Johnson's "
                "transformation, which preserves their order): coefficients refer to "
                "the transformed features."
            )
        if self.statistics is not None:
            return notes + few_rows_note(self.statistics)
        return notes + [FEW_ROWS] * self.has_few_rows

    @cached_property
    def deviations(self) -> Array | None:
        """Return the deviations of the features within each pair, or None."""
        if self.statistics is None:
            return None
        return pooled_deviations(self.statistics, self.model.pairs_)

    @cached_property
    def feature_shares(self) -> Array:
        """Return the share of each feature in each rule; zeros if it has no normal."""
        scale = 1.0 if self.deviations is None else self.deviations
        sizes = np.abs(self.coef * scale)
        totals = sizes.sum(axis=1, keepdims=True)
        shares: Array = sizes / np.where(totals > 0, totals, 1.0)
        return shares
