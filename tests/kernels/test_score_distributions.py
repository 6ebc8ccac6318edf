"""Smoothed distributions of left-out scores: compiled and in NumPy, against loops."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import heterolda.kernels as package
from helpers.scores import smoothed
from heterolda.kernels.score_distributions import (
    Directions,
    RowsByClass,
    left_out_scores,
    score_distributions,
)
from heterolda.solvers import all_pairs


def draw(rng, sizes, d=3, G=5, weighted=False):
    """Rows of classes, and directions with any numbers that are possible."""
    y, k = np.repeat(np.arange(len(sizes)), sizes), len(sizes)
    X = rng.standard_t(3, size=(len(y), d))
    weight = rng.integers(0, 4, len(y)) / 2 if weighted else None
    totals = np.bincount(y, weight, k).astype(float)
    rows = RowsByClass(X, weight, np.searchsorted(y, np.arange(k + 1)), totals)
    pairs = all_pairs(k)
    n = len(pairs)
    ratio = rng.uniform(-0.5, 0.5, (n, G, d))
    ratio[:, :, 0] = 0.0
    directions = Directions(
        pairs,
        rng.normal(size=(n, G, d)),
        rng.normal(size=(n, d, d)),
        rng.uniform(0.3, 3, (n, G, d)),
        ratio,
        rng.uniform(0, 0.05, (n, 2, G)),
        rng.uniform(0.5, 3, (n, G)),
        rng.uniform(0.5, 2, (n, G)),
    )
    return rows, directions


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("smoothing", [0.0, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_distributions_are_those_of_single_rows(rng, smoothing, weighted):
    rows, directions = draw(rng, (30, 20, 4), G=3, weighted=weighted)
    trained = replace(directions, lost=np.where([[[0], [1]]], np.nan, directions.lost))
    lost = replace(directions, lost=np.where(directions.lost > 0.04, 0.2, 0.01))
    for given in ((rows, directions), (rows, trained), (rows, lost)):
        found = score_distributions(*given, smoothing)
        for p in range(3):
            both = [left_out_scores(*given, p, k) for k in range(2)]
            center = 0.5 * directions.distance[p] / directions.unit[p]
            scores = *zip(*both, strict=True), (center, -center)
            low, step, F = smoothed(*scores, smoothing)
            assert_allclose([found.low[p], found.step[p]], [low, step], rtol=1e-10)
            assert_allclose(found.F[p], F, atol=3e-9)  # where a Gaussian ends


@pytest.mark.parametrize("smoothing", [0.0, 0.4, 1.0])
def test_compiled_code_agrees(rng, smoothing, monkeypatch):
    if package.compiled is None:
        pytest.skip("nothing was compiled")
    cases = [
        draw(rng, sizes, d, G, weighted)
        for sizes, d, G in (((900, 30, 1), 4, 18), ((5, 2, 0, 3), 2, 1), ((1, 1), 1, 3))
        for weighted in (False, True)
    ]
    rows, directions = cases[0]
    Z = rows.Z.copy()
    Z[::7] *= 1e160
    cases.append((replace(rows, Z=Z), directions))  # squares overflow
    cases.append((replace(rows, Z=np.ones_like(Z)), directions))
    cases.append((replace(rows, Z=np.round(rows.Z[:, ::-1])), directions))
    none = {"basis": directions.basis[:, :, :0], "lost": directions.lost * np.nan}
    for name in ("inverse", "ratio"):
        none[name] = getattr(directions, name)[:, :, :0]
    cases.append((rows, replace(directions, **none)))
    cases.append((rows, replace(directions, lost=1e9 * directions.lost)))
    cases.append((rows, replace(directions, distance=0 * directions.distance)))
    with np.errstate(all="ignore"):
        fast = [score_distributions(*case, smoothing) for case in cases]
        monkeypatch.setattr(package, "compiled", None)
        for case, found in zip(cases, fast, strict=True):
            expected = score_distributions(*case, smoothing)
            assert_allclose(found.low, expected.low, rtol=1e-9)
            assert_allclose(found.step, expected.step, rtol=1e-9)
            assert_allclose(found.F, expected.F, atol=1e-9)


@pytest.mark.usefixtures("kernels")
def test_neither_the_order_of_rows_nor_that_of_classes_matters(rng):
    rows, directions = draw(rng, (300, 60), G=6)
    before = score_distributions(rows, directions)
    parts = np.split(rows.Z, rows.bounds[1:-1])
    Z = np.concatenate([rng.permutation(part) for part in parts])
    after = score_distributions(replace(rows, Z=Z), directions)
    assert_allclose(after.F, before.F, atol=1e-12)
    # Swapped: means change sides, and the largest angle comes first.
    swapped = replace(
        directions,
        pairs=directions.pairs[:, ::-1].copy(),
        w=-directions.w[:, ::-1].copy(),
        **{
            name: getattr(directions, name)[:, ::-1].copy()
            for name in ("inverse", "ratio", "distance", "unit")
        },
        lost=directions.lost[:, ::-1, ::-1].copy(),
    )
    after = score_distributions(rows, swapped)
    assert_allclose(after.low, -before.low - 160 * before.step, rtol=1e-9)
    assert_allclose(1 - after.F[:, ::-1, ::-1, ::-1], before.F, atol=1e-9)


@pytest.mark.usefixtures("kernels")
def test_layouts_and_no_rows(rng):
    rows, directions = draw(rng, (20, 0, 30))
    expected = score_distributions(rows, directions)
    for other in (np.asfortranarray(rows.Z), np.repeat(rows.Z, 2, 1)[:, ::2]):
        found = score_distributions(replace(rows, Z=other), directions)
        assert_array_equal(found.F, expected.F)
    assert np.isfinite(expected.F).all()
