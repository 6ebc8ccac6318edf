"""
Skewed data: local neighborhood search
=======================================

Word counts, as in spam filters, are far from normal: many are near zero, some very
large. For such data the optimum of the Gaussian model is only a good initial rule, from
which the paper's Algorithm 2 searches for fewer training errors.
"""

import matplotlib.pyplot as plt
import numpy as np

from heterolda import LocalNeighborhoodSearch

rng = np.random.default_rng(1)
n = 400
X = rng.gamma(shape=[[0.7, 1.2]] * n + [[2.0, 0.6]] * n, scale=[1.6, 1.5])
y = np.repeat([0, 1], n)
search = LocalNeighborhoodSearch().fit(X, y)
print(f"{search.n_errors_start_[0]} errors before, {search.n_errors_[0]} after")

# %%
# Left: the rule before and after. Right: the errors at each iteration. The search moves
# even if no neighbor is better, and returns the best rule of all iterations.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.2), layout="constrained")
for k, color in enumerate(("#2a6fbb", "#d1602b")):
    left.scatter(*X[y == k].T, s=7, color=color, alpha=0.45, linewidths=0)
x = np.array([-1.0, 12.0])
for model, style, name, errors in (
    (search.estimator_, (0, (5, 3)), "Gaussian optimum", search.n_errors_start_[0]),
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
right.plot(iterations, history, color="#2a6fbb", lw=1, label="current rule")
right.plot(iterations, best, color="0.1", lw=2, label="best so far")
right.set(xlabel="iteration", ylabel=f"training errors of {len(y)}")
right.legend(loc="upper right", framealpha=0.95, edgecolor="0.8")
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
