"""Steps that are one kernel on a GPU with PyTorch, whose Triton compiles it at once.

Elsewhere plain operations do the same.
"""

# Kernels of Triton are no Python for mypy.
# mypy: ignore-errors
from __future__ import annotations

from functools import cache
from typing import Any

from heterolda.foundations.devices import Device

# Rows that a program of the kernel gathers at a time.
_ROWS = 32


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
    triton = _triton() if device.is_torch and device.is_gpu else None
    if triton is not None:
        return _gather_by_triton(
            triton, X, order, size, first, n_rows, classes, origin, roots
        )
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


def _gather_by_triton(kernels, X, order, size, first, n_rows, classes, origin, roots):
    import torch

    d = X.shape[1]
    width = -(-(d + 1) // 4) * 4  # in which rows are aligned
    z = torch.empty((len(first), size, width), dtype=origin.dtype, device=X.device)
    block = min(64, 1 << (width - 1).bit_length())
    grid = len(first), -(-size // _ROWS), -(-width // block)
    with torch.cuda.device(X.device):
        kernels["gather"][grid](
            *(X, order, first, n_rows, classes, origin),
            origin if roots is None else roots,
            *(z, *X.stride(), d, size, width),
            ROWS=_ROWS,
            COLUMNS=block,
            WEIGHTED=roots is not None,
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
        j = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
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

    return {"gather": gather}
