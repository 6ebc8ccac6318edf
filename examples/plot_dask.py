"""
A cluster of workers: Dask
==========================

Each worker adds up the moments of its own rows and sends only one matrix per class,
however many rows there are. The model is the one that a single machine would find.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client

from heterolda import GaussianLinearDiscriminant
from heterolda.experiments import make_d1

# %%
# Two workers in this process. Pass the address of a scheduler to use a cluster instead.

X, y = make_d1(random_state=0)
with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"):
    lazy = da.from_array(X, chunks=(500, 8)), da.from_array(y, chunks=500)
    model = GaussianLinearDiscriminant().fit(*lazy)
    scores = model.decision_function(lazy[0])
    print(scores)  # lazy, too
    scores = scores.compute()

# %%
# It is the same rule as in memory, up to rounding.

in_memory = GaussianLinearDiscriminant().fit(X, y)
print(f"largest difference: {np.abs(model.coef_ - in_memory.coef_).max():.1e}")

# %%
# The scores of both classes, as computed by the workers:

figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
bins = np.linspace(-8, 8, 81)
for k, color in zip(model.classes_, ("#2a6fbb", "#d1602b"), strict=True):
    axes.hist(scores[y == k], bins, color=color, alpha=0.5, label=f"class {k}")
axes.axvline(0, color="0.1", lw=1.5, label="threshold")
axes.set(xlabel="score", ylabel="rows")
axes.legend()
plt.show()
