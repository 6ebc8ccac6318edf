"""The page docs/projection_accuracy.md, made from the accuracies of all sets."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from benchmarks.pages import compose, listed, section
from benchmarks.projection.reductions import (
    DEFAULT,
    NCA_ITERATIONS,
    NCA_ROWS,
    PEERS,
    REDUCTIONS,
)
from benchmarks.projection.study import CLASSIFIERS, FOLDS, LEAST_ROWS, MOST_ROWS

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
    DEFAULT: "**ours**",
    "model": "ours, no guard",
    "chernoff": "ours, Chernoff",
    "discriminant": "GLD",
}
PICTURE = (
    f"![Mean accuracy on {SHOWN} components of eight reductions, and the gain over LDA "
    "set by set](images/projection_accuracy.png)"
)


def page(results: Results) -> str:
    """The whole page."""
    present = [
        r for r in REDUCTIONS if all(r in one["accuracy"] for one in results.values())
    ]
    peers = [p for p in PEERS if p in present]
    tables = [
        *(_means(results, present, classifier) for classifier in CLASSIFIERS),
        _losses(results),
        _tests(results, peers),
        _by_classes(results, peers),
        *(_sets(results, present, classifier) for classifier in CLASSIFIERS),
        _methods(),
    ]
    title = "Dimension reduction"
    return compose(title, [_opening(results)], tables, _made(results), picture=PICTURE)


def shown(name: str) -> str:
    """The name of a reduction or classifier as readers know it."""
    return NAMES.get(name, name)


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


def _opening(results: Results) -> str:
    mean = mean_differences(results, "LDA")
    ahead = sum(value > 0 for value in mean.values())
    order = sorted(mean, key=mean.__getitem__)
    best, worst = (
        [f"{name} ({mean[name]:+.0f})" for name in names]
        for names in (order[::-1][:3], [n for n in order[:2] if mean[n] < 0])
    )
    return (
        "You want to look at your data, or classify them, in two or three dimensions. "
        f"On {SHOWN} components of `HeteroscedasticProjection` classifiers are right "
        f"more often than on LDA's on {ahead} of {len(mean)} sets, by "
        f"{np.mean(list(mean.values())):.1f} points on average over all sets and three "
        f"classifiers, and most on {listed(best)}. {_leads(results)} "
        + (f"LDA is ahead most on {listed(worst)}. " if worst else "")
        + "LDA is the better choice where features are mostly zero, are codes or have "
        "gross outliers: the guard saves most of what the Gaussian model alone would "
        "lose there, but not all of it. Every figure is of rows held out."
    )


def _made(results: Results) -> list[str]:
    left_out = [
        f"{one['shape'][3]} of {name}"
        for name, one in results.items()
        if one["shape"][3]
    ]
    return [
        "Made by `python -m benchmarks.projection` (or `make projection`); run it "
        "again instead of editing the page.",
        "Every figure is an accuracy in % on rows held out, or a difference of two: "
        f"{FOLDS} stratified folds, the same for every reduction and classifier, which "
        "are both fitted to the other folds. All settings are defaults, except those "
        "of QDA and NCA that are named above.",
        "**What we looked at first**: the steps of the guard were chosen with a look "
        "at eight of these sets (spambase, german_credit, wall_following_24, liver, "
        "segmentation, letters, satellite, eeg_eye_state), its threshold with a look "
        "at the sets of the paper.",
        f"**Rows**: of a larger set {MOST_ROWS:,} rows are taken, the same share of "
        f"each class, but at least {LEAST_ROWS} rows of a class, or all that it has. A "
        f"class with fewer than {FOLDS} rows cannot be in every fold and is left out"
        + (f": {', '.join(left_out)}." if left_out else "."),
        "Some sets have rows in common (cardiotocography, vertebral, wall_following, "
        "waveform); the tests count them twice.",
    ]


def sure_leads(results: Results) -> dict[bool, list[str]]:
    """Where our lead over LDA is more than chance (True), and where LDA's is."""
    found: dict[bool, list[str]] = {True: [], False: []}
    for c in CLASSIFIERS:
        gains = {n: differences(results, "LDA", n, c) for n in NUMBERS}
        sure = {n: np.nanmean(d) > 0 for n, d in gains.items() if p_value(d) < 0.05}
        for ahead, places in found.items():
            numbers = [n for n, value in sure.items() if value == ahead]
            if numbers:
                places.append(f"{shown(c)} ({', '.join(numbers)} components)")
    return found


