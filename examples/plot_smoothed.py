"""
One dial from Algorithm 1 to Algorithm 2
========================================

The paper has two algorithms: one looks for the best line for two fitted Gaussians, the
other for fewer training errors. They are the two ends of one family. For a width
between 0 and 1, each row becomes a small Gaussian, and the rule minimizes the error
under the resulting mixtures. Width 1 is the Gaussian optimum; as the width goes to 0,
the error becomes the training error rate. By default, the number of rows per feature
decides.
"""

import matplotlib.pyplot as plt
import numpy as np

from heterolda import (
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
)

rng = np.random.default_rng(0)


def normal(n, d=12):
    """Return two normal classes of unequal covariances."""
    y = np.arange(n) % 2
    spread = np.where(y[:, None] == 0, rng.uniform(0.5, 2, d), rng.uniform(0.5, 2, d))
    return spread * rng.normal(size=(n, d)) + 0.45 * y[:, None], y


def far_from_normal(n, d=3):
    """Return two classes; a tenth of the first is far beyond the second."""
    y = np.arange(n) % 2
    X = rng.normal(size=(n, d)) + 1.2 * y[:, None]
    X[(y == 0) & (rng.random(n) < 0.1)] += 9.0
    return X, y


# %%
# Each point is the mean over 30 samples, 240 rows on the left and 1,000 on the right;
# bars are one standard error. The blue errors are on 10,000 other rows of the same
# kind. For normal classes, wide is best: small widths count the errors of a few rows
# and overfit. If the Gaussian model is wrong, narrow is best. The star is
# ``width="auto"``, at its width, which is the smaller the more rows there are for each
# feature. Algorithm 2 makes few training errors in both cases, which says little about
# new rows.

widths = 1, 0.7, 0.5, 0.35, 0.25, 0.12, 0.06, 0.03, 0.01, 0.002
models = [
    SmoothedLinearDiscriminant(width, transformation=None)
    for width in (*widths, "auto")
]
ends = GaussianLinearDiscriminant(choose_on="model"), LocalNeighborhoodSearch()


def errors(model, X, y):
    """Return the share of errors in %."""
    return 100 * (1 - model.score(X, y))


figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.4), layout="constrained")
for ax, draw, n in zip(axes, (normal, far_from_normal), (240, 1000), strict=True):
    new, training = [], []
    for _ in range(30):
        X, y = draw(n + 10_000)
        first, rest = (X[:n], y[:n]), (X[n:], y[n:])
        new.append([errors(model.fit(*first), *rest) for model in models])
        training.append([errors(end.fit(*first), *first) for end in ends])
    *mean, mean_auto = np.mean(new, axis=0)
    bar = np.std(new, axis=0, ddof=1)[:-1] / np.sqrt(len(new))
    auto = models[-1].widths_[0]
    ax.errorbar(widths, mean, bar, fmt="-o", color="#2a6fbb", mfc="w", lw=2, capsize=3)
    ax.plot(auto, mean_auto, "*", color="#2a6fbb", mec="w", ms=15, zorder=3)
    ax.plot(
        [widths[0], widths[-1]], np.mean(training, axis=0), "D", color="#d1602b", ms=7
    )
    for x, name, side in (
        (widths[0], "Algorithm 1", "right"),
        (widths[-1], "Algorithm 2", "left"),
    ):
        below = ax.get_xaxis_transform()
        ax.text(x, 0.03, name, transform=below, ha=side, color="#d1602b")
    ax.set(
        xscale="log",
        xlabel="width",
        ylabel="errors in %",
        title=draw.__name__.replace("_", " "),
        ylim=(16, 32),
    )
    print(f"{draw.__name__:15s} width {auto:.2f}")
axes[1].plot([], [], "-o", color="#2a6fbb", mfc="w", label="new rows, by width")
axes[1].plot([], [], "*", color="#2a6fbb", ms=12, label='new rows, "auto"')
axes[1].plot([], [], "D", color="#d1602b", label="training rows, at both ends")
axes[1].legend(loc="upper left", frameon=False)
plt.show()
