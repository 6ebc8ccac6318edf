"""The benchmark on a GPU runs without one, too; no test looks at seconds."""

import json

import pytest

from benchmarks.gpu import __main__ as command
from benchmarks.gpu import large_lda
from benchmarks.gpu.libraries import Torch
from benchmarks.gpu.measuring import SMOKE, Bench
from benchmarks.gpu.report import page
from helpers.pages import ordered

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.xdist_group("devices")


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """Results of a run with tiny data."""
    path = tmp_path_factory.mktemp("gpu") / "results.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIPY_ARRAY_API", "1")
        patch.setattr(command, "LAST", ())  # takes processes
        assert command.main(["--smoke", "--results", str(path)]) == 0
    return json.loads(path.read_text())


def test_everything_is_measured(record):
    entries = record["entries"]
    assert {e["key"]: e["error"] for e in entries if "error" in e} == {}
    assert {e["key"]: e["peer_error"] for e in entries if "peer_error" in e} == {}
    keys = [e["key"] for e in entries]
    assert len(set(keys)) == len(keys) == 23
    tables = {e["table"] for e in entries}
    assert tables == {"fit", "LDA", "processors", "predict", "small"}
    for e in entries:
        if "ratio" in e:
            assert len(e["ours_seconds"]) == len(e["peer_seconds"]) == 2
    for e in entries:
        if e["key"].startswith("processors"):
            assert float(e["remark"].split()[-1]) < 1e-4


def test_the_page_says_what_it_is_made_from(record, capsys, tmp_path, monkeypatch):
    text = ordered(page(record))
    assert "Made by `python -m benchmarks.gpu --smoke`" in text
    assert "**A smoke run**" in text
    assert "Leave small data in NumPy" in text
    monkeypatch.setattr(command, "DOCS", tmp_path)
    (tmp_path / "benchmarks_gpu.json").write_text(json.dumps(record))
    assert command.main(["--page"]) == 0
    assert (tmp_path / "benchmarks_gpu.md").read_text() == text
    image = tmp_path / "images" / "benchmarks_gpu.png"
    assert image.read_bytes().startswith(b"\x89PNG")


def test_failures_are_shown_and_count_as_not_measured(tmp_path):
    path = tmp_path / "results.json"
    about = command.about(Torch("cpu"), None, "a test")
    bench, lib = Bench(path, about, SMOKE), Torch("cpu")
    known = {"table": "fit", "data": "rows", "library": "PyTorch", "target": 1.0}
    known |= {"ours": "fit", "peer": "X.T @ X"}

    def fails():
        raise ValueError("a | b\nmore")

    bench.compare(lib, known | {"key": "one"}, fails, list)
    bench.compare(lib, known | {"key": "two"}, list, fails)
    assert len(json.loads(path.read_text())["entries"]) == 2  # as they come
    text = page({"about": bench.about, "entries": bench.entries})
    assert "| ValueError: a \\| b |" in text
    assert "| the peer fails: ValueError: a \\| b |" in text
    assert "0 of 2 goals are met" in text
    missed = text.partition("Not measured:")[2]
    assert missed.count("- fit against X.T @ X, rows") == 2


def test_a_device_is_needed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "first_library", lambda smoke: None)
    with pytest.raises(SystemExit):
        command.main(["--results", str(tmp_path / "none.json")])
    assert "neither PyTorch nor CuPy" in capsys.readouterr().err


def test_lda_says_how_it_ends(monkeypatch, capsys):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    for rows, found in (("300", "peer_seconds"), ("2", "error")):
        large_lda.main(["cpu", rows, "3", "2", "float64"])
        assert list(json.loads(capsys.readouterr().out)) == [found]
