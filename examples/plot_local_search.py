"""Draw a local neighbourhood search: the rule before and after, and its course.

python examples/plot_local_search.py docs/images/local_search.png
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from heterolda import LocalNeighborhoodSearch

COLOURS = "#2a6fbb", "#d1602b"


def skewed_classes(rng, n=400):
    """Counts of words look like this: many near zero, some very large."""
    X = rng.gamma(shape=[[0.7, 1.2]] * n + [[2.0, 0.6]] * n, scale=[1.6, 1.5])
    return X, np.repeat([0, 1], n)


def main(path):
    X, y = skewed_classes(np.random.default_rng(1))
    search = LocalNeighborhoodSearch().fit(X, y)
    start = search.estimator_
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.2), dpi=150)

    for k, colour in enumerate(COLOURS):
        left.scatter(*X[y == k].T, s=7, color=colour, alpha=0.45, linewidths=0)
    x = np.array([-1.0, 12.0])
    for model, style, name, errors in (
        (start, (0, (5, 3)), "Gaussian optimum", search.n_errors_start_[0]),
        (search, "-", "after the search", search.n_errors_[0]),
    ):
        (a, b), c = model.coef_[0], model.intercept_[0]
        label = f"{name}: {errors} errors"
        left.plot(x, -(a * x + c) / b, color="0.1", linestyle=style, lw=2, label=label)
    left.set(xlim=(-0.2, 8), ylim=(-0.2, 10), xlabel="feature 1", ylabel="feature 2")
    left.legend(loc="upper right", framealpha=0.95, edgecolor="0.8")

    history = search.history_[0]
    iterations = np.arange(1, len(history) + 1)
    best = np.minimum.accumulate(history)
    right.plot(iterations, history, color=COLOURS[0], lw=1, label="current rule")
    right.plot(iterations, best, color="0.1", lw=2, label="best so far")
    right.set(xlabel="iteration", ylabel=f"training errors of {len(y)}")
    right.legend(loc="upper right", framealpha=0.95, edgecolor="0.8")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Software": None})


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/plot_local_search.py FILE.png")
    main(sys.argv[1])
