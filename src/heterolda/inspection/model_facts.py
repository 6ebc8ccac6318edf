"""What a fitted model says about itself: pairs, weights of features, trade-offs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from heterolda.estimators.discriminant import (
    GaussianLinearDiscriminant,
    solved_again,
)
from heterolda.foundations.threads import no_warnings
from heterolda.solvers import Fisher, resolve_solver

Array = NDArray[np.float64]

__all__ = [
    "OTHERS",
    "PairFacts",
    "deviations",
    "discriminant_of",
    "feature_names",
    "feature_weights",
    "has_costs",
    "has_statistics",
    "is_fisher",
    "mean_weights",
    "operating_points",
    "pair_facts",
]

# Stands for all other classes in a rule of one against the rest.
OTHERS = "the rest"
_BOUNDS = (0.05, 0.01, 0.001)


@dataclass(frozen=True)
class PairFacts:
    """The rule of a pair of classes.

    Attributes
    ----------
    index : int
        Its place among the rules.
    classes : tuple of two str
        The labels as text.
    value : float
        What the rule costs: its error under the Gaussian model, or its risk if there
        are costs; NaN if the model does not know.
    gap : float
        Proven relative gap of what was minimised; NaN without a certificate.
    rates : tuple of two float
        Error rates of the two classes.
    rival : float
        The same cost of the rival: linear discriminant analysis, or the best linear
        rule if the model is that. NaN where they cannot be compared.
    trivial : bool
        Whether the answer is always the same.
    """

    index: int
    classes: tuple[str, str]
    value: float
    gap: float
    rates: tuple[float, float]
    rival: float
    trivial: bool

    @property
    def name(self) -> str:
        """Both classes in words."""
        return " or ".join(self.classes)


def discriminant_of(model: Any) -> Any:
    """The discriminant that a model is or starts from.

    Parameters
    ----------
    model : fitted estimator
        The model.

    Returns
    -------
    GaussianLinearDiscriminant or None
        None if there is none.
    """
    start = getattr(model, "estimator_", model)
    if isinstance(start, FrozenEstimator):
        start = start.estimator
    return start if isinstance(start, GaussianLinearDiscriminant) else None


def feature_names(model: Any) -> list[str]:
    """Names of the features, made up if the model has none.

    Parameters
    ----------
    model : fitted estimator
        The model.

    Returns
    -------
    list of str
        The names.
    """
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{j}" for j in range(model.n_features_in_)]
    return [str(name) for name in names]


def pair_facts(model: Any) -> list[PairFacts]:
    """The rules of a model, the worst first.

    Parameters
    ----------
    model : fitted estimator
        The model.

    Returns
    -------
    list of PairFacts
        Those of its discriminant, if it starts from one.
    """
    discriminant = discriminant_of(model)
    n = len(model.pairs_)
    labels = [*map(str, model.classes_.tolist()), OTHERS]
    nothing = np.full(n, np.nan)
    value = gap = rival = nothing
    rates, trivial = np.full((n, 2), np.nan), ~model.coef_.any(axis=1)
    if discriminant is not None:
        value, gap = discriminant.risk_, discriminant.gap_
        rates, trivial = discriminant.error_rates_, discriminant.trivial_
        rival = _rival_values(discriminant)
    order = np.argsort(-value, kind="stable")
    return [
        PairFacts(
            index=int(k),
            classes=(labels[model.pairs_[k, 0]], labels[model.pairs_[k, 1]]),
            value=float(value[k]),
            gap=float(gap[k]),
            rates=(float(rates[k, 0]), float(rates[k, 1])),
            rival=float(rival[k]),
            trivial=bool(trivial[k]),
        )
        for k in order
    ]


def has_statistics(model: Any) -> bool:
    """Whether a model has a discriminant with its class statistics."""
    return hasattr(discriminant_of(model), "statistics_")


def has_costs(model: Any) -> bool:
    """Whether a model was fitted with costs."""
    discriminant = discriminant_of(model)
    return discriminant is not None and discriminant._settings["costs"] is not None


def is_fisher(model: Any) -> bool:
    """Whether a model's rules are those of linear discriminant analysis."""
    discriminant = discriminant_of(model)
    if discriminant is None:
        return False
    return isinstance(resolve_solver(discriminant._settings["solver"]), Fisher)


