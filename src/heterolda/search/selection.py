"""Choice among refinements by the errors of rows held out, on arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heterolda.foundations.types import Array, Index, Mask
from heterolda.kernels.descent import LOSSES

# Strengths of the anchor that are tried.
_ANCHORS = (0.003, 0.03, 0.3, 3.0)
# Of candidates whose errors differ by less than this many standard errors from the
# fewest, the one that stays closest to the start is taken.
_STANDARD_ERRORS = 0.5


@dataclass(frozen=True)
class Candidate:
    """A refinement: its loss, its width h and the strength kappa of its anchor.

    An infinite anchor keeps the start, whatever the loss.
    """

    loss: str
    bandwidth: float
    anchor: float

    @property
    def moves(self) -> bool:
        """Whether the rule may leave its start."""
        return self.anchor < np.inf


NONE = Candidate("none", np.nan, np.inf)


def list_candidates(
    loss: str, bandwidth: float | str, anchor: float | str
) -> list[Candidate]:
    """What there is to choose from, the start itself first; one if all is given.

    The loss "auto" stands for both, the bandwidth "auto" for that of the loss, and the
    anchor "auto" for a grid that ends with infinity.
    """
    for name, value in (("bandwidth", bandwidth), ("anchor", anchor)):
        if isinstance(value, bool):
            raise ValueError(
                f"The '{name}' parameter must be a number or \"auto\", got {value}"
            )
    if loss == "none" or anchor == np.inf:
        return [NONE]
    losses = list(LOSSES) if loss == "auto" else [loss]
    anchors = _ANCHORS if isinstance(anchor, str) else (anchor,)
    found = [NONE] if isinstance(anchor, str) else []
    for name in losses:
        h = LOSSES[name][2] if isinstance(bandwidth, str) else float(bandwidth)
        found += [Candidate(name, h, float(kappa)) for kappa in anchors]
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


def choose(
    wrong: Mask, counts: Array, costs: Array, anchors: Array
) -> tuple[int, Array]:
    """The candidate to take, and the estimated errors of all.

    `wrong`, of shape (n_candidates, n), has the errors at rows held out, of which each
    has a frequency and a cost. Of the candidates whose errors are not half a standard
    error (of the difference) above the fewest, it is the one with the strongest anchor;
    of those the one with the fewest errors, and of equals the first.
    """
    total = counts @ costs
    error = wrong @ (counts * costs) / total
    differs = wrong ^ wrong[np.argmin(error)]
    deviation = np.sqrt(differs @ (counts * costs**2)) / total
    near = error <= error.min() + _STANDARD_ERRORS * deviation + 1e-12
    order = np.lexsort((error, -anchors, ~near))
    return int(order[0]), error


def estimate_choice(
    wrong: Mask, counts: Array, costs: Array, anchors: Array, fold: Index
) -> float:
    """Error of what `choose` takes, judged by rows that it did not choose by.

    The errors of each fold are those of the candidate that the other folds would
    choose. The fewest errors of several candidates would be too good to be true.
    """
    weight = counts * costs
    lost = 0.0
    for f in np.unique(fold):
        here = fold == f
        others = ~here if not here.all() else here
        best, _ = choose(wrong[:, others], counts[others], costs[others], anchors)
        lost += float(wrong[best, here] @ weight[here])
    return lost / float(weight.sum())
