"""The page docs/accuracy.md, made from a folder of results: what it says.

The tables of single sets and methods are in `tables`.
"""

from __future__ import annotations

from collections import defaultdict

from benchmarks.accuracy import tables
from benchmarks.accuracy.comparisons import (
    ASIDE,
    CONTENDERS,
    FEW_ROWS,
    Against,
    Comparisons,
    Lead,
)
from benchmarks.accuracy.methods import (
    INNER_FOLDS,
    ITERATIONS,
    MANY_ROWS,
    METHODS,
    PEERS,
    POWER,
    RECOMMENDED,
    SAMPLE,
    TUNED_PEERS,
)
from benchmarks.accuracy.sets import SET_ASIDE
from benchmarks.accuracy.study import shuffles
from benchmarks.accuracy.tables import MARK, named
from benchmarks.accuracy.verdicts import LEVEL, by_size, verdicts
from benchmarks.pages import compose, section

PEERS_PICTURE = (
    "![Mean lead of the recommended recipe over the best variant of each peer, in "
    "points](images/accuracy_peers.png)"
)
RANKS_PICTURE = (
    "![Mean ranks, with bars that join what cannot be told apart]"
    "(images/accuracy_ranks.png)\n\n"
    "Mean ranks of the recommended recipe and of the best variant of each peer, tuned "
    "or not and transformed or not. Bars join methods whose ranks cannot be told apart "
    "(Nemenyi, 5 %)."
)
# Why the recipe loses on a set, where that is known.
REASONS: dict[str, str] = {
    "spectf": "163 of its 349 rows have an equal copy, which folds of rows separate; "
    "the recipe holds copies out together",
}
# What was tried for the recipe and did not help, as the lines of a list.
TRIED: tuple[str, ...] = (
    "Choosing one candidate instead of the mean of those that can hardly be told "
    "apart: 0.1 to 0.3 points less. The mean of all, or of those within two standard "
    "errors: as good on average, but worse where one candidate is clearly the best "
    "(vowels: 79.7 instead of 82.2).",
    "Choosing by the likelihood of rows held out instead of their errors: 0.1 to 0.3 "
    "points less.",
    "Powers of features that are not standardised first, as PowerTransformer finds "
    "them: 0.7 points less on eight small sets. Powers by the likelihood of all rows "
    "instead of that of the classes: 0.05 less, and more transformed features.",
    "Deciding on the transformation by the whole recipe at rows held out: no better, "
    "and twice the time. Transforming always: 0.1 less, mostly on digits and spectf.",
    "A finer grid of anchors (13 candidates instead of 8): no better.",
    "Separate means for each pair of classes: 0.1 less.",
    "Candidates without ridge rules: the same accuracy, worse probabilities.",
)

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")


def pages(c: Comparisons) -> dict[str, str]:
    """Both pages by name: what matters, and all tables."""
    picture = PEERS_PICTURE if c.leads(CONTENDERS[1:]) else ""
    main = compose(
        "Accuracy",
        _opening(c),
        [
            _losses(c),
            tables.sets(c),
            tables.ranks(c),
            tables.published_figures(c),
            _tried(),
        ],
        _made(c),
        _goals(c),
        picture,
    )
    ranks = RANKS_PICTURE if c.rank_diagrams() else ""
    more = compose(
        "Accuracy: all tables",
        [
            "Every figure behind the page on [accuracy](accuracy.md): the recommended "
            "recipe against each peer, accuracies of all methods on all sets, "
            "probabilities, what the recipe expects of itself, and times. All are of "
            f"rows held out. {MARK} marks sets that were set aside until the recipe "
            "was final."
        ],
        [*_tests(c), *tables.details(c), tables.methods(c)],
        ["Made together with the page on [accuracy](accuracy.md), which says how."],
        picture=ranks,
    )
    return {"accuracy.md": main, "accuracy_tables.md": more}


def _opening(c: Comparisons) -> list[str]:
    """What was compared, who wins, where not, and what that means."""
    plain = [sum(POWER not in m for m in peers) for peers in (PEERS, TUNED_PEERS)]
    sentences = [
        "How often is a linear classifier right on rows that it has not seen? "
        f"`recommended()` is compared with {len(CONTENDERS) - 1} linear classifiers of "
        f"scikit-learn: {plain[0]} methods at their defaults and {plain[1]} tuned, "
        "from LDA and logistic regression to support vector machines, each with and "
        f"without a power transformation of the features (`{POWER}`)."
    ]
    paragraphs = [" ".join(sentences)]
    if c.leads(CONTENDERS[1:]):
        paragraphs.append(" ".join(_sentences(c)))
    if c.development:
        paragraphs.append(f"**Without the {len(SET_ASIDE)} sets that are set aside.**")
    return paragraphs


