"""
The trade-off in a screening problem
====================================

A test tells sick people from healthy ones. How many of the sick may be missed? Every
answer is a point of one curve, the optimal trade-off of all linear rules, and no answer
needs a new fit.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

from heterolda import ClassStatistics, FrontierDisplay, GaussianLinearDiscriminant

means = np.array([[0.0, 0.0], [2.4, 1.6]])
covariances = np.array([[[0.5, 0.1], [0.1, 1.2]], [[2.6, 0.8], [0.8, 0.6]]])
classes = ["healthy", "sick"]
moments = ClassStatistics.from_moments(classes, [500, 500], means, covariances)
model = GaussianLinearDiscriminant(priors=[0.5, 0.5]).fit_statistics(moments)
(frontier,) = model.frontier_

# %%
# Four requests, and what they cost. (``with_operating_point`` takes the same arguments
# and gives a fitted estimator.)

points = {
    "least error": frontier.at(),
    "minimax": frontier.at("minimax"),
    "missing the sick costs 3": frontier.at(costs={"sick": {"healthy": 3}}),
    "at most 1 % of the sick missed": frontier.at(
        "neyman-pearson", max_error={"sick": 0.01}
    ),
}
for name, point in points.items():
    healthy, sick = 100 * point.error_rates
    print(f"{name:31s} {healthy:4.1f} % false alarms, {sick:4.1f} % missed")

# %%
# Left: the curve. Right: the same four rules as lines.

figure, (left, right) = plt.subplots(1, 2, figsize=(10.4, 4.8), layout="constrained")
display = FrontierDisplay.from_estimator(model, ax=left)
for marker in display.points_.values():
    marker.remove()
for k, colour in enumerate(("#2a6fbb", "#d1602b")):
    values, vectors = np.linalg.eigh(covariances[k])
    angle = np.degrees(np.arctan2(*vectors[::-1, 1]))
    for radius in (1, 2):
        size = 2 * radius * np.sqrt(values[::-1])
        shape = {"angle": angle, "fill": False, "color": colour, "lw": 1.6}
        right.add_patch(Ellipse(means[k], *size, **shape))
    right.plot(*means[k], "o", color=colour, mec="white", ms=7)
    place = [(-20, -52), (6, 6)][k]
    right.annotate(classes[k], means[k], place, textcoords="offset points")

styles = ["-", (0, (5, 2)), (0, (1, 1)), (0, (6, 2, 1, 2))]
for (name, point), line, marker in zip(points.items(), styles, "osD^", strict=True):
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
plt.show()
