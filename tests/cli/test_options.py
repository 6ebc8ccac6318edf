"""Options that contradict each other, the words of messages, and closed streams."""

import os
import subprocess
import sys

import numpy as np
import pytest

from helpers.cli import command, invoke, make_frame, succeed
from heterolda import GaussianLinearDiscriminant, LocalNeighborhoodSearch
from heterolda.data import fit_batches
from heterolda.foundations import wording
from heterolda.solvers import SOLVERS


@pytest.fixture
def data(tmp_path, rng):
    path = tmp_path / "data.csv"
    frame = make_frame(rng).drop(columns="id")
    frame.assign(sample_weight=np.arange(len(frame)) % 2 - 0.5).to_csv(
        path, index=False
    )
    return path


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--recommended", "--refine"], "--refine cannot be combined with --rec"),
        (["--recommended", "--voting", "majority"], "--voting cannot be combined"),
        (["--recommended", "--costs", "north:west=2"], "weigh errors with --priors"),
        (["--recommended", "--multiclass", "ova"], "--multiclass cannot be combined"),
        (["--columns", "x0,x1", "--exclude", "x1"], "use only one of them"),
        (["--priors", "north=0.3,south=0.3,north=0.4"], "--priors: 'north' is given"),
        (["--costs", "north:west=2,north:west=3"], "--costs: 'north:west' is given"),
        (["--class-weight", "a=1,a=2", "--refine"], "--class-weight: 'a' is given"),
    ],
)
def test_no_option_is_dropped_without_a_word(data, options, words):
    result = invoke("fit", data, "-t", "kind", *options)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert words in line


def test_options_that_agree_are_taken(data, tmp_path):
    some = tmp_path / "some.csv"
    some.write_text("\n".join(data.read_text().splitlines()[:81]))
    agreeing = ["--recommended", "--shrinkage", "0.3", "--priors", "equal"]
    succeed("fit", some, "-t", "kind", "--exclude", "sample_weight", *agreeing)
    costs = ["--costs", "north:west=2,north:east=3,west:north=2"]
    succeed("fit", some, "-t", "kind", "--exclude", "sample_weight", *costs)


def test_messages_have_the_words_of_the_options(data, tmp_path):
    result = invoke("fit", data, "-t", "kind", "--sample-weight", "sample_weight")
    assert result.exit_code == 1
    assert "column 'sample_weight' has negative values" in result.stderr
    result = invoke("fit", data, "-t", "kind", "--columns", "x0,no")
    assert "'sample_weight'" in result.stderr  # the name of a column is left alone
    huge = tmp_path / "huge.csv"
    huge.write_text("x,kind\n1e300,a\n-1e300,a\n1,b\n2,b\n")
    result = invoke("fit", huge, "-t", "kind")
    assert result.exit_code == 1
    assert "X:" not in result.stderr


def test_estimators_that_files_cannot_be_fitted_with(data):
    with pytest.raises(TypeError, match=r"a class: pass GaussianLinearDiscriminant\("):
        fit_batches(GaussianLinearDiscriminant, data, "kind")
    with pytest.raises(TypeError, match=r"^LocalNeighborhoodSearch needs rows in mem"):
        fit_batches(LocalNeighborhoodSearch(), data, "kind")


def run(*arguments, **streams):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.run(command(*arguments), timeout=120, **(pipes | streams))


posix = pytest.mark.skipif(sys.platform == "win32", reason="a shell closes streams")


@pytest.mark.check
@posix
@pytest.mark.parametrize(
    ("closed", "status", "arguments"),
    [
        ([1], 0, ["--help"]),
        ([0, 1, 2], 0, ["--version"]),
        ([2], 2, ["fit"]),
        ([0, 1], 1, ["predict", "no.json", "-"]),
    ],
)
def test_closed_streams_are_empty_ones(closed, status, arguments):
    done = run(*arguments, preexec_fn=lambda: [os.close(k) for k in closed])
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == (1 if status and 2 not in closed else 0)


@pytest.mark.check
@posix
def test_a_model_is_saved_though_nobody_listens(data, tmp_path):
    saved = tmp_path / "model.json"
    options = ["-t", "kind", "--exclude", "sample_weight", "-o", saved]
    done = run("fit", data, *options, preexec_fn=lambda: os.closerange(0, 3))
    assert done.returncode == 0
    succeed("inspect", saved)


@pytest.mark.check
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_a_full_device_is_an_error_in_one_line(option):
    with open("/dev/full", "w") as full:
        done = run(option, stdout=full)
    assert done.returncode == 1
    assert done.stderr == "heterolda: No space left on device\n"


def test_the_words_of_options_are_those_of_the_library():
    assert list(wording.SOLVER_NAMES) == list(SOLVERS)
