"""
LDA, QDA and the best linear rules, side by side
================================================

Ten handwritten digits in the plane of their first two principal components. LDA uses
one covariance for all digits. QDA uses one for each, and its boundaries are curved.
GLD, :class:`heterolda.GaussianLinearDiscriminant`, also uses one for each, but keeps
straight boundaries between any two digits. The titles give accuracies on held-out rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)

from heterolda import GaussianLinearDiscriminant

# %%
# The models are fitted to the first two thirds of the rows. The last third is held out;
# most of it was written by other people.

X, y = load_digits(return_X_y=True)
reduction = PCA(2, random_state=0).fit(X[:1200])
Z, Z_test = reduction.transform(X[:1200]), reduction.transform(X[1200:])
y, y_test = y[:1200], y[1200:]
models = {
    "LDA": LinearDiscriminantAnalysis(),
    "GLD": GaussianLinearDiscriminant(),
    "QDA": QuadraticDiscriminantAnalysis(),
}

# %%
# Show the decisions of the three models. Each number is at the mean of its digit.

low, high = Z.min(axis=0), Z.max(axis=0)
across, up = np.meshgrid(*np.linspace(low, high, 300).T)
grid = np.column_stack([across.ravel(), up.ravel()])
figure, axes = plt.subplots(1, 3, figsize=(8.4, 3.4), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    right = model.fit(Z, y).score(Z_test, y_test)
    regions = model.predict(grid).reshape(across.shape)
    ax.pcolormesh(across, up, regions, cmap="tab10", alpha=0.5, vmin=0, vmax=9)
    for digit in range(10):
        place = Z[y == digit].mean(axis=0)
        ax.text(*place, str(digit), size=15, weight="bold", ha="center", va="center")
    ax.set_title(f"{name}\n{100 * right:.1f} % of held-out rows right", size=11)
    ax.set(xticks=[], yticks=[])
plt.show()

# %%
# Two components can be drawn. With all 64 pixels the order is the same: GLD is ahead of
# LDA, and QDA, which needs regularization to run at all, is ahead of both.

models["QDA"].set_params(reg_param=0.1)
models["GLD"].set_params(shrinkage="cv")
for name, model in models.items():
    right = model.fit(X[:1200], y).score(X[1200:], y_test)
    print(f"{name}: {100 * right:.1f} % of held-out rows right")
