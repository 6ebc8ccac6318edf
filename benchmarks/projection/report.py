"""The page docs/projection_accuracy.md, made from the accuracies of all sets."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from benchmarks.projection.reductions import (
    DEFAULT,
    NCA_ITERATIONS,
    NCA_ROWS,
    PEERS,
    REDUCTIONS,
)
from benchmarks.projection.study import CLASSIFIERS, FOLDS, LEAST_ROWS, MOST_ROWS
from benchmarks.report import section

Results = dict[str, Any]
NUMBERS = ("1", "2", "3", "K - 1")
SHOWN = "2"
# Points below LDA, in the mean of the classifiers, that the page calls a loss.
LOSS = 2.0
# What is far from normal in sets on which variances mislead.
REASONS = {
    "wall_following_24": "up to 27 % of a sensor's readings are its limit",
    "spambase": "77 % of the values are zero",
    "mammographic": "codes of five to eight values, one of them mistyped",
    "qsar_biodegradation": "46 % of the values are zero",
    "avila": "values up to 69 standard deviations out",
    "eeg_eye_state": "values up to 71 standard deviations out",
    "ecoli": "one feature is constant, another in 99 % of the rows",
    "vertebral_2c": "a value 10 standard deviations out",
    "D1": "nothing; a bound for any rule, which one threshold does not reach",
    "libras": "24 rows of each class for 90 features",
}
NAMES = {
    DEFAULT: "**ours, default**",
    "model": "ours, `guard=False`",
    "chernoff": 'ours, `"chernoff"`',
}


def page(results: Results) -> str:
    """The whole page."""
    present = [
        r for r in REDUCTIONS if all(r in one["accuracy"] for one in results.values())
    ]
    peers = [p for p in PEERS if p in present]
    parts = [
        _head(results),
        _losses(results),
        _means(results, present),
        _tests(results, peers),
        _by_classes(results, peers),
        _methods(),
        *(_sets(results, present, classifier) for classifier in CLASSIFIERS),
    ]
    return "\n".join(part for part in parts if part)


def accuracies(results: Results, reduction: str, number: str, classifier: str) -> Any:
    """Accuracy on each set, NaN where there is none."""
    found = [one["accuracy"][reduction][classifier][number] for one in results.values()]
    return np.array([np.nan if a is None else a for a in found])


def differences(
    results: Results, peer: str, number: str, classifier: str, ours: str = DEFAULT
) -> Any:
    """Points of ours above a peer, on each set."""
    found = accuracies(results, ours, number, classifier)
    return found - accuracies(results, peer, number, classifier)


def mean_differences(
    results: Results, peer: str, number: str = SHOWN, ours: str = DEFAULT
) -> dict[str, float]:
    """Points above a peer on each set, the mean of all classifiers."""
    found = [differences(results, peer, number, c, ours) for c in CLASSIFIERS]
    return dict(zip(results, np.nanmean(found, axis=0).tolist(), strict=True))


def _head(results: Results) -> str:
    left_out = [
        f"{one['shape'][3]} of {name}"
        for name, one in results.items()
        if one["shape"][3]
    ]
    mean = mean_differences(results, "LDA")
    ahead = sum(value > 0 for value in mean.values())
    best = sorted(mean, key=mean.__getitem__)[::-1][:3]
    named = ", ".join(f"{name} ({mean[name]:+.0f})" for name in best)
    lines = [
        "# Accuracy after dimension reduction",
        "",
        f"![Points above or below LDA with {SHOWN} components, a mark for each set and "
        "classifier](images/projection_accuracy.png)",
        "",
        f"On {SHOWN} components of `HeteroscedasticProjection` classifiers are more "
        f"accurate than on LDA's on {ahead} of {len(mean)} sets, by "
        f"{np.mean(list(mean.values())):.1f} points on average over all sets and three "
        f"classifiers, and most so on {named}. {_leads(results)} Where "
        "features are mostly zero, codes, or have gross outliers, the guard saves most "
        "of what the Gaussian model alone would lose, but not all of it, see below.",
        "",
        "Made by `python -m benchmarks.projection` (or `make projection`); do not "
        "edit. Every figure is an accuracy in % on rows held out, or a difference of "
        f"two: {FOLDS} stratified folds, the same for every reduction and classifier, "
        "which are both fitted to the other folds. All settings are defaults, but for "
        "those of QDA and NCA that are named below. The steps of the guard, though, "
        "were chosen with a look at eight of these sets (spambase, german_credit, "
        "wall_following_24, liver, segmentation, letters, satellite, eeg_eye_state), "
        "and its threshold with a look at the sets of the paper. "
        f"Of a larger set {MOST_ROWS:,} "
        "rows are taken, the same share of each class, except that a "
        f"small class keeps {LEAST_ROWS} rows or all that it has. A class with fewer "
        f"than {FOLDS} rows cannot be in every fold and is left out"
        + (f": {', '.join(left_out)}. " if left_out else ". ")
        + "Some sets have rows in common (cardiotocography, vertebral, wall_following, "
        "waveform), so the tests count them twice.",
        "",
    ]
    return "\n".join(lines)


def _leads(results: Results) -> str:
    """Where the lead over LDA is more than chance, and where LDA's is."""
    found: dict[bool, list[str]] = {True: [], False: []}
    for c in CLASSIFIERS:
        gains = {n: differences(results, "LDA", n, c) for n in NUMBERS}
        sure = {n: np.nanmean(d) > 0 for n, d in gains.items() if p_value(d) < 0.05}
        for ahead, places in found.items():
            numbers = [n for n, value in sure.items() if value == ahead]
            if numbers:
                places.append(f"{c} ({', '.join(numbers)} components)")
    texts = {
        ahead: f"with {', '.join(places)}" if places else "nowhere"
        for ahead, places in found.items()
    }
    return (
        f"Over the sets that lead is clear (p < 0.05) {texts[True]}, and LDA's is "
        f"{texts[False]}."
    )


