"""The best of many trial rules (a S2 + b S1)^-1 delta on each pair's pencil.

Most trials need not be evaluated. Those with a, b > 0 lie on the arc, where e1 grows
and e2 falls with theta = arctan(a / b): between two trials i and j no error is below

    p1 e1(i) + p2 e2(j)

A trial with b < 0 has its threshold beyond the mean of class 1, so that its error is
at least p1 / 2; one with a < 0, at least p2 / 2. What such a bound rules out, by more
than rounding errors, is skipped, and the best trial is still the best of all.
"""

from __future__ import annotations

import numpy as np

from heterolda.foundations.types import Array, Index
from heterolda.solvers.hyperplanes import Hyperplanes, Status
from heterolda.solvers.pencil import Pencil
from heterolda.solvers.threshold import class_errors

_BATCH_BYTES = 1 << 20
_CUT_INTO = 6  # an interval of trials that is not ruled out is cut into so many
_FEWEST = 16  # intervals to begin with
_MARGIN = 1e-9  # of rounding errors, as a share of the error


def best_trial(
    pencil: Pencil,
    a: Array,
    b: Array,
    extra: list[tuple[Array, float, float]],
    *,
    exhaustive: bool = False,
) -> Hyperplanes:
    """Choose, for each pair, the trial (a, b) of least error; the first of equals.

    All of (10), (11) and (12) are w = (a S2 + b S1)^-1 delta with the threshold that
    divides D in the ratio of a sigma2^2 to b sigma1^2 (13); for a regular matrix
    D = a sigma2^2 + b sigma1^2, which makes it w.m1 - b sigma1^2 as in (10), (11).

    The `extra` trials (u, a, b) are some whose coordinates are known already. The rules
    are scaled so that the weights a and b sum to one. With `exhaustive`, trials that a
    bound rules out are evaluated, too.
    """
    n_pairs = len(pencil.c)
    every = np.arange(n_pairs)
    best = _Best(pencil, a, b)
    # A trial whose matrix is singular by chance gives infinities: it cannot win.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for k, (u, one_a, one_b) in enumerate(extra):
            weights = np.full(n_pairs, one_a), np.full(n_pairs, one_b)
            error1, error2, _ = _errors(pencil, every, u, *weights)
            best.update(every, np.full(n_pairs, k - len(extra)), error1 + error2)
        # The bounds hold for what is evaluated: the model without raised variances.
        plain = (pencil.alpha == pencil.alpha0) & (pencil.beta == pencil.beta0)
        bounded = plain.all(axis=1) & (not exhaustive)
        best.evaluate_all(every[~bounded], np.arange(len(a)))
        inside = (a > 0) & (b > 0)
        ratio = a[inside] / (a[inside] + b[inside])
        best.search_along_arc(every[bounded], np.flatnonzero(inside)[ratio.argsort()])
        p1, p2 = pencil.priors.T
        for sign_a, sign_b in np.ndindex(3, 3):
            group = (np.sign(a) == sign_a - 1) & (np.sign(b) == sign_b - 1) & ~inside
            if group.any():
                least = 0.5 * (p1 * (sign_b == 0) + p2 * (sign_a == 0))
                open_ = bounded & (least * (1 - _MARGIN) <= best.error)
                best.evaluate_all(every[open_], np.flatnonzero(group))

        trial = best.trial
        known = (trial >= 0) & (trial < len(a))
        u, pair_a, pair_b = np.zeros_like(pencil.c), np.ones(n_pairs), np.zeros(n_pairs)
        pair_a[known], pair_b[known] = a[trial[known]], b[trial[known]]
        u[known] = best.coordinates(every[known], trial[known])
        for k, (one_u, one_a, one_b) in enumerate(extra):
            won = trial == k - len(extra)
            u[won], pair_a[won], pair_b[won] = one_u[won], one_a, one_b
        total = pair_a + pair_b
        size = np.where(total > 0, total, np.abs(pair_a) + np.abs(pair_b))
        t = _errors(pencil, every, u, pair_a, pair_b)[2]
    return Hyperplanes.from_coordinates(
        pencil,
        u * size[:, None],
        np.where(np.isfinite(best.error), t * size, np.nan),
        best.error,
        status=np.full(n_pairs, Status.BEST_TRIAL, np.intp),
        n_iter=np.full(n_pairs, len(a) + len(extra), np.intp),
    )


