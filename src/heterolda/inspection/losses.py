"""Losses of several classifiers on the same rows, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.arrays import Array, Index
from heterolda.foundations.intervals import critical_value, share_intervals, wilson
from heterolda.foundations.wording import percent, points
from heterolda.inspection.held_out import Answers
from heterolda.statistics.rows import frequency_factor

# A difference counts as real if it exceeds this many standard errors, of rows; of rows
# in groups, if it exceeds Student's quantile.
STANDARD_ERRORS = 2.0
N_BINS = 10
LDA = "LDA"
DECIDES_BY = "error", "expected cost", "bound", "minimax"


@dataclass(frozen=True, eq=False)
class Losses:
    """Mean losses of classifiers on tested rows, and their paired differences.

    The last of them is the constant rule.
    """

    names: tuple[str, ...]
    error: Array
    value: Array  # what decides: the error, the cost, or errors beside a bound
    value_error: Array  # its standard error
    class_rate: Array  # error rate of the bounded class, or the largest, or NaN
    class_low: Array  # lower end of its interval, if it is of the bounded class
    log_loss: Array
    brier_score: Array
    difference: Array  # of `value`, (k, k): that of the row minus that of the column
    standard_error: Array  # of `difference`
    critical: float  # number of standard errors that a clear difference exceeds
    decides_by: str = "error"  # one of `DECIDES_BY`
    max_error: float = np.nan

    def is_better(self, k: int, other: int) -> bool:
        """Return whether classifier k is clearly better than another."""
        gain = self.difference[other, k]
        # One row of difference is one standard error up to rounding.
        return bool(gain > self.critical * self.standard_error[other, k] * (1 + 1e-9))

    def amount(self, k: int, other: int) -> str:
        """Return the difference of two classifiers and its standard error in words."""
        value, error = abs(self.difference[k, other]), self.standard_error[k, other]
        if self.decides_by == "expected cost":
            return f"{value:.3g}, with a standard error of {error:.2g}"
        return f"{points(value)}, with a standard error of {points(error)}"

    @property
    def keep_bound(self) -> list[int]:
        """Return the classifiers that do not clearly break the bound, or all."""
        kept = ~(self.class_low > self.max_error)  # NaN without a bound
        return np.flatnonzero(kept).tolist()

    @property
    def useful(self) -> list[int]:
        """Return the classifiers clearly better than the constant rule."""
        last = len(self.names) - 1
        return [k for k in self.keep_bound if k != last and self.is_better(k, last)]

    @property
    def best(self) -> int | None:
        """Return the useful classifier of the least loss, or None."""
        return min(self.useful, key=self.value.__getitem__, default=None)

    @property
    def as_good(self) -> list[int]:
        """Return the useful classifiers that are not clearly worse than the best."""
        best = self.best
        if best is None:
            return []
        return [k for k in self.useful if k == best or not self.is_better(best, k)]

    @property
    def choice(self) -> int | None:
        """Return LDA if it is as good as the best, or the one of the least log loss.

        None is chosen if none is useful, or if LDA is as good and is not useful.
        """
        as_good, best = self.as_good, self.best
        for k in self.keep_bound:
            is_lda = self.names[k] == LDA and best is not None
            if is_lda and not self.is_better(best, k):  # type: ignore[arg-type]
                return k if k in as_good else None
        known = [k for k in as_good if np.isfinite(self.log_loss[k])]
        return min(known, key=self.log_loss.__getitem__, default=self.best)


def conclusion(losses: Losses, label: Any, lda: str = LDA) -> str:
    """Return which classifier to use, and why; `label` is the constant answer.

    `lda` names LDA where it is recommended.
    """
    names, last, choice = losses.names, len(losses.names) - 1, losses.choice
    if losses.decides_by == "minimax":
        rates = [percent(rate) for rate in losses.class_rate]
        shown = ", ".join(f"{names[k]} {rates[k]}" for k in range(last))
        return f"The largest error rate of a class, by which to choose: {shown}."
    kind = losses.decides_by
    kind = "error of the other class" if kind == "bound" else kind
    if choice is None and losses.best is not None:
        k, lda_k = losses.best, names.index(LDA)
        return (
            f"Use more rows to decide: {names[k]} is clearly better than always "
            f"answering {label!r}, but not than LDA, which is not (the difference is "
            f"{losses.amount(k, lda_k)})."
        )
    if choice is None:
        tried = "none of these" if last > 2 else " nor ".join(names[:last])
        tried = f"neither {tried}" if last == 2 else tried
        always = f"always answering {label!r} ({percent(losses.error[last])} wrong)"
        if losses.decides_by == "bound" and not set(range(last)) & {*losses.keep_bound}:
            limit = percent(losses.max_error)
            return f"Use no model: {tried} keeps the bound of {limit} on these rows."
        verb = "is" if last > 1 else "is not"
        return f"Use no model: {tried} {verb} clearly better than {always}."
    others = [k for k in losses.as_good if k != choice]
    name = lda if names[choice] == LDA else names[choice]
    if others and names[choice] == LDA:
        first = min(others, key=losses.value.__getitem__)
        gap = losses.difference[first, choice]
        ahead = "LDA" if gap > 0 else names[first]
        lead = f"{ahead} is ahead by" if gap else "the difference is"
        lead = f"{lead} {losses.amount(first, choice)}"
        return f"Use {name}, the simplest: there is no clear difference ({lead})."
    if others:
        good = ", ".join(names[k] for k in others)
        return (
            f"Use {name}: there is no clear difference from {good}, and of these it "
            "has the lowest log loss."
        )
    rivals = [k for k in losses.keep_bound if k not in (choice, last)]
    broken = [k for k in range(last) if k not in losses.keep_bound]
    if not rivals and broken and losses.decides_by == "bound":
        shown = ", ".join(f"{names[k]} {percent(losses.class_rate[k])}" for k in broken)
        return f"Use {name}: others break the bound ({shown} wrong)."
    second = min(rivals, key=losses.value.__getitem__, default=last)
    than = f"always answering {label!r}" if second == last else names[second]
    return f"Use {name}: its {kind} is lower than that of {than} by " + (
        f"{losses.amount(choice, second)}."
    )


class Sums:
    """Sums over tested rows, from which the figures of an evaluation follow.

    The first of the classifiers is described class by class. `costs` are those of wrong
    decisions, or of errors beside a bound. With groups, rows of a group count as alike.
    `share` is that of :func:`share_intervals`.
    """

    def __init__(
        self,
        classes: NDArray[Any],
        names: Sequence[str],
        costs: Array | None = None,
        share: float = 1.0,
    ) -> None:
        k, m = len(classes), len(names)
        self.classes, self.names, self.costs = classes, tuple(names), costs
        self.n_rows, self.share = 0, share
        self.confusions = np.zeros((m, k, k))  # weights by true and predicted class
        # In equal bins of the probability of the predicted class: weight, weighted sum
        # of these probabilities, weight of the rows predicted correctly.
        self.reliability = np.zeros((3, N_BINS))
        self._losses = np.zeros((2, m))  # log loss and Brier score
        self._products = np.zeros((m, m))  # of the values that decide
        self._groups: list[tuple[Index, Array]] = []

    def add(
        self,
        truth: Index,
        answers: Sequence[Answers],
        weight: Array | None = None,
        groups: Index | None = None,
    ) -> None:
        """Add rows, given the indices of their classes and the answers of all."""
        w = np.ones(len(truth)) if weight is None else weight
        self.n_rows += int(np.count_nonzero(w))
        for confusion, one in zip(self.confusions, answers, strict=True):
            np.add.at(confusion, (truth, one.codes), w)
        first = answers[0]
        known = ~np.isnan(first.confidence)
        confidence, right = first.confidence[known], first.codes == truth
        bins = np.minimum((confidence * N_BINS).astype(np.intp), N_BINS - 1)
        parts = np.column_stack([w[known], w[known] * confidence, (w * right)[known]])
        np.add.at(self.reliability.T, bins, parts)
        self._losses += [
            [w @ one.log_loss for one in answers],
            [w @ one.brier for one in answers],
        ]
        values = np.array([self._values(truth, one.codes) for one in answers])
        self._products += (values * w) @ values.T
        if groups is not None:
            self._add_groups(groups, truth, first.codes, w, values)

    def _values(self, truth: Index, codes: Index) -> Array:
        """Return the value that decides of each row."""
        wrong = truth != codes
        values = wrong if self.costs is None else self.costs[truth, codes]
        return np.asarray(values, np.float64)

    def _add_groups(
        self, groups: Index, truth: Index, codes: Index, w: Array, values: Array
    ) -> None:
        """Add weights, values, and rows by true class, both and predicted class."""
        numbers, places = np.unique(groups, return_inverse=True)
        k, m = len(self.classes), len(values)
        sums = np.zeros((len(numbers), 2 + m + 3 * k))
        np.add.at(sums[:, 0], places, w)
        np.add.at(sums[:, 1], places, w * (truth != codes))
        np.add.at(sums[:, 2 : 2 + m], places, (w * values).T)
        np.add.at(sums, (places, 2 + m + truth), w)
        np.add.at(sums, (places, 2 + m + k + codes), w * (truth == codes))
        np.add.at(sums, (places, 2 + m + 2 * k + codes), w)
        self._groups.append((numbers, sums))

    @property
    def weight(self) -> float:
        """Return the total weight of the rows."""
        return float(self.confusions[0].sum())

    @property
    def factor(self) -> float:
        """Return the factor by which weights are frequencies of independent rows."""
        return 1.0 if self._groups else frequency_factor(self.weight, self.n_rows)

    @property
    def most_constant(self) -> Any:
        """Return the class that the constant rule answers most often."""
        return self.classes.tolist()[int(self.confusions[-1].sum(axis=0).argmax())]

    @property
    def groups(self) -> Array | None:
        """Return the sums of each group, or None."""
        if not self._groups:
            return None
        numbers, places = np.unique(
            np.concatenate([one for one, _ in self._groups]), return_inverse=True
        )
        sums = np.zeros((len(numbers), self._groups[0][1].shape[1]))
        np.add.at(sums, places, np.concatenate([one for _, one in self._groups]))
        return sums[sums[:, 0] > 0]

    def intervals(self) -> tuple[Array, Array, Array]:
        """Return the intervals of the error, and of recall and precision by class."""
        confusion, groups, k = self.confusions[0], self.groups, len(self.classes)
        parts: list[Any] = [None, None, None]
        if groups is not None:
            weight, wrong = groups[:, :1], groups[:, 1:2]
            true, hits, predicted = np.split(groups[:, -3 * k :], 3, axis=1)
            parts = [(wrong, weight), (hits, true), (hits, predicted)]
        right, n = confusion.diagonal(), np.array([self.weight])
        rows, answers = confusion.sum(axis=1), confusion.sum(axis=0)
        share = self.share * self.factor
        return (
            share_intervals(n - right.sum(), n, parts[0], share)[0],
            share_intervals(right, rows, parts[1], share),
            share_intervals(right, answers, parts[2], share),
        )

    def losses(
        self, bound: tuple[int, float] | None = None, *, minimax: bool = False
    ) -> Losses:
        """Return the mean losses; `bound` is on the error rate of a class."""
        n, groups, m = self.weight, self.groups, len(self.names)
        costs = 1 - np.eye(len(self.classes)) if self.costs is None else self.costs
        # Beside nothing at all, the difference is the value itself.
        value = np.append((self.confusions * costs).sum(axis=(1, 2)) / n, 0.0)
        difference = value[:, None] - value
        if groups is None:
            products = np.pad(self._products, (0, 1))
            squares = products.diagonal()
            squares = squares[:, None] + squares - 2 * products
            variance = np.maximum(squares - n * difference**2, 0) / max(n - 1, 1) / n
        else:
            sums = np.pad(groups[:, 2 : 2 + m], ((0, 0), (0, 1)))
            rest = sums[:, :, None] - sums[:, None] - difference * groups[:, :1, None]
            g = len(groups)
            variance = (rest**2).sum(axis=0) * g / max(g - 1, 1) / n**2
        decides_by = "error" if self.costs is None else "expected cost"
        with np.errstate(invalid="ignore"):
            hits = np.diagonal(self.confusions, axis1=1, axis2=2)
            rates = 1 - hits / self.confusions.sum(axis=2)
        rate, low, limit = np.full(m, np.nan), np.full(m, np.nan), np.nan
        if bound is not None:
            (k, limit), decides_by = bound, "bound"
            rate, low = rates[:, k], wilson(rates, self.confusions.sum(axis=2))[:, k, 0]
            low[0] = 1 - self.intervals()[1][k, 1]  # with groups
        elif minimax:
            rate, decides_by = np.nanmax(rates, axis=1), "minimax"
        standard_error = np.sqrt(variance / self.factor)
        right = np.trace(self.confusions, axis1=1, axis2=2)
        return Losses(
            names=self.names,
            error=(n - right) / n,
            value=value[:m],
            value_error=standard_error[:m, m],
            class_rate=rate,
            class_low=low,
            log_loss=self._losses[0] / n,
            brier_score=self._losses[1] / n,
            difference=difference[:m, :m],
            standard_error=standard_error[:m, :m],
            critical=STANDARD_ERRORS if groups is None else critical_value(len(groups)),
            decides_by=decides_by,
            max_error=limit,
        )
