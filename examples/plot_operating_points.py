"""
The trade-off in a screening problem
====================================

A test separates sick people from healthy ones. How many of the sick may be missed?
Every answer is a point on one curve, the optimal trade-off of all linear rules, and
none needs a new fit.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

from heterolda import (
    BoundedErrorClassifier,
    ClassStatistics,
    GaussianLinearDiscriminant,
)
from heterolda.inspection import FrontierDisplay

means = np.array([[0.0, 0.0], [2.4, 1.6]])
covariances = np.array([[[0.5, 0.1], [0.1, 1.2]], [[2.6, 0.8], [0.8, 0.6]]])
classes = ["healthy", "sick"]
moments = ClassStatistics.from_moments(classes, [500, 500], means, covariances)
model = GaussianLinearDiscriminant(priors=[0.5, 0.5]).fit_statistics(moments)
(frontier,) = model.frontier_

# %%
# Compare four answers and what they cost. (``with_operating_point`` takes the same
# arguments and returns a fitted estimator.)

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
FrontierDisplay.from_estimator(model, ax=left)
for marker in left.lines[-2:]:  # the display's own points
    marker.remove()
for k, color in enumerate(("#2a6fbb", "#d1602b")):
    values, vectors = np.linalg.eigh(covariances[k])
    angle = np.degrees(np.arctan2(*vectors[::-1, 1]))
    for radius in (1, 2):
        size = 2 * radius * np.sqrt(values[::-1])
        shape = {"angle": angle, "fill": False, "color": color, "lw": 1.6}
        right.add_patch(Ellipse(means[k], *size, **shape))
    right.plot(*means[k], "o", color=color, mec="white", ms=7)
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

# %%
# All this holds under the model. What if data are not normal? Here each of 100 samples
# has 200 skewed rows of each class, and we count the sick among 20,000 others that each
# rule misses. ``BoundedErrorClassifier`` exceeds 10 % in at most one fit of 20 on
# average.

rng = np.random.default_rng(0)


def draw(n):
    """Return n healthy and n sick people, whose second value is skewed."""
    X = rng.normal(size=(2 * n, 2))
    X[:, 1] = np.exp(0.6 * X[:, 1])
    X[n:] = 1.8 - X[n:] * [1.5, 0.8]
    return X, np.repeat(classes, n)


X_new, y_new = draw(20_000)
is_sick = y_new == "sick"
bound = {"sick": 0.1}
rules = {
    "under the model": GaussianLinearDiscriminant(
        criterion="neyman-pearson", max_error=bound
    ),
    "on new rows": BoundedErrorClassifier(max_error=bound),
}
missed, alarms = ({name: [] for name in rules} for _ in range(2))
for _ in range(100):
    X, y = draw(200)
    for name, rule in rules.items():
        wrong = rule.fit(X, y).predict(X_new) != y_new
        missed[name].append(wrong[is_sick].mean())
        alarms[name].append(wrong[~is_sick].mean())
for name, shares in missed.items():
    exceeded = np.mean(np.array(shares) > 0.1)
    print(
        f"bound {name}: exceeded in {100 * exceeded:.1f} % of the fits; on average "
        f"{100 * np.mean(shares):.1f} % missed, {100 * np.mean(alarms[name]):.1f} % "
        "false alarms"
    )

# %%
# The guarantee has a price: on average it misses fewer than allowed, so there are more
# false alarms.

figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
bins = np.linspace(0, max(map(max, missed.values())), 40)
for (name, shares), color in zip(missed.items(), ("#d1602b", "#2a6fbb"), strict=True):
    axes.hist(shares, bins, color=color, alpha=0.7, label=f"bound {name}")
axes.axvline(0.1, color="0.1", lw=1.2, label="the bound, 10 %")
axes.set(xlabel="share of the sick that is missed", ylabel="fits")
axes.legend(frameon=False)
plt.show()
