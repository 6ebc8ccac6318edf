"""Draw four operating points: on the optimal trade-off, and as rules in the plane.

python examples/plot_operating_points.py docs/images/operating_points.png
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

from heterolda import ClassStatistics, FrontierDisplay, GaussianLinearDiscriminant

MEANS = np.array([[0.0, 0.0], [2.4, 1.6]])
COVARIANCES = np.array([[[0.5, 0.1], [0.1, 1.2]], [[2.6, 0.8], [0.8, 0.6]]])
CLASSES = ["healthy", "sick"]
COLOURS = "#2a6fbb", "#d1602b"
POINTS = [
    ("least error", {}, "-", "o"),
    ("minimax", {"criterion": "minimax"}, (0, (5, 2)), "s"),
    ("missing the sick costs 3", {"costs": {"sick": {"healthy": 3}}}, (0, (1, 1)), "D"),
    (
        "at most 1 % of the sick missed",
        {"criterion": "neyman-pearson", "max_error": {"sick": 0.01}},
        (0, (6, 2, 1, 2)),
        "^",
    ),
]


def main(path):
    moments = ClassStatistics.from_moments(CLASSES, [500, 500], MEANS, COVARIANCES)
    model = GaussianLinearDiscriminant(priors=[0.5, 0.5]).fit_statistics(moments)
    (frontier,) = model.frontier_
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 4.8), dpi=150)
    display = FrontierDisplay.from_estimator(model, ax=left)
    for marker in display.points_.values():
        marker.remove()

    for k, colour in enumerate(COLOURS):
        values, vectors = np.linalg.eigh(COVARIANCES[k])
        angle = np.degrees(np.arctan2(*vectors[::-1, 1]))
        for radius in (1, 2):
            size = 2 * radius * np.sqrt(values[::-1])
            shape = {"angle": angle, "fill": False, "color": colour, "lw": 1.6}
            right.add_patch(Ellipse(MEANS[k], *size, **shape))
        right.plot(*MEANS[k], "o", color=colour, mec="white", ms=7)
        place = [(-20, -52), (6, 6)][k]
        right.annotate(CLASSES[k], MEANS[k], place, textcoords="offset points")
    for name, request, line, marker in POINTS:
        point = frontier.at(**request)
        e1, e2 = point.error_rates
        left.plot(e1, 1 - e2, marker, color="0.1", ms=8, mec="white", label=name)
        foot = -point.intercept * point.coef / (point.coef @ point.coef)
        along = 20 * point.coef[::-1] / np.linalg.norm(point.coef) * [-1, 1]
        ends = np.array([foot - along, foot + along])
        right.plot(*ends.T, color="0.1", ls=line, lw=1.8, label=name)
    left.legend(loc="lower right", fontsize="small", framealpha=0.95)
    right.set(xlim=(-2.6, 6.4), ylim=(-4.2, 3.8), aspect="equal", xticks=[], yticks=[])
    right.set_title("the same four rules")
    right.legend(loc="lower right", fontsize="small", framealpha=0.95, edgecolor="0.8")
    figure.tight_layout()
    figure.savefig(path, metadata={"Software": None})


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/plot_operating_points.py FILE.png")
    main(sys.argv[1])
