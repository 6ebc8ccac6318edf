"""
Which classifier for these data?
================================

:func:`heterolda.compare` evaluates seven classifiers on the same held-out folds. A thin
bar is two standard errors of the difference from the best. Models whose bar reaches the
dashed line are as good on these data, and of these LDA, or the one with the lowest log
loss is recommended, even if it is not ours. The wide bars are standard errors of the
accuracies themselves. Do not compare those: they may overlap even if a difference is
clear, because most errors are on rows that all models misclassify.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from heterolda import compare

data = load_breast_cancer()
comparison = compare(data.data, data.target_names[data.target])
print(comparison)
comparison.plot()
plt.show()
