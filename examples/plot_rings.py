"""
Two classes of equal means
==========================

A ring and its core lie in a plane that is hidden among ten features. Their means are
equal, so the one component of linear discriminant analysis (LDA) is noise. The plane is
not where the rows vary most, so principal component analysis (PCA) misses it, too. The
covariances differ, and :class:`heterolda.HeteroscedasticProjection` uses them to find
the plane. Two classes can have as many components as there are features.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.model_selection import train_test_split

from heterolda import HeteroscedasticProjection

rng = np.random.default_rng(0)
plane, y = make_circles(1600, factor=0.3, noise=0.12, random_state=0)
noise = rng.normal(size=(1600, 8)) * np.linspace(0.5, 2, 8)
turn = np.linalg.qr(rng.normal(size=(10, 10)))[0]
X = np.hstack([plane, noise]) @ turn
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# How much of the separation does each of four components add, under the Gaussian model?
# Two are enough:

explained = HeteroscedasticProjection(4).fit(X, y).explained_
print(", ".join(f"{100 * share:.1f} %" for share in explained))

# %%
# All three reductions are fitted to half of the rows. The pictures show the other half,
# with the accuracies of quadratic discriminant analysis (QDA) in the components.

reductions = {
    "PCA": PCA(2),
    "LDA": LinearDiscriminantAnalysis(),
    "HeteroscedasticProjection": HeteroscedasticProjection(2),
}
kinds = ("ring", "#2a6fbb", "o"), ("core", "#d1602b", "^")
figure, axes = plt.subplots(1, 3, figsize=(8.4, 3.5), layout="constrained")
for ax, (name, reduction) in zip(axes, reductions.items(), strict=True):
    Z, Z_test = reduction.fit(X, y).transform(X), reduction.transform(X_test)
    accuracy = QuadraticDiscriminantAnalysis().fit(Z, y).score(Z_test, y_test)
    for k, (kind, color, marker) in enumerate(kinds):
        shown = Z_test[y_test == k].T
        style = {"color": color, "label": kind}
        if len(shown) == 1:
            outline = "-" if k else "--"
            ax.hist(
                *shown, bins=30, range=(-3, 3), histtype="step", ls=outline, **style
            )
            ax.set_ylabel("rows")
        else:
            ax.scatter(*shown, s=14, marker=marker, alpha=0.6, linewidths=0, **style)
            ax.set_ylabel("component 2")
    title = f"{name}\n{100 * accuracy:.0f} % of held-out rows right"
    ax.set(title=title, xlabel="component 1", xticks=[], yticks=[])
    ax.spines[:].set_color("0.75")
    ax.legend(loc="upper right", framealpha=0.95, edgecolor="0.8")
axes[2].set_aspect("equal", "datalim")
plt.show()
