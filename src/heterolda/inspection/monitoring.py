"""Whether rows in use are like those of the fit, and classes as frequent as there."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from heterolda.estimators.typical_rows import for_priors, knower_of
from heterolda.exceptions import ParameterError
from heterolda.foundations.draws import smallest
from heterolda.foundations.validation import encode, label_array
from heterolda.foundations.wording import count, percent
from heterolda.inspection.blocks import Block, Paragraph, Shown, Table
from heterolda.inspection.unlike import UNLIKE, UnlikeRows
from heterolda.statistics.frequencies import Frequencies, estimated_frequencies

# Rows whose probabilities are kept for the frequencies.
_MAX_ROWS = 20_000
# Unlike rows are farther than all but so many of the smallest class.
_LEAST_ROWS = 3
# Probability of a remark if nothing has changed, over all statements.
_ALPHA, _ROUNDING = 0.03, 1e-6


@dataclass(frozen=True)
class Share:
    """A share of rows, its standard error, and what to expect; NaN if unknown."""

    value: float
    standard_error: float
    expected: float


@dataclass(frozen=True, repr=False, eq=False)
class Monitoring(Shown):
    """The result of :func:`monitor`; ``print`` and notebooks show it.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    unlike : Share
        Share of rows that are unlike those of the fit: `typicality` below 0.001, or,
        with few rows in the fit, below what these can tell.
    columns : list of str
        Features that make most of them unlike.
    frequencies : Frequencies or None
        Estimated frequencies of the classes; None without probabilities.
    undecided : Share or None
        Share of undecided rows, for bounds on both classes.
    errors : dict
        By label, the `Share` of its rows that are wrong, if there are labels.
    remarks : list of str
        What has changed, by more than chance explains; empty if nothing has. If nothing
        has changed, there is a remark in about 3 % of the cases.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from heterolda import GaussianLinearDiscriminant
    >>> from heterolda.inspection import monitor
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GaussianLinearDiscriminant().fit(X[::2], y[::2])
    >>> monitor(model, X[1::2]).remarks
    []
    """

    n_rows: int
    unlike: Share
    columns: list[str]
    frequencies: Frequencies | None
    undecided: Share | None
    errors: dict[Any, Share]
    remarks: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as dictionaries and lists of numbers and text."""
        found = self.frequencies
        frequencies = (
            {}
            if found is None
            else {
                str(label): {
                    "fit": a,
                    "now": b,
                    "standard_error": c,
                    "low": d,
                    "high": e,
                }
                for label, a, b, c, d, e in zip(
                    found.classes.tolist(),
                    found.priors.tolist(),
                    found.estimate.tolist(),
                    found.standard_error.tolist(),
                    found.low.tolist(),
                    found.high.tolist(),
                    strict=True,
                )
            }
        )
        return {
            "n_rows": self.n_rows,
            "unlike": _finite(self.unlike),
            "columns": list(self.columns),
            "frequencies": frequencies,
            "undecided": None if self.undecided is None else _finite(self.undecided),
            "errors": {str(label): _finite(one) for label, one in self.errors.items()},
            "remarks": list(self.remarks),
        }

    def _blocks(self) -> list[Block]:
        rows = [["unlike the rows of the fit", *_cells(self.unlike)]]
        if self.undecided is not None:
            rows.append(["undecided", *_cells(self.undecided)])
        rows += [[f"{k} wrong", *_cells(one)] for k, one in self.errors.items()]
        blocks: list[Block] = [Paragraph([f"{count(self.n_rows, 'row')}."])]
        blocks.append(Table(["share of rows", "now", "±", "expected"], rows))
        if self.frequencies is not None:
            found = self.frequencies
            cells = zip(
                map(str, found.classes.tolist()),
                map(percent, found.estimate),
                map(percent, found.standard_error),
                map(percent, found.priors),
                strict=True,
            )
            head = ["class", "now", "±", "in the fit"]
            blocks.append(Table(head, [list(row) for row in cells], max_rows=12))
        remarks = self.remarks or ["Nothing has changed by more than chance explains."]
        return [*blocks, Paragraph(remarks)]


