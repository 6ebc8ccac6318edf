"""
An optimum outside [0, 1]
=========================

Many methods mix the two covariances as ``s S1 + (1 - s) S2`` for s from 0 to 1. If one
class is rare, the best rule may need a *negative* weight of one covariance, which no s
between 0 and 1 gives. On the arc of all admissible rules it is a point like any other.
"""

import matplotlib.pyplot as plt
import numpy as np

from heterolda import ClassStatistics, GaussianLinearDiscriminant
from heterolda.inspection import ErrorCurveDisplay, Frontier

moments = ClassStatistics.from_moments(
    classes=["common", "rare"],
    counts=[940, 60],
    means=[[0.0, 0.0], [0.6, 1.8]],
    covariances=[[[1.0, 0.4], [0.4, 1.0]], [[0.1, 0.0], [0.0, 3.0]]],
)

# %%
# The weights of the two covariances at the optimum, scaled so that they sum to one:

theta = Frontier.from_statistics(moments).at().theta
a, b = np.sin(theta), np.cos(theta)
print(f"{b / (a + b):.2f} S1 + {a / (a + b):.2f} S2")

# %%
# The best rule with s from 0 to 1 (the paper's C-HLD) and the best of all rules:

for solver in ("fisher", "c-hld", "global"):
    model = GaussianLinearDiscriminant(solver=solver).fit_statistics(moments)
    print(f"{solver:7s} error {model.model_error_[0]:.5f}")

# %%
# The error of the admissible rules near the optimum. Those with s from 0 to 1 are
# between 0 and 90 degrees; the dotted line is the error of always choosing "common".

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
ErrorCurveDisplay.from_estimator(model, ax=axes)  # the last model, global
axes.axvspan(0, 90, color="#2a6fbb", alpha=0.1, lw=0, label="s from 0 to 1")
axes.set(xlim=(-13, 15), ylim=(0.04, 0.1))
axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small")
plt.show()