def _sentences(c: Comparisons) -> list[str]:
    """Who is first, by how much, and where not."""
    everywhere = c.rivals(c.datasets)
    n = max(a.sets for a in everywhere.values())
    worse = [m for m, a in everywhere.items() if a.p_ours < LEVEL]
    better = [m for m, a in everywhere.items() if a.p_peer < LEVEL]
    sentences = [
        f"Over {n} sets it {_standing(everywhere)}; by a paired test it is better than "
        f"{len(worse)} of the {len(everywhere)} peers and worse than "
        f"{', '.join(better) or 'none'}."
    ]
    if min(a.sets for a in everywhere.values()) < n:
        sentences.append(
            "Not every peer has been run on every set: a peer's figure, and ours "
            "beside it, are of the sets that both have."
        )
    if aside := c.rivals(c.halves.get(ASIDE, [])):
        sentences.append(
            f"On the {len(c.halves[ASIDE])} sets that were set aside until the recipe "
            f"was final, it {_standing(aside)}."
        )
    leads = c.leads(CONTENDERS[1:])
    losses = sorted((loss, d) for d in leads if (loss := c.loss(d)))
    shown = ", ".join(f"{d} ({loss.points:+.1f})" for loss, d in losses[:3])
    behind = sum(lead.points < 0 for lead in leads.values())
    sentences.append(
        f"**Others win too**: the best of the peers, picked after the fact, is ahead "
        f"on {behind} of {len(leads)} sets, by more than two standard errors on "
        f"{len(losses) or 'none'}"
        + (", most on" if len(losses) > 3 else ":" if losses else "")
        + f" {shown}".rstrip()
        + "."
    )
    ours, lda = (tables.average(c, m) for m in ("GLD", "LDA"))
    if ours and lda:
        sentences.append(
            f"The plain `GaussianLinearDiscriminant()` (*GLD*) has a mean accuracy of "
            f"{ours} %, LDA {lda} %."
        )
    sentences.append(
        "In short: `recommended()` is the linear rule to take if accuracy "
        "counts more than training time, GLD the quick one. Where a straight boundary "
        "is not enough, a random forest or nearest neighbours can be far better; see "
        "[all tables](accuracy_tables.md)."
    )
    return sentences


def _standing(rivals: dict[str, Against]) -> str:
    """Place by mean rank and by mean accuracy, with the best peer."""
    places = []
    for figures, sign, unit in (
        ({m: a.means for m, a in rivals.items()}, 1, " %"),
        ({m: a.ranks for m, a in rivals.items()}, -1, ""),
    ):
        gaps = {m: sign * (ours - theirs) for m, (ours, theirs) in figures.items()}
        place = 1 + sum(gap < 0 for gap in gaps.values())
        peer = min(gaps, key=gaps.__getitem__)
        ours, theirs = (f"{x:.1f}{unit}" for x in figures[peer])
        word = ORDINALS[place - 1] if place <= len(ORDINALS) else f"number {place}"
        places.append((word, f"({ours}; the best peer, {peer}, has {theirs})"))
    (accuracy, accuracies), (rank, ranks) = places
    return (
        f"is {accuracy} of {len(rivals) + 1} methods by mean accuracy {accuracies} and "
        f"{rank} by mean rank {ranks}"
    )


def _losses(c: Comparisons) -> str:
    if not c.leads(CONTENDERS[1:]):
        return ""

    def cells(lead: Lead | None) -> tuple[str, str]:
        if lead is None:
            return "", ""
        return f"{lead.points:+.2f} ± {2 * lead.error:.2f}", lead.peer

    title = "Where it loses"
    rows = [
        (named(d), *cells(loss), *cells(c.lead(d, PEERS)), REASONS.get(d, ""))
        for d in c.datasets
        if (loss := c.loss(d))
    ]
    picture = (
        "![Points of the recommended recipe above or below the best peer of each set]"
        "(images/accuracy.png)\n\n"
    )
    if not rows:
        about = "No peer is ahead by more than two standard errors."
        return f"## {title}\n\n{picture}{about}\n"
    about = (
        f"{picture}The picture shows the difference to the peer that did best on each "
        "set, with two standard errors. The best of so many is ahead of an equal on "
        "most sets by luck alone. The table has the sets on which some peer is ahead "
        "by more than two standard errors: points above the peer that is furthest "
        "ahead, and above the best peer at its defaults."
    )
    head = "set|points|peer|points|best untuned peer|why"
    return section(title, about, head, rows)


def _goals(c: Comparisons) -> str:
    if RECOMMENDED not in c.methods:
        return ""
    rows = [(text, *cells) for text, cells in verdicts(c).items()]
    about = (
        "Ranks and means are compared with each peer on the sets that both have; the "
        "figures after ours are those of the closest peer, or of the best. Tests are "
        "Wilcoxon's signed-rank test over the sets, one-sided, "
        f"{100 * LEVEL:g} %, for each peer alone; they are not corrected for trying "
        f"{len(CONTENDERS) - 1} of them."
    )
    if c.missing(CONTENDERS):
        about += " *So far*: some results are missing; the verdict is of the others."
    head = "|".join(["what", *c.halves])
    # Without a headline of its own.
    return section("-", about, head, rows).partition("\n")[2]