def _rival_values(discriminant: GaussianLinearDiscriminant) -> Array:
    """Risks of linear discriminant analysis, or of the best rules beside it."""
    fitted = discriminant._settings
    if fitted["criterion"] != "bayes" or not has_statistics(discriminant):
        return np.full(len(discriminant.pairs_), np.nan)
    other = "global" if is_fisher(discriminant) else "fisher"
    same = {name: fitted[name] for name in ("criterion", "costs")}
    with no_warnings():  # the rival's troubles are not the user's
        rival: Any = solved_again(discriminant, {"solver": other, **same})  # type: ignore[no-untyped-call]
    values: Array = rival.risk_
    return values


def deviations(model: Any) -> Array | None:
    """Pooled standard deviations of the features, or None if they are not known.

    Parameters
    ----------
    model : fitted estimator
        The model.

    Returns
    -------
    ndarray of shape (n_features,) or None
        Deviations within the classes.
    """
    discriminant = discriminant_of(model)
    statistics = getattr(discriminant, "statistics_", None)
    if statistics is None:
        return None
    squares = np.einsum("kjj->j", statistics.scatters)
    pooled: Array = np.sqrt(squares / (statistics.weights - 1).sum())
    return pooled


def feature_weights(model: Any) -> Array:
    """How much each feature weighs in each rule, in shares that sum to one.

    A share is that of the coefficient times the pooled standard deviation of the
    feature, in absolute value; where the deviations are not known they count as 1.

    Parameters
    ----------
    model : fitted estimator
        The model.

    Returns
    -------
    ndarray of shape (n_pairs, n_features)
        Shares; zeros for a rule that always gives the same answer.
    """
    scale = deviations(model)
    sizes = np.abs(model.coef_ * (1.0 if scale is None else scale))
    totals = sizes.sum(axis=1, keepdims=True)
    shares: Array = sizes / np.where(totals > 0, totals, 1.0)
    return shares


def mean_weights(model: Any) -> Array:
    """Means of `feature_weights` over all rules that tell classes apart.

    Parameters
    ----------
    model : fitted estimator
        The model.

    Returns
    -------
    ndarray of shape (n_features,)
        Shares.
    """
    shares = feature_weights(model)
    used = shares.any(axis=1)
    means: Array = shares[used].mean(axis=0) if used.any() else shares.mean(axis=0)
    return means


def operating_points(
    model: Any, pair: PairFacts
) -> list[tuple[str, float, float, float]]:
    """Error rates that other rules of a pair would have.

    Parameters
    ----------
    model : fitted estimator
        The model.
    pair : PairFacts
        The pair.

    Returns
    -------
    list of tuple
        For each rule a name, the error rates of the two classes and the error, all
        under the Gaussian model; none without class statistics or pairs.
    """
    discriminant = discriminant_of(model)
    if discriminant is None or not has_statistics(model) or OTHERS in pair.classes:
        return []
    frontier = discriminant.frontier_[pair.index]
    requests: list[tuple[str, dict[str, Any]]] = [
        ("least error", {}),
        ("both classes equally often wrong", {"criterion": "minimax"}),
    ]
    for label, name in zip(frontier.classes.tolist(), pair.classes, strict=True):
        requests += [
            (
                f"{name} wrong in {100 * q:g} %",
                {"criterion": "neyman-pearson", "max_error": {label: q}},
            )
            for q in _BOUNDS
        ]
    error = float(discriminant.bayes_error_[pair.index])
    points = []
    if model is discriminant:
        points.append(("this rule", *pair.rates, error))
    for name, request in requests:
        point = frontier.at(**request)
        first, second = point.error_rates.tolist()
        points.append((name, first, second, point.error))
    return points
