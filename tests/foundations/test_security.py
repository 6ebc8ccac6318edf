"""What SECURITY.md promises: files are data, and names are no code."""

import ast
import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import heterolda
from helpers.study import make_rows, write_run
from heterolda import ClassStatistics
from heterolda.experiments.report import write_report
from heterolda.foundations.files import written_whole

PACKAGE = Path(heterolda.__file__).parent
BANNED_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "skops", "yaml"}
BANNED_CALLS = {"eval", "exec", "compile", "__import__", "system", "popen"}
# What is used of joblib: it counts processors and starts processes, it reads nothing.
OF_JOBLIB = {"Parallel", "cpu_count", "delayed", "effective_n_jobs"}


def dangers(tree):
    """Ways to execute what a file says."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            origin = getattr(node, "module", None)
            for name in [origin] if origin else names:
                package = name.partition(".")[0]
                if package in BANNED_MODULES:
                    yield f"imports {name}"
                if package == "joblib" and (not origin or not set(names) <= OF_JOBLIB):
                    yield f"imports {names} of joblib"
        elif isinstance(node, ast.Call):
            called = node.func
            is_method = isinstance(called, ast.Attribute)
            name = called.attr if is_method else getattr(called, "id", "")
            owner = getattr(called.value, "id", "") if is_method else ""
            if name in BANNED_CALLS and owner in ("", "os", "builtins"):
                yield f"calls {name}"
            if name == "load" and owner in ("np", "numpy"):
                given = {k.arg: ast.unparse(k.value) for k in node.keywords}
                if given.get("allow_pickle") != "False":
                    yield "calls np.load without allow_pickle=False"


def test_no_code_is_executed_that_a_file_holds():
    sources = sorted(PACKAGE.rglob("*.py"))
    assert len(sources) > 50
    for path in sources:
        found = list(dangers(ast.parse(path.read_text(encoding="utf-8"))))
        assert found == [], path


def test_dangers_are_found():
    for text in (
        "import pickle",
        "from pickle import loads",
        "import joblib",
        "from joblib import cpu_count, load",
        "eval('1')",
        "os.system('ls')",
        "np.load(path)",
        "np.load(path, allow_pickle=True)",
    ):
        assert list(dangers(ast.parse(text))), text
    assert not list(dangers(ast.parse("re.compile(x)\nnp.load(p, allow_pickle=False)")))


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_statistics_with_a_pickle_in_them_are_refused(tmp_path, rng):
    good, bad, sprung = (tmp_path / name for name in ("good.npz", "bad.npz", "sprung"))
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 4
    ClassStatistics.from_data(X, y).save(good)
    content = dict(np.load(good))
    content["classes"] = np.array([Trap(sprung)], object)
    np.savez(bad, **content)
    with pytest.raises(ValueError, match=r"bad\.npz.* is not a readable file"):
        ClassStatistics.load(bad)
    assert not sprung.exists()
    np.load(bad, allow_pickle=True)["classes"]  # it was a trap
    assert sprung.exists()


@pytest.mark.check
def test_names_in_the_report_of_a_study_are_no_markup(tmp_path, rng):
    rows = make_rows(rng)
    plain = write_report(write_run(tmp_path / "plain", rows)).read_text("utf-8")
    evil = "<script>alert(1)</script>"
    for row in rows:
        row[1] = evil if row[1] == "svm" else row[1]
    facts = {"versions": {evil: evil}, "machine": {evil: evil}}
    hostile = write_run(tmp_path / "hostile", rows, **facts)
    text = write_report(hostile).read_text("utf-8")
    assert evil not in text
    assert "&lt;script&gt;alert(1)" in text
    assert text.lower().count("<script") == plain.lower().count("<script")


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes there")
def test_files_written_at_once_leave_the_umask_as_it_was(tmp_path):
    before = os.umask(0o027)
    try:

        def write(number):
            for k in range(20):
                with written_whole(tmp_path / f"{number}-{k}") as file:
                    file.write(b"x")

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(write, range(8)))
        modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        assert modes == {0o640}
        assert len(list(tmp_path.iterdir())) == 160
        assert os.umask(0o027) == 0o027
        secret = tmp_path / "0-0"
        secret.chmod(0o600)
        with written_whole(secret):
            (temporary,) = tmp_path.glob(".0-0.*")
            assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    finally:
        os.umask(before)
