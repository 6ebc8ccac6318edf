"""The page docs/wide_accuracy.md, made from the accuracies of all sets."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import sem, wilcoxon

from benchmarks.report import section
from benchmarks.wide.methods import (
    DEFAULT,
    INNER_FOLDS,
    LASSO,
    METHODS,
    OURS,
    PEERS,
    RIDGE,
    THRESHOLDS,
)
from benchmarks.wide.study import FOLDS, REPEATS

Results = dict[str, Any]
OTHER = 'shrinkage="cv"'
NAMES = {
    DEFAULT: "**ours, default**",
    OTHER: f"ours, `{OTHER}`",
    "recommended()": "ours, `recommended()`",
}
# Looked at while the default for wide data was chosen, and not before it was.
CHOSEN_ON = ("alon", "khan")
SET_ASIDE = ("golub", "gravier")


def page(results: Results) -> str:
    """The whole page."""
    parts = [
        _head(results),
        _sets(results),
        _tests(results),
        _choice(results),
        _methods(),
    ]
    return "\n".join(parts)


def means(results: Results, method: str) -> Any:
    """Mean accuracy on each set, NaN where there is none."""
    found = [one["accuracy"].get(method, [np.nan]) for one in results.values()]
    return np.array([np.mean(values) for values in found])


def differences(results: Results, other: str) -> Any:
    """Points of the default above another method, on the sets that have both."""
    # Sums over folds of the same rows: differences below a row are rounding.
    d = np.round(means(results, DEFAULT) - means(results, other), 6)
    return d[np.isfinite(d)]


def p_value(difference: Any) -> float:
    """Of Wilcoxon's signed-rank test over the sets, two-sided and exact."""
    return float(wilcoxon(difference).pvalue) if np.any(difference) else 1.0


def compared(d: Any) -> tuple[str, str, str]:
    """Mean difference, sets won, tied and lost, and the p-value."""
    if not len(d):
        return "", "", ""
    counts = f"{np.sum(d > 0)}/{np.sum(d == 0)}/{np.sum(d < 0)}"
    return f"{d.mean():+.1f}", counts, f"{p_value(d):.2g}"


def _head(results: Results) -> str:
    ours = means(results, DEFAULT)
    peers = {peer: means(results, peer) for peer in PEERS}
    gaps = {peer: np.nan_to_num(other - ours) for peer, other in peers.items()}
    behind = []
    for k, name in enumerate(results):
        gap, peer = max((gaps[peer][k], peer) for peer in PEERS)
        if gap > 0.05:
            behind.append(f"{name} (by {gap:.1f}, {peer})")
    found = {peer: differences(results, peer) for peer in PEERS}
    sure = {peer: d.mean() for peer, d in found.items() if p_value(d) < 0.05}
    better = [peer for peer, gap in sure.items() if gap < 0]
    worse = [peer for peer, gap in sure.items() if gap > 0]
    whole = {peer: np.nan_to_num(values.mean()) for peer, values in peers.items()}
    leading = sorted(whole, key=whole.__getitem__, reverse=True)[:2]
    average = " and ".join(f"{peer} ({whole[peer]:.1f} %)" for peer in leading)
    lines = [
        "# Accuracy on wide data",
        "",
        "![Points of the default above or below each other method, on every "
        "set](images/wide_accuracy.png)",
        "",
        f"On these {len(results)} sets `GaussianLinearDiscriminant()` is right on "
        f"{ours.mean():.1f} % of rows held out, on average; the best peers are "
        f"{average}. Over the sets "
        + (f"{', '.join(better)} is better" if better else "no peer is better")
        + " by a paired test (p < 0.05), and ours is better than "
        + (", ".join(worse) or "none")
        + ". A peer is ahead of the default on "
        + (", ".join(behind) or "no set")
        + ".",
        "",
        "Made by `python -m benchmarks.wide` (or `make wide`; it goes on where it was "
        "stopped); do not edit. Every figure is an accuracy in % on rows held out, or "
        f"a difference of two: {FOLDS} stratified folds, {REPEATS} shuffles, the same "
        "for every method. Features are standardised, and parameters tuned, with the "
        "training rows of a fold only.",
        "",
    ]
    return "\n".join(lines)


