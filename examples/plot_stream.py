"""
A stream that drifts
====================

``partial_fit`` adds each batch to the class statistics, so its model is always that of
*all* rows so far. Where the classes drift, old rows mislead. Statistics add up, so a
window is the sum of the latest batches.
"""

from collections import deque

import matplotlib.pyplot as plt
import numpy as np

from heterolda import ClassStatistics, GaussianLinearDiscriminant

rng = np.random.default_rng(0)
shapes = np.array([[[0.6, 0.0], [0.3, 1.4]], [[1.8, 0.0], [-0.4, 0.5]]])


def batch(time, n=200):
    """Both classes turn around each other, a full circle in 200 batches."""
    y = rng.integers(0, 2, n)
    angle = 2 * np.pi * time / 200
    centre = 1.5 * np.array([np.cos(angle), np.sin(angle)])
    X = (rng.normal(size=(n, 1, 2)) @ shapes[y])[:, 0]
    return X + np.where(y[:, None] == 1, centre, -centre), y


# %%
# Each batch is predicted before it is learned from.

first = batch(0)
once = GaussianLinearDiscriminant().fit(*first)
growing = GaussianLinearDiscriminant().partial_fit(*first, classes=[0, 1])
recent = GaussianLinearDiscriminant().fit(*first)
window = deque([ClassStatistics.from_data(*first)], maxlen=8)
names = ["fitted once", "partial_fit, all rows", "the last 8 batches"]
scores = []
for time in range(1, 100):
    X, y = batch(time)
    scores.append([model.score(X, y) for model in (once, growing, recent)])
    growing.partial_fit(X, y)
    window.append(ClassStatistics.from_data(X, y))
    recent.fit_statistics(sum(window))

# %%
# Accuracy of each batch, averaged over ten.

smooth = np.ones(10) / 10
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
colours = ("0.55", "#2a6fbb", "#d1602b")
for values, name, colour in zip(np.transpose(scores), names, colours, strict=True):
    mean = np.convolve(values, smooth, mode="valid")
    axes.plot(100 * mean, color=colour, lw=2, label=name)
    print(f"{name:22s} {100 * values.mean():.1f} % on average")
axes.set(xlabel="batch", ylabel="accuracy, %")
axes.legend()
plt.show()