def _errors(
    pencil: Pencil, pair: Index, u: Array, a: Array, b: Array
) -> tuple[Array, Array, Array]:
    """p1 e1, p2 e2 and the threshold t of each rule."""
    p1, p2 = pencil.priors[pair].T
    D = np.einsum("mi,mi->m", u, pencil.c[pair])
    square = u * u
    variance1 = np.einsum("mi,mi->m", square, pencil.alpha[pair])
    variance2 = np.einsum("mi,mi->m", square, pencil.beta[pair])
    share1, share2 = b * variance1, a * variance2
    t = D * (share2 / (share1 + share2))  # (13)
    return *class_errors(t, D, np.sqrt(variance1), np.sqrt(variance2), p1, p2), t


class _Best:
    """Error and number of the best trial of each pair so far; the first of equals."""

    def __init__(self, pencil: Pencil, a: Array, b: Array) -> None:
        self.pencil, self.a, self.b = pencil, a, b
        self.error = np.full(len(pencil.c), np.inf)
        self.trial = np.full(len(pencil.c), len(a))

    def update(self, pair: Index, trial: Index, error: Array) -> None:
        """Compare with trials whose errors are known."""
        before = self.error.copy()
        np.fmin.at(self.error, pair, error)
        self.trial[self.error < before] = len(self.a)
        equal = (error == self.error[pair]) & np.isfinite(error)
        np.minimum.at(self.trial, pair[equal], trial[equal])

    def coordinates(self, pair: Index, trial: Index) -> Array:
        """Coordinates of (a S2 + b S1)^-1 delta."""
        g = self.b[trial, None] * self.pencil.alpha0[pair]
        g += self.a[trial, None] * self.pencil.beta0[pair]
        u: Array = np.divide(self.pencil.c[pair], g, out=g)
        return u

    def evaluate(self, pair: Index, trial: Index) -> tuple[Array, Array]:
        """Compare with some trials; return their p1 e1 and p2 e2."""
        errors = np.empty((2, len(pair)))
        step = max(1, _BATCH_BYTES // (8 * max(1, self.pencil.c.shape[1])))
        for start in range(0, len(pair), step):
            some = slice(start, start + step)
            u = self.coordinates(pair[some], trial[some])
            a, b = self.a[trial[some]], self.b[trial[some]]
            errors[:, some] = _errors(self.pencil, pair[some], u, a, b)[:2]
        self.update(pair, trial, errors[0] + errors[1])
        return errors[0], errors[1]

    def evaluate_all(self, pairs: Index, trials: Index) -> None:
        """Compare with each of some trials, on each of some pairs."""
        step = max(1, _BATCH_BYTES // (8 * max(1, len(trials))))
        for start in range(0, len(pairs), step):
            some = pairs[start : start + step]
            self.evaluate(some.repeat(len(trials)), np.tile(trials, len(some)))

    def search_along_arc(self, pairs: Index, trials: Index) -> None:
        """Compare with trials in their order on the arc, by branch and bound."""
        if not len(trials) or not len(pairs):
            return
        stride = 1
        while len(trials) > _FEWEST * _CUT_INTO * stride:
            stride *= _CUT_INTO
        nodes = np.append(np.arange(0, len(trials) - 1, stride), len(trials) - 1)
        pair = pairs.repeat(len(nodes))
        nodes = np.tile(nodes, (len(pairs), 1))
        error1, error2 = self.evaluate(pair, trials[nodes.ravel()])
        error1, error2 = error1.reshape(nodes.shape), error2.reshape(nodes.shape)
        while stride > 1:
            low, high = nodes[:, :-1], nodes[:, 1:]
            bound = (error1[:, :-1] + error2[:, 1:]) * (1 - _MARGIN)
            row, column = np.nonzero(
                (high - low > 1) & ~(bound > self.error[pairs, None])
            )
            pairs, low, high = pairs[row], low[row, column], high[row, column]
            stride //= _CUT_INTO
            inner = low[:, None] + stride * np.arange(1, _CUT_INTO)
            nodes = np.column_stack([low, np.minimum(inner, high[:, None]), high])
            ends = error1[row, column], error2[row, column + 1]
            new = inner < high[:, None]
            which = pairs[:, None].repeat(_CUT_INTO - 1, axis=1)[new]
            # Beyond the end of a short interval its nodes repeat the last one.
            error1 = np.column_stack([ends[0], np.full(inner.shape, np.inf), ends[1]])
            error2 = np.column_stack(
                [ends[0], np.tile(ends[1], (_CUT_INTO - 1, 1)).T, ends[1]]
            )
            error1[:, 1:-1][new], error2[:, 1:-1][new] = self.evaluate(
                which, trials[inner[new]]
            )
