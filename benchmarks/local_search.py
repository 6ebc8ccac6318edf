"""Speed of the paper's local search against its naive NumPy form.

python -m benchmarks.local_search [--quick] [--threads 2]

The naive form computes X @ w for each of the 2 (d + 1) neighbours of each iteration.
Both run the same number of iterations in the same process, and must take the same
path. The first line is the time that compilation takes, or that loading what an
earlier run compiled takes.

Two kinds of data: "round" classes have well-conditioned covariances, "flat" ones
random factors with small eigenvalues. The ratio depends on the share of rows that can
change sides, so on the draw. Ours is the median of five runs, the naive form a single
one after them.
"""

import argparse
import itertools
import time
from functools import partial

import numpy as np

from heterolda import GaussianLinearDiscriminant
from heterolda.refine import paper_search

SHAPES = [(1_540, 16, 400), (4_601, 57, 400), (50_000, 9, 400), (1_000_000, 20, 60)]


def two_gaussians(rng, n, d, kind):
    """Two overlapping Gaussian classes with covariances of their own."""
    first = rng.random(n) < 0.5
    shapes = rng.normal(size=(2, d, d)) / np.sqrt(4 * d)
    if kind == "round":
        shapes += np.eye(d)
    centres = rng.normal(size=(2, d)) / np.sqrt(d)
    X = rng.normal(size=(n, d))
    X = np.where(first[:, None], X @ shapes[0] + centres[0], X @ shapes[1] + centres[1])
    return np.ascontiguousarray(X), first


def start_rule(X, first, solver):
    """The rule (w0, w) of a fitted discriminant; class 1 comes first."""
    model = GaussianLinearDiscriminant(solver=solver).fit(X, ~first)
    return np.append(model.intercept_, -model.coef_[0])


def naive_search(X, first, v, n_iter, step=0.1):
    """Errors of the current rule at each iteration of Algorithm 2."""
    v = v.copy()
    history = [np.count_nonzero((X @ v[1:] >= v[0]) != first)]
    while len(history) < n_iter:
        fewest, winner = np.inf, None
        for i in range(len(v)):
            for sign in (1, -1):
                u = v.copy()
                u[i] += sign * step * abs(v[i])
                errors = np.count_nonzero((X @ u[1:] >= u[0]) != first)
                if errors < fewest:
                    fewest, winner = errors, u
        v = winner
        history.append(fewest)
    return np.array(history)


def timed(function, repetitions=1):
    """Median of the times of some calls, and the result of the last."""
    times = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - begin)
    return np.median(times), result


def main():
    """Measure four shapes from two starts and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few iterations, small n")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    rng = np.random.default_rng(0)

    X, first = two_gaussians(rng, 200, 2, "round")
    v = start_rule(X, first, "fisher")
    seconds, _ = timed(lambda: paper_search(X, first, None, v, max_iter=3))
    print(f"first call: {seconds:.2f} s")
    columns = "naive ms  ours ms  ratio  touched  same"
    print(f"        n   d  data   start   iterations  {columns}")
    for n, d, n_iter in SHAPES:
        if options.quick:
            n, n_iter = min(n, 50_000), min(n_iter, 20)
        for kind, solver in itertools.product(("round", "flat"), ("fisher", "global")):
            X, first = two_gaussians(np.random.default_rng(n), n, d, kind)
            v = start_rule(X, first, solver)
            settings = {"max_iter": n_iter, "patience": n_iter}
            settings["threads"] = options.threads
            ours = partial(paper_search, X, first, None, v, **settings)
            fast, result = timed(ours, repetitions=5)
            slow, history = timed(partial(naive_search, X, first, v, result.n_iter))
            same = np.array_equal(history, result.history)
            print(
                f"{n:9} {d:3}  {kind:5}  {solver:6}  {result.n_iter:10}"
                f"  {1e3 * slow / n_iter:8.2f}  {1e3 * fast / n_iter:7.3f}"
                f"  {slow / fast:5.0f}  {100 * result.touched:5.1f} %  {same}"
            )


if __name__ == "__main__":
    main()
