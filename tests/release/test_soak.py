"""No memory is lost from fit to fit; `make soak` looks at thousands of them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.soak import LIMIT, Verdict, main

ROOT = Path(__file__).parents[2]

KEPT = """
import gc, sys, tempfile, warnings
from itertools import islice
from pathlib import Path
import numpy as np
from benchmarks.soak import jobs, settings, work

def kept(work):
    # Objects and blocks of memory that a fit leaves, after two rounds of all.
    n_each, counts = len(settings()), []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(4):
            for job in islice(jobs(), n_each):
                work(*job, Path(folder))
            gc.collect()
            counts.append((len(gc.get_objects()), sys.getallocatedblocks()))
    return np.subtract(counts[3], counts[1]) / (2 * n_each)

warnings.simplefilter("ignore")
lost = []
print(*kept(work), *kept(lambda *job: lost.append(list(np.ones((50, 9))))))
"""
LEAK = """
import numpy as np
from benchmarks.soak import soak

lost = []
verdict = soak(2000, lambda text: None, lambda *job: lost.append(np.ones(4096)))
print(verdict.slope, verdict.grows)
"""


def run_apart(script):
    """What a process of its own prints; one of many tests has much else in memory."""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    return done.stdout.split()


def test_nothing_is_kept_from_fit_to_fit():
    objects, blocks, of_leak, blocks_of_leak = map(float, run_apart(KEPT))
    # Python's own caches take some blocks more; an array is two, a model hundreds.
    assert objects < 0.5 < of_leak
    assert blocks < 30 < blocks_of_leak


def test_a_leak_is_found():
    slope, grows = run_apart(LEAK)  # 32 kB a fit
    assert grows == "True"
    assert float(slope) == pytest.approx(33, abs=5)


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
