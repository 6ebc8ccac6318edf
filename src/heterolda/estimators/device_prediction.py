"""Prediction where the rows are: the same decisions and probabilities on a device.

Rows are multiplied by the rules there, in blocks. Who wins the votes is found by one
function of all rows for all methods, so that these agree with each other.
"""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from functools import cached_property

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import validate_data

from heterolda.estimators.votes import Binary, OneVsOne, rounded
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import (
    Device,
    blocks,
    device_of,
    is_numpy,
    on_host,
    to_host,
)
from heterolda.foundations.validation import (
    check_sample_weight,
    label_array,
    missing_values_as,
)
from heterolda.kernels.device.coupling import (
    couple,
    log_odds,
    logarithms,
    logistic,
    put_curve,
    put_ends,
    set_apart,
    swap_largest_to_winner,
    tempered,
)
from heterolda.kernels.device.votes import (
    huge_scores,
    put_rules,
    scores_of_rows,
    winners_of_scores,
)
from heterolda.statistics.rows import check_device_rows, check_real

# Numbers of a block: enough to keep a GPU busy, or what stays in a processor's cache.
_BLOCK_SIZE = {True: 1 << 25, False: 1 << 17}
# Rows in single precision are multiplied in it unless numbers are extreme, or scores
# are that many of their standard deviations away from those of zeros.
_EXTREME, _FAR = 1e25, 100.0


def rows_on_device(estimator, X, device: Device):
    """Rows of real numbers, of the right shape; whether they are finite is not said."""
    X, known = check_real(device, X), vars(estimator)
    sound = X.ndim == 2 and X.shape[0] and X.shape[1] == known["n_features_in_"]
    if sound and "feature_names_in_" not in known:
        return X
    X = validate_data(estimator, X, reset=False, dtype=None, ensure_all_finite=False)
    return check_device_rows(device, X)


def format_of(X, device: Device):
    """Type of results for rows: float32 if X is, else what sums are taken in."""
    return X.dtype if X.dtype == device.xp.float32 else device.floats


