"""Class statistics of sparse rows, against the definitions on dense ones."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from heterolda import ClassStatistics
from heterolda.statistics import moments
from heterolda.statistics.rows import Rows

of = ClassStatistics.from_data


def naive(X, codes, weight, n_classes):
    """Weights, means and scatters in extended precision, centered."""
    X = X.astype(np.longdouble)
    found = []
    for k in range(n_classes):
        w, rows = weight[codes == k, None], X[codes == k]
        rows = rows - rows[:1]  # so that rounding does not make constants vary
        mean = (w * rows).sum(axis=0) / max(w.sum(), 1e-300)
        z = rows - mean
        origin = X[codes == k][:1].sum(axis=0)
        found.append((w.sum(), origin + mean, (w * z).T @ z))
    return [np.array(part) for part in zip(*found, strict=True)]


def draw(rng, n=400):
    """Columns of all densities, some of them far from zero, one constant."""
    shares = np.array([0.0, 0.005, 0.05, 0.09, 0.11, 0.4, 0.6, 0.95, 1, 1, 1, 1])
    X = rng.normal(1, 2, size=(n, 12)) * (rng.random((n, 12)) < shares)
    X[:, 8] += 1e6
    X[:, 7] *= 1e6
    X[:, 9] = 7.3
    X[::50, 10] = 0
    X[:, 10] *= 1e6
    X[0] = 0
    X[5] = 0
    return X, rng.integers(4, size=n)


@pytest.mark.parametrize(
    ("weights", "block"), [(None, 17), ("whole", 1 << 20), ("spread", 17)]
)
def test_equals_the_definitions(rng, weights, block, monkeypatch):
    monkeypatch.setattr(moments, "_BLOCK", block)
    X, codes = draw(rng)
    weight = None
    if weights == "whole":
        weight = rng.integers(0, 4, len(X)).astype(float)
    elif weights == "spread":
        weight = 10 ** rng.uniform(-4, 4, len(X))
    ones = np.ones(len(X)) if weight is None else weight
    totals, means, scatters = naive(X, codes, ones, 5)  # one class has no rows
    size = np.sqrt(np.einsum("kii->ki", scatters)).astype(float)
    scale = size[:, :, None] * size[:, None, :]
    for form in (sp.csr_array(X), X):
        found = ClassStatistics.from_rows(Rows(form, codes, weight, np.arange(5)))
        assert_allclose(found.weights, totals, rtol=1e-14)
        # On the scale of the variances; constant columns have none at all.
        off = np.abs(found.means - means) / np.where(size > 0, size, 1)
        assert (off <= 1e-12 + 1e-15 * np.abs(means)).all()
        assert (np.abs(found.scatters - scatters) <= 1e-13 * scale).all()
        assert_array_equal(found.scatters, found.scatters.mT)


def test_any_form_of_the_same_numbers(rng):
    X, codes = draw(rng)
    X = np.round(X[:, :8])
    y, weight = np.array(list("abcd"))[codes], rng.integers(0, 3, len(X)).astype(float)
    expected = of(X, y, weight)
    plain, back = sp.csr_array(X), sp.csr_array(X[::-1])
    both = plain.data, plain.indices
    twice = [np.repeat(part, 2) for part in (plain.data / 2, plain.indices)]
    ends = np.arange(len(X) + 1)
    zeros = sp.csr_array((0.0 * ends[1:], ends[1:] % 8, ends), X.shape)
    forms = [
        sp.csr_array((*both, plain.indptr.astype("i8")), X.shape),
        sp.csr_array((*twice, plain.indptr * 2), X.shape),  # duplicates
        sp.csr_array(  # unsorted
            (back.data[::-1], back.indices[::-1], back.nnz - back.indptr[::-1]), X.shape
        ),
        sp.vstack([plain[:100], zeros[100:]]) + sp.vstack([zeros[:100], plain[100:]]),
        *(kind(X) for kind in (sp.csr_matrix, sp.csc_array, sp.coo_array)),
        *(plain.astype(kind) for kind in ("i8", "i4", "f4")),
    ]
    for form in forms:
        before = form.data.copy()
        found = of(form, y, weight)
        assert_array_equal(found.classes, expected.classes)
        assert_allclose(found.scatters, expected.scatters, rtol=1e-9, atol=1e-6)
        assert_allclose(found.means, expected.means, rtol=1e-12)
        assert_array_equal(form.data, before)  # it is left as it was
    ones = sp.csr_array(X != 0)
    assert ones.dtype == bool
    assert_allclose(of(ones, y).scatters, of(X != 0, y).scatters, atol=1e-12)


def test_what_is_refused(rng):
    X, codes = draw(rng)
    for value, message in (
        (np.nan, "X contains NaN"),
        (np.inf, "X contains infinity"),
        (1e200, "X: the values of feature 2 are so large"),
    ):
        bad = sp.lil_array(X)
        bad[3, 2] = value
        with pytest.raises(ValueError, match=message):
            of(bad, codes)
    for column in (2, 11):
        bad = X.copy()
        bad[:, column] *= 1e-170
        with pytest.raises(ValueError, match=f"feature {column} vary so little"):
            of(sp.csr_array(bad), codes)
    with pytest.raises(ValueError, match="Complex data not supported"):
        of(sp.csr_array(X + 1j), codes)


def test_no_dense_copy_is_made(rng):
    places = rng.integers(20_000, size=20_000), rng.integers(200, size=20_000)
    X = sp.csr_array((rng.normal(size=20_000), places), (20_000, 200))
    codes = rng.integers(4, size=20_000)
    tracemalloc.start()
    of(X, codes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.shape[0] * X.shape[1] * 8 / 4
