"""What the documentation says is executed; the Markdown pages run as doctests."""

import re
import tomllib
from pathlib import Path

import heterolda
from release.stamp import stamp

ROOT = Path(__file__).parents[2]


def test_what_to_install_works_in_a_clone_and_from_an_index():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    (every,) = extras["all"]
    users = set(extras) - {"all"}
    assert set(re.findall(r"\w+", every)) == {"heterolda"} | users
    guide = (ROOT / "docs" / "getting_started.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", guide, re.MULTILINE)) == users
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    pages += [*(ROOT / "docs/guide").glob("*.md"), *(ROOT / "src").rglob("*.py")]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    for way in (r"\.", "heterolda"):
        named = {
            extra
            for text in texts
            for names in re.findall(rf"pip install '{way}\[(.+?)\]", text)
            for extra in names.split(",")
        }
        assert "all" in named
        assert named <= set(extras)


def test_version_and_addresses_are_the_same_everywhere():
    assert stamp() == [], "make stamp"
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {heterolda.__version__}" in changelog


def test_internal_links_lead_somewhere():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert len(pages) >= 5
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
