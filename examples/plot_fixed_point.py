"""
Where Algorithm 1 fails
=======================

The paper's Algorithm 1 repeats one step until nothing changes. Where it ends depends on
where it starts: here, on a draw of the paper's own data set D1, it starts at LDA's rule
and settles at a rule that is *worse* than LDA's. The certified solver looks at the whole
arc of admissible rules and cannot miss the optimum.
"""

import matplotlib.pyplot as plt

from heterolda import ErrorCurveDisplay, FixedPoint, GaussianLinearDiscriminant
from heterolda.experiments.datasets import make_d1

X, y = make_d1(random_state=0)
best = GaussianLinearDiscriminant().fit(X, y)
statistics = best.statistics_

# %%
# The rule after each step. (By default ``FixedPoint`` returns the best rule that it has
# met, here that of its start; the last one shows where it goes.)

steps = range(1, 13)
errors = []
for n in steps:
    solver = FixedPoint(max_iter=n, tol=None, keep="last")
    model = GaussianLinearDiscriminant(solver=solver).fit_statistics(statistics)
    errors.append(model.bayes_error_[0])
print(f"Algorithm 1: from {errors[0]:.4f} to {errors[-1]:.4f}")
print(f"optimum:     {best.bayes_error_[0]:.4f}, proven to {best.gap_[0]:.1e}")

# %%
# Left: the error after each step. Right: the error of all admissible rules.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
left.plot(steps, errors, "o-", color="#2a6fbb", label="Algorithm 1")
left.axhline(best.bayes_error_[0], color="#d1602b", lw=2, label="certified optimum")
left.set(xlabel="step", ylabel="error", title="D1: the iteration")
left.legend(loc="center right")
ErrorCurveDisplay.from_estimator(best, ax=right)
plt.show()
