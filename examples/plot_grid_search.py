"""
Choosing solver and shrinkage by a grid search
==============================================

The discriminant is a scikit-learn estimator, so ``GridSearchCV`` can choose its
settings. The data are every other row of scikit-learn's digits: 64 features and 60
training rows of each class, so every class covariance is singular and needs shrinkage.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from heterolda import GaussianLinearDiscriminant

X, y = load_digits(return_X_y=True)
solvers = ["fisher", "global"]
amounts = [0.05, 0.2, 0.5, "auto", "cv"]
search = GridSearchCV(
    GaussianLinearDiscriminant(),
    {"solver": solvers, "shrinkage": amounts},
    cv=StratifiedKFold(3, shuffle=True, random_state=0),
)

# %%
# With rich and scikit-learn 1.9 or newer, a callback shows the progress.

try:
    from sklearn.callback import ProgressBar

    search.set_callbacks(ProgressBar(max_propagation_depth=0))
except ImportError:
    search.verbose = 1
search.fit(X[::2], y[::2])
print(search.best_params_)
print(f"accuracy on the other half: {search.score(X[1::2], y[1::2]):.3f}")

# %%
# Show all scores. A fixed amount may be too little for some classes and too much for
# others; ``"cv"`` chooses it by leave-one-out.

scores = 100 * search.cv_results_["mean_test_score"]
table = np.reshape(scores, (len(amounts), len(solvers))).T
figure, axes = plt.subplots(figsize=(6.4, 2.4), layout="constrained")
axes.imshow(table, cmap="Blues", vmin=94, aspect="auto")
for (i, j), score in np.ndenumerate(table):
    color = "white" if score > 96.5 else "black"
    axes.text(j, i, f"{score:.1f}", ha="center", va="center", color=color)
axes.set_xticks(range(len(amounts)), amounts)
axes.set_yticks(range(len(solvers)), solvers)
axes.set(xlabel="shrinkage", title="accuracy in %, three folds")
plt.show()
