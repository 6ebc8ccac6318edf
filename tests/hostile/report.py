"""The page docs/hostile.md: what is done with each input, tried when it is built."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.pages import canvas, compose, png, section
from hostile.case import Case
from hostile.cases import GROUPS
from hostile.contenders import NON_NORMAL, OURS, PEERS, Contender
from hostile.judges import Refused
from hostile.trial import Trial, attempt, is_clear

RIGHT, REFUSED = "right", "clear error, where there is no answer"
TOO_SHY, WRONG = "error, though there is an answer", "wrong, without a word"
NUMERIC, INTERNAL = "NaN or RuntimeWarning", "internal error"
ABSENT = "not offered"
KINDS = (RIGHT, REFUSED, TOO_SHY, WRONG, NUMERIC, INTERNAL, ABSENT)

COLOURS = {
    RIGHT: "#1f5fa8",
    REFUSED: "#9cc6ee",
    TOO_SHY: "#f0d9a8",
    WRONG: "#c1272d",
    NUMERIC: "#e8a33d",
    INTERNAL: "#6b4a2b",
    ABSENT: "0.9",
}
PICTURE = (
    "![How each method ends: heterolda has answers and clear errors only, the others "
    "also wrong answers, NaN and internal errors](images/hostile.png)"
)
DETAILS = "What heterolda says"


@dataclass(frozen=True)
class Row:
    """A row of the page.

    Attributes
    ----------
    case : Case
        What was tried.
    peers : dict of str to (str, str)
        For each peer the text and the kind of what it did.
    ours : str
        What ours did.
    trials : int
        Trials of ours.
    complaints : list of str
        What was wrong with ours.
    """

    case: Case
    peers: dict[str, tuple[str, str]]
    ours: str
    trials: int
    complaints: list[str]


def try_case(case: Case) -> Row:
    """Try all peers and all of ours."""
    peers = dict.fromkeys(PEERS, (ABSENT, ABSENT))
    if case.peers:
        peers = {name: _peer(case, peer) for name, peer in PEERS.items()}
    found: dict[str, list[str]] = {}
    complaints, trials, first = [], 0, None
    for contender, k in case.contenders():
        data, judge = case.make(k), case.judge(contender)
        for way in case.ways_of(contender, k):
            trial = attempt(contender, data, way)
            first = first or trial
            trials += 1
            found.setdefault(_manner(trial), []).append(contender.name)
            complaint = judge(trial)
            if complaint:
                complaints.append(f"{contender.name} ({k} classes, {way}): {complaint}")
    return Row(case, peers, _ours(first, found), trials, complaints)


def _peer(case: Case, peer: Contender) -> tuple[str, str]:
    """What a peer does, and of what kind that is."""
    judge = case.judge(peer)
    trial = attempt(peer, case.make(case.classes[0]))
    complaint = judge(trial)
    kind = _kind(trial, complaint)
    text = ABSENT if kind == ABSENT else _text(trial)
    return (text if kind in (RIGHT, REFUSED, ABSENT) else f"**{text}**"), kind


def _kind(trial: Trial, complaint: str | None) -> str:
    error = trial.error
    if isinstance(error, TypeError) and "unexpected keyword" in str(error):
        return ABSENT
    if error is not None:
        if not is_clear(error):
            return INTERNAL
        return REFUSED if complaint is None else TOO_SHY
    if complaint is None:
        return RIGHT
    return NUMERIC if _is_numeric(trial) else WRONG


def _is_numeric(trial: Trial) -> bool:
    warned = any(issubclass(w, RuntimeWarning) for w in trial.warnings)
    return warned or not np.isfinite(trial.probabilities).all()


def _text(trial: Trial) -> str:
    """Accuracy or error, and warnings."""
    if trial.error is not None:
        return type(trial.error).__name__
    finite = np.isfinite(trial.probabilities).all()
    parts = [_accuracy(trial) if finite else "NaN"]
    parts += sorted({w.__name__ for w in trial.warnings})
    return ", ".join(parts)


def _accuracy(trial: Trial) -> str:
    return f"{trial.accuracy:.0%}".replace("%", " %")


def _manner(trial: Trial) -> str:
    """Whether there is an answer, and with what warnings."""
    if trial.error is not None:
        return "refused"
    return ", ".join(sorted({w.__name__ for w in trial.warnings})) or "no warning"


def _ours(first: Trial, found: dict[str, list[str]]) -> str:
    """What the first trial came to, and who did otherwise."""
    error = first.error
    parts = [_text(first) if error is None else f"refused: {_sentence(str(error))}"]
    for manner, names in found.items():
        if manner != _manner(first):
            parts.append(f"{', '.join(dict.fromkeys(names))}: {manner}")
    return "; ".join(parts)


def _sentence(message: str) -> str:
    """The first sentence of a message, without what would break a table."""
    line = message.partition("\n")[0].partition(". ")[0]
    return line.rstrip(".:").replace("|", "\\|")


def page(groups: dict[str, list[Row]]) -> str:
    """The whole page."""
    rows = [row for group in groups.values() for row in group]
    counts = tally(rows)
    tables = [_summary(counts, rows)]
    for title, group in groups.items():
        notes = [f"*{r.case.name}*: {r.case.note}." for r in group if r.case.note]
        tables.append("\n\n".join([_table(title, group).strip("\n"), *notes]))
    return compose(
        "Hostile inputs",
        [_opening(counts, len(rows))],
        [*tables, _details(rows)],
        _made(rows),
        picture=PICTURE,
    )


def tally(rows: list[Row]) -> dict[str, Counter[str]]:
    """For each method, how many inputs ended how."""
    ours = {"heterolda": Counter(_kind_of_ours(row) for row in rows)}
    return ours | {name: Counter(r.peers[name][1] for r in rows) for name in PEERS}


def draw(groups: dict[str, list[Row]]) -> bytes:
    """The picture: how each method ends, as PNG."""
    counts = tally([row for group in groups.values() for row in group])
    figure, panels = canvas(3.5)
    panel, places = panels[0, 0], range(len(counts))[::-1]
    left = np.zeros(len(counts))
    for kind, colour in COLOURS.items():
        lengths = np.array([count[kind] for count in counts.values()])
        style = {"color": colour, "edgecolor": "white", "height": 0.7}
        panel.barh(places, lengths, left=left, label=kind, **style)
        left += lengths
    panel.set_yticks(places, list(counts))
    panel.set_xlabel("number of inputs")
    panel.grid(visible=False, axis="y")
    place = {"loc": "outside lower center", "ncols": 1, "frameon": False}
    figure.legend(fontsize=9, **place)
    return png(figure)


def _opening(counts: dict[str, Counter[str]], n: int) -> str:
    ours, lda, qda = (counts[name] for name in ("heterolda", "LDA svd", "QDA"))
    wrong = ours[WRONG] or "none"
    return (
        f"What becomes of data that break things? We tried {n} inputs that users have: "
        "offsets of 1e9, constant and repeated columns, classes with a single row, odd "
        f"types and layouts, broken weights. heterolda answers {ours[RIGHT]} of them "
        "correctly, some with a warning, refuses the "
        f"{ours[REFUSED]} that have no right "
        f"answer with a clear error, and gets {wrong} wrong. scikit-learn's LDA at its "
        f"defaults (svd) gives {lda[WRONG]} wrong answers without a word, "
        f"{lda[NUMERIC]} with NaN or a RuntimeWarning and {lda[INTERNAL]} internal "
        f"errors; QDA refuses {qda[TOO_SHY]} inputs that have an answer. The inputs "
        "were collected to test this library, so the others had no chance to prepare. "
        "For you it means: either the answer can be used, or the message says what to "
        "change."
    )


def _made(rows: list[Row]) -> list[str]:
    settings = ", ".join(f"`{name}`" for name in OURS if name not in NON_NORMAL)
    strategies = ", ".join(f"`{name}`" for name in NON_NORMAL)
    names = ("heterolda", "scikit-learn", "numpy", "scipy", "dask")
    trials = sum(row.trials for row in rows)
    return [
        "Made by `make hostile`; run it again instead of editing the page. Every row "
        "is also a test.",
        f"**Trials**: {trials} of ours. Each input is tried with our settings "
        f"{settings} and the strategies {strategies} of the local search; with two and "
        "with four classes; by `fit`, and where they can by `partial_fit`, by "
        "`fit_statistics`, with Dask, and from files by the commands `heterolda fit` "
        "and `heterolda predict`. The tables show the default, `global`.",
        "**What is right** is judged from outside: by the answers for the same data in "
        "benign form (without the offset, in other units, in float64), by an accuracy "
        "that must be reached, by a scan of all linear rules, or by what LDA makes of "
        "other rows of the same kind.",
        "**Figures** are accuracies on the training rows (on other rows where the "
        "model does not fit), of two classes where a row does not say otherwise.",
        f"**Versions**: {', '.join(f'{name} {version(name)}' for name in names)}.",
    ]


def _summary(counts: dict[str, Counter[str]], rows: list[Row]) -> str:
    """How many rows ended how, for each peer and for ours."""
    cells = [(kind, *(str(c[kind]) for c in counts.values())) for kind in KINDS]
    wrong = [f"- {row.case.name}: {c}" for row in rows for c in row.complaints]
    trials = sum(row.trials for row in rows)
    about = f"{len(rows)} inputs, {trials} trials of ours, {len(wrong)} complaints."
    head = "|".join(["", *counts])
    return "\n".join([section("Summary", about, head, cells), *wrong])


def _kind_of_ours(row: Row) -> str:
    if row.complaints:
        return WRONG
    return REFUSED if isinstance(row.case.must, Refused) else RIGHT


def _table(title: str, rows: list[Row]) -> str:
    cells = [
        (row.case.name, _brief(row), *(text for text, _ in row.peers.values()))
        for row in rows
    ]
    about = "**Bold** is what should not happen." if title == next(iter(GROUPS)) else ""
    head = "|".join(["input", "heterolda", *PEERS])
    return section(title, about, head, cells)


def _brief(row: Row) -> str:
    """What ours did, in a word or two."""
    brief = row.ours.partition(";")[0].partition(":")[0]
    brief = "clear error" if brief == "refused" else brief
    return f"**{brief}**" if row.complaints else brief


def _details(rows: list[Row]) -> str:
    """Messages, and which of our settings do otherwise."""
    told = {row.case.name: row.ours for row in rows if row.ours != _brief(row)}
    cells = [(name, text.replace("refused: ", "")) for name, text in told.items()]
    if not cells:
        return ""
    about = (
        "The messages of the errors; and where some of our solvers and settings do "
        "otherwise than the default, what the default does, then theirs."
    )
    return section(DETAILS, about, "input|what it says", cells)


def try_all(tell: Any) -> dict[str, list[Row]]:
    """Try everything; `tell` is called with the name of each case."""
    found = {}
    for title, cases in GROUPS.items():
        found[title] = []
        for case in cases:
            tell(case.name)
            found[title].append(try_case(case))
    return found
