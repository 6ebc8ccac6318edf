"""Steps that are one kernel on a GPU with PyTorch, whose Triton compiles it at once.

Elsewhere plain operations do the same.
"""

# Kernels of Triton are no Python for mypy.
# mypy: ignore-errors
from __future__ import annotations

from functools import cache
from typing import Any

from heterolda.foundations.devices import Device

# Rows that a program of the kernel gathers at a time, and its groups of threads.
_ROWS, _WARPS = 8, 4

# Rows whose votes a program counts at a time, and the most classes it does that for.
_VOTERS, _MOST_CLASSES = 128, 32


def gather_tiles(
    device: Device,
    X: Any,
    order: Any,
    size: int,
    first: Any,
    n_rows: Any,
    classes: Any,
    origin: Any,
    roots: Any,
) -> Any:
    """Tiles of rows, centred: an array of shape (n_tiles, size, d + 1 or a few more).

    Tile t has the rows ``order[first[t] : first[t] + n_rows[t]]`` less the origin of
    its class, then zeros. The column d has ones for its rows, or the roots of their
    weights, which rows are multiplied with; further columns are zero.
    """
    xp, d = device.xp, X.shape[1]
    if has_kernels(device):
        return _gather_by_triton(X, order, size, first, n_rows, classes, origin, roots)
    steps = xp.arange(size, dtype=xp.int64, device=device.device)
    place = xp.minimum(first[:, None] + steps, (first + n_rows - 1)[:, None])
    rows = xp.take(order, xp.reshape(place, (-1,)))
    z = device.astype(xp.take(X, rows, axis=0), origin.dtype)
    z = xp.reshape(z, (-1, size, d)) - xp.take(origin, classes, axis=0)[:, None, :]
    there = steps < n_rows[:, None]
    factor = device.astype(there, z.dtype)
    if roots is not None:
        factor = factor * xp.reshape(xp.take(roots, rows), factor.shape)
        z = z * factor[:, :, None]
    elif not bool(xp.all(n_rows == size)):
        z = xp.where(there[:, :, None], z, xp.zeros_like(z))
    return xp.concat([z, factor[:, :, None]], axis=2)


def has_kernels(device: Device, n_classes: int = 2) -> bool:
    """Whether there are kernels of our own, for that many classes."""
    gpu = device.is_torch and device.is_gpu and n_classes <= _MOST_CLASSES
    return gpu and _triton() is not None


def leaders(scores: Any, intercept: Any, weight: Any, n_classes: int) -> Any:
    """The class of most votes of each row, counted by one kernel.

    Scores are of shape (n_pairs, n), without intercepts, which are of their type;
    weights of votes are float64. A row in which several classes lead has -1, one whose
    scores are not finite -2.
    """
    import torch

    n = scores.shape[1]
    winner = torch.empty(n, dtype=torch.int64, device=scores.device)
    with torch.cuda.device(scores.device):
        _triton()["vote"][(-(-n // _VOTERS),)](
            *(scores.contiguous(), intercept, weight, winner, n),
            CLASSES=n_classes,
            ROWS=_VOTERS,
        )
    return winner


def _gather_by_triton(X, order, size, first, n_rows, classes, origin, roots):
    import torch

    d = X.shape[1]
    width = -(-(d + 1) // 4) * 4  # in which rows are aligned
    z = torch.empty((len(first), size, width), dtype=origin.dtype, device=X.device)
    block = min(64, 1 << (width - 1).bit_length())
    grid = len(first), -(-size // _ROWS), -(-width // block)
    with torch.cuda.device(X.device):
        _triton()["gather"][grid](
            *(X, order, first, n_rows, classes, origin),
            origin if roots is None else roots,
            *(z, *X.stride(), d, size, width),
            ROWS=_ROWS,
            COLUMNS=block,
            WEIGHTED=roots is not None,
            num_warps=_WARPS,
        )
    return z


@cache
def _triton():
    """The kernels, compiled when first used; None without Triton."""
    try:
        import triton
        import triton.language as tl
    except ImportError:
        return None

    @triton.jit
    def gather(
        X, order, first, n_rows, classes, origin, roots, z, row_step, column_step,
        d, size, width, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
        WEIGHTED: tl.constexpr,
    ):  # fmt: skip
        tile = tl.program_id(0).to(tl.int64)
        r = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
        j = tl.program_id(2).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)
        there = r < tl.load(n_rows + tile)
        row = tl.load(order + tl.load(first + tile) + r, mask=there, other=0)
        row = row.to(tl.int64)
        inside = there[:, None] & (j < d)[None, :]
        centre = tl.load(origin + tl.load(classes + tile) * d + j, mask=j < d, other=0)
        x = tl.load(
            X + row[:, None] * row_step + j[None, :] * column_step, mask=inside, other=0
        )
        u = x.to(centre.dtype) - centre[None, :]
        u = tl.where(inside, u, 0.0)
        factor = there.to(centre.dtype)
        if WEIGHTED:
            factor = tl.load(roots + row, mask=there, other=0)
            u = u * factor[:, None]
        u = tl.where((j == d)[None, :], factor[:, None], u)
        at = (tile * size + r)[:, None] * width + j[None, :]
        tl.store(
            z + at, u.to(centre.dtype), mask=(r < size)[:, None] & (j < width)[None, :]
        )

    @triton.jit
    def vote(
        scores, intercept, weight, winner, n, CLASSES: tl.constexpr, ROWS: tl.constexpr
    ):
        r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
        inside = r < n
        most = tl.full((ROWS,), -1.0, tl.float64)
        leader = tl.full((ROWS,), -1, tl.int64)
        zero = tl.load(scores + r, mask=inside, other=0.0) * 0.0  # or NaN
        for c in range(CLASSES):
            votes = tl.zeros((ROWS,), tl.float64)
            for other in range(CLASSES):
                if other != c:
                    i = min(c, other)
                    pair = i * (2 * CLASSES - i - 1) // 2 + max(c, other) - i - 1
                    s = tl.load(scores + pair * n + r, mask=inside, other=0.0)
                    s += tl.load(intercept + pair)
                    if c < other:
                        zero += s * 0.0
                    won = (s > 0) == (c > other)
                    votes += tl.where(won, tl.load(weight + pair), 0.0)
            leader = tl.where(votes > most, c, tl.where(votes == most, -1, leader))
            most = tl.maximum(most, votes)
        leader = tl.where(zero == 0.0, leader, -2)
        tl.store(winner + r, leader, mask=inside)

    return {"gather": gather, "vote": vote}
