"""The page docs/hostile.md: what is done with each input, tried when it is built."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from hostile.case import Case
from hostile.cases import GROUPS
from hostile.contenders import OURS, PEERS, STRATEGIES, Contender
from hostile.judges import Refused
from hostile.trial import Trial, attempt, is_clear

RIGHT, REFUSED = "right", "clear error, where there is no answer"
TOO_SHY, WRONG = "error, though there is an answer", "wrong, without a word"
NUMERIC, INTERNAL = "NaN or RuntimeWarning", "internal error"
ABSENT = "not offered"
KINDS = (RIGHT, REFUSED, TOO_SHY, WRONG, NUMERIC, INTERNAL, ABSENT)

HEAD = """\
# Hostile inputs

Made by `make hostile`; do not edit. Every row is an input that users
have, and a test. What must come out is the right answer, or that and one clear warning,
or a clear error; never NaN, a RuntimeWarning or an error from inside.

What is right is judged from outside: by the answers for the same data in benign form
(without the offset, in other units, in float64), by an accuracy that must be reached,
by a scan of all linear rules, or by what LDA makes of other rows of the same kind.
Figures are accuracies on the data themselves (on other rows where the model does not
fit), of two classes where a row does not say otherwise. **Bold** is what should not be.

The column *heterolda* has the answer of the solver `global`, and says who of ours does
otherwise. *Trials* counts all of ours: {contenders}
and the strategies {strategies} of the local search; with two and with
four classes; by `fit`, and where they can by `partial_fit`, by `fit_statistics`, with
Dask, and from files by the commands `heterolda fit` and `heterolda predict`.
"""


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
    settings = ", ".join(f"`{name}`" for name in OURS if name not in STRATEGIES)
    strategies = ", ".join(f"`{name}`" for name in STRATEGIES)
    parts = [HEAD.format(contenders=settings, strategies=strategies), _versions()]
    rows = [row for group in groups.values() for row in group]
    parts.append(_summary(rows))
    for title, group in groups.items():
        parts += [f"## {title}\n", _table(group)]
        notes = [f"*{r.case.name}*: {r.case.note}." for r in group if r.case.note]
        parts += [f"{note}\n" for note in notes]
    return "\n".join(parts)


def _versions() -> str:
    names = ("heterolda", "scikit-learn", "numpy", "scipy", "dask")
    return f"Versions: {', '.join(f'{name} {version(name)}' for name in names)}.\n"


def _summary(rows: list[Row]) -> str:
    """How many rows ended how, for each peer and for ours."""
    counts = {name: Counter(row.peers[name][1] for row in rows) for name in PEERS}
    lines = [f"| | {' | '.join(PEERS)} | heterolda |", "|---" * (len(PEERS) + 2) + "|"]
    ours = Counter(_kind_of_ours(row) for row in rows)
    for kind in KINDS:
        cells = [str(counts[name][kind]) for name in PEERS] + [str(ours[kind])]
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    wrong = [f"- {row.case.name}: {c}" for row in rows for c in row.complaints]
    trials = sum(row.trials for row in rows)
    told = f"{len(rows)} inputs, {trials} trials of ours, {len(wrong)} complaints.\n"
    return "\n".join(["## Summary\n", told, *lines, "", *wrong])


def _kind_of_ours(row: Row) -> str:
    if row.complaints:
        return WRONG
    return REFUSED if isinstance(row.case.must, Refused) else RIGHT


def _table(rows: list[Row]) -> str:
    lines = [
        f"| input | {' | '.join(PEERS)} | heterolda | trials |",
        "|---" * (len(PEERS) + 3) + "|",
    ]
    for row in rows:
        cells = [row.case.name, *(text for text, _ in row.peers.values())]
        ours = f"**{row.ours}**" if row.complaints else row.ours
        lines.append(f"| {' | '.join([*cells, ours, str(row.trials)])} |")
    return "\n".join([*lines, ""])


def try_all(tell: Any) -> dict[str, list[Row]]:
    """Try everything; `tell` is called with the name of each case."""
    found = {}
    for title, cases in GROUPS.items():
        found[title] = []
        for case in cases:
            tell(case.name)
            found[title].append(try_case(case))
    return found
