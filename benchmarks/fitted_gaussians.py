"""Measure what estimated moments cost: exactly Gaussian classes, few rows to fit them.

python -m benchmarks.fitted_gaussians [--report]

The optimum is proven for the fitted Gaussians. Rows are drawn from two Gaussian classes
that are known exactly, so that the error that a fit reports, the true error of its rule
and the true optimum can be compared. Results are kept in
benchmarks/results/fitted_gaussians.json and written into docs/limits.md.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benchmarks.pages import (
    GRAY,
    OURS,
    PEER,
    Record,
    canvas,
    command,
    origin,
    png,
    publish,
    section_table,
)
from heterolda import ClassStatistics, GaussianLinearDiscriminant

FEATURES, PROBLEMS = 20, 40
ROWS = 50, 100, 200, 500, 2000
SHOWN = {
    "reported": ("reported by the fit", OURS, "o--"),
    "true": ("true error of the fitted rule", OURS, "o-"),
    "lda": ("true error of LDA", PEER, "s-"),
    "optimum": ("best possible line", GRAY, ":"),
}


def problem(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return means and covariances of two classes."""
    factors = rng.normal(size=(2, FEATURES, 2 * FEATURES)) / np.sqrt(2 * FEATURES)
    scales = np.exp(rng.normal(scale=0.7, size=(2, FEATURES, 1)))
    factors = factors * scales
    means = np.zeros((2, FEATURES))
    means[1] = rng.normal(size=FEATURES)
    means[1] *= 2.3 / np.linalg.norm(means[1])
    return means, factors @ factors.transpose(0, 2, 1)


def error(model: Any, means: np.ndarray, covariances: np.ndarray) -> float:
    """Return the true error of a linear rule, for classes of equal size."""
    w, b = model.coef_[0], model.intercept_[0]
    scores = means @ w + b
    deviations = np.sqrt(np.einsum("i,kij,j->k", w, covariances, w))
    return float(norm.cdf(np.array([1, -1]) * scores / deviations).mean())


def measure() -> Record:
    """Return the mean errors by the number of rows of a class."""
    results = {n: {key: [] for key in SHOWN} for n in ROWS}
    for seed in range(PROBLEMS):
        rng = np.random.default_rng(seed)
        means, covariances = problem(rng)
        exact = ClassStatistics.from_moments([0, 1], [1e6, 1e6], means, covariances)
        best = GaussianLinearDiscriminant().fit_statistics(exact).model_error_[0]
        roots = np.linalg.cholesky(covariances)
        for n, errors in results.items():
            y = np.repeat([0, 1], n)
            noise = rng.normal(size=(2 * n, FEATURES, 1))
            X = means[y] + (roots[y] @ noise)[:, :, 0]
            with warnings.catch_warnings(action="ignore"):  # of few rows
                ours = GaussianLinearDiscriminant(choose_on="model", shrinkage=0)
                ours.fit(X, y)
            lda = LinearDiscriminantAnalysis().fit(X, y)
            errors["reported"].append(float(ours.model_error_[0]))
            errors["true"].append(error(ours, means, covariances))
            errors["lda"].append(error(lda, means, covariances))
            errors["optimum"].append(float(best))
    return {
        str(n): {key: float(f"{np.mean(e):.5f}") for key, e in errors.items()}
        for n, errors in results.items()
    }


def parts(errors: Record) -> dict[str, str]:
    """Return the parts of the page, from the errors by rows of a class."""
    rows = [
        (label, *(f"{100 * errors[n][key]:.1f}" for n in errors))
        for key, (label, *_) in SHOWN.items()
    ]
    head = "error in %|" + "|".join(f"{int(n):,} rows" for n in errors)
    few = {key: f"{100 * value:.1f} %" for key, value in errors["100"].items()}
    return {
        "fitted": f"With {FEATURES} features and 100 rows per class, a fit to exactly "
        f"Gaussian classes reports an error of {few['reported']}; the true error of "
        f"its rule is {few['true']}, that of the best line {few['optimum']} and that "
        f"of LDA {few['lda']} (means over {PROBLEMS} random problems).",
        "fitted, rows": section_table(head, rows),
        "fitted, machine": origin("fitted_gaussians", "Fitted Gaussians"),
    }


def draw(errors: Record) -> bytes:
    """Return the picture: errors against rows of a class, as PNG."""
    figure, panels = canvas(3.4)
    panel = panels[0, 0]
    for key, (label, color, style) in SHOWN.items():
        values = [100 * errors[n][key] for n in errors]
        panel.plot(list(map(int, errors)), values, style, color=color, label=label)
    panel.set(xscale="log", ylim=0, xlabel="rows of each class", ylabel="error in %")
    panel.set_xticks(list(map(int, errors)), list(errors))
    panel.minorticks_off()
    panel.legend(frameon=False, fontsize=9)
    return png(figure)


def write(record: Record) -> None:
    """Write the tables of the page, and its picture."""
    publish("limits", parts(record), {"limits.png": draw(record)})


if __name__ == "__main__":
    command("fitted_gaussians", measure, write)
