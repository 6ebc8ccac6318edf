"""The fuzzer finds defects, keeps the files, and finds none in heterolda."""

import random
import shutil
import sys

import pytest

from fuzz import __main__, kernels, sanitized, watch
from fuzz.readers import READERS
from helpers import faulty


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        (faulty.raises, "AttributeError"),
        (faulty.toils, "longer than 1 s"),
        (faulty.waits, "it waits"),
        (faulty.dies, "the process died with status 3"),
        (faulty.swells, "memory"),
    ],
)
def test_defects_are_found_and_their_files_kept(
    check, reason, tmp_path, monkeypatch, capfd
):
    monkeypatch.setattr(watch, "SECONDS_OF_A_FILE", 1)
    monkeypatch.setattr(watch, "SECONDS_OF_WAITING", 1 if check is faulty.waits else 60)
    monkeypatch.setattr(watch, "BYTES_OF_MEMORY", 250_000_000)
    monkeypatch.setattr(watch, "_ENOUGH", 1)
    tally = watch.watch(faulty.reader_of(check), 30, 0, tmp_path)
    (kind,), (kept,) = tally.defects, tally.defects.values()
    assert reason in kind
    assert kept.parent == tmp_path
    assert kept.read_bytes() != b"good"
    assert f"--reader {check.__name__} --replay {kept}" in capfd.readouterr().out


def test_sound_readers_are_left_alone(tmp_path):
    tally = watch.watch(faulty.reader_of(faulty.is_sound), 0.3, 0, tmp_path)
    assert tally.n > 10
    assert tally.accepted == 1
    assert not tally.defects
    assert not list(tmp_path.iterdir())


def test_a_file_is_replayed(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(READERS, "model", faulty.reader_of(faulty.raises))
    (tmp_path / "bad").write_bytes(b"bad")
    (tmp_path / "good").write_bytes(b"good")
    assert __main__.main(["--reader", "model", "--replay", str(tmp_path / "bad")]) == 1
    assert "AttributeError" in capsys.readouterr().out
    assert __main__.main(["--reader", "model", "--replay", str(tmp_path / "good")]) == 0
    assert "1 accepted" in capsys.readouterr().out


@pytest.mark.parametrize("name", list(READERS))
def test_no_defect_for_a_while(name, request):
    # `make fuzz` does this for as long as somebody waits, and watches time and memory.
    reader = READERS[name]
    inputs = reader.inputs(random.Random(request.config.getoption("--seed")))
    several = {"model": 100, "statistics": 100, "kernels": 1000, "messy": 40}
    n = (several | {"process": 3}).get(name, 15)
    accepted = [reader.check(next(inputs)) for _ in range(n)]
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
