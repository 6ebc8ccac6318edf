"""
Four displays of one discriminant
=================================

See the error of all rules (A), the possible trade-offs (B), which rows are
misclassified (C) and where the boundary is (D). Each display takes one call, and can
show data that the model was not fitted to.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from heterolda import GaussianLinearDiscriminant
from heterolda.inspection import (
    BoundaryDisplay,
    ErrorCurveDisplay,
    FrontierDisplay,
    ProjectionDisplay,
)

data = load_breast_cancer()
X, y = data.data[:, :4], data.target_names[data.target]
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = GaussianLinearDiscriminant(choose_on="model").fit(X, y)

figure, axes = plt.subplots(2, 2, figsize=(11, 8.4), layout="constrained")
ErrorCurveDisplay.from_estimator(model, ax=axes[0, 0])
FrontierDisplay.from_estimator(model, X_test, y_test, ax=axes[0, 1])
ProjectionDisplay.from_estimator(model, X_test, y_test, ax=axes[1, 0])
BoundaryDisplay.from_estimator(model, X, y, ax=axes[1, 1])
for ax, name in zip(axes.ravel(), "ABCD", strict=True):
    ax.set_title(f"{name}: {ax.get_title()}")
plt.show()
