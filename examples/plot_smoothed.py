"""
One dial from Algorithm 1 to Algorithm 2
========================================

The paper has two algorithms: one looks for the best line for two fitted Gaussians, the
other for fewer training errors. They are the two ends of one family. For a width
between 0 and 1, each row becomes a small Gaussian, and the rule minimizes the error
under the resulting mixtures. Width 1 is the Gaussian optimum; as the width goes to 0,
the error becomes the training error rate. ``path_`` lists the error on held-out
rows for several widths.
"""

import matplotlib.pyplot as plt
import numpy as np

from heterolda import (
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
)

rng = np.random.default_rng(0)


def normal(n=240, d=12):
    """Return two normal classes of unequal covariances, with few rows."""
    y = np.arange(n) % 2
    spread = np.where(y[:, None] == 0, rng.uniform(0.5, 2, d), rng.uniform(0.5, 2, d))
    return spread * rng.normal(size=(n, d)) + 0.45 * y[:, None], y


def far_from_normal(n=1000, d=3):
    """Return two classes; a tenth of the first is far beyond the second."""
    y = np.arange(n) % 2
    X = rng.normal(size=(n, d)) + 1.2 * y[:, None]
    X[(y == 0) & (rng.random(n) < 0.1)] += 9.0
    return X, y


# %%
# For normal classes, wide is best: small widths count the errors of a few rows and
# overfit. If the Gaussian model is wrong, narrow is best. The bars are one standard
# error; filled circles are the candidates that the final rule averages. Algorithm 2
# makes few training errors in both cases, which says little about new rows.

figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.4), layout="constrained")
for ax, draw in zip(axes, (normal, far_from_normal), strict=True):
    X, y = draw()
    model = SmoothedLinearDiscriminant(transformation=None).fit(X, y)
    path = [row for row in model.path_ if row["width"] is not None]
    width, error, bar, weight = (
        np.array([row[key] for row in path])
        for key in ("width", "error", "standard_error", "weight")
    )
    ends = GaussianLinearDiscriminant(guard=False), LocalNeighborhoodSearch()
    training = [100 * (1 - end.fit(X, y).score(X, y)) for end in ends]
    ax.errorbar(width, 100 * error, 100 * bar, color="#2a6fbb", lw=2, capsize=3)
    for chosen, color in ((weight > 0, "#2a6fbb"), (weight == 0, "white")):
        ax.plot(
            width[chosen],
            100 * error[chosen],
            "o",
            color=color,
            mec="#2a6fbb",
            zorder=3,
        )
    ax.plot([width[0], width[-1]], training, "D", color="#d1602b", ms=7)
    for x, name, side in (
        (width[0], "Algorithm 1", "right"),
        (width[-1], "Algorithm 2", "left"),
    ):
        below = ax.get_xaxis_transform()
        ax.text(x, 0.03, name, transform=below, ha=side, color="#d1602b")
    ax.set(
        xscale="log",
        xlabel="width",
        ylabel="errors in %",
        title=draw.__name__.replace("_", " "),
        ylim=(16, 34),
    )
    print(f"{draw.__name__:15s} width {model.width_:g}")
axes[1].plot([], [], "-o", color="#2a6fbb", label="held-out rows, by width")
axes[1].plot([], [], "D", color="#d1602b", label="training rows, at both ends")
axes[1].legend(loc="upper left", frameon=False)
plt.show()
