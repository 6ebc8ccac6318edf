"""No memory is lost from fit to fit; `make soak` looks at thousands of them."""

import gc
import sys
import warnings
from itertools import islice

import numpy as np
import pytest

from benchmarks.soak import LIMIT, Verdict, jobs, main, settings, soak, work


def kept(folder, work):
    """Objects and blocks of memory that a fit leaves, after two rounds of all."""
    n_each, counts = len(settings()), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(4):
            for job in islice(jobs(), n_each):
                work(*job, folder)
            gc.collect()
            counts.append((len(gc.get_objects()), sys.getallocatedblocks()))
    return np.subtract(counts[3], counts[1]) / (2 * n_each)


def test_nothing_is_kept_from_fit_to_fit(tmp_path):
    # Python's own caches take some blocks more; an array is two, a model hundreds.
    objects, blocks = kept(tmp_path, work)
    assert objects < 0.5
    assert blocks < 30
    lost = []
    objects, blocks = kept(tmp_path, lambda *job: lost.append(list(np.ones((50, 9)))))
    assert objects > 0.5
    assert blocks > 30


def test_a_leak_is_found():
    lost = []

    def leaky(model, X, y, folder):
        lost.append(np.ones(4096))  # 32 kB

    verdict = soak(2000, lambda text: None, leaky)
    assert verdict.grows
    assert verdict.slope == pytest.approx(33, abs=5)


def test_a_line_through_figures(rng):
    fits = np.arange(100, 10_001, 100)
    steady = Verdict.of(fits, 200 + rng.normal(size=100))
    assert abs(steady.slope) < 4 * steady.deviation
    assert not steady.grows
    assert "no growth" in str(steady)
    grows = Verdict.of(fits, 200 + 1.1 * LIMIT * fits / 1000)
    assert grows.slope == pytest.approx(1.1 * LIMIT)
    assert grows.last > grows.first
    assert "memory grows" in str(grows)


def test_the_command(monkeypatch, capsys):
    verdict = Verdict(2 * LIMIT, 0.0, 1.0, 2.0)
    monkeypatch.setattr("benchmarks.soak.soak", lambda n, tell: verdict)
    assert main(["--fits", "7"]) == 1
    assert "7 fits" in capsys.readouterr().out
