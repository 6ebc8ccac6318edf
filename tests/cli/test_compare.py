"""heterolda compare: the table and the picture."""

import numpy as np
import pytest

from helpers.cli import invoke, make_frame, names
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
    actual = compare(frame[names(2)], frame["kind"], sample_weight=frame["n"], cv=3)
    assert actual.conclusion in " ".join(result.stdout.split())
    for name, share in zip(actual.names, actual.accuracy, strict=True):
        assert f"{100 * share:.2f} %" in next(
            line for line in result.stdout.splitlines() if line.startswith(name)
        )
    assert {path.name for path in tmp_path.iterdir()} == {"d.csv", "models.png"}
