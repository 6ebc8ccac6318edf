"""Files of the study: report on them, and reproduce going on from them."""

from __future__ import annotations

import json
import zlib
from functools import cache, partial
from html.parser import HTMLParser

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
    """Results and description of a small run."""
    with a_folder() as place:
        assert run(*_RESUME.split()) is not None
        return (place / "results.csv").read_bytes(), (place / "run.json").read_bytes()


def check(data, which):
    """Whether report, or reproduce, goes on with a folder of which a file is changed.

    Parameters
    ----------
    data : bytes
        The content of the file.
    which : {"results.csv", "run.json"}
        Its name.

    Returns
    -------
    bool
        Whether the command succeeded.
    """
    files = dict(zip(("results_csv", "run_json"), good(), strict=True))
    files[which.replace(".", "_")] = data
    with a_folder(**files) as place:
        if zlib.crc32(data) % 2:
            said = run("report", ".")
            if said is None:
                assert not (place / "report.html").exists()
                return False
            _check_page((place / "report.html").read_text("utf-8"))
            return True
        if run(*_RESUME.split()) is None:
            return False
        # What a run has written, a run can read.
        done = results.read_results(place)
        cells = [done.cells["iris", method] for method in ("pairwise-lda", "c-hld")]
        assert all(len(cell.rows) >= 2 for cell in cells)
    return True


def _check_page(text):
    """Refuse a page with scripts that it should not have, or numbers that are none."""
    scripts = []

    class Page(HTMLParser):
        def handle_starttag(self, tag, attrs):
            if tag == "script":
                scripts.append(attrs)
            values = dict(attrs)
            assert values.get("data-value") not in ("nan", "inf", "-inf"), "NaN"

    Page().feed(text)
    assert not scripts, "the page has scripts of a file"


def change_rows(data, rng):
    """Other rows."""
    return change_bytes(data, rng) if rng.random() < 0.3 else change_table(data, rng)


def change_run(data, rng):
    """Another description."""
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
