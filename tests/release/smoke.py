"""The main jobs from an installed package, without the test suite: python smoke.py."""

import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine

import heterolda
from heterolda import kernels

HERE = Path(__file__).resolve().parents[2] / "src"


def main():
    """Fit, refine, save and load; raise where something is amiss."""
    assert HERE not in Path(heterolda.__file__).resolve().parents, "not installed"
    assert version("heterolda") == heterolda.__version__
    X, y = load_wine(return_X_y=True)
    model = heterolda.GaussianLinearDiscriminant().fit(X, y)
    assert model.score(X, y) > 0.98
    assert np.all(model.gap_ < 0.01)
    search = heterolda.LocalNeighborhoodSearch().fit(X, y)
    assert np.all(search.n_errors_ <= search.n_errors_start_)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        heterolda.save(model, path)
        loaded = heterolda.load(path)
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    module = [sys.executable, "-m", "heterolda.cli", "--version"]
    said = subprocess.run(module, capture_output=True, text=True)
    wanted = "heterolda" if said.returncode == 0 else "heterolda[cli]"
    assert wanted in said.stdout + said.stderr, said
    print(f"heterolda {heterolda.__version__} works (kernels: {kernels.in_use()})")


if __name__ == "__main__":
    main()
