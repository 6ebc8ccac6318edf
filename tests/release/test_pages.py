"""Pages of results open with what they mean; commands and goals come last."""

import re
from pathlib import Path

import pytest

from benchmarks import guard, outliers
from benchmarks.pages import section
from helpers.pages import ordered

DOCS = Path(__file__).resolve().parents[2] / "docs"
WITHOUT_PICTURE = "trust", "certificate"
PAGES = (
    *("accuracy", "accuracy_tables", "benchmarks", "benchmarks_gpu"),
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


@pytest.mark.parametrize("bad", ["Made by `x`", "## Each set\n\n| a |\n|---|\n| 1 |"])
def test_a_page_in_another_order_is_noticed(bad):
    meaning = 40 * "what it means "
    rest = "![p](q)\n\n| a |\n|---|\n\n## How this page is made\n\n- so"
    ordered(f"# Title\n\n{meaning}\n\n{rest}")
    with pytest.raises(AssertionError):
        ordered(f"# Title\n\n{meaning}\n\n{bad}\n\n{rest}")


def test_what_all_rows_share_is_said_once():
    rows = [("a", "1", "", "x"), ("b", "2", "", "x")]
    text = section("title", "About.", "name|figure|none|peer", rows, ("peer",))
    assert text.startswith(
        "## Title\n\nAbout. In all rows *peer* is x.\n\n| name | fig"
    )
    assert "| b | 2 |\n" in text


def test_the_page_of_the_guard():
    def one(gain, error):
        return {"accuracy": 70 + gain, "gain": gain, "error": error}

    some = {"shape": [1000, 4, 2, 500], "guarded": 0.25, "LDA": one(0, 0)}
    results = {
        "good": some | {"model": one(-20, 1), "default": one(3, 1)},
        "bad": some | {"model": one(1, 1), "default": one(-2, 0.5)},
    }
    text = ordered(guard.page(results))
    assert "two standard errors on 1, and clearly less" in text
    assert "on 1: bad. Its largest loss is 2.00 points, on bad (± 0.50)." in text
    assert "loses clearly on 1 sets, by up to 20.00 points" in text
    assert (
        "| good | 1,000 x 4, 2 | 500 | 70.00 | 50.00 | 73.00 | -20.00 ± 1.00 |" in text
    )
    assert guard.draw(results).startswith(b"\x89PNG")


def test_the_page_of_outliers():
    found = dict(zip(outliers.METHODS, (80.0, 78.0, 75.0, 79.0), strict=True))
    gains = {"plain": [-2.0, 0.5], "logistic": [-1.0, 0.5]}
    one = {
        "shape": [1000, 4, 2],
        "accuracy": dict.fromkeys(outliers.KINDS, found),
        "gain": dict.fromkeys(outliers.KINDS, gains),
    }
    text = ordered(outliers.page({"some": one}))
    assert "reaches 78.0 % only, and on some it loses even with outliers." in text
    row = (
        "| some | 1,000 x 4, 2 | 80.0 | 78.0 | 75.0 | 79.0 | -2.0 ± 0.5 | -1.0 ± 0.5 |"
    )
    assert text.count(row) == 3
    assert outliers.draw({"some": one}).startswith(b"\x89PNG")
