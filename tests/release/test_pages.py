"""Pages of results open with what they mean; commands and goals come last."""

import re
from pathlib import Path

import pytest

from helpers.pages import ordered

DOCS = Path(__file__).resolve().parents[2] / "docs"
WITHOUT_PICTURE = "trust", "certificate", "benchmarks_gpu"
PAGES = (
    *("accuracy", "benchmarks", "benchmarks_gpu"),
    *("benchmarks_scale", "certificate", "gaps_accuracy", "guard", "hostile"),
    *("outliers", "projection_accuracy", "trust", "wide_accuracy"),
)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_with_what_it_means(name):
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    ordered(text, picture=name not in WITHOUT_PICTURE)
    for image in re.findall(r"\]\((images/.*?)\)", text):
        assert (DOCS / image).is_file()
    assert f"({name}.md)" in (DOCS / "results.md").read_text(encoding="utf-8")