def in_blocks(device: Device, n: int, width: int) -> list[slice]:
    """Blocks of rows that have so many numbers each."""
    return blocks(n, max(1, _BLOCK_SIZE[device.is_gpu] // width))


def not_finite(rows, device: Device):
    """A row that is not finite, in NumPy; None if there is none."""
    xp = device.xp
    bad = xp.nonzero(~xp.all(xp.isfinite(rows), axis=1))[0]
    return to_host(rows[int(bad[0]), :])[None] if bad.shape[0] else None


def check_finite(estimator, rows, device: Device) -> None:
    """Refuse rows that are not finite, as in NumPy."""
    bad = not_finite(rows, device)
    if bad is None:
        return
    missing = getattr(estimator, "missing", None)
    if missing == "em" and not np.isinf(bad).any():
        raise ParameterError(
            "X",
            "has missing values, which only NumPy arrays may have: fit to "
            "numpy.asarray(X), and predict that",
        )
    with missing_values_as(missing) as finite:  # says what is wrong
        check_array(bad, input_name="X", estimator=estimator, **finite)


def as_format(values, dtype, device: Device):
    """Values as numbers of a type, kept finite."""
    if values.dtype == dtype:
        return values
    limits = device.xp.finfo(dtype)
    return device.astype(
        device.xp.clip(values, float(limits.min), float(limits.max)), dtype
    )


def _rounded_here(values, dtype, device: Device):
    """The same for decision values or probabilities, for the same classes."""
    xp = device.xp
    if values.dtype == dtype:
        return values
    found = as_format(values, dtype, device)
    least = xp.full_like(found, float(xp.finfo(dtype).smallest_normal))
    found = xp.where((values > 0) & (found < least), least, found)
    if found.ndim == 1:
        return found
    return set_apart(device, found, xp.argmax(values, axis=1))


def predict_on_device(model, X, method: str, device: Device):
    """Decisions, winners, probabilities, or their logarithms, of rows on a device."""
    X = rows_on_device(model, X, device)
    with np.errstate(all="ignore"):  # for libraries that are NumPy within
        return _Prediction(model, X, device).find(method)


def labels_on_device(classes, winners):
    """Labels of winners: text in NumPy, others on the device of the winners."""
    if is_numpy(classes):
        return classes.take(to_host(winners))
    device = device_of(winners, always=True)
    if device.is_torch and str(classes.dtype).startswith("torch.uint"):
        # PyTorch can hold such numbers, but not pick them out.
        return device.put(to_host(classes).take(to_host(winners)))
    return device.xp.take(classes, winners)


def accuracy_on_device(found, y, sample_weight) -> float:
    """Share of the weight of rows whose labels, found on a device, are right."""
    n, (y, weight) = found.shape[0], on_host(y, sample_weight)
    y = column_or_1d(label_array(y), warn=True)
    check_consistent_length(found, y)
    weight = check_sample_weight(weight, n)
    if weight is not None and not weight.any():
        raise ParameterError(
            "sample_weight", "is zero for all rows: there is nothing to score"
        )
    return float(accuracy_score(y, to_host(found), sample_weight=weight))


class _Prediction:
    """Rows that are to be predicted, and a model."""

    def __init__(self, model, X, device: Device):
        self.model, self.X, self.device = model, X, device
        self.committee = model._committee
        self.transformation = getattr(model, "transformation_", None)
        self.coef = to_host(model.coef_).astype(np.float64, copy=False)
        self.intercept = to_host(model.intercept_).astype(np.float64, copy=False)
        # Without double precision the host has the scores.
        self.here = device.floats == device.xp.float64
        one_vs_one = isinstance(self.committee, OneVsOne)
        self.by_votes = one_vs_one and self.committee.voting != "coupled"

    def find(self, method: str):
        """What a method says of all rows."""
        device, n, winner = self.device, self.X.shape[0], None
        if self.by_votes and self.here:
            winner = self._vote_winners()
            if method == "winners":
                return winner
        narrow = isinstance(self.committee, Binary) and self._may_be_narrow
        rules, parts, found = self._rules(narrow), self._blocks(narrow), None
        for here in parts:
            scores = self._scores(self._ready(self.X[here, :], narrow), rules)
            won = None if winner is None else winner[here]
            values = self._of_scores(method, scores, won)
            if len(parts) == 1:
                return values
            if found is None:
                shape = (n, *values.shape[1:])
                found = device.xp.empty(shape, dtype=values.dtype, device=device.device)
            found[here, ...] = values
        return found

    def _of_scores(self, method: str, scores, winner):
        """What a method says of scores, and of the winners of votes."""
        if method == "winners":
            return self._winners(scores)
        given = scores[:, 0] if method == "decisions" else None
        values = self._probabilities(scores, winner) if given is None else given
        values = _rounded_here(values, format_of(self.X, self.device), self.device)
        return logarithms(self.device, values) if method == "logarithms" else values

    def _winners(self, scores):
        """Winners without votes."""
        xp, device = self.device.xp, self.device
        if isinstance(self.committee, Binary):
            return device.astype(scores[:, 0] > 0, device.xp.int64)
        if not self.here:
            return device.put(self.committee.winners(_on_host(scores)))
        if isinstance(self.committee, OneVsOne):
            return xp.argmax(self._probabilities(scores, None), axis=1)
        return xp.argmax(log_odds(device, scores, self._curve), axis=1)

    def _probabilities(self, scores, winner):
        """Probabilities, the largest of the winner where votes decide."""
        xp, device, committee = self.device.xp, self.device, self.committee
        if not self.here:
            p = committee.probabilities(_on_host(scores))
            return device.put(rounded(p, np.empty(0, np.float32)))
        scores = device.astype(scores, device.floats)
        x = log_odds(device, scores, self._curve)
        if isinstance(committee, Binary):
            p = xp.concat([logistic(device, -x), logistic(device, x)], axis=1)
            return tempered(device, p, committee.temperature)
        if not isinstance(committee, OneVsOne):
            p = logistic(device, x)
            p = p / xp.sum(p, axis=1, keepdims=True)
            p = tempered(device, p, committee.temperature)
            return swap_largest_to_winner(device, p, xp.argmax(x, axis=1))
        p = couple(device, x, self._ends)
        p = tempered(device, p, committee.temperature)
        return p if winner is None else swap_largest_to_winner(device, p, winner)

    @cached_property
    def _curve(self):
        return put_curve(self.device, self.committee.posterior.curve)

    @cached_property
    def _ends(self):
        return put_ends(self.device, self.committee.n_classes)

    @cached_property
    def _may_be_narrow(self) -> bool:
        """Whether rows are float32, and scores in float32 will do."""
        planes = self.committee.planes
        if self.X.dtype != self.device.xp.float32 or self.transformation is not None:
            return False
        if not self.device.multiplies_exactly:
            return False
        size = np.abs(self.coef[self.coef != 0])
        moderate = ((size < _EXTREME) & (size > 1 / _EXTREME)).all()
        near = np.abs(self.intercept) <= _FAR * planes.deviations.min(axis=1)
        return bool(moderate and (near | planes.trivial).all())

    def _type(self, narrow: bool):
        """The type that rows are multiplied in."""
        return self.device.xp.float32 if narrow else self.device.floats

    def _blocks(self, narrow: bool):
        """Blocks of rows that fit into memory, with their scores."""
        n_rules, d = self.coef.shape
        as_they_are = self.X.dtype == self._type(narrow) and self.transformation is None
        width = n_rules if as_they_are else max(n_rules, d)
        return in_blocks(self.device, self.X.shape[0], width)

    def _ready(self, rows, narrow: bool):
        """Rows in that type, transformed."""
        rows = self.device.astype(rows, self._type(narrow))
        if self.transformation is None:
            return rows
        check_finite(self.model, rows, self.device)  # or else infinity had a limit
        return self.transformation.apply(rows)

    def _rules(self, narrow: bool):
        """The rules, on the device."""
        return put_rules(self.device, self.coef, self.intercept, self._type(narrow))

    def _scores(self, rows, rules):
        """Scores of rows, which must be finite."""
        scores, sound = scores_of_rows(self.device, rows, rules)
        if sound:
            return scores
        rows = self.device.astype(rows, self.device.floats)
        check_finite(self.model, rows, self.device)
        return huge_scores(self.device, rows, self._rules(False))

    def _vote_winners(self):
        """Classes of most votes, by all scores in double precision."""
        device, rules, weight = self.device, self._rules(False), self.committee._weights
        parts = []
        for here in in_blocks(device, self.X.shape[0], max(self.coef.shape)):
            scores = self._scores(self._ready(self.X[here, :], False), rules)
            parts.append(winners_of_scores(device, scores, weight))
        return parts[0] if len(parts) == 1 else device.xp.concat(parts)


def _on_host(scores):
    """Scores in NumPy."""
    return to_host(scores).astype(np.float64, copy=False)