def _sets(results: Results) -> str:
    about = (
        "The mean of the shuffles, plus or minus its standard error: how far other "
        "shuffles would move it, not other rows. The best is bold; an empty cell "
        "has not been measured."
    )
    table = np.array([means(results, m) for m in METHODS])
    rows = []
    for k, (name, one) in enumerate(results.items()):
        n, d, classes = one["shape"]
        errors = [_standard_error(one["accuracy"].get(m)) for m in METHODS]
        rows.append(
            (name, f"{n:,}", f"{d:,}", str(classes), *_row(table[:, k], errors))
        )
    rows.append(("mean", "", "", "", *_row(table.mean(axis=1), [""] * len(METHODS))))
    names = [NAMES.get(m, m).strip("*") for m in METHODS]
    head = "|".join(["set", "rows", "features", "classes", *names])
    return section("Each set", about, head, rows)


def _row(values: Any, errors: list[str]) -> list[str]:
    """Figures, the best bold, empty where there is none."""
    best = np.nanmax(values) - 0.05
    cells = []
    for value, error in zip(values, errors, strict=True):
        text = f"{value:.1f}" if value < best else f"**{value:.1f}**"
        cells.append("" if np.isnan(value) else text + error)
    return cells


def _standard_error(values: list[float] | None) -> str:
    return f" ± {sem(values):.1f}" if values else ""


def _tests(results: Results) -> str:
    about = (
        "Points of the default above the other, on average over the sets; sets on "
        "which it is better, equal and worse; p-value of Wilcoxon's signed-rank test "
        "over the sets, two-sided, not corrected for the number of tests. A minus sign "
        f"says that the other is ahead on average. With {len(results)} sets no p-value "
        f"can be below {2.0 ** (1 - len(results)):.2g}."
    )
    rows = [
        (NAMES.get(m, m), *compared(differences(results, m)))
        for m in METHODS
        if m != DEFAULT
    ]
    head = "against|mean difference|won/tied/lost|p"
    return section("The default against each of the others", about, head, rows)


def _choice(results: Results) -> str:
    shown = [
        f"{name} {_mean(one, OTHER):.1f} % to {_mean(one, DEFAULT):.1f} %"
        for name, one in results.items()
        if name in SET_ASIDE and {OTHER, DEFAULT} <= set(one["accuracy"])
    ]
    lines = [
        "## What was looked at",
        "",
        "How the default chooses its shrinkage and its thresholds with fewer rows than "
        f"features was settled with a few shuffles of {' and '.join(CHOSEN_ON)}, and "
        "with made-up Gaussian rows: differences of the means in few features and in "
        "all, features uncorrelated and with common factors, covariances equal and "
        "unequal, classes of equal and of unequal size. "
        f"{' and '.join(SET_ASIDE)} were set aside and looked at only when that "
        "was settled, for this page. "
        "semeion, libras and spectf have several times as many rows as features, where "
        "the default does not choose; they were looked at, too, and changed nothing.",
        "",
    ]
    if shown:
        lines += [
            f"On the sets set aside, `{OTHER}` compares with the default as follows: "
            f"{', '.join(shown)}. How it chooses was not changed after that "
            "look; up to how many rows it does was, which changes no figure here.",
            "",
        ]
    return "\n".join(lines)


def _mean(one: dict[str, Any], method: str) -> float:
    return float(np.mean(one["accuracy"][method]))


def _listed(values: list[Any]) -> str:
    return ", ".join("none" if v is None else f"{v:g}" for v in values)


def _methods() -> str:
    turned = "computed on all principal components, which changes nothing"
    about = {
        DEFAULT: "`GaussianLinearDiscriminant()`",
        OTHER: '`GaussianLinearDiscriminant(shrinkage="cv")`',
        "recommended()": "`heterolda.recommended()`",
        "LDA": "`LinearDiscriminantAnalysis()`, solver svd",
        "LDA (Ledoit-Wolf)": '`LinearDiscriminantAnalysis("lsqr", shrinkage="auto")`, '
        "the same rule without a matrix of all features",
        "logistic (l2)": f"`LogisticRegression`, C of {_listed(RIDGE)}; {turned}",
        "logistic (l1)": "`LogisticRegression` with an l1 penalty (liblinear), one "
        f"class against the rest, C of {_listed(LASSO)}",
        "linear SVM": f"`LinearSVC`, C of {_listed(RIDGE)}; {turned}",
        "shrunken centroids": f"`NearestCentroid`, threshold of {_listed(THRESHOLDS)}",
    }
    rows = [(NAMES.get(m, m), about[m]) for m in [*OURS, *PEERS]]
    text = (
        "Peers are those of scikit-learn. Those with a parameter choose it by "
        f"{INNER_FOLDS} stratified inner folds of the training rows, and get "
        "standardised features; of equally good values the one that shrinks most."
    )
    return section("What is compared", text, "method|what it is", rows)
