"""The fuzzer finds defects, keeps the files, and finds none in heterolda."""

import random
import shutil
import sys
import time

import pytest

from fuzz import kernels, reader, sanitized
from fuzz.__main__ import READERS
from fuzz.reader import Reader


def raises(data):
    return data == b"good" or None.attribute


def toils(data):
    end = time.process_time() + 0.3
    while data != b"good" and time.process_time() < end:
        pass
    return True


def swells(data):
    return data == b"good" or len(b"x" * 300_000_000) > 0


DEFECTS = [(raises, "AttributeError"), (toils, "longer than"), (swells, "memory of")]


@pytest.mark.parametrize(("check", "reason"), DEFECTS)
def test_defects_are_found_and_their_files_kept(check, reason, monkeypatch, tmp_path):
    monkeypatch.setattr(reader, "FOLDER", tmp_path)
    monkeypatch.setattr(reader, "SECONDS_OF_A_FILE", 0.2 if check is toils else 1e3)
    monkeypatch.setattr(reader, "BYTES_OF_MEMORY", 200_000_000)
    monkeypatch.setattr(reader, "_ENOUGH", 1)
    faulty = Reader("faulty", ".bin", lambda: [b"good"], lambda data, rng: b"", check)
    ((kind, kept),) = reader.fuzz(faulty, 30, 0).items()
    assert reason in kind
    assert list(tmp_path.iterdir()) == [kept]
    assert kept.read_bytes() == b""


@pytest.mark.parametrize("name", sorted(READERS))
def test_no_defect_for_a_while(name, request):
    # `make fuzz` does this for as long as somebody waits, and watches time and memory.
    inputs = READERS[name].inputs(random.Random(request.config.getoption("--seed")))
    several = {"model": 100, "statistics": 100, "kernels": 1000, "messy": 40}
    accepted = [READERS[name].check(next(inputs)) for _ in range(several.get(name, 15))]
    assert any(accepted)
    assert not all(accepted)


def test_every_kernel_is_known_to_the_fuzzer():
    compiled = pytest.importorskip("heterolda.kernels._compiled")
    named = {name for name in dir(compiled) if not name.startswith("_")}
    assert set(kernels.tables()) == named
    assert set(kernels.SPECIAL) <= named


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("gcc") is None, reason="needs gcc"
)
def test_the_sanitizers_find_nothing():
    sanitized.build()  # `make sanitize` runs the kernels' tests, too
    assert sanitized.fuzz("3") == 0
