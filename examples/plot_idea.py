"""
Two Gaussians, two lines
========================

Linear discriminant analysis (LDA) assumes that both classes have the same covariance.
If they do not, its line may not be the best. The best line for two known or fitted
Gaussians follows from their means and covariances, with a proof that no other line has
an error more than 0.1 % lower.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

from heterolda import ClassStatistics, GaussianLinearDiscriminant

means = np.array([[0.0, 0.0], [1.0, 0.5]])
covariances = np.array([[[0.3, 0.0], [0.0, 1.5]], [[6.0, 1.4], [1.4, 0.5]]])
moments = ClassStatistics.from_moments([0, 1], [500, 500], means, covariances)

# %%
# Two models of the same moments. ``model_error_`` is the error that the Gaussian model
# predicts, and ``gap_`` says how far it may be from the smallest.

lda = GaussianLinearDiscriminant(solver="fisher").fit_statistics(moments)
best = GaussianLinearDiscriminant().fit_statistics(moments)
for name, model in (("LDA", lda), ("GLD", best)):
    print(f"{name}: error {model.model_error_[0]:.4f}, gap {model.gap_[0]:.1e}")

# %%
# The figure shows ellipses at one and two standard deviations, random points of both
# classes, and the two lines.

rng = np.random.default_rng(3)
figure, axes = plt.subplots(figsize=(5.8, 3.9), layout="constrained")
for mean, covariance, color in zip(
    means, covariances, ("#2a6fbb", "#d1602b"), strict=True
):
    points = rng.multivariate_normal(mean, covariance, 250)
    axes.scatter(*points.T, s=7, color=color, alpha=0.35, linewidths=0)
    values, vectors = np.linalg.eigh(covariance)
    angle = np.degrees(np.arctan2(*vectors[::-1, 1]))
    for radius in (1, 2):
        size = 2 * radius * np.sqrt(values[::-1])
        shape = Ellipse(mean, *size, angle=angle, fill=False, color=color, lw=1.6)
        axes.add_patch(shape)
    axes.plot(*mean, "o", color=color, markeredgecolor="white", ms=7)

x = np.array([-6.0, 8.0])
for model, name, style, width in (
    (lda, "LDA, equal covariances", (0, (5, 3)), 1.8),
    (best, "GLD, certified optimum", "-", 2.6),
):
    (a, b), c = model.coef_[0], model.intercept_[0]
    label = f"{name}: error {100 * model.model_error_[0]:.1f} %"
    axes.plot(x, -(a * x + c) / b, color="0.1", ls=style, lw=width, label=label)
axes.set(xlim=(-5.2, 7.2), ylim=(-3.6, 4.2), aspect="equal", xticks=[], yticks=[])
axes.spines[:].set_color("0.75")
axes.legend(loc="upper right", fontsize=9, framealpha=0.95, edgecolor="0.8")
plt.show()
