"""
LDA and the optimum on the paper's D1
=====================================

D1 is the paper's first artificial data set: two Gaussian classes of eight features
whose covariances differ much. The displays look at rows that were not used for
fitting, along the normal of each rule: the dark areas are the wrong decisions.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from heterolda import (
    GaussianLinearDiscriminant,
    ProjectionDisplay,
    heteroscedasticity_report,
)
from heterolda.experiments import make_d1

X, y = make_d1(random_state=0)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
lda = GaussianLinearDiscriminant(solver="fisher").fit(X, y)
best = GaussianLinearDiscriminant().fit(X, y)

# %%
# Is it worth it? The report leaves out each row in turn, and says so.

print(heteroscedasticity_report(X, y))

# %%
# Both rules on the rows held out.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, name, model in zip(
    axes, ("LDA", "certified optimum"), (lda, best), strict=True
):
    ProjectionDisplay.from_estimator(model, X_test, y_test, ax=ax)
    ax.set_title(f"{name}: accuracy {100 * model.score(X_test, y_test):.1f} %")
plt.show()
