"""What pytest does otherwise when mutmut calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

# Processor time of the tests that a mutant is put to.
SECONDS = 10.0


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Run the quickest tests first, and none beyond the time: most mutants need few."""
    for item in items:  # mutmut 3.8 asks for what pytest 9.2 no longer has
        item._nodeid = item.nodeid
    measured = Path("mutmut-stats.json")
    if not measured.exists():  # they are being measured
        return
    seconds = json.loads(measured.read_text(encoding="utf-8"))["duration_by_test"]
    items.sort(key=lambda item: seconds.get(item.nodeid, 0.0))
    total = 0.0
    for k, item in enumerate(items):
        total += seconds.get(item.nodeid, 0.0)
        if k and total > SECONDS:
            del items[k:]
            return
