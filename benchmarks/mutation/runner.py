"""Run the tests on changed modules, each in a process of its own.

A process is forked from one that has imported every library but not the package. So a
mutant costs the import of the package, and the tests until one fails. Which tests run a
line, and how long they take, is measured once.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.mutation.mutants import Mutant

LIBRARIES = (
    "coverage",
    "hypothesis",
    "mpmath",
    "numba",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.special",
    "scipy.stats",
    "sklearn.calibration",
    "sklearn.discriminant_analysis",
    "sklearn.ensemble",
    "sklearn.isotonic",
    "sklearn.linear_model",
    "sklearn.model_selection",
    "sklearn.pipeline",
    "sklearn.svm",
    "sklearn.utils.estimator_checks",
)
# Files whose tests are tried; those of the estimators come in where a line needs them.
TESTS = (
    "test_statistics",
    "test_pencil",
    "test_arc",
    "test_paper_solvers",
    "test_global",
    "test_votes",
    "test_refine",
    "test_drawn_truth",
    "test_certificate",
    "test_differential",
    "test_metamorphic",
    "test_truth",
    "test_frontier",
    "test_discriminant",
)
LONGEST = 6.0  # seconds: tests that take longer are left out
MEMORY = 6 << 30
OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
# Plugins of pytest are imported already, by intention.
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]


@dataclass(frozen=True)
class Plan:
    """What is known of the tests.

    Attributes
    ----------
    seconds : dict
        Processor time of each test.
    lines : dict
        Tests that run a line, by file and line; those of no line run anything.
    """

    seconds: dict[str, float]
    lines: dict[str, dict[str, list[str]]]

    def tests_of(self, file: str, first: int, last: int, budget: float) -> list[str]:
        """Tests that run some lines, the shortest first, within a time."""
        known = self.lines[file]
        found = {t for k in range(first, last + 1) for t in known.get(str(k), [])}
        if not found:  # run at import: whatever looks at the file may notice
            found = {t for tests in known.values() for t in tests}
        chosen, total = [], 0.0
        for test in sorted(found, key=lambda t: (self.seconds[t], t)):
            total += self.seconds[test]
            if total > budget:
                break
            chosen.append(test)
        return chosen


class _Selection:
    """Run some tests only, in a given order."""

    def __init__(self, tests: list[str]) -> None:
        self.order = {test: k for k, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out all others."""
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order),
            key=lambda item: self.order[item.nodeid],
        )


class _Record:
    """Note which lines each test runs, and how long it takes."""

    def __init__(self, files: list[str], target: Path) -> None:
        from coverage import Coverage

        self.coverage = Coverage(include=files, data_file=None, config_file=False)
        self.files, self.target = files, target
        self.seconds: dict[str, float] = {}
        self.coverage.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        """Measure one test."""
        self.coverage.switch_context(item.nodeid)
        start = time.process_time()
        yield
        self.seconds[item.nodeid] = time.process_time() - start

    def pytest_sessionfinish(self) -> None:
        """Write all down; the time under the tracer is an upper bound."""
        self.coverage.stop()
        data = self.coverage.get_data()
        kept = {t for t, seconds in self.seconds.items() if seconds <= LONGEST}
        lines = {}
        for file in self.files:
            contexts = data.contexts_by_lineno(file)
            lines[file] = {
                line: sorted(kept.intersection(tests))
                for line, tests in sorted(contexts.items())
            }
        text = json.dumps({"seconds": self.seconds, "lines": lines})
        self.target.write_text(text, encoding="utf-8")


class _Finder(importlib.abc.MetaPathFinder):
    """Import one module from another text."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        """Find it where it is, with a loader of its own."""
        if name != self.mutant.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        assert spec is not None
        assert isinstance(spec.loader, importlib.machinery.SourceFileLoader)
        spec.loader = _Loader(spec.loader.name, spec.loader.path)
        spec.loader.text = self.mutant.code
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    text = ""

    def get_code(self, fullname: str) -> Any:
        """Compile the text; nothing is cached."""
        return compile(self.text, self.path, "exec")


def prepare() -> None:
    """Import all libraries, none of which may import the package."""
    for library in LIBRARIES:
        importlib.import_module(library)
    assert not any(name.startswith("heterolda") for name in sys.modules)


def make_plan(root: Path, files: list[str], target: Path) -> Plan:
    """Measure the tests, or read what was measured."""
    if not target.exists():
        log = target.with_suffix(".log")
        outcome = _in_child(
            lambda: _run_tests(root, [], [_Record(files, target)]), 3600, log
        )
        if outcome != "passed":
            raise RuntimeError(f"the tests fail without any change: see {log}")
    return Plan(**json.loads(target.read_text(encoding="utf-8")))


def try_mutant(root: Path, mutant: Mutant, tests: list[str], seconds: float) -> str:
    """Whether some test notices a change: "failed", "time", "crash" or "passed"."""

    def run() -> int:
        sys.meta_path.insert(0, _Finder(mutant))
        return _run_tests(root, tests, [_Selection(tests)])

    return _in_child(run, seconds)


def _run_tests(root: Path, tests: list[str], plugins: list[Any]) -> int:
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    files = files or [f"tests/{name}.py" for name in TESTS]
    files = [file for file in files if (root / file).exists()]
    arguments = [*OPTIONS, "--rootdir", str(root), *(str(root / f) for f in files)]
    return int(pytest.main(arguments, plugins=plugins))


def _in_child(
    run: Callable[[], int], seconds: float, log: Path = Path(os.devnull)
) -> str:
    """Outcome of a run in a forked process with limits of time and memory."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            sink = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(sink, stream)
            limit = int(seconds) + 5
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            code = run()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    # A deadlock takes no processor time: look at the clock as well.
    deadline = time.monotonic() + 10 * seconds + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return _outcome(status)
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "time"


def _outcome(status: int) -> str:
    if os.WIFSIGNALED(status):
        out_of_time = os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
        return "time" if out_of_time else "crash"
    code = os.WEXITSTATUS(status)
    if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise RuntimeError("no test was run")
    return {0: "passed", 1: "failed"}.get(code, "crash")
