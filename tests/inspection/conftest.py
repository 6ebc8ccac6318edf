"""Pictures without windows, and rows of four classes."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def four(make_classes):
    X, y = make_classes(n_classes=4, n=80, d=5)
    return X, np.array(["east", "north", "south", "west"])[y]
