"""Files of the study: report on them, and continue them with reproduce."""

from __future__ import annotations

import json
import zlib
from functools import cache, partial

from fuzz.changes import change_bytes, change_structure, change_table
from fuzz.commands import a_folder, run
from fuzz.reader import Reader
from heterolda.experiments import results

_RESUME = (
    "reproduce --datasets iris --methods pairwise-lda,c-hld --folds 2 --trials 1 "
    "--jobs 1 --out ."
)


@cache
def good():
    """Return results and description of a small run."""
    with a_folder() as place:
        assert run(*_RESUME.split()) is not None
        return (place / "results.csv").read_bytes(), (place / "run.json").read_bytes()


def check(data, which):
    """Return whether report, or reproduce, accepts a folder with a changed file."""
    files = dict(zip(("results_csv", "run_json"), good(), strict=True))
    files[which.replace(".", "_")] = data
    with a_folder(**files) as place:
        if zlib.crc32(data) % 2:
            page = place / "report.html"
            if run("report", ".") is None:
                assert not page.exists()
                return False
            text = page.read_text("utf-8")
            assert "<script" not in text, "the page has scripts of a file"
            return True
        if run(*_RESUME.split()) is None:
            return False
        # A run can read its own results.
        cells = results.read_results(place).cells
        for method in ("pairwise-lda", "c-hld"):
            assert len(cells["iris", method].rows) >= 2
    return True


def change_rows(data, rng):
    """Return other rows."""
    return change_bytes(data, rng) if rng.random() < 0.3 else change_table(data, rng)


def change_run(data, rng):
    """Return another description."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        document = None
    if rng.random() < 0.4 or not isinstance(document, dict):
        return change_bytes(data, rng)
    return json.dumps(change_structure(document, rng)).encode()


def _row_seeds():
    rows = good()[0]
    markup = rows.replace(b"iris,c-hld,0,1", b"<script>,c-hld,0,1")
    return [rows, rows[:-20], markup]


def _run_seeds():
    other = json.loads(good()[1]) | {"versions": {"<b>": "<i>"}, "machine": {}}
    return [good()[1], json.dumps(other).encode()]


RESULTS = (
    Reader(
        "results", ".csv", _row_seeds, change_rows, partial(check, which="results.csv")
    ),
    Reader("run", ".json", _run_seeds, change_run, partial(check, which="run.json")),
)
