"""Copy version and addresses from pyproject.toml to the files that repeat them.

`make stamp` writes; a test asks for what would change. `stamp.py --notes v1.2.3` prints
what the changelog says about the version of a tag.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def project():
    """Return the table `project` of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def stamps():
    """Return (file, pattern with the copy as its only group, what it should be)."""
    version, urls = project()["version"], project()["urls"]
    return [
        ("src/heterolda/__init__.py", r'^__version__ = "(.*)"$', version),
        ("CITATION.cff", r"^version: (.*)$", version),
        ("CITATION.cff", r"^url: (.*)$", urls["Homepage"]),
        ("CITATION.cff", r"^repository-code: (.*)$", urls["Source"]),
        ("conda/meta.yaml", r'^{% set version = "(.*)" %}$', version),
        ("conda/meta.yaml", r"^  home: (.*)$", urls["Homepage"]),
        ("conda/meta.yaml", r"^  doc_url: (.*)$", urls["Documentation"]),
        ("conda/meta.yaml", r"^  dev_url: (.*)$", urls["Source"]),
        ("docs/project.md", r"^  version = {(.*)},$", version),
        ("docs/project.md", r"^  url     = {(.*)}$", urls["Homepage"]),
        ("docs/guide/deploy.md", r"^ \* written by heterolda (.*)\.$", version),
        ("SECURITY.md", r"^\[private-report\]: (.*)$", urls["Security"]),
        ("CODE_OF_CONDUCT.md", r"^\[private-report\]: (.*)$", urls["Security"]),
    ]


def stamp(write=False):
    """Return the copies that differ, each as 'file: copy'; replace them if asked to."""
    differing = []
    for name, pattern, expected in stamps():
        text = (ROOT / name).read_text("utf-8")
        match = re.search(pattern, text, re.MULTILINE)
        if match is None:
            raise ValueError(f"{name} has no line like {pattern}")
        if match[1] != expected:
            differing.append(f"{name}: {match[1]}")
            text = text[: match.start(1)] + expected + text[match.end(1) :]
            if write:
                (ROOT / name).write_text(text, "utf-8")
    return differing


def notes(tag, changelog):
    """Return what a changelog says about the version of a tag: ours, with a date."""
    if tag != f"v{project()['version']}":
        raise ValueError(f"{tag} is not the version of pyproject.toml")
    heading = rf"^## {re.escape(tag[1:])} \(\d{{4}}-\d\d-\d\d\)\n(.+?)(?=^## |\Z)"
    match = re.search(heading, changelog, re.MULTILINE | re.DOTALL)
    if match is None:
        raise ValueError(f"the changelog has no date for {tag}")
    return match[1].strip()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--notes"]:
        print(notes(sys.argv[2], (ROOT / "CHANGELOG.md").read_text("utf-8")))
    else:
        print(*stamp(write=True), sep="\n")