def _leads(results: Results) -> str:
    ours, theirs = (
        f"with {listed(places)}" if places else "nowhere"
        for places in sure_leads(results).values()
    )
    return (
        f"By a paired test over the sets (p < 0.05) ours is better {ours}, LDA "
        f"{theirs}."
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
        "Points above LDA, the mean of the three classifiers, by number of components: "
        "all sets on which 1, 2 or 3 components, with the guard or without it, are "
        f"more than {LOSS:.0f} points below LDA. Our components are those of Gaussian "
        "classes. Features like those in the last column can have very different "
        "variances in two classes although most rows of both lie in the same place: "
        "the model then sees a separation that the rows do not have. LDA averages the "
        "covariances and is misled less. The guard counts errors on training rows, so "
        "it misses what only rows held out show, and it cannot help if there are "
        'statistics but no rows: there, compare with `method="fisher"` or raise '
        "`shrinkage`."
    )
    models = [f"no guard: {n}" for n in NUMBERS]
    head = "|".join(["set", *NUMBERS, *models, "what is not normal"])
    return section("Where LDA is better", about, head, rows)


def _means(results: Results, present: list[str], classifier: str) -> str:
    table = [
        np.array([accuracies(results, r, n, classifier) for r in present])
        for n in NUMBERS
    ]
    means = [v[:, np.isfinite(v).all(axis=0)].mean(axis=1) for v in table]
    rows = [
        (shown(r), *(_bold(f"{m[k]:.1f}", m[k] >= m.max() - 0.05) for m in means))
        for k, r in enumerate(present)
    ]
    about = ""
    if classifier == next(iter(CLASSIFIERS)):
        about = (
            f"Accuracy in %, by number of components, over the sets of {len(results)} "
            "for which every reduction has a figure; the best is bold. *K - 1* is one "
            "less than the number of classes, or the number of features if that is "
            "less."
        )
    head = "|".join(["reduction", *NUMBERS])
    return section(f"Mean accuracy with {shown(classifier)}", about, head, rows)


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
        "By how many points ours is more accurate, on average over the sets (a minus "
        "sign: the other is ahead); on how many sets it is better, equal and worse; "
        "and the p-value of Wilcoxon's signed-rank test over the sets, two-sided, not "
        "corrected for the number of tests."
    )
    rows = [
        (
            shown(peer),
            number,
            *(compared(differences(results, peer, number, c)) for c in CLASSIFIERS),
        )
        for peer in peers
        for number in NUMBERS
    ]
    head = "|".join(["against", "components", *map(shown, CLASSIFIERS)])
    return section("Ours against each of the others", about, head, rows)


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
        "LDA has at most K - 1 components: one for two classes, two for three. Where "
        "we ask for more, ours is compared with those that LDA has."
    )
    head = "|".join(["sets with", "components", *map(shown, CLASSIFIERS)])
    return section("Against LDA, by the number of classes", about, head, rows)


def _methods() -> str:
    rows = [
        (NAMES[DEFAULT], "`HeteroscedasticProjection(n_components)`, with its guard"),
        (
            NAMES["model"],
            "the same with `guard=False`, from class statistics alone, without rows",
        ),
        (
            NAMES["chernoff"],
            'the same with `method="chernoff"`, also from statistics alone',
        ),
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
        "HLDA and SAVE are implemented with the benchmark. They get the same shrunk "
        "class covariances as ours, and components scaled like ours. The classifiers: "
        "*QDA* is scikit-learn's with `reg_param=1e-3`, without which it refuses "
        "classes that do not vary in a component. It still refuses a class that has no "
        "more rows than components, as with K - 1 of them on avila and plant_margin, "
        "which do not count there. *5-NN* is `KNeighborsClassifier(5)`, *GLD* our "
        "`GaussianLinearDiscriminant()`."
    )
    return section("What is compared", about, "reduction|what it is", rows)


def _sets(results: Results, present: list[str], classifier: str) -> str:
    rows = []
    for name, one in results.items():
        values = [one["accuracy"][r][classifier][SHOWN] for r in present]
        best = max((v for v in values if v is not None), default=None)
        size = "{:,} x {}, {}".format(*one["shape"][:3])
        cells = ["-" if v is None else _bold(f"{v:.1f}", v == best) for v in values]
        rows.append((name, size, *cells))
    names = [shown(r).strip("*") for r in present]
    head = "|".join(["set", "size", *names])
    title = f"Each set, {SHOWN} components, {shown(classifier)}"
    about = "Accuracy in %, the best bold. Size is rows x features, classes."
    return section(title, about, head, rows)
