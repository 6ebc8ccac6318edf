"""
Data that are not normal: transform them first
==============================================

Many features are products of small effects, so their logarithms are closer to normal.
``PowerTransformer`` finds such a transformation for each feature. The rule is then
linear in the transformed features, and curved in the original ones.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer

from heterolda import GaussianLinearDiscriminant, LocalNeighborhoodSearch

rng = np.random.default_rng(0)
n = 500
X = np.exp(
    np.r_[
        rng.multivariate_normal([0.0, 0.0], [[0.2, 0.1], [0.1, 0.9]], n),
        rng.multivariate_normal([1.0, 0.8], [[0.6, -0.1], [-0.1, 0.2]], n),
    ]
)
y = np.repeat([0, 1], n)

# %%
# Compare the discriminant alone, with a local search, and on transformed features:

models = {
    "untransformed": GaussianLinearDiscriminant(),
    "local search": LocalNeighborhoodSearch(),
    "PowerTransformer": make_pipeline(PowerTransformer(), GaussianLinearDiscriminant()),
}
figure, axes = plt.subplots(1, 3, figsize=(8.4, 3.4), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    accuracy = cross_val_score(model, X, y).mean()
    print(f"{name:17s} {100 * accuracy:.1f} %")
    boundary = DecisionBoundaryDisplay.from_estimator(
        model.fit(X, y), X, response_method="predict", alpha=0.2, cmap="coolwarm", ax=ax
    )
    for k, color in enumerate(("#2a6fbb", "#d1602b")):
        ax.scatter(*X[y == k].T, s=7, color=color, alpha=0.5, linewidths=0)
    ax.set(
        xlim=(0, 10),
        ylim=(0, 8),
        title=f"{name}\n{100 * accuracy:.1f} % right, held out",
    )
plt.show()
