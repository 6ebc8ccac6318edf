"""The page docs/gaps_accuracy.md, made from the results of all sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gaps.comparisons import ACCURACY, LOSS, OVERALL, Against, Comparisons
from benchmarks.gaps.methods import DROP, EM, MANY_FEATURES, NEAREST
from benchmarks.gaps.regimes import ABOVE, DEPENDENT, ELSEWHERE, RANDOM, REGIMES
from benchmarks.gaps.study import ASIDE, ENOUGH_ROWS, FEWER_ROWS, FOLDS, SMALLEST
from benchmarks.pages import compose, section

LEVEL = 0.05
MOST_LOSSES = 10
TITLES = {r: f"{100 * share:.0f} % at random" for r, share in RANDOM.items()} | {
    DEPENDENT: "depending on another column",
    OVERALL: "all four",
}
IN_WORDS = {r: f"{100 * share:.0f} % of values missing" for r, share in RANDOM.items()}
IN_WORDS[DEPENDENT] = "gaps that depend on another column"
NAMES = {EM: "**EM**"}
PICTURE = (
    "![Points of EM above or below each peer on every set, by kind of gaps]"
    "(images/gaps_accuracy.png)"
)
TIMED_PEER = "iterative + LDA"
COLUMNS = [*REGIMES, OVERALL]
MEASURES = {ACCURACY: "accuracy", LOSS: "log loss"}


def page(c: Comparisons, on_many_rows: str = "") -> str:
    """The whole page; a sentence about the time on many rows belongs to it."""
    tables = [
        _in_short(c),
        *(_means(c, what) for what in MEASURES),
        *(_tests(c, what) for what in MEASURES),
        _losses(c),
        *(_sets(c, regime) for regime in REGIMES),
        _times(c),
        on_many_rows,
        _methods(),
    ]
    picture = PICTURE if EM in c.methods else ""
    title = "Rows with gaps"
    return compose(title, [_opening(c)], tables, _protocol(c), picture=picture)


def shown(method: str) -> str:
    """The name of a method as readers know it."""
    return NAMES.get(method, method.replace("+ ours", "+ GLD"))


def _against(c: Comparisons, what: str, regime: str) -> dict[str, Against]:
    found = {peer: c.against(regime, what, peer) for peer in c.peers}
    return {peer: one for peer, one in found.items() if one}


def _opening(c: Comparisons) -> str:
    """What it means for a user."""
    sentences = [
        'What to do with rows that have gaps? With `missing="em"` the discriminant '
        "fits and predicts from the values that are there (*EM*). The alternatives "
        "fill the gaps first, or drop the rows, and then fit scikit-learn's LDA or our "
        "`GaussianLinearDiscriminant()` (*GLD*)."
    ]
    if EM not in c.methods:
        return sentences[0]
    means = {r: c.means(r, ACCURACY) for r in REGIMES}
    words = []
    for regime, values in means.items():
        best = max(c.peers, key=values.__getitem__)
        words.append(
            f"{values[EM]:.1f} % against {values[best]:.1f} % ({shown(best)}) with "
            f"{IN_WORDS[regime]}"
        )
    sentences.append(
        "Mean accuracy of EM on rows held out, and of the best alternative: "
        f"{'; '.join(words)}."
    )
    if losses := c.losses():
        gain, name, _, peer = losses[0]
        sentences.append(
            f"On single sets some alternative is ahead in {len(losses)} of "
            f"{_n_cases(c)} cases, by up to {-gain:.1f} points ({name}, "
            f"{shown(peer)})."
        )
    sentences.append(
        "In short: with few gaps any good imputation will do, with many use EM; "
        "dropping rows is the worst that you can do."
    )
    return " ".join(sentences)


def _in_short(c: Comparisons) -> str:
    lines = _verdicts(c) if EM in c.methods else []
    drop = f"{DROP} + ours"
    if lines and drop in c.peers and (one := c.against("random-5", ACCURACY, drop)):
        lines.append(
            f"Dropping rows costs {one.points:.1f} points even where only 5 % of the "
            "values are missing: a row is lost for a single gap, and of rows with 20 "
            f"features {100 * 0.95**20:.0f} % are left."
        )
    return "\n".join(["## In short", "", *(f"- {x}" for x in lines)]) if lines else ""


def _verdicts(c: Comparisons) -> list[str]:
    """By accuracy and by log loss: who is better by a paired test."""
    lines = []
    for what, name in MEASURES.items():
        found = {r: _against(c, what, r) for r in COLUMNS}
        total = found[OVERALL]
        if not total:
            continue
        n = max(one.sets for one in total.values())
        worse = [shown(p) for p, one in total.items() if one.p_ours < LEVEL]
        better = [
            f"{shown(peer)} ({TITLES[r]})"
            for r in COLUMNS
            for peer, one in found[r].items()
            if one.p_peer < LEVEL
        ]
        untold = [
            f"{shown(peer)} ({TITLES[r]})"
            for r in REGIMES
            for peer, one in found[r].items()
            if min(one.p_ours, one.p_peer) >= LEVEL
        ]
        lines.append(
            f"By **{name}** EM is better than {_listed(worse, c)} by a paired test "
            f"over {n} sets, the four kinds of gaps together. "
            + (
                f"**A peer is better** in {len(better)} of "
                f"{sum(map(len, found.values()))} tests: {', '.join(better)}."
                if better
                else "No peer is better with any kind of gaps."
            )
            + (
                f" It cannot be told apart (p >= {LEVEL}) from {', '.join(untold)}."
                if untold
                else ""
            )
        )
    return lines


def _listed(peers: list[str], c: Comparisons) -> str:
    if len(peers) == len(c.peers):
        return "every peer"
    return ", ".join(peers) or "no peer"


def _tests(c: Comparisons, what: str) -> str:
    unit = "points" if what == ACCURACY else "log loss"
    about = (
        f"By how much EM is better, in {unit}, on average over the sets; on how many "
        "sets it is better, equal and worse; and the p-value of Wilcoxon's signed-rank "
        "test over the sets, one-sided, exact, not corrected for the number of tests: "
        "that EM is better, or, with the word *peer*, that the peer is. **Bold** is "
        f"where a peer is better with p < {LEVEL}."
    )
    rows = [
        (shown(peer), *(_cell(c.against(r, what, peer), what) for r in COLUMNS))
        for peer in c.peers
    ]
    if not any(any(row[1:]) for row in rows):
        return ""
    head = "|".join(["EM against", *(TITLES[r] for r in COLUMNS)])
    return section(f"EM against each peer: {MEASURES[what]}", about, head, rows)


def _cell(one: Against | None, what: str) -> str:
    if one is None:
        return ""
    digits = 1 if what == ACCURACY else 3
    counts = f"{one.won}/{one.tied}/{one.lost}"
    peer = one.p_peer < one.p_ours
    p = f"{min(one.p_peer, one.p_ours):.2g}" + (" peer" if peer else "")
    text = f"{one.points:+.{digits}f} {counts} {p}"
    return f"**{text}**" if one.p_peer < LEVEL else text


def _losses(c: Comparisons) -> str:
    losses = c.losses()
    if not losses:
        return ""
    about = (
        f"The {min(MOST_LOSSES, len(losses))} cases in which EM is furthest behind the "
        "peer that did best on a set, in points. Some peer is ahead in "
        f"{len(losses)} of {_n_cases(c)} cases. That is to be expected even of equals: "
        f"the best of {len(c.peers)} is chosen after the fact."
    )
    rows = [
        (name, TITLES[regime], f"{gain:+.1f}", shown(peer))
        for gain, name, regime, peer in losses[:MOST_LOSSES]
    ]
    return section("Where others are ahead", about, "set|gaps|EM|peer", rows)


def _n_cases(c: Comparisons) -> int:
    return sum((s, r, EM) in c.results for s in c.sets for r in REGIMES)


def _means(c: Comparisons, what: str) -> str:
    figures = [(c.means(r, what), c.ranks(r, what)) for r in COLUMNS]
    n = [len(c.whole(r, what)) for r in COLUMNS]
    if not min(n):
        return ""
    sets = f"{n[0]}" if len(set(n)) == 1 else ", ".join(map(str, n))
    unit = "Accuracy in %" if what == ACCURACY else "Log loss"
    about = (
        f"{unit}, mean over the {sets} sets that have every method, and the mean rank "
        f"among the {len(c.methods)} methods in parentheses; 1 is the best."
    )
    digits = 1 if what == ACCURACY else 3
    rows = [
        (
            shown(m),
            *(f"{mean[m]:.{digits}f} ({rank[m]:.1f})" for mean, rank in figures),
        )
        for m in c.methods
    ]
    head = "|".join(["method", *(TITLES[r] for r in COLUMNS)])
    return section(f"Mean {MEASURES[what]} and ranks", about, head, rows)


def _sets(c: Comparisons, regime: str) -> str:
    table = c.table(regime, ACCURACY)
    rows: list[tuple[str, ...]] = []
    for name, values in zip(c.sets, table, strict=True):
        rows.append((name + (" \\*" if name in ASIDE else ""), *_row(values)))
    whole = c.whole(regime, ACCURACY)
    if len(whole):
        rows.append(("mean", *_row(whole.mean(axis=0))))
    about = (
        "Accuracy in %, the best bold; sizes of the sets are on the "
        "[accuracy page](accuracy.md)."
    )
    if set(c.sets) & set(ASIDE):
        about += " \\* Set aside: nothing was chosen by what happens on these sets."
    names = [shown(m).strip("*") for m in c.methods]
    head = "|".join(["set", *names])
    return section(f"Each set, {TITLES[regime]}", about, head, rows)


def _row(values: Any) -> list[str]:
    """Figures, the best bold, empty where there is none."""
    if np.isnan(values).all():
        return [""] * len(values)
    texts = [f"{v:.1f}" for v in values]
    best = f"{np.nanmax(values):.1f}"
    return [
        "" if text == "nan" else f"**{text}**" if text == best else text
        for text in texts
    ]


def _times(c: Comparisons) -> str:
    if TIMED_PEER not in c.methods:
        return ""
    rows = []
    for method in c.methods:
        cells = []
        for what in ("fit_seconds", "predict_seconds"):
            ratios = c.time_ratios(method, what, TIMED_PEER)
            cells += [f"{np.median(ratios):.2g}", f"{np.max(ratios):.2g}"]
        rows.append((shown(method), *cells))
    about = (
        f"Processor time over that of {TIMED_PEER}, filling included: the median over "
        "sets and kinds of gaps, and the largest. Below 1 is faster. Methods may have "
        "run at different times, beside other work: factors below two say little."
    )
    head = "method|fit, median|fit, largest|prediction, median|prediction, largest"
    return section("Time", about, head, rows)


def _protocol(c: Comparisons) -> list[str]:
    least = sorted(c.results.items())
    unfitted = [
        (one["unfitted"], one["folds"]) for (_, _, m), one in least if DROP in m
    ]
    lines = [
        "Made by `python -m benchmarks.gaps` (or `make gaps`; it continues where it "
        "was stopped); run it again instead of editing the page.",
        "Every figure is of rows held out, which have gaps as the training rows do. "
        "Filling and fitting see the training rows of a fold only.",
        f"**Sets**: those of the [accuracy page](accuracy.md) with fewer than "
        f"{FEWER_ROWS:,} rows. Two pairs are the same rows with other classes "
        "(vertebral, cardiotocography); the tests count each as two sets.",
        f"**Rows**: {FOLDS} stratified folds, two shuffles of sets with fewer than "
        f"{ENOUGH_ROWS:,} rows and one of the others; the same rows and the same gaps "
        "for every method. Labels have no gaps.",
        "**At random**: each value is removed with the same probability, "
        "independently of everything.",
        "**Depending on another column** (missing at random, given what is "
        "observed): the columns are shuffled; the first half of them, rounded down, "
        "are partners and keep all of their values. Each of the others is assigned a "
        "partner, in turns. Its values are removed with probability "
        f"{ABOVE} in rows whose partner is above its median over the set, and with "
        f"probability {ELSEWHERE} in the other rows.",
        "**Log loss** is the mean of the negative logarithm of the probability of the "
        f"true class, which counts as {SMALLEST:g} if it is less. A class without "
        "training rows, as dropping may leave, has probability zero before that.",
    ]
    if unfitted:
        few, folds = np.sum(unfitted, axis=0)
        lines.append(
            f"**Dropping rows** leaves too few rows in {100 * few / folds:.0f} % of "
            "the fits: fewer than two classes, or no more rows than classes. The "
            "class frequencies stand in there."
        )
    return lines


def _methods() -> str:
    rows = [
        (NAMES[EM], '`GaussianLinearDiscriminant(missing="em")`, fit and prediction'),
        (
            DROP,
            "training rows with a gap are dropped. In test rows, which cannot be "
            "dropped, the means of the training rows fill the gaps",
        ),
        ("mean", "`SimpleImputer()`"),
        (
            "iterative",
            "`IterativeImputer(random_state=0)`; with more than "
            f"{MANY_FEATURES} features (semeion) with `n_nearest_features={NEAREST}`, "
            "since a fold would take many minutes",
        ),
        ("kNN", "`StandardScaler()`, which leaves gaps as they are, `KNNImputer()`"),
    ]
    text = "The imputers are scikit-learn's, at their defaults where nothing is said."
    return section("What is compared", text, "method|what it is", rows)
