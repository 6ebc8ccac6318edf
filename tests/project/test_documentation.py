"""What the documentation says is executed; the Markdown pages run as doctests."""

import re
import tomllib
from pathlib import Path

from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

import heterolda
from heterolda.foundations.sklearn_private import DOCUMENTATION
from release.stamp import stamp

ROOT = Path(__file__).parents[2]


def test_what_to_install_works_in_a_clone_and_from_an_index():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    (every,) = extras["all"]
    users = set(extras) - {"all", "docs", "test", "check", "mutation"}
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


def test_estimators_link_to_their_pages():
    public = {name: getattr(heterolda, name) for name in heterolda.__all__}
    estimators = {
        name: kind
        for name, kind in public.items()
        if isinstance(kind, type) and issubclass(kind, BaseEstimator)
    }
    assert len(estimators) >= 3
    for name, kind in estimators.items():
        # `test_site` looks for this page.
        page = f"{DOCUMENTATION}/api/generated/heterolda.{name}.html"
        required = {"max_error": 0.1} if name == "BoundedErrorClassifier" else {}
        assert f'href="{page}"' in estimator_html_repr(kind(**required))
    pipeline = make_pipeline(StandardScaler(), heterolda.recommended())
    assert "heterolda.SmoothedLinearDiscriminant.html" in estimator_html_repr(pipeline)


def test_internal_links_lead_somewhere():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert len(pages) >= 5
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_badges_say_what_is_true():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    badges = dict(re.findall(r"img\.shields\.io/badge/(\w+)-(.+)-blue", readme))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    oldest = project["project"]["requires-python"].removeprefix(">=")
    named = project["project"]["license"].replace("-", "--")
    assert badges == {"python": f"{oldest}%2B", "license": named}
