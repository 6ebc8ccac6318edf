"""The compiled loops of Algorithm 2; importing this module imports Numba.

Conventions. v = (w0, w_1, ..., w_d), and x_0 = -1, so that v.x = w.x - w0. The side of
a row is *defined* by one canonical evaluation (`_is_first`): the products w_k x_k are
added from left to right, each operation rounded to double precision, and the sum is
compared with w0. Everything else here is a faster way to the same side.

Terms. A block of rows keeps a reference rule ref, and for each row, with y = +-1 for
its class, the scale c = max_i |ref_i x_i| and the terms z_i = y ref_i x_i / c, none of
which exceeds 1. With p_i = v_i / ref_i the signed margin is M = sum_i p_i z_i, and
v_i +- step |v_i| moves it by +- r_i z_i with |r_i| = step |p_i|. (A coefficient of zero
never moves, so p_i = 1 and r_i = 0 do for it.) The terms are stored in single
precision, in tiles of `TILE` rows that are alike in |M|.

Skipping. Let R = max |r_i|, and P the length of the path, the sum of all |changes of
p_i| since the reference. No neighbour changes the side of a row with |M| > R, and while
the path grows by s, |M| falls by s at most. So a tile with smallest |M| = q at
path P' is skipped, neither moved nor evaluated, as long as P + R < P' + q.

Rounding. Let u = 2^-53, e = 2^-24, D = sum |p_i - 1|, and L the number of moves since
the reference. As |z_i| <= 1, sum |p_i z_i| <= S = d + 1 + D, and S + R for neighbours.

* The canonical sum is off by at most 1.01 d u (S + R) (Higham 2002, section 4.2).
* The margin of the reference is off by at most 1.01 (d + 4) u (d + 1). Moves add
  the rounding of the terms, at most 1.01 e times the change of p, and at most
  4 u (S + R) each for the operations: 1.01 e P + (4 L + 1.01 (d + 4)) u (S + R).
  (S may have been larger on the way than now, but by P at most, and L u P is
  nothing to e P.)
* In single precision r_i z_i is off by at most 3.1 e R. The margin m is off by e |m|:
  at most 2 e R where |m| <= 2 R, and elsewhere at most 2 e (|m| - |r_i z_i|), a
  share of what it is compared with, as is the rounding of the difference itself.
* The coordinate v_i +- step |v_i| is rounded too: at most 3 u (S + R).
* Products that underflow are off by less than 2^-1074 each, against c >= 2^-900.
  Rows with c out of range get zeros for margin and terms, and so are always in doubt.

All this is less than the bound 8 e R + 1.2 e P + 4 u (d + L + 8) (S + R) of `_advance`.
So where ||m| - |r_i z_i|| exceeds it, the sign of m +- r_i z_i gives the side; all
other rows are evaluated canonically. Tiles are skipped with R plus the bound for R.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from heterolda.kernels.blocks import N_BUCKETS, TILE

# Moves after which margins are computed afresh, so that the bound stays small.
_MAX_MOVES = 256
# Rows are sorted by |M| to this share of a step, up to a largest |M|.
_BUCKETS_PER_STEP = 8.0
# Scales beyond these leave the range in which the analysis above holds.
_SMALLEST_SCALE = 2.0**-900
_LARGEST_SCALE = 2.0**900
# Drift D beyond which the terms could overflow.
_LARGEST_DRIFT = 1e6
# Margin of the positions that fill up the last tile.
_FAR = 1e30

# Entries of Block.counters.
MOVES, READY, TOUCHED, PATH, AT_FIRST, EXCESS = range(6)
# Rows of Block.rules.
REFERENCE, CURRENT, TRIAL, RATIO = range(4)
# Entries of the state of a search.
ITERATIONS, ERRORS, FEWEST, STALLED = range(4)

# Functions that only other compiled functions call need no entry from Python. Loops
# are written out: they compile several times faster than array expressions.
_compiled = njit(nogil=True, cache=True, error_model="numpy", no_cfunc_wrapper=True)
_inner = njit(
    nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
)


@_inner
def _is_first(X, j, v):
    """The canonical side of row j: whether w.x >= w0, summed from left to right."""
    total = v[1] * X[j, 0]
    for k in range(1, X.shape[1]):
        total += v[k + 1] * X[j, k]
    return total >= v[0]


@_compiled
def count_errors(X, first, weight, v):
    """Errors of v, from scratch; in units of the integer weights."""
    errors = 0
    for j in range(len(X)):
        if _is_first(X, j, v) != first[j]:
            errors += weight[j] if len(weight) else 1
    return errors


@_inner
def _is_finite(v):
    """Whether the sum of the sizes of the coefficients is finite."""
    size = 0.0
    for i in range(len(v)):
        size += abs(v[i])
    return size < np.inf


@_inner
def _margin_and_scale(X, j, v):
    """w.x - w0 and the scale c of row j at the reference v."""
    total, c = -v[0], abs(v[0])
    for k in range(len(v) - 1):
        term = v[k + 1] * X[j, k]
        total += term
        c = abs(term) if abs(term) > c else c
    return total, c


@_compiled
def measure(X, first, weight, v, sizes):
    """Errors of v as above, and |M| of each row at the reference v; 0 in doubt."""
    errors = 0
    finite = _is_finite(v)
    for j in range(len(X)):
        total, c = _margin_and_scale(X, j, v)
        in_range = finite and _SMALLEST_SCALE <= c <= _LARGEST_SCALE
        sizes[j] = abs(total) / c if in_range else 0.0
        if _is_first(X, j, v) != first[j]:
            errors += weight[j] if len(weight) else 1
    return errors


@_inner
def _nearest(margins):
    """Smallest |M| in a tile."""
    low = abs(margins[0])
    for k in range(1, TILE):
        size = abs(margins[k])
        low = size if size < low else low
    return low


@_inner
def _refresh(block, v, step):
    """Make v the reference, and sort the rows by |M| into tiles without terms."""
    X, first, keys, free = block.X, block.first, block.keys, block.free
    rows, scales, margins = block.rows, block.scales, block.margins
    synced, counters, last = block.synced, block.counters, len(v)
    per_unit = _BUCKETS_PER_STEP / step
    for k in range(len(X) % TILE, TILE):
        margins[len(margins) - 1, k] = _FAR
    for at in range(N_BUCKETS + 1):
        free[at] = 0
    finite = _is_finite(v)
    for j in range(len(X)):
        total, c = _margin_and_scale(X, j, v)
        in_range = finite and _SMALLEST_SCALE <= c <= _LARGEST_SCALE
        keys[j, 1] = (2.0 * first[j] - 1.0) / c if in_range else 0.0
        keys[j, 0] = keys[j, 1] * total if in_range else 0.0
        bucket = abs(keys[j, 0]) * per_unit
        free[int(bucket) + 1 if bucket < N_BUCKETS - 1 else N_BUCKETS] += 1
    for at in range(N_BUCKETS):
        free[at + 1] += free[at]
    for j in range(len(X)):
        bucket = abs(keys[j, 0]) * per_unit
        at = int(bucket) if bucket < N_BUCKETS - 1 else N_BUCKETS - 1
        tile, k = free[at] // TILE, free[at] % TILE
        rows[tile, k], scales[tile, k], margins[tile, k] = j, keys[j, 1], keys[j, 0]
        free[at] += 1
    for tile in range(len(margins)):
        for i in range(last):
            synced[tile, i] = v[i]
        synced[tile, last] = synced[tile, last + 1] = _nearest(margins[tile])
        synced[tile, last + 2] = 0.0
    for i in range(last):
        block.rules[REFERENCE, i] = block.rules[CURRENT, i] = v[i]
    counters[MOVES] = counters[PATH] = counters[EXCESS] = 0.0
    counters[READY] = 1.0


@_inner
def _fill_tile(X, rows, scales, reference, terms):
    """Terms z of the rows of a tile; zero where it is not full or c out of range."""
    for k in range(TILE):
        terms[0, k] = -reference[0] * scales[k]
    # All rows at once for each coordinate, so that the memory works on many of them.
    for i in range(1, len(reference)):
        for k in range(TILE):
            term = reference[i] * X[rows[k], i - 1] * scales[k]
            terms[i, k] = term if scales[k] != 0 else 0.0


@_inner
def _may_reach(v, reference, synced, path, reach):
    """Whether some row of a tile may be within reach."""
    last = len(v)
    if path + reach < synced[last]:
        return False
    # The rule may have come back on its path, and the tile can still be skipped.
    rest = synced[last + 1]
    for i in range(last):
        if v[i] != synced[i]:
            rest -= abs((v[i] - synced[i]) / reference[i])
    synced[last] = path + rest
    return not reach < rest


@_inner
def _move_tile(v, reference, synced, margins, terms):
    """Bring the margins of a tile to v; returns the smallest |M|."""
    for i in range(len(v)):
        if v[i] != synced[i]:
            change = (v[i] - synced[i]) / reference[i]
            synced[i] = v[i]
            for k in range(TILE):
                margins[k] += change * terms[i, k]
    return _nearest(margins)


@_inner
def _count(margins, terms, r, bound):
    """Errors of the two neighbours in a tile, and how many rows are beyond doubt."""
    plus = minus = sure = np.int32(0)
    zero, limit = np.float32(0), np.float32(bound)
    for k in range(TILE):
        m = margins[k]
        a = r * terms[k]
        plus = np.int32(plus + np.int32(m + a < zero))
        minus = np.int32(minus + np.int32(m - a < zero))
        sure = np.int32(sure + np.int32(abs(abs(m) - abs(a)) > limit))
    return np.int64(plus), np.int64(minus), np.int64(sure)


@_inner
def _count_weighted(margins, terms, r, bound, tile_weight):
    """The same with weights: weighted errors, and how many rows are beyond doubt."""
    plus = minus = sure = np.int64(0)
    zero, limit = np.float32(0), np.float32(bound)
    for k in range(TILE):
        m = margins[k]
        a = r * terms[k]
        # Masks of all ones or none, because branches keep this from being vectorised.
        plus += tile_weight[k] & -np.int64(m + a < zero)
        minus += tile_weight[k] & -np.int64(m - a < zero)
        sure += np.int64(abs(abs(m) - abs(a)) > limit)
    return plus, minus, sure


@_inner
def _count_carefully(data, rows, n, margins, terms, trial, i, size, r, bound):
    """Weighted errors of the two neighbours; rows in doubt are done canonically."""
    X, first, weight = data
    plus = minus = np.int64(0)
    kept = trial[i]
    for k in range(n):
        j = np.int64(rows[k])
        w = weight[j] if len(weight) else 1
        m = margins[k]
        a = r * terms[k]
        if abs(abs(m) - abs(a)) > bound:
            plus += w if m + a < 0 else 0
            minus += w if m - a < 0 else 0
            continue
        for neighbour in range(2):
            trial[i] = kept - size if neighbour else kept + size
            if _is_first(X, j, trial) != first[j]:
                plus += 0 if neighbour else w
                minus += w if neighbour else 0
    trial[i] = kept
    return plus, minus


@_inner
def _evaluate_tile(data, rows, n, rules, step, bound, scratch, terms, changes):
    """Add the changes of the errors that each neighbour makes in a tile."""
    now = np.int64(0)
    margins, tile_weight = scratch
    weighted = len(data[2]) > 0
    if weighted:
        for k in range(TILE):
            tile_weight[k] = data[2][rows[k]] if k < n else 0
    # Round -1 moves nothing and so counts the errors of the current rule.
    for round_ in range(-1, rules.shape[1]):
        i = round_ if round_ > 0 else 0
        ratio = rules[RATIO, i] if round_ >= 0 else 0.0
        if round_ >= 0 and ratio == 0:
            continue
        r = np.float32(ratio)
        if weighted:
            plus, minus, sure = _count_weighted(
                margins, terms[i], r, bound, tile_weight
            )
        else:
            plus, minus, sure = _count(margins, terms[i], r, bound)
        if sure < TILE:
            size = step * abs(rules[TRIAL, i]) if round_ >= 0 else 0.0
            plus, minus = _count_carefully(
                data, rows, n, margins, terms[i], rules[TRIAL], i, size, r, bound
            )
        if round_ < 0:
            now = plus
        else:
            changes[2 * i] += plus - now
            changes[2 * i + 1] += minus - now


@_inner
def _advance(v, rules, step, counters):
    """Add the move to v to the path; returns R plus the rounding, the latter, and D."""
    R = D = 0.0
    for i in range(len(v)):
        reference = rules[REFERENCE, i]
        if v[i] != rules[CURRENT, i]:
            counters[PATH] += abs((v[i] - rules[CURRENT, i]) / reference)
            counters[MOVES] += 1
        rules[CURRENT, i] = rules[TRIAL, i] = v[i]
        rules[RATIO, i] = 0.0
        if reference != 0:
            rules[RATIO, i] = step * abs(v[i]) / reference
            D += abs(v[i] / reference - 1)
        R = abs(rules[RATIO, i]) if abs(rules[RATIO, i]) > R else R
    d = len(v) - 1
    single = 2.0**-24 * (8 * R + 1.2 * counters[PATH])
    double = 2.0**-53 * 4 * (d + counters[MOVES] + 8) * (d + 1 + D + R)
    return R + single + double, single + double, D


@_inner
def move(v, changes, step, state, log):
    """Go to the first neighbour with the fewest errors, and log the move.

    The number of iterations comes last, so that an interrupt leaves the log whole.
    """
    winner = 0
    for neighbour in range(len(changes)):
        if changes[neighbour] < changes[winner]:
            winner = neighbour
    i = winner // 2
    size = step * abs(v[i])
    v[i] = v[i] - size if winner % 2 else v[i] + size
    state[ERRORS] += changes[winner]
    state[STALLED] += 1
    if state[ERRORS] < state[FEWEST]:
        state[FEWEST] = state[ERRORS]
        state[STALLED] = 0
    log[0, state[ITERATIONS]] = state[ERRORS]
    log[1, state[ITERATIONS]] = winner
    state[ITERATIONS] += 1


@_compiled
def run(block, v, changes, step, leniency, patience, until, state, log):
    """Make iterations on a single block, until so many have been made.

    With `until` zero, only the changes of the errors are found, and whoever joins
    several blocks makes the move.
    """
    data = block.X, block.first, block.weight
    counters, rules, last = block.counters, block.rules, len(v)
    scratch = block.single, block.tile_weight
    while state[FEWEST] > 0 and state[STALLED] < patience:
        reach, bound, drift = _advance(v, rules, step, counters)
        stale = (
            counters[EXCESS] > leniency * len(block.X) or counters[MOVES] >= _MAX_MOVES
        )
        stale = stale or not drift < _LARGEST_DRIFT
        # A new reference at the same rule would change nothing.
        if counters[READY] == 0 or (stale and counters[MOVES] > 0):
            _refresh(block, v, step)
            continue
        for neighbour in range(len(changes)):
            changes[neighbour] = 0
        touched = 0
        for tile in range(len(block.margins)):
            synced, rows = block.synced[tile], block.rows[tile]
            if not _may_reach(v, rules[REFERENCE], synced, counters[PATH], reach):
                continue
            terms = block.tiles[tile if len(block.tiles) > 1 else 0]
            if synced[last + 2] == 0 or len(block.tiles) == 1:
                _fill_tile(block.X, rows, block.scales[tile], rules[REFERENCE], terms)
                synced[last + 2] = 1.0
            margins = block.margins[tile]
            nearest = _move_tile(v, rules[REFERENCE], synced, margins, terms)
            synced[last], synced[last + 1] = counters[PATH] + nearest, nearest
            if not nearest > reach:
                rest = len(block.X) - tile * TILE
                n = TILE if rest > TILE else rest
                touched += n
                for k in range(TILE):
                    scratch[0][k] = margins[k]
                _evaluate_tile(
                    data, rows, n, rules, step, bound, scratch, terms, changes
                )
        counters[TOUCHED] += touched
        counters[AT_FIRST] = touched if counters[MOVES] == 0 else counters[AT_FIRST]
        counters[EXCESS] += touched - counters[AT_FIRST]
        if until > 0:
            move(v, changes, step, state, log)
        if state[ITERATIONS] >= until:
            break
