"""
A classifier in C
=================

Export a fitted model to a C header that needs only ``expf`` of the library of C, and
little memory except for its constants, so it runs on a microcontroller.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from heterolda import GaussianLinearDiscriminant, to_c

data = load_iris()
X, y = data.data[:, 2:], data.target
model = GaussianLinearDiscriminant().fit(X, y)
folder = Path(tempfile.mkdtemp())
header = to_c(model, folder / "iris.h")
print(f"{header.constant_bytes} bytes of constants")
print(f"{header.multiplications} multiplications per decision")

# %%
# The end of the header is the decision:

print(*header.path.read_text().splitlines()[-37:], sep="\n")

# %%
# This program reads rows and writes classes. (Without a compiler the figure shows the
# decisions of Python, which are the same.)

program = """
#include "iris.h"
#include <stdio.h>
int main(void) {
    float x[2];
    while (fread(x, sizeof x, 1, stdin) == 1) putchar(iris_predict(x));
    return 0;
}
"""


def decide(rows):
    """Return the classes of rows, predicted in C."""
    compiler = shutil.which("cc")
    if compiler is None:
        return model.predict(rows)
    (folder / "main.c").write_text(program)
    command = [compiler, "-O2", "-o", "main", "main.c", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    floats = rows.astype(np.float32).tobytes()
    run = subprocess.run([folder / "main"], input=floats, capture_output=True)
    return np.frombuffer(run.stdout, np.uint8)


# %%
# The program classifies every point of the plane:

length, width = np.meshgrid(np.linspace(0.5, 7.5, 280), np.linspace(0, 2.8, 200))
rows = np.column_stack([length.ravel(), width.ravel()])
classes = decide(rows)
share = np.mean(classes == model.predict(rows))
print(f"{100 * share:.3f} % of the decisions agree with Python")

figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
colors = ["#2a6fbb", "#d1602b", "#2e8b57"]
areas = axes.contourf(
    length, width, classes.reshape(length.shape), [-0.5, 0.5, 1.5, 2.5], colors=colors
)
areas.set_alpha(0.2)
for k, color in enumerate(colors):
    label = data.target_names[k]
    axes.scatter(*X[y == k].T, s=14, color=color, label=label)
axes.set(xlabel="petal length, cm", ylabel="petal width, cm")
axes.legend(loc="upper left")
plt.show()