def _finite(share: Share) -> dict[str, float | None]:
    return {k: None if v != v else v for k, v in asdict(share).items()}


def _cells(share: Share) -> list[str]:
    values = share.value, share.standard_error, share.expected
    return ["-" if value != value else percent(value) for value in values]


class Monitor:
    """Gather what :func:`monitor` says, from batches of rows."""

    def __init__(self, model: Any) -> None:
        knower = knower_of(model)
        if knower is None:
            raise ParameterError(
                "model",
                "has no class statistics, with which to compare rows: fit "
                "GaussianLinearDiscriminant or SmoothedLinearDiscriminant, and save "
                "it with its statistics",
            )
        weights = getattr(knower, "estimator_", knower).statistics_.weights
        self._model, self._n_fit = model, float(weights.sum())
        self._by_priors = for_priors(model)
        self.unlike = UnlikeRows(model)
        # With few rows in the fit, smaller shares are unknown.
        self.unlike.level = max(UNLIKE, _LEAST_ROWS / (float(weights.min()) + 1))
        self.n_undecided, self._classes = 0, model.classes_
        self.wrong = np.zeros((2, len(self._classes)))  # and numbers of rows
        self._keys, self._p = np.zeros(0), np.zeros((0, len(self._classes)))
        self._rng = np.random.default_rng(0)

    def add(self, X: Any, y: Any = None) -> None:
        """Take rows, perhaps with labels, into account."""
        model, n_classes = self._model, len(self._classes)
        typical = self.unlike.add(X)
        if self._by_priors is not None:
            keys = np.append(self._keys, self._rng.random(len(typical)))
            p = np.concatenate([self._p, self._by_priors[0].predict_proba(X)])
            kept = smallest(keys, _MAX_ROWS)
            self._keys, self._p = keys[kept], p[kept]
        if hasattr(model, "predict_set"):
            self.n_undecided += int(model.predict_set(X).all(axis=1).sum())
        if y is not None:
            labels = label_array(y)
            known = np.isin(labels, self._classes)
            codes = encode(labels[known], self._classes)
            is_wrong = np.asarray(model.predict(X))[known] != labels[known]
            self.wrong[0] += np.bincount(codes, is_wrong, n_classes)
            self.wrong[1] += np.bincount(codes, minlength=n_classes)

    def result(self, reference: Monitor | None = None) -> Monitoring:
        """Return what has changed since the fit, or since reference rows."""
        n = self.unlike.n_rows
        if not n:
            raise ParameterError("X", "has no rows")
        before = self if reference is None else reference
        expected = self.unlike.level if reference is None else before.unlike.share
        n_before = self._n_fit if reference is None else before.unlike.n_rows
        unlike = share_of(self.unlike.n_unlike, n, expected, n_before)
        undecided = None
        if hasattr(self._model, "predict_set"):
            rate = before.n_undecided / max(n_before, 1)
            rate = self._model.undecided_rate_ if reference is None else rate
            undecided = share_of(self.n_undecided, n, rate, n_before)
        frequencies, errors = self._frequencies(reference), self._errors(reference)
        found = unlike, self.unlike.columns, frequencies, undecided, errors
        return Monitoring(
            n, *found, self._remarks(unlike, frequencies, undecided, errors)
        )

    def _remarks(
        self,
        unlike: Share,
        frequencies: Frequencies | None,
        undecided: Share | None,
        errors: dict[Any, Share],
    ) -> list[str]:
        """Return sentences on what has changed by more than chance explains."""
        n_classes = 0 if frequencies is None else len(self._classes)
        n_statements = 1 + n_classes + (undecided is not None) + len(errors)
        limit = -float(ndtri(_ALPHA / 2 / n_statements))
        remarks = []
        if _differs(unlike, limit) and unlike.value > unlike.expected:
            remarks.append(f"{self.unlike}.")
        if frequencies is not None:
            rho, error, priors = (
                frequencies.estimate,
                frequencies.standard_error,
                frequencies.priors,
            )
            remarks += [
                f"{self._classes[k]} is {percent(rho[k])} of the rows "
                f"(±{percent(error[k])}), where it was {percent(priors[k])}."
                for k in np.flatnonzero(
                    np.abs(rho - priors) > limit * error + _ROUNDING
                )
            ]
        if undecided is not None and _differs(undecided, limit):
            remarks.append(
                f"{percent(undecided.value)} of the rows are undecided, where "
                f"{percent(undecided.expected)} were."
            )
        return remarks + [
            f"{percent(one.value)} of {label} are wrong, where "
            f"{percent(one.expected)} were."
            for label, one in errors.items()
            if _differs(one, limit)
        ]

    def _frequencies(self, reference: Monitor | None) -> Frequencies | None:
        """Return the frequencies of the classes, beside those of the fit."""
        if self._by_priors is None:
            return None
        priors, n_fit = self._by_priors[1], self._n_fit
        found = estimated_frequencies(self._p, priors, n_fit, self._classes)
        if reference is None:
            return found
        before = estimated_frequencies(reference._p, priors, n_fit, self._classes)
        error = np.hypot(found.standard_error, before.standard_error)
        return replace(found, priors=before.estimate, standard_error=error)

    def _errors(self, reference: Monitor | None) -> dict[Any, Share]:
        """Return the error rates of the classes, beside those of held-out rows."""
        wrong, n = self.wrong
        evaluation = getattr(self._model, "evaluation_", None)
        if reference is not None and reference.wrong[1].any():
            before = reference.wrong
        elif evaluation is not None:
            rows = evaluation.confusion.sum(axis=1)
            before = np.array([rows - np.diag(evaluation.confusion), rows])
        else:
            before = np.zeros_like(self.wrong)
        labels = self._classes.tolist()
        return {
            label: share_of(wrong[k], n[k], before[0, k] / max(before[1, k], 1), m)
            for k, (label, m) in enumerate(zip(labels, before[1], strict=True))
            if n[k]
        }


