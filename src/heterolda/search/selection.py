"""Choice among refinements by the errors of rows held out, on arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heterolda.foundations.arrays import Array, Index, Mask
from heterolda.kernels.descent import LOSSES

# Strengths of the anchor that are tried, at the start and at zero.
_ANCHORS = (0.003, 0.3)
_RIDGES = (2.0, 20.0, 200.0)
# Of candidates whose errors differ by less than this many standard errors from the
# fewest the mean is taken; and features stay as they are only if that has fewer errors
# by more than so many.
_NEAR = 1.0
_CLEARLY_FEWER = 0.5


@dataclass(frozen=True)
class Candidate:
    """A refinement: its loss, its width h and the strength kappa of its anchor.

    An infinite anchor keeps the start, whatever the loss. The loss "ridge" is the
    logistic loss with the anchor at zero: its rule does not depend on the start.
    """

    loss: str
    bandwidth: float
    anchor: float

    @property
    def moves(self) -> bool:
        """Whether the rule may leave its start."""
        return self.anchor < np.inf


NONE = Candidate("none", np.nan, np.inf)
# Anchors and customary width of each loss.
_GRIDS: dict[str, tuple[tuple[float, ...], float]] = {
    name: (_ANCHORS, width) for name, (_, _, width) in LOSSES.items()
} | {"ridge": (_RIDGES, 1.0)}


def list_candidates(
    loss: str, bandwidth: float | str, anchor: float | str
) -> list[Candidate]:
    """What there is to choose from, the start itself first; one if all is given.

    The loss "auto" stands for all, the bandwidth "auto" for that of the loss, and the
    anchor "auto" for a grid that ends with infinity.
    """
    for name, value in (("bandwidth", bandwidth), ("anchor", anchor)):
        if isinstance(value, bool):
            raise ValueError(
                f"The '{name}' parameter must be a number or \"auto\", got {value}"
            )
    if loss == "none" or anchor == np.inf:
        return [NONE]
    found = [NONE] if isinstance(anchor, str) else []
    for name in list(_GRIDS) if loss == "auto" else [loss]:
        anchors, width = _GRIDS[name]
        h = width if isinstance(bandwidth, str) else float(bandwidth)
        kappas = anchors if isinstance(anchor, str) else (anchor,)
        found += [Candidate(name, h, float(kappa)) for kappa in kappas]
    return found


def assign_folds(
    X: Array,
    codes: Index,
    weight: Array | None,
    n_folds: int,
    rng: np.random.RandomState,
) -> Index:
    """Fold in which each row is held out.

    Equal rows of a class go to the same fold, so that weight 3 is three copies; and the
    order of the rows does not matter. -1 stands for rows of a class so small that it
    would be left with a total weight of 1 or less. These are never held out.
    """
    order = np.lexsort((*X.T[::-1], codes))
    new = np.any(np.diff(X[order], axis=0) != 0, axis=1)
    new |= np.diff(codes[order]) != 0
    distinct = np.empty(len(X), dtype=np.intp)
    distinct[order] = np.append(0, np.cumsum(new))
    fold = np.full(len(X), -1)
    for k in range(int(codes.max()) + 1):
        rows = np.flatnonzero(codes == k)
        _, place = np.unique(distinct[rows], return_inverse=True)
        number = rng.permutation(int(place.max()) + 1)[place] % n_folds
        w = None if weight is None else weight[rows]
        held = np.bincount(number, w, minlength=n_folds)
        if held.sum() - held.max() > 1:
            fold[rows] = number
    return fold


def near_best(wrong: Mask, counts: Array, costs: Array) -> Mask:
    """Which candidates nearly have the fewest errors.

    `wrong`, of shape (n_candidates, n), has the errors at rows held out, of which each
    has a frequency and a cost. Near are those whose errors are not one standard error
    (of the difference) above the fewest.
    """
    error = wrong @ (counts * costs)
    best = wrong[np.argmin(error)]
    deviation = np.sqrt((wrong ^ best) @ (counts * costs**2))
    limit = error.min() + _NEAR * deviation + 1e-12 * (counts @ costs)
    return np.asarray(error <= limit)


def clearly_fewer(one: Mask, other: Mask, counts: Array, costs: Array) -> bool:
    """Whether one candidate has fewer errors than another, by half a standard error."""
    gain = (other.astype(float) - one) @ (counts * costs)
    deviation = np.sqrt((one ^ other) @ (counts * costs**2))
    return bool(gain > _CLEARLY_FEWER * deviation + 1e-12 * (counts @ costs))
