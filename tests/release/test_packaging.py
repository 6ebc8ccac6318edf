"""What is shipped: a wheel and an sdist, which work where the sources are not."""

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from email.parser import Parser
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from release.build_twice import build, build_again, date, hashes
from release.smoke import NO_COMMAND
from release.stamp import project

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "heterolda"
C_SOURCES = PACKAGE / "kernels" / "c"


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """The sdist, and a wheel made from it."""
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder)
    return folder


@pytest.fixture(scope="module")
def wheel_of(dist, tmp_path_factory):
    """Build a wheel from the sdist with an environment of its own."""

    def build(**environment):
        (sdist,) = dist.glob("*.tar.gz")
        folder = tmp_path_factory.mktemp("wheel")
        pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index"]
        subprocess.run(
            [*pip, "--no-build-isolation", "--wheel-dir", folder, sdist],
            check=True,
            capture_output=True,
            env=os.environ | {"SOURCE_DATE_EPOCH": date()} | environment,
        )
        (wheel,) = folder.glob("*.whl")
        return wheel

    return build


@pytest.fixture(scope="module")
def pure(wheel_of):
    return wheel_of(HETEROLDA_PURE="1")


def smoke(wheel, folder, *first, **environment):
    """Install a wheel into a folder, and run the main jobs from there."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", folder / "site", wheel], check=True)
    path = os.pathsep.join(map(str, [*first, folder / "site"]))
    inherited = {k: v for k, v in os.environ.items() if k != "HETEROLDA_KERNELS"}
    run = subprocess.run(
        [sys.executable, ROOT / "tests" / "release" / "smoke.py"],
        cwd=folder,
        env=inherited | {"PYTHONPATH": path} | environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return run


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if "dist-info" not in name}


def package_files():
    """Return the files of a wheel without kernels."""
    files = {
        f"heterolda/{path.relative_to(PACKAGE).as_posix()}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    built = {name for name in files if name.startswith("heterolda/kernels/_compiled")}
    sources = {name for name in files if name.startswith("heterolda/kernels/c/")}
    assert sources
    return files - built - sources


needs_kernels = pytest.mark.skipif(
    not list((PACKAGE / "kernels").glob("_compiled.*")),
    reason="no kernels could be built here",
)


@needs_kernels
def test_the_wheel_works_from_elsewhere(dist, tmp_path):
    (wheel,) = dist.glob("*.whl")
    without = tmp_path / "without"  # stands for an environment without extras
    for name in ("pyarrow", "matplotlib", "skl2onnx"):
        path = without / name / "__init__.py"
        path.parent.mkdir(parents=True)
        path.write_text(f"raise ModuleNotFoundError('no {name}', name='{name}')")
    run = smoke(wheel, tmp_path, without, HETEROLDA_KERNELS="compiled")
    assert run.stdout.endswith(" works (kernels: compiled)\n")


def test_the_pure_wheel_works_and_says_what_it_lacks(pure, tmp_path):
    assert pure.name.endswith("-py3-none-any.whl")
    assert contents(pure) == package_files()
    run = smoke(pure, tmp_path)
    assert run.stdout.endswith(" works (kernels: NumPy (none were built))\n")
    assert run.stderr.count("runs without its compiled kernels") == 1


def required(names):
    """Return the packages of these names, and all that they require."""
    found, left = {}, [*names]
    while left:
        package = distribution(left.pop())
        if package.name not in found:
            found[package.name] = package
            wanted = map(Requirement, package.requires or ())
            left += [
                each.name
                for each in wanted
                if each.marker is None or each.marker.evaluate({"extra": ""})
            ]
    return found.values()


@pytest.mark.skipif(sys.platform == "win32", reason="links to installed packages")
def test_the_library_needs_numpy_scipy_and_scikit_learn_only(pure, tmp_path):
    venv.create(tmp_path / "lean", symlinks=True)
    binaries = tmp_path / "lean" / "bin"
    (site,) = tmp_path.glob("lean/lib/python*/site-packages")
    for package in required(["numpy", "scipy", "scikit-learn"]):
        for name in {path.parts[0] for path in package.files} - {"..", "__pycache__"}:
            (site / name).symlink_to(package.locate_file(name))
    # pip fails if there is a dependency besides these.
    pip = [sys.executable, "-m", "pip", "--python", binaries / "python", "install"]
    ours = "PIP_", "PYTHONPATH", "HETEROLDA_KERNELS"
    settings = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    subprocess.run([*pip, "--quiet", "--no-index", pure], check=True, env=settings)
    for words, status, stdout, stderr in (
        (["python", ROOT / "tests" / "release" / "smoke.py"], 0, "heterolda .*", ".*"),
        (["heterolda"], 1, "", re.escape(NO_COMMAND)),
    ):
        done = subprocess.run(
            [binaries / words[0], *words[1:]],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=settings,
        )
        assert done.returncode == status, done.stderr
        assert re.fullmatch(stdout, done.stdout, re.DOTALL)
        assert re.fullmatch(stderr, done.stderr, re.DOTALL)


@needs_kernels
def test_the_wheel_has_the_package_and_nothing_else(dist):
    (wheel,) = dist.glob("*.whl")
    extra = contents(wheel) - package_files()
    assert contents(wheel) - extra == package_files()
    (extension,) = extra
    assert extension.startswith("heterolda/kernels/_compiled.")
    if sys.platform == "linux":  # one binary for all versions of Python
        assert extension.endswith(".abi3.so")
        assert "-cp311-abi3-linux" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (name,) = (n for n in names if n.endswith("dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    assert "heterolda/py.typed" in names
    assert any(n.endswith("licenses/LICENSE") for n in names)
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["Requires-Python"] == ">=3.11"
    readme = metadata.get_payload()
    assert "make demo" in readme
    source, tag = project()["urls"]["Source"], f"v{metadata['Version']}"
    assert f"({source}/raw/{tag}/docs/images/idea.png)" in readme
    assert f"({source}/blob/{tag}/docs/getting_started.md#install)" in readme
    assert not re.findall(r"\]\((?!https://)", readme)


@needs_kernels
def test_the_same_sources_give_the_same_files(dist, pure):
    # What is compiled for these tests is what is shipped; `make dist` compiles again.
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    (kernels,) = (PACKAGE / "kernels").glob("_compiled.*")
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(f"heterolda/kernels/{kernels.name}") == kernels.read_bytes()
    again = build_again(dist, HETEROLDA_PURE="1")
    assert again == hashes(pure.parent) | {sdist.name: hashes(dist)[sdist.name]}


def test_the_sdist_has_tests_docs_and_examples(dist):
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    kernels = [path.relative_to(ROOT).as_posix() for path in C_SOURCES.iterdir()]
    assert {
        *("pyproject.toml", "Makefile", "README.md", "setup.py", *kernels),
        *("docs/guide/discriminant.md", "examples/plot_idea.py", "fuzz/__main__.py"),
        "tests/release/test_packaging.py",
    } <= names
    for unwanted in (".venv", "__pycache__", "build/", "_compiled."):
        assert not [name for name in names if unwanted in name]


def test_the_oldest_versions_are_those_of_the_metadata():
    extras = project()["optional-dependencies"]
    required = project()["dependencies"] + extras["cli"] + extras["plot"]
    minimum = dict(re.match(r"(.+)>=([^,]+)", text).groups() for text in required)
    lines = (ROOT / "tests" / "oldest.txt").read_text().splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    for name, number in minimum.items():
        assert tested[name] == f"{number}.*"


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = ROOT / ".github" / "ISSUE_TEMPLATE"
needs_workflows = pytest.mark.skipif(
    not WORKFLOWS, reason="the sources were unpacked from an sdist, without workflows"
)


@needs_workflows
def test_the_workflows_run_what_there_is():
    makefile = (ROOT / "Makefile").read_text()
    texts = [path.read_text() for path in WORKFLOWS]
    assert len(texts) == 3
    for text in texts:
        for line in re.findall(r"(?:- run: make|targets:) ((?:[a-z-]+[ ,])*)", text):
            for target in re.findall(r"[a-z-]+", line):
                assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
        for name in re.findall(r"tests/[\w/]+\.py", text):
            assert (ROOT / name).is_file()


@needs_workflows
@pytest.mark.parametrize(
    "command",
    [
        ["zizmor", "--offline", "--pedantic", ROOT / ".github"],
        ["check-jsonschema", "--builtin-schema", "vendor.github-workflows", *WORKFLOWS],
        [
            *("check-jsonschema", "--builtin-schema", "vendor.dependabot"),
            ROOT / ".github" / "dependabot.yml",
        ],
        [
            *("check-jsonschema", "--builtin-schema", "vendor.github-issue-forms"),
            *(FORMS / "bug.yml", FORMS / "feature.yml"),
        ],
        [
            *("check-jsonschema", "--builtin-schema", "vendor.github-issue-config"),
            FORMS / "config.yml",
        ],
    ],
    ids=["zizmor", "workflows", "dependabot", "forms", "config"],
)
def test_linters_of_workflows_find_nothing(command):
    name = Path(sys.executable).with_name(command[0])
    run = subprocess.run([name, *command[1:]], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
