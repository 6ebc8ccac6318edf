"""heterolda compare: the table, the picture, and what an interrupt leaves."""

import signal
import sys
import time

import numpy as np
import pytest

from helpers.cli import invoke, make_frame, names, start, succeed
from heterolda import compare


@pytest.fixture
def frame(rng):
    return make_frame(rng, 120, ["left", "right"], d=2)


def test_the_command_says_what_the_function_does(frame, tmp_path):
    frame["n"] = np.arange(len(frame)) % 3
    frame.to_csv(tmp_path / "d.csv", index=False)
    picture = tmp_path / "models.png"
    options = ["-t", "kind", "--exclude", "id", "--sample-weight", "n", "--cv", "3"]
    result = invoke("compare", tmp_path / "d.csv", *options, "-o", picture)
    assert result.exit_code == 0, result.stderr
    assert f"the picture is in {picture}" in " ".join(result.stderr.split())
    assert picture.read_bytes().startswith(b"\x89PNG")
    found = compare(frame[names(2)], frame["kind"], sample_weight=frame["n"], cv=3)
    assert found.recommendation in " ".join(result.stdout.split())
    for name, share in zip(found.names, found.accuracy, strict=True):
        assert f"{100 * share:.2f} %" in next(
            line for line in result.stdout.splitlines() if line.startswith(name)
        )
    assert {path.name for path in tmp_path.iterdir()} == {"d.csv", "models.png"}


@pytest.mark.check
def test_pictures_of_the_same_rows_are_the_same(frame, tmp_path):
    text = frame.drop(columns="id").to_csv(index=False)
    for name in ("a.svg", "b.SVG"):
        options = ["-t", "kind", "--cv", "2", "--seed", "3", "-o", tmp_path / name]
        assert "Use " in succeed("compare", "-", *options, stdin=text)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.SVG").read_bytes()


@pytest.mark.check
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_an_interrupt_shows_what_is_finished(rng, tmp_path):
    data, picture = tmp_path / "data.parquet", tmp_path / "models.svg"
    make_frame(rng, 20_000, d=10).drop(columns="id").to_parquet(data)
    with start("compare", data, "-t", "kind", "-o", picture) as process:
        time.sleep(8)  # the search of so many rows takes longer
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors == b"heterolda: interrupted\n"
    assert b"not finished" in output
    assert not picture.exists()
