"""The fuzzer finds defects, keeps the files, and finds none in heterolda."""

import random
import shutil
import sys
from pathlib import Path

import pytest

from fuzz import kernels, plain, sanitized
from fuzz.readers import READERS
from helpers import faulty


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    monkeypatch.setattr(plain, "FOLDER", tmp_path / "fuzz")


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        (faulty.raises, "AttributeError"),
        (faulty.toils, "longer than 0.2 s"),
        (faulty.swells, "memory of"),
    ],
)
def test_defects_are_found_and_their_files_kept(check, reason, monkeypatch, capfd):
    seconds = 0.2 if check is faulty.toils else 5.0
    monkeypatch.setattr(plain, "SECONDS_OF_A_FILE", seconds)
    more = 250_000_000 if check is faulty.swells else 10**12
    if Path("/proc/self/clear_refs").exists():  # forget the peak of earlier tests
        Path("/proc/self/clear_refs").write_text("5")
    monkeypatch.setattr(plain, "BYTES_OF_MEMORY", plain._peak() + more)
    monkeypatch.setattr(plain, "_ENOUGH", 1)
    tally = plain.fuzz(faulty.reader_of(check), 30, 0)
    (kind,), (kept,) = tally.defects, tally.defects.values()
    assert reason in kind
    assert list(plain.FOLDER.iterdir()) == [kept]
    assert kept.read_bytes() != b"good"
    assert f"--reader {check.__name__} --replay {kept}" in capfd.readouterr().out


@pytest.mark.parametrize("name", sorted(READERS.keys() - {"process"}))
def test_no_defect_for_a_while(name, request):
    # `make fuzz` does this for as long as somebody waits, and watches time and memory;
    # for processes see `test_no_reader_outlives_its_command`.
    reader = READERS[name]
    inputs = reader.inputs(random.Random(request.config.getoption("--seed")))
    several = {"model": 100, "statistics": 100, "kernels": 1000, "messy": 40}
    accepted = [reader.check(next(inputs)) for _ in range(several.get(name, 15))]
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
