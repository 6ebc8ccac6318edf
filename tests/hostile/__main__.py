"""Try every hostile input and write the tables of docs/trust.md.

PYTHONPATH=tests python -m hostile [--page]

Results are kept in benchmarks/results/hostile.json. --page tries nothing and writes the
page from them.
"""

import argparse
import sys
from collections import Counter

import numpy as np

from benchmarks.pages import (
    canvas,
    origin,
    png,
    publish,
    read_record,
    record_origin,
    section_table,
    write_record,
)
from benchmarks.timing import circumstances
from hostile.runs import PEERS, attempt, is_clear
from hostile.table import CASES, GROUPS

METHODS = ("heterolda", *PEERS)

RIGHT, REJECTED = "right", "clear error, where there is no answer"
TOO_SHY, WRONG = "error, though there is an answer", "wrong answer, no warning"
NUMERIC, INTERNAL = "NaN or RuntimeWarning", "internal error"
ABSENT = "not offered"
COLORS = {
    RIGHT: "#1f5fa8",
    REJECTED: "#9cc6ee",
    TOO_SHY: "#f0d9a8",
    WRONG: "#c1272d",
    NUMERIC: "#e8a33d",
    INTERNAL: "#6b4a2b",
    ABSENT: "0.9",
}


def try_case(case):
    """Return how each method ended on an input, and the error message of ours."""
    first, wrong, trials = None, [], [*case.trials()]
    for name, k, way in trials:
        run = attempt(name, case.data(k), way)
        complaint = case.complaint(run)
        first = first or run
        if complaint:
            wrong.append(f"{name} ({k} classes, {way}): {complaint}")
    methods = {"heterolda": (text_of(first), kind_of(first, wrong))}
    for name in PEERS:
        methods[name] = (ABSENT, ABSENT)
        if case.peers is not False:
            run = attempt(name, case.data(case.classes[0]))
            methods[name] = text_of(run), kind_of(run, case.complaint(run))
    says = "" if first.error is None else str(first.error)
    return {"trials": len(trials), "wrong": wrong, "says": says, "methods": methods}


def kind_of(run, complaint):
    """Return how a run ended."""
    error = run.error
    if isinstance(error, TypeError) and "unexpected keyword" in str(error):
        return ABSENT
    if error is not None:
        kind = TOO_SHY if complaint else REJECTED
        return kind if is_clear(error) else INTERNAL
    if complaint:
        return WRONG if run.is_finite else NUMERIC
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
    rows, counts = results["rows"], tally(results["rows"])
    ours, lda, qda = (counts[name] for name in ("heterolda", "LDA svd", "QDA"))
    table = [(kind, *(str(counts[m][kind]) for m in METHODS)) for kind in COLORS]
    kinds = [
        (title, str(len(names)), ", ".join(names[:3]))
        for title, names in results["groups"].items()
    ]
    trials = sum(row["trials"] for row in rows.values())
    wrong = sum(len(row["wrong"]) for row in rows.values())
    return {
        "hostile": f"We tried {len(rows)} inputs that users might supply: heterolda "
        f"answers {ours[RIGHT]} of them correctly, some with a warning, rejects the "
        f"{ours[REJECTED]} that have no right answer with a clear error, and gets "
        f"{ours[WRONG] or 'none'} wrong. scikit-learn's LDA at its defaults gives "
        f"{lda[WRONG]} wrong answers silently, {lda[NUMERIC]} with NaN or a "
        f"RuntimeWarning and {lda[INTERNAL]} internal errors; QDA rejects "
        f"{qda[TOO_SHY]} inputs that have an answer.",
        "hostile, methods": section_table("|" + "|".join(METHODS), table),
        "hostile, inputs": section_table("kind|inputs|such as", kinds),
        "hostile, machine": origin(
            "hostile",
            f"Hostile inputs, {trials:,} runs of heterolda, {wrong} of them wrong",
        ),
    }


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
    """Return how each method ended on every input."""
    rows = {}
    for name, case in CASES.items():
        print(name, file=sys.stderr, flush=True)
        rows[name] = try_case(case)
    return {
        "groups": {title: list(group) for title, group in GROUPS.items()},
        "rows": rows,
    }


def main():
    """Try everything and write the page; return 1 if ours did anything wrong."""
    parser = argparse.ArgumentParser("hostile", description=__doc__.partition("\n")[0])
    parser.add_argument("--page", action="store_true", help="try nothing")
    if not parser.parse_args().page:
        write_record("hostile", try_all())
        record_origin("hostile", circumstances("dask"))
    results = read_record("hostile")
    publish("trust", parts(results), {"hostile.png": draw(tally(results["rows"]))})
    rows = results["rows"].items()
    wrong = [f"{name}, {complaint}" for name, row in rows for complaint in row["wrong"]]
    print(f"{len(wrong)} wrong", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