def share_of(n_found: float, n: float, expected: float, n_expected: float) -> Share:
    """Return a share of n rows, beside one of other rows, if there were any.

    The standard error is that of the difference if both have one probability.
    """
    value = n_found / n
    if not n_expected or expected != expected:
        error = np.sqrt(max(value * (1 - value), 1 / n) / n)
        return Share(value, float(error), np.nan)
    both = (n_found + 1 + expected * n_expected) / (n + 2 + n_expected)
    error = np.sqrt(both * (1 - both) * (1 / n + 1 / n_expected))
    return Share(value, float(error), float(expected))


def _differs(share: Share, limit: float) -> bool:
    return bool(abs(share.value - share.expected) > limit * share.standard_error)


def monitor(
    model: Any, X: ArrayLike, y: ArrayLike | None = None, *, reference: Any = None
) -> Monitoring:
    """Say whether rows in use are like those of the fit, and classes as frequent.

    Parameters
    ----------
    model : fitted classifier
        `GaussianLinearDiscriminant`, `SmoothedLinearDiscriminant`,
        `LocalNeighborhoodSearch`, or a pipeline that begins with
        `HeteroscedasticProjection`.
    X : array-like of shape (n_samples, n_features)
        Rows in use.
    y : array-like of shape (n_samples,), default=None
        Their labels, if they are known: error rates are then compared with those of
        the evaluation stored in the model, if there is one.
    reference : array-like of shape (n_reference, n_features), default=None
        Rows with which to compare these, in place of those of the fit.

    Returns
    -------
    Monitoring
        Shares of unlike and undecided rows, frequencies of the classes, and remarks on
        what has changed by more than chance explains.

    See Also
    --------
    GaussianLinearDiscriminant.typicality : How typical each row is.
    """
    now = Monitor(model)
    now.add(X if hasattr(X, "shape") else np.asarray(X), y)
    if reference is None:
        return now.result()
    before = Monitor(model)
    try:
        before.add(reference if hasattr(reference, "shape") else np.asarray(reference))
    except (TypeError, ValueError) as error:
        raise ParameterError("reference", f"must be rows like X: {error}") from error
    return now.result(before)