def _losses(results: Results) -> str:
    means = {n: mean_differences(results, "LDA", n) for n in NUMBERS}
    model = {n: mean_differences(results, "LDA", n, "model") for n in NUMBERS}
    worst = {
        name: min(found[n][name] for n in NUMBERS[:3] for found in (means, model))
        for name in results
    }
    rows = [
        (
            name,
            *(f"{found[n][name]:+.1f}" for found in (means, model) for n in NUMBERS),
            REASONS.get(name, ""),
        )
        for name in sorted(worst, key=worst.__getitem__)
        if worst[name] < -LOSS
    ]
    if not rows:
        return ""
    about = (
        "Points above LDA, the mean of the three classifiers, on all sets where 1, 2 "
        "or 3 components, with the guard or without it (*model*), are more than "
        f"{LOSS:.0f} points below. The components are those of Gaussian classes. "
        "Features that are not, such as those in the last column, can have very "
        "different variances in two classes while most rows of both lie in the same "
        "place: the model sees a separation that the rows do not have, and LDA, which "
        "averages the covariances, is misled less. The guard counts errors on training "
        "rows, so it misses what only rows held out show, and it cannot act on "
        'statistics without rows: there, compare with `method="fisher"`, or raise '
        "`shrinkage`."
    )
    models = [f"model: {n}" for n in NUMBERS]
    head = "|".join(["set", *NUMBERS, *models, "what is not normal"])
    return section("Where LDA is better", about, head, rows)


def _means(results: Results, present: list[str]) -> str:
    about = (
        "Over the sets for which every reduction has a figure; the best is bold. "
        "*K - 1* is one less than classes, or the number of features if that is less. "
        "*discriminant* is our classifier, `GaussianLinearDiscriminant()`."
    )
    table = {
        (c, n): np.array([accuracies(results, r, n, c) for r in present])
        for c in CLASSIFIERS
        for n in NUMBERS
    }
    means = {
        key: values[:, np.isfinite(values).all(axis=0)].mean(axis=1)
        for key, values in table.items()
    }
    rows = [
        (
            NAMES.get(r, r),
            *(_bold(f"{m[k]:.1f}", m[k] >= m.max() - 0.05) for m in means.values()),
        )
        for k, r in enumerate(present)
    ]
    heads = [f"{c}: {n}" for c, n in means]
    head = "|".join(["reduction", *heads])
    return section(f"Mean accuracy over {len(results)} sets", about, head, rows)


def _bold(text: str, is_best: bool) -> str:
    return f"**{text}**" if is_best else text


