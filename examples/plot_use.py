"""
Is this row like any other?
===========================

A classifier answers for every row, often with a probability of 0.9999, also where it
has never seen a row. How typical a row is of its class is another question, and why it
is classified so a third one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from heterolda import SmoothedLinearDiscriminant
from heterolda.inspection import ExplanationDisplay

data = load_breast_cancer(as_frame=True)
names = ["mean texture", "worst concavity"]
X, y = data.data[names], data.target_names[data.target]
model = SmoothedLinearDiscriminant().fit(X, y)

# %%
# Left: the share of rows as far from their class, on the plane. Beyond the outer line
# fewer than one in a thousand rows are expected, whatever the probability. Right: a row
# of the model with all features.

figure, (left, right) = plt.subplots(1, 2, figsize=(10.8, 4.6), layout="constrained")
s, t = np.meshgrid(np.linspace(5, 60, 200), np.linspace(-0.3, 2.2, 200))
plane = type(X)(np.column_stack([s.ravel(), t.ravel()]), columns=names)
typical = model.typicality(plane).reshape(s.shape)
probability = model.predict_proba(plane)[:, 1].reshape(s.shape)
left.contourf(s, t, probability, 20, cmap="RdBu_r", alpha=0.5, vmin=0, vmax=1)
levels = left.contour(s, t, typical, [0.001, 0.05], colors="0.15", linewidths=1.4)
left.clabel(levels, fmt={0.001: "0.001", 0.05: "0.05"}, fontsize=8)
for label, color in zip(data.target_names, ("#d1602b", "#2a6fbb"), strict=True):
    points = X[y == label].to_numpy().T
    left.plot(*points, "o", color=color, ms=3.5, mec="white", mew=0.3, label=label)
odd = type(X)([[55.0, 1.8]], columns=names)
left.plot(*odd.to_numpy()[0], "*", color="0.1", ms=13)
left.annotate(
    f"probability {model.predict_proba(odd).max():.4f}\n"
    f"typicality {model.typicality(odd)[0]:.0e}",
    odd.to_numpy()[0] - [1, 0.12],
    ha="right",
    va="top",
    fontsize=9,
)
left.set(xlabel=names[0], ylabel=names[1], title="Probability and typicality")
left.legend(loc="lower right", fontsize="small")
full = SmoothedLinearDiscriminant().fit(data.data, y)
ExplanationDisplay.from_estimator(full, data.data[8:9], n_features=7, ax=right)
right.set_title("Why: the contributions to one row")
plt.show()
