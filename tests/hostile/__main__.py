"""Try every hostile input and write the tables of docs/hostile.md.

PYTHONPATH=tests python -m hostile [--page]

Results are kept in benchmarks/results/hostile.json. --page tries nothing and writes the
page from them.
"""

import argparse
import json
import sys
from collections import Counter
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np

from benchmarks.pages import canvas, filled, png, section_table, write
from heterolda.foundations.files import written_whole
from hostile.checks import is_clear, is_finite, overflowed
from hostile.runs import OURS, PEERS, attempt
from hostile.table import CASES, GROUPS

ROOT = Path(__file__).resolve().parents[2]
DOCS, RESULTS = ROOT / "docs", ROOT / "benchmarks" / "results" / "hostile.json"
METHODS = ("heterolda", *PEERS)

RIGHT, REFUSED = "right", "clear error, where there is no answer"
TOO_SHY, WRONG = "error, though there is an answer", "wrong, without a word"
NUMERIC, INTERNAL = "NaN or RuntimeWarning", "internal error"
ABSENT = "not offered"
COLORS = {
    RIGHT: "#1f5fa8",
    REFUSED: "#9cc6ee",
    TOO_SHY: "#f0d9a8",
    WRONG: "#c1272d",
    NUMERIC: "#e8a33d",
    INTERNAL: "#6b4a2b",
    ABSENT: "0.9",
}


def try_case(case):
    """Return what came of an input: text and kind of each method, and the message."""
    first, trials, wrong = None, 0, []
    for name in OURS:
        for k, way in case.trials(name):
            run = attempt(name, case.data(k), way)
            complaint = case.complaint(run)
            first, trials = first or run, trials + 1
            if complaint:
                wrong.append(f"{name} ({k} classes, {way}): {complaint}")
    methods = {"heterolda": (text_of(first), kind_of(first, wrong))}
    for name in PEERS:
        methods[name] = (ABSENT, ABSENT)
        if case.peers:
            run = attempt(name, case.data(case.classes[0]))
            methods[name] = text_of(run), kind_of(run, case.complaint(run))
    says = "" if first.error is None else str(first.error)
    return {"trials": trials, "wrong": wrong, "says": says, "methods": methods}


def kind_of(run, complaint):
    """Return how a run ended."""
    error = run.error
    if isinstance(error, TypeError) and "unexpected keyword" in str(error):
        return ABSENT
    if error is not None:
        kind = TOO_SHY if complaint else REFUSED
        return kind if is_clear(error) else INTERNAL
    if complaint:
        return NUMERIC if overflowed(run) or not is_finite(run) else WRONG
    return RIGHT


def text_of(run):
    """Return the accuracy or the error, and the warnings."""
    if run.error is not None:
        return type(run.error).__name__
    finite = np.isfinite(run.probabilities).all()
    accuracy = f"{100 * run.accuracy:.0f} %" if finite else "NaN"
    return ", ".join([accuracy, *sorted({w.__name__ for w in run.warnings})])


def tally(rows):
    """Return for each method how many inputs ended how."""
    outcomes = [row["methods"] for row in rows.values()]
    return {name: Counter(row[name][1] for row in outcomes) for name in METHODS}


def parts(results):
    """Return the made parts of the page, by name."""
    rows, head = results["rows"], "|".join(METHODS)
    counts = tally(rows)
    summary = [(kind, *(str(counts[m][kind]) for m in METHODS)) for kind in COLORS]
    tables = []
    for title, names in results["groups"].items():
        cells = [(n, *map(cell, rows[n]["methods"].values())) for n in names]
        tables += [f"### {title}", section_table(f"input|{head}", cells)]
    said = [(n, sentence(row["says"])) for n, row in rows.items() if row["says"]]
    trials = sum(row["trials"] for row in rows.values())
    wrong = sum(len(row["wrong"]) for row in rows.values())
    return {
        "summary": section_table(f"|{head}", summary),
        "inputs": "\n\n".join(tables),
        "messages": section_table("input|what it says", said),
        "versions": f"- {trials} runs of ours, {wrong} of them wrong; "
        f"{results['versions']}; {results['date']}.",
    }


def cell(outcome):
    """Return what a method did; bold if it should not."""
    text, kind = outcome
    text = {REFUSED: "clear error", ABSENT: ABSENT}.get(kind, text)
    return text if kind in (RIGHT, REFUSED, ABSENT) else f"**{text}**"


def sentence(message):
    """Return the first sentence of a message, without what would break a table."""
    line = message.partition("\n")[0].partition(". ")[0]
    return line.rstrip(".:").replace("|", "\\|")


def draw(counts):
    """Return the picture: how each method ends."""
    figure, panels = canvas(3.5)
    panel, places = panels[0, 0], range(len(counts))[::-1]
    left = np.zeros(len(counts))
    for kind, color in COLORS.items():
        lengths = np.array([count[kind] for count in counts.values()])
        style = {"color": color, "edgecolor": "white", "height": 0.7}
        panel.barh(places, lengths, left=left, label=kind, **style)
        left += lengths
    panel.set_yticks(places, list(counts))
    panel.set_xlabel("number of inputs")
    panel.grid(visible=False, axis="y")
    figure.legend(fontsize=9, loc="outside lower center", ncols=1, frameon=False)
    return png(figure)


def try_all():
    """Return what came of every input."""
    rows = {}
    for name, case in CASES.items():
        print(name, file=sys.stderr, flush=True)
        rows[name] = try_case(case)
    libraries = ("heterolda", "scikit-learn", "numpy", "scipy", "dask")
    return {
        "date": str(datetime.now(UTC).date()),
        "versions": ", ".join(f"{name} {version(name)}" for name in libraries),
        "groups": {title: list(group) for title, group in GROUPS.items()},
        "rows": rows,
    }


def main():
    """Try everything and write the page; return 1 if ours did anything wrong."""
    parser = argparse.ArgumentParser("hostile", description=__doc__.partition("\n")[0])
    parser.add_argument("--page", action="store_true", help="try nothing")
    if not parser.parse_args().page:
        results = json.dumps(try_all(), indent=1)
        with written_whole(RESULTS) as file:
            file.write(results.encode() + b"\n")
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    page = filled((DOCS / "hostile.md").read_text(encoding="utf-8"), parts(results))
    picture = draw(tally(results["rows"]))
    write(DOCS, {"hostile.md": page, "images/hostile.png": picture})
    rows = results["rows"].items()
    wrong = [f"{name}, {complaint}" for name, row in rows for complaint in row["wrong"]]
    print(f"{len(wrong)} wrong", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