def p_value(difference: Any) -> float:
    """Of Wilcoxon's signed-rank test over the sets, two-sided; 1 if all are equal."""
    d = difference[np.isfinite(difference)]
    if not np.any(d):
        return 1.0
    return float(wilcoxon(d, method="approx").pvalue)  # with ties, exact is slow


def compared(difference: Any) -> str:
    """Mean difference, sets won, tied and lost, and the p-value."""
    d = difference[np.isfinite(difference)]
    counts = f"{np.sum(d > 0)}/{np.sum(d == 0)}/{np.sum(d < 0)}"
    p = p_value(d)
    chance = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
    return f"{d.mean():+.1f}, {counts}, {chance}"


def _tests(results: Results, peers: list[str]) -> str:
    about = (
        "Points of the default above the other, on average over the sets; sets on "
        "which it is better, equal and worse; p-value of Wilcoxon's signed-rank test "
        "over the sets, two-sided, not corrected for the number of tests. A minus sign "
        "says that the other is ahead on average."
    )
    rows = [
        (
            NAMES.get(peer, peer),
            number,
            *(compared(differences(results, peer, number, c)) for c in CLASSIFIERS),
        )
        for peer in peers
        for number in NUMBERS
    ]
    head = "|".join(["against", "components", *CLASSIFIERS])
    return section("The default against each of the others", about, head, rows)


def _by_classes(results: Results, peers: list[str]) -> str:
    if "LDA" not in peers:
        return ""
    groups = {
        "two classes": lambda k: k == 2,
        "three or more": lambda k: k > 2,
    }
    rows = []
    for title, belongs in groups.items():
        mine = {n: one for n, one in results.items() if belongs(one["shape"][2])}
        for number in NUMBERS[:3] if mine else ():
            cells = [compared(differences(mine, "LDA", number, c)) for c in CLASSIFIERS]
            rows.append((title, number, *cells))
    about = (
        "LDA has at most K - 1 components: for two classes it is compared with the one "
        "that it has, and for three with two."
    )
    head = "|".join(["sets with", "components", *CLASSIFIERS])
    return section("Against LDA, by the number of classes", about, head, rows)


def _methods() -> str:
    rows = [
        (NAMES[DEFAULT], "`HeteroscedasticProjection(n_components)`, with its guard"),
        (NAMES["model"], "the same from class statistics alone, without rows"),
        (NAMES["chernoff"], 'the same with `method="chernoff"`, from statistics too'),
        (
            "LDA",
            "scikit-learn's `LinearDiscriminantAnalysis().transform`, solver svd",
        ),
        ("PCA", "scikit-learn's `PCA` of standardised features"),
        (
            "HLDA",
            "heteroscedastic discriminant analysis by maximum likelihood, Kumar and "
            "Andreou (1998), full covariances",
        ),
        (
            "SAVE",
            "sliced average variance estimation, Cook and Weisberg (1991), classes as "
            "slices",
        ),
        (
            "NCA",
            "scikit-learn's `NeighborhoodComponentsAnalysis` of standardised features, "
            f"fitted to a stratified sample of at most {NCA_ROWS} training rows with "
            f"`max_iter={NCA_ITERATIONS}`, since its time grows with the square of the "
            "rows",
        ),
    ]
    about = (
        "HLDA and SAVE are in the folder of the benchmark, get the same shrunk class "
        "covariances as ours, and their components are scaled as ours are. QDA is "
        "scikit-learn's with `reg_param=1e-3`, without which it refuses classes that "
        "do not vary in a component; it still refuses a class that has no more rows "
        "than components, as with K - 1 of them on avila and plant_margin, which "
        "therefore do not count there. 5-NN is `KNeighborsClassifier(5)` on components "
        "as they are."
    )
    return section("What is compared", about, "reduction|what it is", rows)


def _sets(results: Results, present: list[str], classifier: str) -> str:
    rows = []
    for name, one in results.items():
        values = [one["accuracy"][r][classifier][SHOWN] for r in present]
        best = max((v for v in values if v is not None), default=None)
        n, d, k, _ = one["shape"]
        cells = ["-" if v is None else _bold(f"{v:.1f}", v == best) for v in values]
        rows.append((name, f"{n:,}", str(d), str(k), *cells))
    names = [NAMES.get(r, r).strip("*") for r in present]
    head = "|".join(["set", "rows", "features", "classes", *names])
    title = f"Each set, {SHOWN} components, {classifier}"
    return section(title, "", head, rows)
