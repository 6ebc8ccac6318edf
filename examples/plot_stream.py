"""
A stream that drifts
====================

``partial_fit`` adds each batch to the class statistics, so its model is always fitted
to *all* rows so far. If the classes drift, old rows mislead. There are two ways to
forget them: ``decay`` reduces their weight with every batch, and ``window - old``
subtracts rows that leave a window.
"""

from collections import deque

import matplotlib.pyplot as plt
import numpy as np

from heterolda import ClassStatistics, GaussianLinearDiscriminant

rng = np.random.default_rng(0)
shapes = np.array(
    [
        [[0.6, 0.0], [0.3, 1.4]],
        [[1.8, 0.0], [-0.4, 0.5]],
        [[0.5, 0.0], [0.0, 0.5]],
        [[1.0, 0.5], [0.0, 1.0]],
    ]
)


def batch(time, n=200):
    """Return rows of four classes, which move in a circle once in 200 batches."""
    y = rng.integers(0, 4, n)
    angle = 2 * np.pi * (time / 200 + y / 4)
    center = 2.2 * np.column_stack([np.cos(angle), np.sin(angle)])
    return (rng.normal(size=(n, 1, 2)) @ shapes[y])[:, 0] + center, y


# %%
# Each batch is predicted before the model learns from it. With ``decay=0.8`` the total
# weight approaches that of 1 / (1 - 0.8) = 5 batches, with an average age of 4; the
# window contains 8 batches.

first = batch(0)
growing = GaussianLinearDiscriminant().partial_fit(*first, classes=range(4))
fading = GaussianLinearDiscriminant().partial_fit(*first, classes=range(4))
recent = GaussianLinearDiscriminant().fit(*first)
window = ClassStatistics.from_data(*first)
batches = deque([window])
scores = []
for time in range(1, 150):
    X, y = batch(time)
    scores.append([model.score(X, y) for model in (growing, fading, recent)])
    growing.partial_fit(X, y)
    fading.partial_fit(X, y, decay=0.8)
    batches.append(ClassStatistics.from_data(X, y))
    window = window + batches[-1]
    if len(batches) > 8:
        window = window - batches.popleft()
    recent.fit_statistics(window)

# %%
# Show the accuracy of each batch, averaged over ten.

smooth = np.ones(10) / 10
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
names = ["partial_fit, all rows", "partial_fit with decay=0.8", "a window of 8 batches"]
styles = [("#2a6fbb", "-"), ("#d1602b", "-"), ("0.2", (0, (4, 2)))]
for values, name, style in zip(np.transpose(scores), names, styles, strict=True):
    mean = np.convolve(values, smooth, mode="valid")
    axes.plot(range(10, 150), 100 * mean, color=style[0], ls=style[1], lw=2, label=name)
    print(f"{name:27s} {100 * values.mean():.1f} % on average")
axes.set(xlabel="batch", ylabel="accuracy, %")
axes.legend()
plt.show()
