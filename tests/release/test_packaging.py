"""What is shipped: a wheel and an sdist, which work where the sources are not."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT]
    subprocess.run(build, check=True, capture_output=True)
    return folder


def test_the_wheel_works_from_elsewhere(dist, tmp_path):
    (wheel,) = dist.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", tmp_path / "site", wheel], check=True)
    smoke = [sys.executable, ROOT / "tests" / "release" / "smoke.py"]
    said = subprocess.run(
        smoke,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout.endswith(" works\n")


def test_the_wheel_has_the_package_and_nothing_else(dist):
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (n for n in names if n.endswith("dist-info/METADATA"))
        told = Parser().parsestr(archive.read(metadata).decode())
    package = ROOT / "src" / "heterolda"
    sources = {
        f"heterolda/{path.relative_to(package).as_posix()}"
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {n for n in names if "dist-info" not in n} == sources
    assert "heterolda/py.typed" in names
    assert any(n.endswith("licenses/LICENSE") for n in names)
    assert told["License-Expression"] == "BSD-3-Clause"
    assert told["Requires-Python"] == ">=3.11"
    assert len(told.get_all("Classifier")) >= 8
    assert told["Keywords"]
    assert "make demo" in told.get_payload()  # the README


def test_the_sdist_has_tests_docs_and_examples(dist):
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for needed in (
        *("pyproject.toml", "Makefile", "README.md", "tests/release/test_packaging.py"),
        *(
            "docs/guide/discriminant.md",
            "examples/plot_idea.py",
            "fuzz/__main__.py",
        ),
    ):
        assert needed in names
    assert not [name for name in names if ".venv" in name or "__pycache__" in name]


def test_the_oldest_versions_are_those_of_the_metadata():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    given = [*project["dependencies"], *project["optional-dependencies"]["plot"]]
    least = dict(re.fullmatch(r"(.+)>=(.+)", text).groups() for text in given)
    lines = (ROOT / "tests" / "oldest.txt").read_text().splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    for name, number in least.items():
        assert tested[name] == f"{number}.*"


def test_the_conda_recipe_needs_what_the_wheel_needs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    recipe = (ROOT / "conda" / "meta.yaml").read_text()
    assert f'version = "{project["version"]}"' in recipe
    for text in project["dependencies"]:
        assert f"    - {text.replace('>=', ' >=')}\n" in recipe
    named = re.findall(r"tests/[\w/]+\.py", recipe)
    assert named
    assert all((ROOT / name).is_file() for name in named)
