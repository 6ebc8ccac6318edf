"""
Which classifier for these data?
================================

:func:`heterolda.compare` evaluates seven classifiers on the same held-out folds. A thin
bar is one standard error of the difference to the best: a model whose bar reaches the
dashed line is as good on these data, and the one of these with the lowest log loss is
recommended, whoever made it.
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
