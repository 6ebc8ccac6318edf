"""Optimality criteria of rules, with costs, bounds and risk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.validation import check_finite
from heterolda.foundations.wording import CRITERIA, named
from heterolda.solvers import Global, Solver
from heterolda.solvers.rules import Rules, Status
from heterolda.tradeoff.operating_points import Minimax, NeymanPearson

# Share of a class whose errors cost nothing.
_NO_COST = 1e-200
# Smallest share of priors times costs that float64 represents accurately.
_MIN_SHARE = 1e-290
# Signs of wrong scores in the first and the second class of a pair.
_SIGNS = np.array([1.0, -1.0])


@dataclass(frozen=True, eq=False)
class Criterion:
    """Optimality criterion for the rules of pairs of classes."""

    classes: NDArray[Any]
    solver: Solver
    costs: Array | None = None  # costs of wrong decisions, from `check_costs`

    @classmethod
    def resolve(
        cls,
        name: str,
        costs: ArrayLike | dict[Any, Any] | None,
        max_error: dict[Any, float] | None,
        classes: NDArray[Any],
        solver: Solver,
        *,
        one_vs_rest: bool = False,
    ) -> Criterion:
        """Return the criterion with a name in `CRITERIA`; reject contradictions.

        `solver` is for "bayes". With `one_vs_rest`, each rule separates one of more
        than two classes from all others.
        """
        if name not in CRITERIA:
            raise ParameterError(
                "criterion", f"must be one of {list(CRITERIA)}, got {name!r}"
            )
        uses = {"max_error": (max_error, "neyman-pearson"), "costs": (costs, "bayes")}
        for option, (value, criterion) in uses.items():
            if value is not None and name != criterion:
                raise ParameterError(
                    option,
                    f": only for criterion={criterion!r}, got {name!r}; leave it out",
                )
        if one_vs_rest and (costs is not None or name != "bayes"):
            raise ParameterError(
                "costs",
                "and criteria other than 'bayes' need pairs of classes: use "
                "multiclass='ovo'",
            )
        if name == "bayes":
            matrix = None if costs is None else check_costs(costs, classes)
            return cls(classes, solver, matrix)
        if not isinstance(solver, Global):
            raise ParameterError(
                "criterion",
                f"={name!r} needs solver='global', the only one that follows the "
                f"optimal trade-off curve, got {solver!r}",
            )
        if name == "minimax":
            return cls(classes, Minimax())
        if len(classes) != 2:
            raise ParameterError(
                "criterion",
                f"='neyman-pearson' is for two classes: with {len(classes)}, several "
                "rules vote, and a bound on one rule does not bound the error rate of "
                "a class; use costs instead",
            )
        return cls(classes, NeymanPearson(*check_max_error(max_error, classes)))

    def cost_weighted_priors(self, priors: Array, pairs: Index) -> Array | None:
        """Return priors times costs, under which the least error is the least risk.

        They are positive and have shape (n_pairs, 2); the larger of each pair is one,
        and a tiny number replaces zero. None without costs.
        """
        if self.costs is None:
            return None
        pair_costs = self.costs[pairs, pairs[:, ::-1]]
        with np.errstate(divide="ignore"):
            # In logarithms, since either factor or the product may be near the limits.
            log_shares = np.log(priors)[pairs] + np.log(pair_costs)
        shares: Array = np.exp(log_shares - log_shares.max(axis=1, keepdims=True))
        shares = np.maximum(shares, _MIN_SHARE)
        shares[pair_costs == 0] = _NO_COST
        return shares

    def rate(
        self, rules: Rules, priors: Array, pairs: Index
    ) -> tuple[Rules, Array, Array]:
        """Return rules found with cost-weighted priors, with errors under the priors.

        Also return error rates of both classes under the model, and expected costs
        under priors that sum to one, or errors.
        """
        if self.costs is None:
            return rules, error_rates(rules), rules.error.copy()
        pair_costs = self.costs[pairs, pairs[:, ::-1]]
        rules = _trivial_where_free(rules, pair_costs)
        rates = error_rates(rules)
        parts = priors[pairs] / priors[pairs].sum(axis=1, keepdims=True) * rates
        rules = replace(rules, error=parts.sum(axis=1))
        return rules, rates, (pair_costs * parts).sum(axis=1)


def error_rates(rules: Rules) -> Array:
    """Return error rates of both classes under the Gaussian model, (n_pairs, 2)."""
    trivial = rules.trivial[:, None]
    rates = ndtr(_SIGNS * rules.means / np.where(trivial, 1.0, rules.deviations))
    second = (rules.intercept > 0).astype(float)
    return np.where(trivial, np.column_stack([second, 1 - second]), rates)


def _trivial_where_free(rules: Rules, pair_costs: Array) -> Rules:
    """Make rules trivial where one of the two errors of a pair costs nothing."""
    free = np.any(pair_costs == 0, axis=1)
    if not free.any():
        return rules
    score = np.where(pair_costs[:, 0] == 0, 1.0, -1.0) * -np.log(_NO_COST)
    column = free[:, None]
    return replace(
        rules,
        coef=np.where(column, 0.0, rules.coef),
        intercept=np.where(free, score, rules.intercept),
        means=np.where(column, score[:, None], rules.means),
        deviations=np.where(column, 0.0, rules.deviations),
        gap=np.where(free & ~np.isnan(rules.gap), 0.0, rules.gap),
        status=np.where(free, Status.TRIVIAL, rules.status),
    )


def check_costs(costs: Any, classes: NDArray[Any]) -> Array:
    """Return a matrix: ``costs[i][j]`` is the cost of predicting j when i is true.

    In nested dictionaries and data frames, i and j are labels, and missing entries
    are 1. In a dictionary of numbers, all errors in class i cost the same.
    """
    labels = classes.tolist()
    k = len(labels)
    if hasattr(costs, "columns"):
        costs = costs.to_dict("index")
    if isinstance(costs, Mapping):
        matrix = _nested_costs(costs, labels)
    else:
        matrix = check_finite("costs", costs, 2)
        if matrix.shape != (k, k):
            raise ParameterError(
                "costs",
                f"must have one row and one column for each of the {k} classes, got "
                f"shape {matrix.shape}",
            )
    if np.any(matrix < 0):
        raise ParameterError(
            "costs",
            f"must not be negative, got {matrix.min():g}: measure them from the cost "
            "of the correct prediction, which is zero",
        )
    if np.any(np.diag(matrix) != 0):
        raise ParameterError(
            "costs",
            "of correct predictions (the diagonal) must be zero: subtract them from "
            "their rows, which does not change the best rule",
        )
    for i, j in np.argwhere(np.triu(np.maximum(matrix, matrix.T) == 0, 1)):
        raise ParameterError(
            "costs",
            f"of classes {labels[i]!r} and {labels[j]!r} are zero both ways, so all "
            "rules are equally good: make one positive",
        )
    return matrix


def _nested_costs(costs: Mapping[Any, Any], labels: list[Any]) -> Array:
    """Convert nested dictionaries to a matrix in the order of the labels."""
    matrix = np.ones((len(labels), len(labels))) - np.eye(len(labels))
    for true, row in costs.items():
        if isinstance(row, Real):
            row = {label: row for label in labels if label != true}
        if not isinstance(row, Mapping):
            raise ParameterError(
                "costs",
                "must be a matrix, {true label: cost} or {true label: {predicted "
                f"label: cost}}}}, got {row!r} for {true!r}",
            )
        unknown = [label for label in (true, *row) if label not in labels]
        if unknown:
            raise ParameterError(
                "costs",
                f"have labels {named(unknown)} that are not among the classes "
                f"{named(labels, 10)}",
            )
        for predicted, cost in row.items():
            number = check_finite("costs", cost, 0)
            matrix[labels.index(true), labels.index(predicted)] = number
    return matrix


def check_max_error(max_error: Any, classes: NDArray[Any]) -> tuple[int, float]:
    """Return the class index and q of a bound ``{label: q}``."""
    labels = classes.tolist()
    if not isinstance(max_error, Mapping) or len(max_error) != 1:
        raise ParameterError(
            "criterion",
            "='neyman-pearson' needs max_error=..., the largest allowed error rate of "
            f"one of the two classes, for instance max_error={ {labels[0]: 0.01}!r}; "
            f"got {max_error!r}",
        )
    ((label, q),) = max_error.items()
    if label not in labels:
        raise ParameterError(
            "max_error",
            f"has the label {label!r}, which is not among the classes {labels}",
        )
    is_number = isinstance(q, Real) and not isinstance(q, bool)
    # An integer may be too large for float64, and a fraction round to 0 or 1.
    if not is_number or not 0 < q < 1 or not 0 < float(q) < 1:
        raise ParameterError(
            "max_error",
            f"must be a number strictly between 0 and 1, such as 0.05, got {q!r}",
        )
    return labels.index(label), float(q)
