"""
Which classifier for these data?
================================

:func:`heterolda.compare` judges seven classifiers on the same folds of rows held out. A
thin bar is two standard errors of the difference to the best: a model whose bar reaches
the dashed line is not clearly behind it, and the simplest of these is the one to use.
The wide bars, of the accuracies themselves, are no guide to that: they may overlap
where the difference is plain, since most rows are decided alike by all.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from heterolda import compare

data = load_breast_cancer()
found = compare(data.data, data.target_names[data.target])
print(found)
found.plot()
plt.show()
