"""Messy files go from fit to export by what the messages say; docs have the counts."""

import re
from pathlib import Path

import pytest

from tests.cli.messy_files import messy_files
from tests.cli.messy_user import COMMANDS, is_right, through

CASES = messy_files()
PAGE = Path(__file__).parents[2] / "docs" / "guide" / "files.md"


def recorded():
    """How many commands each file takes, as the page says."""
    rows = re.findall(r"^\| ([^|]+) \|((?: \d+ \|){5})$", PAGE.read_text("utf-8"), re.M)
    return {title: [int(n) for n in re.findall(r"\d+", cells)] for title, cells in rows}


def test_the_page_counts_all_files():
    assert len(CASES) >= 15
    assert list(recorded()) == [case.title for case in CASES]
    assert all(sum(row[:-1]) == row[-1] for row in recorded().values())
    total = sum(row[-1] for row in recorded().values())
    assert f"{len(CASES)} files, {total} commands" in PAGE.read_text("utf-8")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_messy_file_goes_from_fit_to_export(case, tmp_path):
    done = through(case, tmp_path)
    assert list(done) == list(COMMANDS), [one.said for one in done.values()]
    assert all(one.succeeded for one in done.values()), done["export"].said
    assert is_right(case, done, tmp_path)
    counts = [len(done[name].typed) for name in COMMANDS]
    typed = [line for one in done.values() for line in one.typed]
    assert [*counts, sum(counts)] == recorded().get(case.title), typed
