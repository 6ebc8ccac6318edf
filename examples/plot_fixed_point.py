"""
Where Algorithm 1 fails
=======================

The paper's Algorithm 1 repeats one step until nothing changes. Its result depends on
its initial rule. Here, on a sample of the paper's own data set D1, it starts at LDA's
rule, its first step leaves the arc of admissible rules, and it converges to a rule that
is *worse* than LDA's under the fitted Gaussians. The default solver searches the whole
arc and cannot miss the optimum.
"""

import matplotlib.pyplot as plt
import numpy as np

from heterolda import GaussianLinearDiscriminant
from heterolda.experiments import make_d1
from heterolda.inspection import ErrorCurveDisplay
from heterolda.solvers import FixedPoint

X, y = make_d1(random_state=0)
best = GaussianLinearDiscriminant().fit(X, y)
statistics = best.statistics_
(m1, m2), (S1, S2) = statistics.means, statistics.covariances()

# %%
# Compute the rule after each step, and the angle on the arc that its weights of the two
# covariances give for the next step. (By default ``FixedPoint`` returns the best rule
# of all steps, here the first one; ``keep="last"`` returns the last one.)

n1, n2 = statistics.weights
theta, errors = [np.arctan2(n2, n1)], []  # LDA weights covariances by numbers of rows
for n in range(1, 9):
    solver = FixedPoint(max_iter=n, tol=None, keep="last")
    model = GaussianLinearDiscriminant(solver=solver).fit_statistics(statistics)
    w, w0 = -model.coef_[0], model.intercept_[0]
    a, b = (w0 - w @ m2) / (w @ S2 @ w), (w @ m1 - w0) / (w @ S1 @ w)
    theta.append(np.arctan2(a, b))
    errors.append(model.model_error_[0])
print(f"Algorithm 1: error {errors[0]:.4f} at the start, {errors[-1]:.4f} at the end")
print(f"optimum:     error {best.model_error_[0]:.4f}, proven to {best.gap_[0]:.1e}")
print(f"the arc ends at {np.degrees(best.frontier_[0].theta_range[1]):.2f} degrees")
print(f"the first step goes to {np.degrees(theta[1]):.2f}")

# %%
# The error of all admissible rules, and the steps of Algorithm 1:

figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
ErrorCurveDisplay.from_estimator(best, ax=axes)
style = {"ms": 5, "lw": 1, "color": "#8a4fbf", "label": "steps of Algorithm 1"}
axes.plot(np.degrees(theta[:-1]), errors, "o-", **style)
axes.set(xlim=(55, 101), ylim=(0.2, 0.4), title="D1: the whole arc, and beyond")
axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small")
plt.show()
