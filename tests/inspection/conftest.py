"""Pictures without windows, and rows of four classes."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def close_figures(monkeypatch):
    """Importing matplotlib takes a second, which collecting tests need not."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    import matplotlib.pyplot as plt

    plt.close("all")  # what other tests left, which old versions do not close unasked
    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.fixture
def four(make_classes):
    X, y = make_classes(n_classes=4, n=80, d=5)
    return X, np.array(["east", "north", "south", "west"])[y]
