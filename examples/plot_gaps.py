"""
Missing values, and why they are missing
========================================

There are two classes and two features, and some values of the second feature are
missing: at random, where the first is large, or where the value itself would be large.
For the first case you may drop rows, for the second you need ``missing="em"``, and for
the third EM with an indicator column.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse
from sklearn.impute import MissingIndicator
from sklearn.pipeline import make_pipeline, make_union

from heterolda import GaussianLinearDiscriminant

MEANS = np.array([[0.0, 0.0], [1.0, 1.6]])
COVARIANCES = np.array([[[1.0, 0.7], [0.7, 1.0]], [[1.5, 0.3], [0.3, 0.6]]])
rng = np.random.default_rng(0)


def draw(n, why, share):
    """Return complete rows, the rows with missing values, and their labels."""
    y = np.arange(2 * n) % 2
    noise = rng.normal(size=(2 * n, 2, 1))
    X = MEANS[y] + (np.linalg.cholesky(COVARIANCES)[y] @ noise)[:, :, 0]
    by = {"at random": rng.random(2 * n), "x1 is large": X[:, 0]}.get(why, X[:, 1])
    incomplete = X.copy()
    incomplete[by > np.quantile(by, 1 - share), 1] = np.nan
    return X, incomplete, y


# %%
# The indicator is one more column, of zeros and ones, that says where the second value
# is missing. The values stay missing.

em = GaussianLinearDiscriminant(missing="em")
marked = make_pipeline(make_union("passthrough", MissingIndicator()), em)


def is_complete(X):
    """Return which rows are complete."""
    return ~np.isnan(X).any(axis=1)


fits = {
    "rows dropped": lambda X, y: em.fit(X[is_complete(X)], y[is_complete(X)]),
    "EM": em.fit,
    "EM with an indicator": marked.fit,
}

# %%
# Compute errors on 20,000 new rows, whose values are missing for the same reason. All
# three models predict incomplete rows from the observed values; only the fits differ.

reasons = "at random", "x1 is large", "x2 itself is large"
shares = np.array([0.05, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
errors = {}
for why in reasons:
    for share in shares:
        _, X, y = draw(1000, why, share)
        _, X_new, y_new = draw(10_000, why, share)
        for name, fit in fits.items():
            wrong = 100 * np.mean(fit(X, y).predict(X_new) != y_new)
            errors.setdefault((why, name), []).append(wrong)
for (why, name), percent in errors.items():
    print(f"{why:18s} {name:21s} 30 %: {percent[2]:.1f}   50 %: {percent[4]:.1f}")

# %%
# Above, 40 % of the values are missing: gray points are rows without a second value. EM
# infers it from the first feature, as long as that determines what is missing. If the
# value itself does, nothing that is observed helps. Below are the errors. With an
# indicator, the rule can use the fact that a value is missing.

figure, axes = plt.subplots(
    2, 3, figsize=(10.4, 6.8), sharex="row", sharey="row", layout="constrained"
)
colors, styles = ("#2a6fbb", "#d1602b"), ("--", "-")
for top, why in zip(axes[0], reasons, strict=True):
    X, incomplete, y = draw(1000, why, 0.4)
    lost = ~is_complete(incomplete)
    shown = np.arange(len(y)) < 500
    top.plot(*X[lost & shown].T, ".", color="0.68", ms=4)
    for k, color in enumerate(colors):
        top.plot(*X[~lost & shown & (y == k)].T, ".", color=color, ms=4, alpha=0.55)
    for name, style in zip(fits, styles, strict=False):
        stats = fits[name](incomplete, y).statistics_
        for mean, cov, color in zip(
            stats.means, stats.covariances(), colors, strict=True
        ):
            values, vectors = np.linalg.eigh(cov)
            angle = np.degrees(np.arctan2(*vectors[::-1, 1]))
            shape = {"angle": angle, "fill": False, "color": color, "ls": style}
            top.add_patch(Ellipse(mean, *4 * np.sqrt(values[::-1]), lw=2, **shape))
    top.set_title(f"x2 is missing {'where ' * (why != 'at random')}{why}")
    top.set(xlabel="x1", xlim=(-3.4, 5), ylim=(-3.4, 4.2), xticks=[], yticks=[])
axes[0, 0].set_ylabel("x2")
for name, style in zip(fits, styles, strict=False):
    axes[0, 0].plot([], [], color="0.2", ls=style, lw=2, label=name)
axes[0, 0].plot([], [], ".", color="0.68", ms=8, label="x2 is missing")
axes[0, 0].legend(loc="lower right", fontsize="small", framealpha=0.95)

drawn = {"color": "0.45", "ls": "--"}, {"color": "0.1"}, {"color": "#1b8a5a"}
for below, why in zip(axes[1], reasons, strict=True):
    for name, style, marker in zip(fits, drawn, "sD^", strict=True):
        below.plot(
            100 * shares, errors[why, name], marker=marker, lw=2, label=name, **style
        )
    below.set(xlabel="missing values of x2 in %", xlim=(0, 75), ylim=(15, 48))
    below.spines[["top", "right"]].set_visible(False)
axes[1, 0].text(48, 22, "all three alike", fontsize="small", color="0.3")
axes[1, 0].set_ylabel("errors in %")
axes[1, 0].legend(loc="upper left", fontsize="small", frameon=False)
plt.show()
