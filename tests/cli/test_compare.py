"""heterolda compare: the table, the picture, and what an interrupt leaves."""

import numpy as np
import pytest

from helpers.cli import invoke, make_frame, names
from heterolda import compare
from heterolda.inspection import comparison


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


def test_an_interrupt_shows_what_is_finished(frame, tmp_path, monkeypatch):
    judge, judged = comparison.judge, []

    def interrupted(*arguments):
        judged.append(arguments)
        if len(judged) == 3:
            raise KeyboardInterrupt
        return judge(*arguments)

    monkeypatch.setattr(comparison, "judge", interrupted)
    frame.drop(columns="id").to_csv(tmp_path / "d.csv", index=False)
    picture = tmp_path / "models.png"
    result = invoke("compare", tmp_path / "d.csv", "-t", "kind", "-o", picture)
    assert result.exit_code == 130
    assert result.stderr.endswith("heterolda: interrupted\n")
    assert result.stdout.count("not finished") == 5
    assert "Use " in result.stdout
    assert not picture.exists()
