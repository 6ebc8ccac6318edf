"""Draw the idea: two Gaussians of unequal covariance, LDA's line and the optimal one.

python examples/plot_idea.py docs/images/idea.png
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

from heterolda import ClassStatistics, GaussianLinearDiscriminant

MEANS = np.array([[0.0, 0.0], [1.0, 0.5]])
COVARIANCES = np.array([[[0.3, 0.0], [0.0, 1.5]], [[6.0, 1.4], [1.4, 0.5]]])
COLOURS = "#2a6fbb", "#d1602b"


def main(path):
    moments = ClassStatistics.from_moments([0, 1], [500, 500], MEANS, COVARIANCES)
    rng = np.random.default_rng(3)
    points = [
        rng.multivariate_normal(m, s, 250)
        for m, s in zip(MEANS, COVARIANCES, strict=True)
    ]

    figure, axes = plt.subplots(figsize=(7.2, 4.6), dpi=150)
    for k, colour in enumerate(COLOURS):
        axes.scatter(*points[k].T, s=7, color=colour, alpha=0.35, linewidths=0)
        values, vectors = np.linalg.eigh(COVARIANCES[k])
        angle = np.degrees(np.arctan2(*vectors[::-1, 1]))
        for radius in (1, 2):
            size = 2 * radius * np.sqrt(values[::-1])
            axes.add_patch(
                Ellipse(MEANS[k], *size, angle=angle, fill=False, color=colour, lw=1.6)
            )
        axes.plot(*MEANS[k], "o", color=colour, markeredgecolor="white", ms=7)

    x = np.array([-6.0, 8.0])
    for solver, style, name in (
        ("fisher", (0, (5, 3)), "LDA, equal covariances"),
        ("global", "-", "heterolda, certified optimum"),
    ):
        model = GaussianLinearDiscriminant(solver=solver).fit_statistics(moments)
        (a, b), c = model.coef_[0], model.intercept_[0]
        label = f"{name}: error {100 * model.bayes_error_[0]:.1f} %"
        width = 2.6 if solver == "global" else 1.8
        axes.plot(
            x, -(a * x + c) / b, color="0.1", linestyle=style, lw=width, label=label
        )
    axes.set(xlim=(-5.2, 7.2), ylim=(-3.6, 4.2), aspect="equal")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_color("0.75")
    axes.legend(loc="upper right", frameon=True, framealpha=0.95, edgecolor="0.8")
    figure.tight_layout()
    figure.savefig(path, metadata={"Software": None})


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/plot_idea.py FILE.png")
    main(sys.argv[1])
