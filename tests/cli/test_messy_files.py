"""Messy files go from fit to export by what the messages say; docs have the counts."""

import re
from pathlib import Path

import pytest

from tests.cli.messy_files import messy_files
from tests.cli.messy_user import COMMANDS, is_right, through

CASES = messy_files()
PAGE = Path(__file__).parents[2].joinpath("docs/guide/files.md").read_text("utf-8")
ROWS = re.findall(r"^\| ([^|]+) \|((?: \d+ \|){5})$", PAGE, re.MULTILINE)
# How many commands each file takes, as the page says.
RECORDED = {title: [int(n) for n in re.findall(r"\d+", cells)] for title, cells in ROWS}


def test_the_page_counts_all_files():
    assert list(RECORDED) == [case.title for case in CASES]
    total = sum(row[-1] for row in RECORDED.values())
    assert f"{len(CASES)} files, {total} commands" in PAGE


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_messy_file_goes_from_fit_to_export(case, tmp_path):
    done = through(case, tmp_path)
    assert list(done) == list(COMMANDS), [tried.said for tried in done.values()]
    assert all(tried.succeeded for tried in done.values()), done["export"].said
    assert is_right(case, done, tmp_path)
    counts = [len(done[name].typed) for name in COMMANDS]
    typed = [line for tried in done.values() for line in tried.typed]
    assert [*counts, sum(counts)] == RECORDED[case.title], typed