def _tests(c: Comparisons) -> list[str]:
    if not c.rivals(c.datasets):
        return []
    sizes = {
        f"n < {FEW_ROWS:,}": by_size(c.datasets, True),
        f"n >= {FEW_ROWS:,}": by_size(c.datasets, False),
        "all": c.datasets,
    }
    about = (
        "On how many sets the recommended recipe is better, equal and worse; the mean "
        "difference in points; and p-values of Wilcoxon's signed-rank test over the "
        "sets, one-sided: the first is small if ours is better, the second, bold below "
        f"{LEVEL:g}, if the peer is."
    )
    return [
        _against(c, "Against each peer", about, c.halves),
        _against(c, "Against each peer, by number of rows", "", sizes),
    ]


def _against(
    c: Comparisons, title: str, about: str, groups: dict[str, list[str]]
) -> str:
    found = [c.rivals(names) for names in groups.values()]

    def cell(a: Against | None) -> str:
        if a is None:
            return ""
        counts, p = f"{a.won}/{a.tied}/{a.lost}", f"{_p(a.p_ours)}/{_p(a.p_peer, True)}"
        return f"{counts}, {a.points:+.2f}, {p}"

    rows = [
        (peer, *(cell(rivals.get(peer)) for rivals in found))
        for peer in CONTENDERS[1:]
        if any(peer in rivals for rivals in found)
    ]
    return section(title, about, "|".join(["peer", *groups]), rows)


def _p(p: float, bold: bool = False) -> str:
    """A p-value in few characters, bold below the level if that is asked for."""
    digits = 3 if p < 0.1 else 2
    text = f"{p:.{digits}f}".removeprefix("0").removesuffix(".00")
    text = "<.001" if p < 0.001 else text
    return f"**{text}**" if bold and p < LEVEL else text


def _made(c: Comparisons) -> list[str]:
    lines = [
        "Made by `python -m benchmarks.accuracy` (or `make accuracy`; it continues "
        "where it was stopped); run it again instead of editing the page. Every figure "
        "is of rows held out.",
        f"{c.folds} stratified folds, the same for every method; five shuffles of sets "
        "with fewer than 2,000 rows, one of the others. Any two methods are compared "
        "on the whole shuffles that both have, by counts of hits, so that equal ones "
        "tie.",
        "Peers get standardised features. Tuned ones choose among four values by "
        f"{INNER_FOLDS} inner folds of the training rows. With more than {MANY_ROWS:,} "
        "training rows the slow peers are tuned with a stratified sample of "
        f"{SAMPLE:,} of them and then fitted to all.",
        "The standard error of a difference is that over folds and shuffles, with the "
        "correction of Nadeau and Bengio (2003) for training sets that share rows: the "
        "variance over folds times (1 / number of folds + test rows / training rows). "
        f"With one shuffle it rests on {c.folds} differences and is rough.",
        "Some sets share rows or their origin, as their names say, and digits is a "
        "part of optdigits: tests over sets count them twice. D1 and D2 are drawn anew "
        "for each shuffle.",
        *(f"**{t.capitalize()}**: {', '.join(n)}." for t, n in c.halves.items()),
        "**Unfair to peers**: SVC stops after "
        f"{ITERATIONS:,} iterations for each pair of classes, and can be worse where "
        "that is too early. Elastic net stops after 100 passes, and often has not "
        "converged where C is 10: on segmentation, in two folds, it was a point better "
        f"once converged. Peers with `{POWER}` take scikit-learn's PowerTransformer as "
        "it comes, of features that are not standardised first.",
    ]
    if not c.development:
        lines.append(
            "**Looked at once**: when we looked at the sets set aside, the recipe "
            "failed on ecoli, whose smallest classes have one training row; ecoli was "
            "run after that was fixed. Since then forecasts that are equal count "
            "together in the calibration error; before, it was 0.029 above on "
            "ringnorm, not 0.028."
        )
    left_out = [(d, m) for d in c.expected for m in METHODS if not shuffles(d, m)]
    for text, cells in (
        ("Left out, because they fail or take too long", left_out),
        ("Missing, without a whole shuffle", c.missing(c.methods)),
    ):
        by_set = defaultdict(list)
        for dataset, method in cells:
            by_set[dataset].append(method)
        found = [f"{d} ({_some(methods)})" for d, methods in by_set.items()]
        if found:
            lines.append(f"{text}: {'; '.join(found)}.")
    versions = c.versions()
    for text, methods in versions.items():
        where = f" of {', '.join(methods)}" if len(versions) > 1 else ""
        lines.append(f"Versions{where}: {text}.")
    return lines


def _tried() -> str:
    lines = [f"- {text}" for text in TRIED]
    return "\n".join(["## What we tried and did not help", "", *lines])


def _some(methods: list[str]) -> str:
    return ", ".join(methods) if len(methods) < 6 else f"{len(methods)} methods"
