"""Extra memory of gathering statistics, as a share of the data.

python -m benchmarks.memory
"""

import tracemalloc

import numpy as np

from heterolda import ClassStatistics, GaussianLinearDiscriminant


def peak_share(function, X):
    """Peak of the memory that a call allocates, divided by the bytes of X."""
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / X.nbytes


def main():
    """Measure one large array and print the shares."""
    rng = np.random.default_rng(0)
    n, d = 1_000_000, 50
    X, y = rng.normal(size=(n, d)), rng.integers(0, 5, n)
    print(f"data: {n} x {d} float64, {X.nbytes / 1e6:.0f} MB, 5 classes")
    for name, call in {
        "ClassStatistics.from_data": lambda: ClassStatistics.from_data(X, y),
        "GaussianLinearDiscriminant.fit": lambda: GaussianLinearDiscriminant().fit(
            X, y
        ),
    }.items():
        print(f"{name}: {100 * peak_share(call, X):.1f} % extra")


if __name__ == "__main__":
    main()
