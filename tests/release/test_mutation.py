"""Mutation testing: which tests run, and the page."""

import itertools
import json
import signal
from types import SimpleNamespace

import pytest

from benchmarks.mutation.plugin import (
    SECONDS,
    pytest_collection_modifyitems,
    pytest_runtest_call,
)
from benchmarks.mutation.report import Mutant, page, read_reasons


def order_of(names):
    items = [SimpleNamespace(nodeid=name) for name in names]
    pytest_collection_modifyitems(items)
    return [item.nodeid for item in items]


def test_the_quickest_tests_run_first_and_not_for_long(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert order_of(["long", "short", "new"]) == ["long", "short", "new"]
    seconds = {"long": SECONDS, "short": 0.5, "shorter": 0.1}
    (tmp_path / "mutmut-stats.json").write_text(
        json.dumps({"duration_by_test": seconds})
    )
    assert order_of(["short", "long", "new", "shorter"]) == ["new", "shorter", "short"]
    assert order_of(["long"]) == ["long"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no such timers here")
def test_a_test_that_does_not_end_fails():
    item = SimpleNamespace(limit=0.1)
    call = pytest_runtest_call(item)
    next(call)
    with pytest.raises(TimeoutError):
        any(n < 0 for n in itertools.count())
    with pytest.raises(StopIteration):
        call.send(None)
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)


@pytest.fixture
def mutants():
    return [
        Mutant("votes", "f", "", "", "killed"),
        Mutant("votes", "f", "", "", "timeout"),
        Mutant("votes", "f", "a = b + c", "a = b - c", "survived"),
        Mutant("votes", "g", "g(a)", "g(None)", "no tests"),
        Mutant("pencil", "h", "", "", "killed"),
    ]


def test_the_page_counts_and_explains_survivors(mutants, monkeypatch):
    reasons = {"dead end": "Nothing can be done."}
    known = {"votes.f: a = b - c": "dead end"}
    monkeypatch.setattr(
        "benchmarks.mutation.report.read_reasons", lambda: (reasons, known)
    )
    text = page(mutants)
    assert "Of 5 changes **60.0 % were noticed**" in text
    assert "| `votes` | 4 | 1 | 1 | 2 | 50.0 % |" in text
    assert "| `pencil` | 1 | 1 | 0 | 0 | 100.0 % |" in text
    assert "### Dead end: 1\n\nNothing can be done.\n\nvotes.f:" in text
    assert "```diff\n-a = b + c\n+a = b - c\n```" in text
    assert "### Others: 1\n\n**Not explained yet.**" in text


def test_each_survivor_has_one_reason():
    reasons, known = read_reasons()
    assert set(known.values()) == set(reasons)
