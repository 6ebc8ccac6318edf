"""Changes to pytest for runs by mutmut."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

# Processor time of the tests that a mutant is put to.
SECONDS = 4.0


def measured():
    """Seconds that each test takes; empty as long as they are being measured."""
    path = Path("mutmut-stats.json")
    if not path.exists():
        return {}
    return json.loads(path.read_text(encoding="utf-8"))["duration_by_test"]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Run the quickest tests first, and none beyond the time: most mutants need few."""
    seconds, total = measured(), 0.0
    items.sort(key=lambda item: seconds.get(item.nodeid, 0.0))
    for k, item in enumerate(items):
        item._nodeid = item.nodeid  # mutmut 3.8 asks for what pytest 9.2 no longer has
        item.limit = 2 + 10 * seconds.get(item.nodeid, 60.0)
        total += seconds.get(item.nodeid, 0.0)
        if k and total > SECONDS:
            del items[k:]
            return


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Let a test fail that takes ten times as long as usual: many mutants never end."""

    def stop(*_):
        raise TimeoutError(f"more than {item.limit} s")

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, item.limit)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
