"""The benchmark of large data measures what it says; no test looks at seconds."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose

from benchmarks.runner import Settings
from benchmarks.scale.__main__ import CASES, Results, main, measure, record_of
from benchmarks.scale.data import CLASSES, FEATURES, FULL, NAMES, QUICK, TARGET, Folder
from benchmarks.scale.report import page
from benchmarks.scale.streams import gram_of_columns, gram_of_rows, same_sums
from helpers.pages import ordered
from heterolda import ClassStatistics
from heterolda.data import statistics_from_batches

SETTINGS = Settings(True, 1, repetitions=2, budget=0.0, minimum=2)


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "data", QUICK, lambda what: None)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A quick run of everything."""
    out = tmp_path_factory.mktemp("scale")
    assert main(["--quick", "--out", str(out), "--page", str(out)]) == 0
    return out


def test_a_quick_run_measures_everything(quick):
    found = json.loads((quick / "quick.json").read_text())["found"]
    assert list(found) == [case.name for case in CASES]
    assert sorted(p.name for p in quick.iterdir()) == [
        "benchmarks_scale.md",  # and no data are left
        "images",
        "quick.json",
    ]
    for entry in found.values():
        if "remark" in entry:  # the sums of both sides
            assert float(entry["remark"].split()[-1]) < 1e-10
            assert len(entry["ours_seconds"]) == len(entry["peer_seconds"]) == 2
            ratios = np.divide(entry["ours_seconds"], entry["peer_seconds"])
            assert entry["ratio"] == np.median(ratios)
    lines = found["growth with rows"]["lines"]
    assert [line["rows"] for line in lines] == [4_000, 8_000, 16_000]
    for source in ("Parquet", "CSV"):
        lines = found[f"memory, {source}"]["lines"]
        assert [line["weight"] for line in lines] == [line["rows"] for line in lines]
        if lines[0]["peak"] is not None:
            assert lines[-1]["met"]
            assert 5e7 < lines[0]["peak"] < 1e9


def test_the_page_says_how_it_was_made(quick):
    text = ordered((quick / "benchmarks_scale.md").read_text(encoding="utf-8"))
    image = quick / "images" / "benchmarks_scale.png"
    assert image.read_bytes().startswith(b"\x89PNG")
    assert "Made by `python -m benchmarks.scale --quick`" in text
    assert "quick run" in text
    assert "Not complete" not in text
    assert text.count("\n| ") == 4 + 2 + 3 + 1 + 4  # heads and rows of the tables
    assert "| 8,000 x 30 | read, rows, X.T @ X |" in text
    assert " are met at a smaller size." in text


def test_results_are_kept_and_the_same_command_goes_on(quick, capsys):
    arguments = ["--quick", "--out", str(quick), "--only", "growth"]
    before = (quick / "quick.json").read_bytes()
    assert main(arguments) == 0  # nothing is left to do
    assert (quick / "quick.json").read_bytes() == before
    assert "round" not in capsys.readouterr().err
    assert main([*arguments, "--report"]) == 0
    with pytest.raises(SystemExit):
        main(["--only", "no such case"])


@dataclass
class Pretended:
    """A case that fails, is interrupted, or counts how often it is run."""

    name: str
    error: BaseException | None = None
    runs: int = 0

    kind = "growth"

    def run(self, folder, settings):
        folder.parquet(1)
        self.runs += 1
        if self.error is not None:
            raise self.error
        return {"lines": [], "target": 0}


def test_an_interrupt_keeps_what_there_is_and_removes_the_data(folder, tmp_path):
    first, broken, last = Pretended("first"), Pretended("broken"), Pretended("last")
    broken.error = ValueError("broken")
    stopped = Pretended("stopped", KeyboardInterrupt())
    path = tmp_path / "results.json"
    results = Results(path, {"quick": True})
    cases = [first, broken, stopped, last]
    assert not measure(results, cases, folder, SETTINGS)
    assert list(json.loads(path.read_text())["found"]) == ["first"]
    assert not folder.path.exists()
    broken.error = stopped.error = None
    results = Results(path, {"quick": True})
    assert measure(results, cases, folder, SETTINGS)
    assert [case.runs for case in cases] == [1, 2, 2, 1]
    assert Results(path, {"quick": False}).found == {}  # of another kind of run


def test_what_is_missing_is_named(tmp_path, quick):
    about = json.loads((quick / "quick.json").read_text())["about"]
    results = Results(tmp_path / "none.json", about)
    text = page(record_of(results, "a test"))
    assert "**Not complete**: throughput" in text
    assert "0 of 0 are met" in text


def test_files_hold_classes_and_all_blocks_differ(folder):
    paths = folder.parquet(2)
    assert folder.parquet(2) == paths
    table = pq.read_table(paths)
    assert table.num_rows == 2 * QUICK.file_rows
    assert table.column_names == [*NAMES, TARGET]
    file = pq.ParquetFile(paths[1])
    assert file.num_row_groups == QUICK.file_rows // QUICK.block_rows
    means = [np.mean(file.read_row_group(k)["x0"]) for k in range(4)]
    assert len({round(mean, 6) for mean in means}) == 4
    X = np.column_stack([table[name] for name in NAMES])
    expected = ClassStatistics.from_data(X, table[TARGET].to_numpy())
    assert expected.n_classes == CLASSES
    found = statistics_from_batches(paths, TARGET)
    scale = np.abs(expected.scatters).max()
    assert_allclose(found.scatters, expected.scatters, rtol=1e-10, atol=1e-10 * scale)
    for gram in (gram_of_rows, gram_of_columns):
        assert_allclose(gram(paths), X.T @ X, rtol=1e-10, atol=1e-8)
        assert float(same_sums(found, gram(paths)).split()[-1]) < 1e-12
    assert float(same_sums(found, 2 * gram(paths)).split()[-1]) > 0.1
    text = statistics_from_batches(folder.text(1500), TARGET)
    assert text.weights.sum() == 1500


def test_a_full_disk_is_told_beforehand(tmp_path):
    sizes = replace(FULL, file_rows=10**15)
    folder = Folder(tmp_path / "data", sizes, lambda what: None)
    with pytest.raises(OSError, match="GB of free disk space, and the files take"):
        folder.parquet(1)
    assert FEATURES == 30
    assert max(FULL.growth) * FULL.file_rows == 20_000_000
