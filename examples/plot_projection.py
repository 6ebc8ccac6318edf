"""
Ten digits in the plane
=======================

Each handwritten digit is an image of 64 pixels. Principal component analysis (PCA)
ignores the classes, and linear discriminant analysis (LDA) finds directions in which
their *means* differ. :class:`heterolda.HeteroscedasticProjection` looks for the
components in which pairs of classes are confused least under the Gaussian model, so it
uses covariances as well as means.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from heterolda import ClassStatistics, HeteroscedasticProjection
from heterolda.inspection import ClassMapDisplay

X, y = load_digits(return_X_y=True)
reductions = {
    "PCA": PCA(),
    "LDA": LinearDiscriminantAnalysis(),
    "HeteroscedasticProjection": HeteroscedasticProjection(),
}
classifiers = {
    "QDA": QuadraticDiscriminantAnalysis(),
    "5 nearest neighbors": KNeighborsClassifier(),
}

# %%
# In each of five folds, reductions to two components are fitted to four fifths of the
# rows, and then two classifiers to these components: quadratic discriminant analysis
# (QDA) and five nearest neighbors. The last fifth is held out. The first fold also
# tries other numbers of components.

numbers = [1, 2, 3, 4, 6]
accuracies = {(kind, name): [] for kind in classifiers for name in reductions}
planes, in_plane = {}, dict.fromkeys(reductions, 0.0)
folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
for fold, (train, test) in enumerate(folds):
    for name, reduction in reductions.items():
        for n in [2] if fold else numbers:
            reduction.set_params(n_components=n).fit(X[train], y[train])
            Z, Z_test = reduction.transform(X[train]), reduction.transform(X[test])
            for kind, classifier in classifiers.items():
                predicted = classifier.fit(Z, y[train]).predict(Z_test)
                if fold == 0:
                    accuracies[kind, name].append(100 * (predicted == y[test]).mean())
                if kind == "QDA" and n == 2:
                    in_plane[name] += 100 * (predicted == y[test]).sum() / len(y)
            if n == 2:
                planes[name] = (Z, y[train]), (Z_test, y[test])

# %%
# Show the components of the last fold. Ellipses contain half of a class, and pale
# regions are the decisions of QDA, both from training rows; the points are held-out
# rows. The titles give the accuracy over all folds.

figure, axes = plt.subplots(1, 3, figsize=(9.6, 4.2), layout="constrained")
for ax, (name, (fitted, held_out)) in zip(axes, planes.items(), strict=True):
    statistics = ClassStatistics.from_data(*fitted)
    plane = HeteroscedasticProjection(2).fit_statistics(statistics)
    ClassMapDisplay.from_estimator(plane, *held_out, ax=ax)
    ax.set_title(f"{name}\n{in_plane[name]:.0f} % of held-out rows right", size=13)
    ax.set(xlabel="component 1", ylabel="component 2", xticks=[], yticks=[])
plt.show()

# %%
# How many components? For both classifiers, four components are as accurate as six of
# LDA's; LDA has at most nine, one fewer than there are classes.

styles = {
    "PCA": {"color": "#8a8a8a", "ls": "-.", "marker": "s"},
    "LDA": {"color": "#d1602b", "ls": "--", "marker": "^"},
    "HeteroscedasticProjection": {"color": "#2a6fbb", "ls": "-", "marker": "o"},
}
figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True, layout="constrained")
for ax, kind in zip(axes, classifiers, strict=True):
    for name, style in styles.items():
        ax.plot(numbers, accuracies[kind, name], ms=6, label=name, **style)
    ax.set(title=kind, xlabel="components", xticks=numbers)
    ax.grid(color="0.9")
axes[0].set_ylabel("rows of one held-out fold right, %")
axes[1].legend(loc="lower right")
plt.show()
