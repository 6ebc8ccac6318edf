"""The tables of the page docs/accuracy.md, of single sets and methods."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks.accuracy.calibration import BINS, DRAWS
from benchmarks.accuracy.comparisons import CONTENDERS, HITS, LOSS, Comparisons
from benchmarks.accuracy.honesty import ALL
from benchmarks.accuracy.methods import (
    LANDMARKS,
    METHODS,
    OURS,
    PEERS,
    POWER,
    RECOMMENDED,
    TIMED_PEER,
    TUNED,
    TUNED_PEERS,
)
from benchmarks.accuracy.sets import SET_ASIDE, SIZES, published
from benchmarks.pages import section

MARK = "†"
# Columns of published figures that are names, and those that are not of linear rules.
NAMES = ("set", "row_of_the_study")
NOT_LINEAR = ("rda_R", "qda_caret", "QdaCov_caret", "best_of_183")
# Methods whose probabilities, or times, are shown for each set.
FORECASTING = (
    *(RECOMMENDED, "GLD", "LDA", "LDA-tuned", "logistic", "logistic-tuned"),
    "elastic-net-tuned",
)
# Methods of the overview.
OVERVIEW = (RECOMMENDED, "GLD", "LDA", "logistic")
TIMED = (RECOMMENDED, "GLD", "LDA", "logistic-tuned", "SVC-tuned")

# By head: what a column says of a set, or of a method.
Columns = dict[str, Callable[[str], str]]


def named(dataset: str) -> str:
    """The name of a set, with a mark if it is set aside."""
    return f"{dataset} {MARK}" if dataset in SET_ASIDE else dataset


def details(c: Comparisons) -> list[str]:
    """Those of the second page, but that of the methods."""
    return [
        _best(c),
        *_accuracies(c),
        *_probabilities(c),
        _claims(c),
        _times(c),
    ]


def average(c: Comparisons, method: str) -> str:
    """Mean accuracy in % over the sets that a method has; empty without any."""
    if method not in c.methods:
        return ""
    return _mean([c.mean(d, method) for d in c.datasets], ".2f")


def _claims(c: Comparisons) -> str:
    """What the recipe expects of itself beside what it does."""
    claims = c.claims(c.datasets)
    if not claims:
        return ""

    def columns(of: str, form: str) -> Callable[[str], str]:
        return lambda d: format(getattr(claims[d], of), form) if d in claims else ""

    whole = claims[ALL]
    about = (
        "The error in % that the recipe expects on new rows (`held_out_error_`), "
        "and its error on rows held out: means over fits, and the difference with its "
        "standard error over shuffles, or folds of a single one. Over all sets the "
        f"difference is {whole.difference:+.2f} ± {whole.standard_error:.2f} (standard "
        "error over the sets). It expects too many errors rather than too few, because "
        "it judges rules that were fitted to fewer rows, and holds copies of a row out "
        "together."
    )
    return _by_set(
        c,
        "What it expects of itself",
        about,
        {
            "expected": columns("claimed", ".1f"),
            "held out": columns("error", ".1f"),
            "difference": columns("difference", "+.2f"),
            "standard error": columns("standard_error", ".2f"),
        },
    )


def _by_set(c: Comparisons, title: str, about: str, columns: Columns) -> str:
    rows = [(named(d), *(column(d) for column in columns.values())) for d in c.datasets]
    if not any(any(row[1:]) for row in rows):
        return ""
    return section(title, about, "|".join(["set", *columns]), rows)


def _figure(value: float, form: str) -> str:
    return "" if math.isnan(value) else format(value, form)


def _columns(
    methods: Iterable[str], figure: Callable[[str, str], float], form: str
) -> Columns:
    """A column for each method."""

    def column(method: str) -> Callable[[str], str]:
        return lambda dataset: _figure(figure(dataset, method), form)

    return {m: column(m) for m in methods}


def _mean(values: list[float], form: str, mean: Any = np.mean) -> str:
    """Over what is there; empty where nothing is."""
    there = [value for value in values if not math.isnan(value)]
    return format(mean(there), form) if there else ""


def sets(c: Comparisons) -> str:
    """An overview: ours beside the peers that everybody knows."""
    column = _accuracy_columns(c)

    def lead(dataset: str) -> str:
        found = c.lead(dataset, CONTENDERS[1:])
        return f"{found.points:+.1f} ± {2 * found.error:.1f}" if found else ""

    about = (
        "Accuracy in %; bold is the best of all linear methods, shown here or not. "
        "*Lead* is that of `recommended()` over the best of all peers on the set, in "
        "points with two standard errors, on the shuffles that both have. "
        "Size is rows x features, classes. "
        f"{MARK} Set aside until the recipe was final. A number in brackets: fewer "
        "shuffles than others have. An empty cell has not been measured."
    )
    columns: Columns = {"size": lambda d: "{:,} x {}, {}".format(*SIZES[d])}
    columns |= {m: column(m) for m in OVERVIEW if m in c.methods}
    return _by_set(c, "Each set", about, columns | {"lead": lead})


def _best(c: Comparisons) -> str:
    """The best of each kind."""

    def best(methods: list[str]) -> Callable[[str], str]:
        def column(dataset: str) -> str:
            found = [(c.mean(dataset, m), m) for m in c.present(dataset, methods)]
            return "{:.1f} {}".format(*max(found)) if found else ""

        return column

    about = (
        "Accuracy in % of the recommended recipe, and of the best of each kind, picked "
        "after the fact. Landmarks are not linear: forests, nearest neighbours, QDA "
        "and RDA."
    )
    columns: Columns = {
        "shuffles": lambda d: str(c.most_shuffles(d)),
        "recommended": lambda d: _figure(c.mean(d, RECOMMENDED), ".1f"),
        "best untuned peer": best(PEERS),
        "best tuned peer": best(TUNED_PEERS),
        "best landmark": best(LANDMARKS),
    }
    return _by_set(c, "The best of each kind", about, columns)


def ranks(c: Comparisons) -> str:
    """Mean ranks, accuracies and times of all methods."""
    about = (
        "Rank 1 is the best of the recommended recipe and its peers on a set; equal "
        "methods share their places. Means are over the sets that a method has, so "
        "methods with fewer sets compare badly by their mean accuracy. Our other "
        "methods and the landmarks, which are not linear, stand below and are not "
        f"ranked. *Time* is training time over that of {TIMED_PEER}, the median over "
        f"the sets; methods with `{POWER}` share a transformation and have none."
    )
    columns: Columns = {
        "accuracy": lambda m: average(c, m),
        "sets": lambda m: str(sum(c.n_shuffles(d, m) > 0 for d in c.datasets)),
        "time": lambda m: _mean(
            [c.time_ratio(d, m) for d in c.datasets if POWER not in m], ".2g", np.median
        ),
    }
    others = [m for m in c.methods if m not in CONTENDERS]
    return _standings(c, "Mean ranks and accuracies", about, HITS, others, columns)


def _standings(
    c: Comparisons, title: str, about: str, what: str, others: list[str], more: Columns
) -> str:
    """Mean ranks of the contenders by halves, other methods, and further columns."""
    groups = {"all": c.datasets, **c.halves}
    means = [c.mean_ranks(names, what) for names in groups.values()]
    rows = [
        (
            f"**{m}**" if m == RECOMMENDED else m,
            *(f"{found[m]:.1f}" if m in found else "" for found in means),
            *(column(m) for column in more.values()),
        )
        for m in [*means[0], *others]
    ]
    return section(title, about, "|".join(["method", *groups, *more]), rows)


def _accuracy_columns(c: Comparisons) -> Callable[[str], Callable[[str], str]]:
    """For a method, the column of its accuracies; bold where it is the best."""
    linear = [m for m in c.methods if m not in LANDMARKS]
    found = c.ranks(linear, c.datasets)
    best = {
        (d, m)
        for d, row in zip(c.datasets, found, strict=True)
        for m, rank in zip(linear, row, strict=True)
        if rank == np.nanmin(row, initial=math.inf)
    }

    def column(method: str) -> Callable[[str], str]:
        def figure(dataset: str) -> str:
            n = c.n_shuffles(dataset, method)
            text = _figure(c.mean(dataset, method), ".1f")
            text = f"**{text}**" if (dataset, method) in best else text
            return f"{text} [{n}]" if 0 < n < c.most_shuffles(dataset) else text

        return figure

    return column


def _accuracies(c: Comparisons) -> list[str]:
    column = _accuracy_columns(c)
    about = (
        "In %, here and in the tables below. The best of all linear methods is bold. "
        "Where a method has fewer shuffles than others on a set, their number is in "
        "brackets; an empty cell has not been measured."
    )
    found = []
    for title, methods, end in (
        ("ours", OURS, ""),
        ("peers at their defaults", [m for m in PEERS if POWER not in m], ""),
        (f"peers at their defaults, {POWER}", [m for m in PEERS if POWER in m], POWER),
        ("tuned peers", [m for m in TUNED_PEERS if POWER not in m], TUNED),
        (
            f"tuned peers, {POWER}",
            [m for m in TUNED_PEERS if POWER in m],
            TUNED + POWER,
        ),
        ("landmarks", LANDMARKS, ""),
    ):
        columns = {m.removesuffix(end): column(m) for m in methods if m in c.methods}
        found.append(_by_set(c, f"Accuracies: {title}", about, columns))
        about = ""
    return found


def _probabilities(c: Comparisons) -> list[str]:
    names = c.with_probabilities(c.methods)
    if not names:
        return []
    errors, perfect = c.calibration_errors, c.perfect_errors

    def error(dataset: str, method: str) -> float:
        return errors.get((dataset, method), math.nan)

    about = (
        "Mean ranks by log loss, of the recommended recipe and the peers with "
        "probabilities; mean log loss and mean calibration error of all methods that "
        "have any, over the sets that a method has."
    )
    more: Columns = {
        "log loss": lambda m: _mean([c.mean(d, m, LOSS) for d in c.datasets], ".3f"),
        "calibration error": lambda m: _mean([error(d, m) for d in c.datasets], ".3f"),
    }
    others = [m for m in names if m not in CONTENDERS]
    found = [_standings(c, "Probabilities", about, LOSS, others, more)]
    shown = [m for m in FORECASTING if m in names]
    about = (
        "Expected calibration error of the largest probability: "
        f"{BINS} bins of equal count, the rows of all folds and shuffles together. "
        "*Perfect* is the mean that the recommended recipe would show if its "
        f"probabilities were true and all these rows independent ({DRAWS} draws). Rows "
        "recur in the shuffles, so even a perfect forecast would show more."
    )
    columns: Columns = {
        "perfect": lambda d: _figure(perfect.get(d, math.nan), ".3f")
    } | _columns(shown, error, ".3f")
    found.append(_by_set(c, "Calibration", about, columns))
    columns = _columns(shown, lambda d, m: c.mean(d, m, LOSS), ".3f")
    return [*found, _by_set(c, "Log loss", "", columns)]


def _times(c: Comparisons) -> str:
    about = (
        f"Training time as a ratio to {TIMED_PEER}: processor time of one thread, "
        "the median over the folds that both have from one run."
    )
    return _by_set(c, "Training time", about, _columns(TIMED, c.time_ratio, ".2g"))


def published_figures(c: Comparisons) -> str:
    """The recommended recipe by the published protocol, beside published figures."""
    rows, leads = [], []
    figures = published() if c.published else {}
    for dataset, ours in c.published.items():
        texts = figures[dataset].items()
        theirs = {m: float(x) for m, x in texts if m not in NAMES and x}
        best, which = max((x, m) for m, x in theirs.items() if m not in NOT_LINEAR)
        leads.append(ours - best)
        landmarks = [theirs.get(m, math.nan) for m in ("qda_caret", "best_of_183")]
        rows.append(
            (
                *(named(dataset), f"{ours:.1f}", f"{leads[-1]:+.1f}"),
                *(f"{best:.1f}", which, _figure(theirs.get("lda_R", math.nan), ".1f")),
                *(_figure(x, ".1f") for x in landmarks),
            )
        )
    if not rows:
        return ""
    about = (
        "Accuracies in % by four folds: ours, with folds of our own, beside those of "
        'M. Fernandez-Delgado, E. Cernadas, S. Barro and D. Amorim (2014), "Do we need '
        'hundreds of classifiers to solve real world classification problems?", JMLR '
        "15, 3133-3181. They do not compare exactly: their parameters were tuned on "
        "rows that were tested too, failures are left blank, and versions of a set may "
        "differ. The best linear one is picked after the fact. Ours is above "
        f"it on {sum(lead > 0 for lead in leads)} of {len(leads)} sets, by "
        f"{np.mean(leads):+.1f} points on average. *QDA* is qda_caret, *any* the best "
        "of all 183 classifiers, linear or not."
    )
    head = "set|recommended|lead|best linear|which|lda_R|QDA|any"
    return section("Beside published figures", about, head, rows)


def methods(c: Comparisons) -> str:
    """What the methods are, and their warnings."""
    rows = [
        (m, METHODS[m].description, str(c.warnings(m) or ""))
        for m in c.methods
        if m.removesuffix(POWER) == m or c.warnings(m)
    ]
    about = (
        f"Those with `{POWER}` are the same after a power transformation. Warnings are "
        "scikit-learn's ConvergenceWarnings, in inner folds too."
    )
    return section("Methods", about, "method|what it is|warnings", rows)
