"""heterolda compare: the table and the picture."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import heterolda
from helpers.cli import invoke, make_frame, names, succeed
from heterolda import (
    GaussianLinearDiscriminant,
    SmoothedLinearDiscriminant,
    compare,
    evaluate,
    heteroscedasticity_report,
)


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


def assert_same(one, other):
    """Compare the figures, but for rounding, and the conclusions."""
    assert one.conclusion == other.conclusion
    assert one.n_groups == other.n_groups
    for name in ("error", "log_loss", "lda_error", "brier_score", "confusion"):
        assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-6)
    for name in ("error", "recall", "precision"):
        ends = (getattr(result, f"{name}_interval") for result in (one, other))
        assert_allclose(*ends, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::heterolda.exceptions.ModelMisfitWarning")
def test_all_commands_and_functions_show_the_same_figures(frame, tmp_path):
    frame["group"] = [f"g{k % 13}" for k in range(len(frame))]
    frame["day"] = [f"2026-{1 + k % 12:02d}-{1 + k // 12:02d}" for k in range(120)]
    data, path = tmp_path / "d.csv", tmp_path / "m.json"
    frame.drop(columns="id").to_csv(data, index=False)
    X, y = frame[names(2)].to_numpy(), frame["kind"].to_numpy(str)
    for option, exclude in (("groups", "day"), ("time", "group"), (None, "day,group")):
        words = "-t", "kind", "--exclude", exclude
        words += (f"--{option}", {"time": "day"}.get(option, "group")) if option else ()
        shown = succeed("compare", data, *words)
        how = {"groups": frame["group"]} if option == "groups" else {}
        if option == "time":
            day = np.unique(frame["day"], return_inverse=True)[1]
            block = (6 * (np.argsort(np.argsort(day, kind="stable")) + 0.5) / 120) // 1
            assert np.bincount(block.astype(int)).tolist() == [20] * 6
            rows = [np.flatnonzero(block < k) for k in range(1, 6)]
            how["cv"] = [(r, np.flatnonzero(block == k)) for k, r in enumerate(rows, 1)]
        both = compare(X, y, **how)
        for method, name, model in (
            ("gaussian", "GLD", GaussianLinearDiscriminant()),
            ("smoothed", "smoothed", SmoothedLinearDiscriminant()),
        ):
            succeed("fit", data, *words, "--method", method, "-o", path)
            result = evaluate(model, X, y, **how)
            assert_same(heterolda.load(path).evaluation_, result)
            k = both.names.index(name)
            assert both.accuracy[k] == pytest.approx(result.accuracy)
            assert both.accuracy[0] == pytest.approx(1 - result.lda_error)
            line = next(x for x in shown.splitlines() if x.startswith(f"{name} "))
            assert f"{100 * result.accuracy:.2f} %" in line
            if name == "GLD":
                report = heteroscedasticity_report(X, y, **how)
                assert_same(report.evaluation, result)
