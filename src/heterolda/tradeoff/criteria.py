"""What a rule is to be optimal for: criteria, costs, bounds, and what they entail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from heterolda.exceptions import ParameterError, Setting
from heterolda.foundations.choices import CRITERIA
from heterolda.foundations.validation import check_finite
from heterolda.solvers import Global, Solver
from heterolda.solvers.hyperplanes import Hyperplanes, Status
from heterolda.tradeoff.operating_points import Minimax, NeymanPearson

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Where one error of a pair costs nothing, this stands for the share of its class.
_NO_COST = 1e-200
# Shares of priors times costs below this are next to what a float can hold.
_LEAST_SHARE = 1e-290


def error_rates(planes: Hyperplanes) -> Array:
    """Error rates of both classes under the Gaussian model.

    Parameters
    ----------
    planes : Hyperplanes
        Rules.

    Returns
    -------
    ndarray of shape (n_pairs, 2)
        e1 and e2. A trivial rule has 0 and 1, or 1 and 0.
    """
    second = (planes.intercept > 0).astype(float)
    constant = np.column_stack([second, 1 - second])
    trivial = planes.trivial[:, None]
    rates = ndtr([1, -1] * planes.means / np.where(trivial, 1.0, planes.deviations))
    return np.where(trivial, constant, rates)


def with_risk(
    planes: Hyperplanes, priors: Array, pairs: Index, costs: Array | None
) -> tuple[Hyperplanes, Array]:
    """Rules with their error under the priors, and their expected costs.

    Parameters
    ----------
    planes : Hyperplanes
        Rules, found under the priors times the costs.
    priors : ndarray of shape (n_classes,)
        Class priors.
    pairs : ndarray of shape (n_pairs, 2)
        First and second class of each pair.
    costs : ndarray of shape (n_classes, n_classes) or None
        From `check_costs`; None means that the risk is the error.

    Returns
    -------
    planes : Hyperplanes
        The rules. Where one of the two errors costs nothing, the rule is trivial.
    risk : ndarray of shape (n_pairs,)
        Expected cost of each pair, its priors renormalised to sum to one.
    """
    if costs is None:
        return planes, planes.error.copy()
    price = costs[pairs, pairs[:, ::-1]]
    free = np.any(price == 0, axis=1)
    if free.any():
        toward = np.where(price[:, 0] == 0, 1.0, -1.0)[free] * -np.log(_NO_COST)
        coef, intercept = planes.coef.copy(), planes.intercept.copy()
        means, deviations = planes.means.copy(), planes.deviations.copy()
        coef[free], intercept[free] = 0.0, toward
        means[free], deviations[free] = toward[:, None], 0.0
        planes = replace(
            planes,
            coef=coef,
            intercept=intercept,
            means=means,
            deviations=deviations,
            gap=np.where(free & ~np.isnan(planes.gap), 0.0, planes.gap),
            status=np.where(free, Status.TRIVIAL, planes.status),
        )
    share = priors[pairs] / priors[pairs].sum(axis=1, keepdims=True)
    parts = share * error_rates(planes)
    risk: Array = (price * parts).sum(axis=1)
    return replace(planes, error=parts.sum(axis=1)), risk


def check_costs(costs: Any, classes: NDArray[Any]) -> Array:
    """Validate costs of wrong decisions.

    Parameters
    ----------
    costs : array-like of shape (n_classes, n_classes), DataFrame or dict of dict
        ``costs[i][j]`` is the cost of deciding j when i is true. In a dictionary i
        and j are labels, and what is left out costs 1; in a data frame they are
        labels, too, unless its rows and columns are merely numbered.
    classes : ndarray of shape (n_classes,)
        Labels.

    Returns
    -------
    ndarray of shape (n_classes, n_classes)
        Finite numbers, not negative, with a diagonal of zeros.
    """
    labels = classes.tolist()
    k = len(labels)
    if isinstance(costs, Mapping):
        matrix = np.ones((k, k)) - np.eye(k)
        for true, row in costs.items():
            if not isinstance(row, Mapping):
                raise ParameterError(
                    Setting("costs"),
                    " must be a matrix or nested dictionaries, {true label: "
                    f"{{decided label: cost}}}}, got {row!r} for {true!r}",
                )
            unknown = [label for label in (true, *row) if label not in labels]
            if unknown:
                raise ParameterError(
                    Setting("costs"),
                    f" has labels {unknown} that are not among the classes {labels}",
                )
            for decided, cost in row.items():
                number = check_finite("costs", cost, 0)
                matrix[labels.index(true), labels.index(decided)] = number
    else:
        matrix = check_finite("costs", _by_label(costs, labels), 2)
        if matrix.shape != (k, k):
            raise ParameterError(
                Setting("costs"),
                f" must have one row and one column for each of the {k} classes, "
                f"got shape {matrix.shape}",
            )
    if np.any(matrix < 0):
        raise ParameterError(
            Setting("costs"),
            f" must not be negative, got {matrix.min():g}: they count from the "
            "cost of the right decision, which is zero",
        )
    if np.any(np.diag(matrix) != 0):
        raise ParameterError(
            Setting("costs"),
            " of right decisions (the diagonal) must be zero: subtract them from "
            "the rest of their row, which does not change what is best",
        )
    for i, j in zip(*np.triu_indices(k, 1), strict=True):
        if matrix[i, j] == 0 and matrix[j, i] == 0:
            raise ParameterError(
                Setting("costs"),
                f" of classes {labels[i]!r} and {labels[j]!r} are zero both "
                "ways: then every rule is as good as any other; make one positive",
            )
    return matrix


def _by_label(costs: Any, labels: list[Any]) -> Any:
    """A data frame as a matrix in the order of the labels; others as they are."""
    if not hasattr(costs, "columns"):
        return costs
    columns, rows = list(costs.columns), list(getattr(costs, "index", []))
    if rows == columns == list(range(len(labels))) and set(rows) != set(labels):
        return np.asarray(costs)
    for names in (rows, columns):
        if len(names) != len(labels) or set(names) != set(labels):
            raise ParameterError(
                Setting("costs"),
                f" as a data frame must have the classes {labels} as its index "
                f"and as its columns, got {rows} and {columns}: name them, or pass "
                "nested dictionaries {true label: {decided label: cost}}",
            )
    order = [[names.index(label) for label in labels] for names in (rows, columns)]
    return np.asarray(costs)[np.ix_(*order)]


def stakes(
    priors: Array, costs: Array | None, pairs: Index, classes: NDArray[Any]
) -> Array | None:
    """Priors times costs of each pair: least risk is least error under these.

    Parameters
    ----------
    priors : ndarray of shape (n_classes,)
        Class priors.
    costs : ndarray of shape (n_classes, n_classes) or None
        From `check_costs`.
    pairs : ndarray of shape (n_pairs, 2)
        First and second class of each pair.
    classes : ndarray of shape (n_classes,)
        Labels, for the message.

    Returns
    -------
    ndarray of shape (n_pairs, 2) or None
        Positive numbers, the larger of each pair being one. Where an error costs
        nothing a tiny number stands for zero. None without costs.
    """
    if costs is None:
        return None
    price = costs[pairs, pairs[:, ::-1]]
    with np.errstate(divide="ignore"):
        # Either factor may be near the limits of a float, and so may their product.
        log_shares = np.log(priors)[pairs] + np.log(price)
    shares: Array = np.exp(log_shares - log_shares.max(axis=1, keepdims=True))
    extreme = np.any((price > 0) & (shares < _LEAST_SHARE), axis=1)
    if extreme.any():
        i, j = classes[pairs[extreme][0]].tolist()
        raise ParameterError(
            Setting("costs"),
            f" times priors of classes {i!r} and {j!r} differ by a factor above "
            f"{1 / _LEAST_SHARE:g}, which is beyond the accuracy of the computation: "
            "make the smaller cost larger, or zero",
        )
    shares[price == 0] = _NO_COST
    return shares


def check_max_error(max_error: Any, classes: NDArray[Any]) -> tuple[int, float]:
    """Validate the bound of a Neyman-Pearson rule.

    Parameters
    ----------
    max_error : dict
        ``{label: q}``, of one class.
    classes : ndarray of shape (2,)
        Labels.

    Returns
    -------
    k : {0, 1}
        Index of the class.
    q : float
        The bound.
    """
    if not isinstance(max_error, Mapping) or len(max_error) != 1:
        raise ParameterError(
            Setting("criterion", "neyman-pearson"),
            " needs ",
            Setting("max_error"),
            ", the greatest error rate of one of the two classes, for instance ",
            Setting("max_error", {classes.tolist()[0]: 0.01}),
            f"; got {max_error!r}",
        )
    ((label, q),) = max_error.items()
    if label not in classes.tolist():
        raise ParameterError(
            Setting("max_error"),
            f" has the label {label!r}, which is not among the classes "
            f"{classes.tolist()}",
        )
    if isinstance(q, bool) or not isinstance(q, Real) or not 0 < float(q) < 1:
        raise ParameterError(
            Setting("max_error"),
            f" must be a number between 0 and 1, both excluded, got {q!r}: "
            "no linear rule has an error rate of 0 or 1 but those that always give "
            "the same answer",
        )
    return classes.tolist().index(label), float(q)


def resolve_criterion(
    criterion: str,
    costs: ArrayLike | dict[Any, Any] | None,
    max_error: dict[Any, float] | None,
    classes: NDArray[Any],
    solver: Solver,
    *,
    one_vs_all: bool = False,
) -> tuple[Solver, Array | None]:
    """The solver and the costs of an operating point; contradictions are refused.

    Parameters
    ----------
    criterion : {"bayes", "minimax", "neyman-pearson"}
        What is to be optimal.
    costs, max_error
        As for `check_costs` and `check_max_error`, or None.
    classes : ndarray of shape (n_classes,)
        Labels.
    solver : Solver
        What finds the rules of least error.
    one_vs_all : bool, default=False
        Whether rules set a class against all others, of more than two.

    Returns
    -------
    solver : Solver
        What finds the rules.
    costs : ndarray of shape (n_classes, n_classes) or None
        The costs.
    """
    if criterion not in CRITERIA:
        raise ParameterError(
            Setting("criterion"), f" must be one of {list(CRITERIA)}, got {criterion!r}"
        )
    if max_error is not None and criterion != "neyman-pearson":
        raise ParameterError(
            Setting("max_error"),
            " has no meaning for ",
            Setting("criterion", criterion),
            ": leave it out, or use ",
            Setting("criterion", "neyman-pearson"),
        )
    if costs is not None and criterion != "bayes":
        raise ParameterError(
            Setting("costs"),
            " have no meaning for ",
            Setting("criterion", criterion),
            ", which is about error rates: leave them out, or use ",
            Setting("criterion", "bayes"),
        )
    if one_vs_all and (costs is not None or criterion != "bayes"):
        raise ParameterError(
            Setting("costs"),
            " and criteria other than 'bayes' are about pairs of classes: use ",
            Setting("multiclass", "ovo"),
        )
    if criterion == "bayes":
        return solver, None if costs is None else check_costs(costs, classes)
    if not isinstance(solver, Global):
        raise ParameterError(
            Setting("criterion", criterion),
            " takes a point of the optimal trade-off curve, which only ",
            Setting("solver", "global"),
            f" follows, got {solver!r}",
        )
    if criterion == "minimax":
        return Minimax(), None
    if len(classes) != 2:
        raise ParameterError(
            Setting("criterion", "neyman-pearson"),
            f" is for two classes: with {len(classes)} the votes of several rules "
            "decide, and no bound of one of them bounds the error rate of a class; "
            "use ",
            Setting("costs"),
            " instead",
        )
    return NeymanPearson(*check_max_error(max_error, classes)), None
