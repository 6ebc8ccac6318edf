"""What a fitted model says about itself: found once, shown as text or as a page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from heterolda.estimators.base import OTHERS, pooled_deviations
from heterolda.estimators.discriminant import GaussianLinearDiscriminant, solved_again
from heterolda.estimators.error_bound import ErrorBound
from heterolda.estimators.fit_record import (
    FitRecord,
    Judgement,
    fewer_rows_than_features,
)
from heterolda.estimators.placement import host_of
from heterolda.estimators.projection import HeteroscedasticProjection
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant
from heterolda.estimators.starts import unfrozen
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array
from heterolda.foundations.threads import no_warnings
from heterolda.foundations.wording import amount, count, named, percent
from heterolda.inspection.sentences import (
    TRANSFORMED,
    accuracy_sentence,
    bound_sentence,
    few_rows_note,
    guarded_sentence,
    most_frequent,
    reading_lines,
    verdict_sentence,
    wide_note,
    width_sentence,
)
from heterolda.solvers import Fisher, Global, Solver, resolve_solver

_COEFFICIENT_HEAD = [
    *("feature", "weight", "coefficient", "std. dev.", "higher values favor"),
]


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
    """The rule of a pair of classes; NaN stands for what the model does not know.

    Its value is its error under the model, or its risk if there are costs. Its rival is
    linear discriminant analysis, or the best linear rule if the model is that.
    """

    index: int  # of the rule in the model
    classes: tuple[str, str]  # the labels as text
    value: float
    gap: float  # proven and relative, of what was minimized
    rates: tuple[float, float]  # error rates of the two classes
    rival: float  # the rival's value

    @property
    def name(self) -> str:
        """Both classes in words."""
        return " or ".join(self.classes)

    @property
    def missed(self) -> list[str]:
        """How much of each class the rule takes for the other one."""
        return [
            f"{percent(rate)} of {label}"
            for rate, label in zip(self.rates, self.classes, strict=True)
        ]


class ModelFacts:
    """What the text and the page about a fitted model say.

    `discriminant` is what the model is or starts from, and `statistics` those of the
    classes, if its file has them; otherwise they are None.
    """

    def __init__(self, model: Any) -> None:
        self.model = model = host_of(model)
        self.discriminant = discriminant_of(model)
        self.statistics = getattr(self.discriminant, "statistics_", None)
        estimated_by = getattr(self.statistics, "estimated_by", None)
        # Whether EM made the moments of rows with missing values, or else who did.
        self.by_em = estimated_by == "EM"
        self._estimator = None if self.by_em else estimated_by
        self.classes = [str(label) for label in model.classes_.tolist()]
        self.features = feature_names(model)

        # What features are transformed by, before rules and statistics see them.
        self._transformation = getattr(model, "transformation_", None)
        # Whether a local search has replaced the rules of the discriminant.
        self.has_local_search = model is not self.discriminant
        # What is guaranteed of one class, if anything is.
        self.bound: ErrorBound | None = getattr(model, "bound_", None)
        # Whether errors under the model mean nothing, and are not shown.
        self.has_few_rows = fewer_rows_than_features(model, self.statistics)
        # How the discriminant was fitted.
        self._settings: dict[str, Any] = getattr(self.discriminant, "_settings", {})
        self.has_costs = self._settings.get("costs") is not None
        # Whether the rules are, or start from, those of linear discriminant analysis.
        self.is_fisher = isinstance(self._solver, Fisher)

    @property
    def takes_missing(self) -> bool:
        """Whether rows with missing values are decided by the features they have."""
        plain = self.statistics is not None and self.model is self.discriminant
        return plain and self.model.missing == "em"

    @property
    def _solver(self) -> Solver | None:
        """That of the discriminant."""
        fitted = self._settings
        return resolve_solver(fitted["solver"]) if fitted else None

    @property
    def is_optimal(self) -> bool:
        """Whether all rules of the discriminant are the best under the model."""
        return isinstance(self._solver, Global) and not self.guarded

    @property
    def sentence(self) -> str:
        """What the model is."""
        kind, k, d = type(self.model).__name__, len(self.classes), len(self.features)
        if self.bound is not None:
            kind = "BoundedErrorClassifier"
        text = f"{kind} of {count(k, 'class')} and {count(d, 'feature')}"
        if self.discriminant is None:
            return f"{text}."
        fitted = self._settings
        parts = [f"solver {fitted['solver']}"]  # a name, or settings with all values
        if fitted["shrinkage"] is not None:
            parts.append(f"shrinkage {fitted['shrinkage']}")
        if self.by_em:
            parts.append("moments by EM from rows with missing values")
        elif self._estimator is not None:
            parts.append(f"covariances by {self._estimator}")
        if self.takes_missing:
            parts.append("takes missing values")
        if fitted["criterion"] != "bayes":
            parts.append(f"criterion {fitted['criterion']}")
        if self.has_costs:
            parts.append("with costs")
        if self.has_local_search:
            smoothed = isinstance(self.model, SmoothedLinearDiscriminant)
            parts.append("smoothed" if smoothed else "refined by Algorithm 2")
        if self.statistics is not None and self.record is None:
            parts.append(f"fitted to {count(self.n_rows, 'row')}")
        return f"{text}: {', '.join(parts)}.{self.reason}"

    @property
    def reason(self) -> str:
        """Which width was taken, to follow a sentence; empty if there is none."""
        if not isinstance(self.model, SmoothedLinearDiscriminant):
            return ""
        return f" {width_sentence(self.model.path_, self.model.held_out_error_)}"

    @cached_property
    def pairs(self) -> list[PairFacts]:
        """The rules, the worst first; errors are those of the discriminant."""
        model, discriminant = self.model, self.discriminant
        labels = [*self.classes, OTHERS]
        value = gap = rival = np.full(len(model.pairs_), np.nan)
        rates = np.full((len(model.pairs_), 2), np.nan)
        if discriminant is not None:
            value, gap = discriminant.risk_, discriminant.gap_
            rates, rival = discriminant.error_rates_, self._rival_values()
        return [
            PairFacts(
                index=int(k),
                classes=(labels[model.pairs_[k, 0]], labels[model.pairs_[k, 1]]),
                value=float(value[k]),
                gap=float(gap[k]),
                rates=(float(rates[k, 0]), float(rates[k, 1])),
                rival=float(rival[k]),
            )
            for k in np.argsort(-value, kind="stable")
        ]

    @property
    def has_proven_gap(self) -> bool:
        """Whether it is proven of any rule how far it is from the best."""
        return not all(np.isnan(pair.gap) for pair in self.pairs)

    def _rival_values(self) -> Array:
        """Return the risks of LDA, or of the best rules if the model is LDA."""
        fitted = self._settings
        other_aim = fitted["criterion"] != "bayes" or self.bound is not None
        if other_aim or self.statistics is None or self.has_few_rows:
            return np.full(len(self.model.pairs_), np.nan)
        solver = "global" if self.is_fisher else "fisher"
        other = {"solver": solver, "criterion": "bayes", "costs": fitted["costs"]}
        with no_warnings():  # those about the rival do not concern the user
            rival: Any = solved_again(self.discriminant, other)  # type: ignore[no-untyped-call]
        values: Array = rival.risk_
        return values

    @property
    def n_rows(self) -> float:
        """Number of rows of the fit or their weight, with those set aside."""
        aside = 0 if self.bound is None else self.bound.n_rows
        return float(self.discriminant.statistics_.weights.sum()) + aside

    @property
    def record(self) -> FitRecord | None:
        """What the model was fitted to and how well it did, if it knows."""
        record: FitRecord | None = getattr(self.model, "fit_record_", None)
        return record

    def reading_lines(self) -> list[str]:
        """Return which columns a model with categories needs, and its NA strings."""
        if self.record is None:
            return []
        return reading_lines(
            self.record, self.features, takes_missing=self.takes_missing
        )

    @property
    def guarded(self) -> list[str]:
        """Pairs that use LDA's rule because of the guard, in words."""
        flags = getattr(self.discriminant, "guarded_", ())
        return [
            " and ".join(pair.classes)
            for pair in self.pairs
            if len(flags) and flags[pair.index]
        ]

    def accuracy_lines(self, lda: str = "LDA") -> list[str]:
        """Return accuracies on held-out rows, LDA's too, and which of them to use.

        Only the bound if that is not known; `lda` says how to get LDA.
        """
        found = None if self.record is None else self.record.judgement
        if self.bound is not None:
            sentence = bound_sentence(self.bound)
            return [sentence] if found is None else [sentence, accuracy_sentence(found)]
        if found is None:
            return []
        if self.is_fisher and not self.has_local_search:
            return [accuracy_sentence(found)]
        if self._has_other_aim:
            verdict = (
                "LDA aims at the fewest errors and this model does not, so these "
                "figures do not tell you which of the two to use."
            )
            return [accuracy_sentence(found), verdict]
        verdict = verdict_sentence(found, lda=lda, constant=self._most_frequent(found))
        return [accuracy_sentence(found), verdict]

    def _most_frequent(self, found: Judgement) -> tuple[str, float] | None:
        """Return the most frequent class and its share of the rows judged, if known.

        None with priors other than the shares of the rows: accuracy is not the aim.
        """
        if self.statistics is None:
            return None
        weights = self.statistics.weights
        if not np.allclose(self.discriminant.priors_, weights / weights.sum()):
            return None
        return most_frequent(found, self.classes, weights)

    @property
    def _has_other_aim(self) -> bool:
        """Whether the model minimizes something else than errors."""
        weighs = getattr(self.model, "class_weight", None) is not None
        criterion = self._settings.get("criterion", "bayes")
        return weighs or self.has_costs or criterion != "bayes"

    def notes(
        self, remedy: str = "fit with shrinkage='cv', or use fewer features"
    ) -> list[str]:
        """Return what to know before the figures of the model are believed."""
        notes, record = [guarded_sentence(self.guarded)], self.record
        if self._transformation is not None:
            notes.append(TRANSFORMED)
        if self.has_few_rows:
            n = record.n_rows if record is not None else self.n_rows
            judged = record is not None and record.judgement is not None
            notes.append(wide_note(n, len(self.features), judged=judged))
        elif self.statistics is not None:
            chosen = getattr(self.discriminant, "shrinkage_", None)
            given = self._settings["shrinkage"], chosen, self._estimator
            if given != (None, None, None):
                remedy = "use more rows or fewer features"
            weights, d = self.statistics.weights, len(self.features)
            notes.append(few_rows_note(self.classes, weights, d, remedy))
        return [note for note in notes if note]

    def chosen_pairs(
        self, labels: tuple[str, str] | None, most: int
    ) -> list[PairFacts]:
        """Return the pair of two labels, in any order, or some of the worst."""
        if labels is None:
            return self.pairs[:most]
        found = [pair for pair in self.pairs if set(pair.classes) == set(labels)]
        if not found:
            raise ParameterError(
                "pair",
                f": there is no pair {' and '.join(map(repr, labels))}: the classes "
                f"are {named(self.classes, 10)}",
            )
        return found

    @cached_property
    def deviations(self) -> Array | None:
        """Deviations of the features within each pair; None if they are not known."""
        if self.statistics is None:
            return None
        return pooled_deviations(self.statistics, self.model.pairs_)

    def projection(self, most_work: float) -> Any:
        """Return the two components that keep most of the separation of the classes.

        None for two classes, if there are no two components or fewer rows than
        features, and if they would take long to find: the work, some 10 nanoseconds
        each, is the number of pairs of classes times the cube of the number of
        features.
        """
        k, d = len(self.classes), len(self.features)
        if self.statistics is None or self.has_few_rows or k < 3:
            return None
        if k * (k - 1) / 2 * d**3 > most_work:
            return None
        kind: Any = HeteroscedasticProjection
        projection = kind(2, priors=self.discriminant.priors_)
        try:
            projection.fit_statistics(self.statistics)
        except ValueError:
            return None
        return projection

    @cached_property
    def feature_shares(self) -> Array:
        """How much each feature weighs in each rule, in shares that sum to one.

        A share is that of the standardized weight of the feature, as `summary` has it,
        in absolute value; where the deviations are not known they count as 1.
        A rule that always gives the same answer has zeros.
        """
        scale = 1.0 if self.deviations is None else self.deviations
        sizes = np.abs(self.model.coef_ * scale)
        totals = sizes.sum(axis=1, keepdims=True)
        shares: Array = sizes / np.where(totals > 0, totals, 1.0)
        return shares

    def mean_shares(self) -> list[tuple[Any, ...]]:
        """Return features and their mean shares over the rules, largest first."""
        shares = self.feature_shares
        used = shares.any(axis=1)
        means = shares[used].mean(axis=0) if used.any() else shares.mean(axis=0)
        order = np.argsort(-means, kind="stable")
        return [(self.features[j], float(means[j])) for j in order]

    @property
    def coefficient_head(self) -> list[str]:
        """The head of the table of coefficients."""
        return _COEFFICIENT_HEAD + ["power"] * (self._transformation is not None)

    def coefficients(self, pair: PairFacts) -> list[tuple[Any, ...]]:
        """Return rows below `coefficient_head`, the largest share first."""
        coef, shares = self.model.coef_[pair.index], self.feature_shares[pair.index]
        deviations = self.deviations
        if not coef.any():
            return []
        powers: list[list[str]] = [[] for _ in coef]
        if self._transformation is not None:
            powers = [[f"{power:g}"] for power in self._transformation.lambdas]
        return [
            (
                self.features[j],
                float(shares[j]),
                f"{coef[j]:.6g}",
                "-" if deviations is None else f"{deviations[pair.index, j]:.4g}",
                "-" if coef[j] == 0 else pair.classes[int(coef[j] > 0)],
                *powers[j],
            )
            for j in np.argsort(-shares, kind="stable")
        ]

    def rule_sentence(self, pair: PairFacts) -> str:
        """Return how a rule decides."""
        first, second = pair.classes
        intercept = float(self.model.intercept_[pair.index])
        if not self.model.coef_[pair.index].any():
            answer = second if intercept > 0 else first
            return f"The answer is always {answer}: no linear rule does better."
        feature = "feature" if self._transformation is None else "transformed feature"
        return (
            f"The answer is {second} if the sum of coefficient times {feature} "
            f"exceeds {-intercept:.6g}, otherwise {first}."
        )

    def class_table(self) -> tuple[list[str], list[list[str]]]:
        """Return head and rows of a table of the classes."""
        columns = {"class": self.classes}
        if self.statistics is not None:
            weights = self.statistics.weights.tolist()
            columns["rows"] = [amount(weight) for weight in weights]
        if self.discriminant is not None:
            columns["prior"] = [percent(p) for p in self.discriminant.priors_.tolist()]
        return list(columns), [list(row) for row in zip(*columns.values(), strict=True)]

    def cost(self, value: float) -> str:
        """Return an error or an expected cost as text."""
        return f"{value:.4g}" if self.has_costs else percent(value)

    def pair_table(self) -> tuple[list[str], list[list[str]]]:
        """Return head and rows of a table of the pairs, worst first, with the rival."""
        pairs = self.pairs
        columns = {
            "pair": [pair.name for pair in pairs],
            "expected cost" if self.has_costs else "error": [
                self.cost(pair.value) for pair in pairs
            ],
        }
        if not np.isnan(pairs[0].rival):
            rival = "best line" if self.is_fisher else "LDA"
            columns[rival] = [self.cost(pair.rival) for pair in pairs]
        if self.has_proven_gap:
            columns["gap"] = [
                "-" if np.isnan(pair.gap) else percent(pair.gap) for pair in pairs
            ]
        columns["missed"] = ["\n".join(pair.missed) for pair in pairs]
        return list(columns), [list(row) for row in zip(*columns.values(), strict=True)]

    def operating_points(self, pair: PairFacts) -> list[list[str]]:
        """Return rows of a table: rules of the optimal trade-off and their error rates.

        All are figures of the model; none without class statistics or pairs, nor where
        such figures mean nothing.
        """
        if self.statistics is None or self.has_few_rows or OTHERS in pair.classes:
            return []
        frontier = self.discriminant.frontier_[pair.index]
        rows: list[list[str]] = []
        if not self.has_local_search:
            error = float(self.discriminant.bayes_error_[pair.index])
            rows.append(["this rule", *map(percent, (*pair.rates, error))])
        return [*rows, *frontier._table()]
