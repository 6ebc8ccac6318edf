"""Nothing that a command reads is written to, by whatever name it is reached."""

import errno
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import heterolda
from helpers.cli import invoke, make_frame, names, succeed
from heterolda import GaussianLinearDiscriminant
from heterolda.cli.files import check_outputs
from heterolda.cli.options import UsageError
from heterolda.foundations import files

# Few rows of drawn classes: sometimes Fisher's rule is better by chance.
pytestmark = pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning")
LINKS = {
    **dict.fromkeys(["soft.csv", "soft.html", "soft.png"], "d.csv"),
    **{"soft.h": "m.json", "linked": "parts", "twice.csv": "soft.csv"},
    "page.html": "run/results.csv",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("read")
    frame = make_frame(np.random.default_rng(0)).drop(columns="id")
    model = GaussianLinearDiscriminant().fit(frame[names()], frame["kind"])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("parts/deep", "parts/_out", "run", "sets"):
            Path(name).mkdir(parents=True)
        for name in ("d.csv", "parts/a.csv", "parts/deep/b.csv"):
            frame.to_csv(name, index=False)
        for name in ("m.json", "m.csv", "m.h"):
            heterolda.save(model, name)
        for name in ("run/results.csv", "run/run.json", "sets/liver.csv.gz"):
            Path(name).write_text("of a study")
        for name, target in LINKS.items():
            Path(name).symlink_to(target)
        os.link("d.csv", "hard.csv")
        os.link("m.json", "hard.onnx")
        yield folder


def contents(folder):
    return {p: p.is_file() and p.read_bytes() for p in folder.rglob("*")}


REPLACED = """
export m.json --to c -o m.json
export m.json -o soft.h
export m.json -o hard.onnx
export m.h -o ./m.h
inspect m.json --html m.json
inspect m.json --html soft.h
predict m.csv d.csv -o m.csv
predict m.json d.csv --missing drop -o ./parts/../d.csv
predict m.json d.csv -o twice.csv
predict m.json d.csv -o hard.csv
predict m.json parts -o linked/deep/b.csv
predict m.json linked -o parts/a.csv
predict m.json parts/*.csv -o parts/a.csv
fit d.csv -t kind -o d.csv
fit soft.csv -t kind -o hard.csv
fit parts -t kind -o parts/deep/b.csv
compare d.csv -t kind -o soft.png
project d.csv -t kind -o hard.csv
project d*.csv -t kind -o d.csv
project d.csv -t kind --html soft.html
report run --out run/results.csv
report run --out run/run.json
report run --out page.html
datasets --write liver --data-dir sets --out sets/liver.csv.gz
"""
# What is new would be read as data the next time, and rows count twice.
AMONG = """
predict m.json parts -o parts/new.csv
predict m.json parts -o linked/deep/new.parquet
predict m.json linked -o parts/new.tsv.gz
predict m.json parts/*.csv -o parts/new.csv
predict m.json **/[ab].csv -o parts/b.csv
fit parts -t kind -o parts/new.csv
project parts -t kind -o parts/new.csv
"""


@pytest.mark.parametrize("line", [*filter(None, (REPLACED + AMONG).split("\n"))])
def test_nothing_that_is_read_is_replaced(folder, line):
    before = contents(folder)
    result = invoke(*line.split())
    assert result.exit_code == 2, (result.stderr, result.exception)
    words = "would lie among the data" if line in AMONG else ", which is read: name"
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert contents(folder) == before


def test_two_outputs_are_two_files(folder):
    line = "project d.csv -t kind -o new.csv --html parts/../new.csv"
    result = invoke(*line.split())
    assert result.exit_code == 2
    assert "new.csv: it would replace what --out writes" in result.stderr


def test_other_files_are_replaced_and_made(folder):
    before = contents(folder)
    (folder / "old.csv").write_text("old")
    assert invoke("predict", "m.json", "m.h", "-o", "old.csv").exit_code == 1
    assert (folder / "old.csv").read_text() == "old"
    for line in (
        "predict m.json d.csv -o old.csv",
        "predict m.json parts -o parts/_out/new.csv",
        "predict m.json parts/*.csv -o parts/deep/new.csv",
        "predict m.json d.csv -o parts/new.csv",
        "fit parts/a.csv -t kind --no-accuracy -o parts/new.json",
    ):
        succeed(*line.split())
        out = folder / line.split()[-1]
        assert len(out.read_bytes()) > 1000
        out.unlink()
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("stream", "mode", "outputs", "read", "message"),
    [
        ("stdin", "rb", {"--out": "hard.csv"}, ["-"], "replace standard input, which"),
        ("stdout", "ab", {}, ["d.csv"], "standard output: it would replace d.csv, "),
        ("stdout", "ab", {"--out": "d.csv"}, ["m.csv"], "replace what --out writes"),
    ],
)
def test_streams_may_be_files(
    folder, monkeypatch, stream, mode, outputs, read, message
):
    with open("d.csv", mode) as file:
        monkeypatch.setattr(sys, stream, file)
        with pytest.raises(UsageError, match=message):
            check_outputs(outputs, data=read)
    with open(os.devnull) as file:  # nothing of a device is lost
        monkeypatch.setattr(sys, "stdin", file)
        check_outputs({"--out": os.devnull}, data=["-"])


def test_a_link_that_leads_nowhere_yet_is_written_through(folder, tmp_path):
    link = tmp_path / "link.csv"
    link.symlink_to("far.csv")
    succeed("predict", "m.json", "d.csv", "-o", link)
    assert link.is_symlink()
    assert (tmp_path / "far.csv").read_text().startswith("x0,x1,x2,kind,prediction\n")
    lost, circle = tmp_path / "lost.csv", tmp_path / "circle.csv"
    lost.symlink_to("gone/new.csv")
    circle.symlink_to("circle.csv")
    before = contents(tmp_path)
    for out, message in (
        (lost, rf"'{lost}' is a link to '{tmp_path}/gone/new.csv', and the folder"),
        (circle, f"'{circle}' cannot be written: {os.strerror(errno.ELOOP)}"),
    ):
        result = invoke("predict", "m.json", "d.csv", "-o", out)
        assert result.exit_code == 1
        assert message in result.stderr
    assert contents(tmp_path) == before


def test_errors_name_the_file_and_not_a_temporary_one(folder, tmp_path, monkeypatch):
    """A name may be as long as names can be, though temporary names are longer."""
    longest = tmp_path / ("n" * 251 + ".csv")
    succeed("predict", "m.json", "d.csv", "-o", longest)
    longest.unlink()
    too_long = tmp_path / ("n" * 252 + ".csv")
    result = invoke("predict", "m.json", "d.csv", "-o", too_long)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert str(too_long)[:500] in result.stderr

    def refuse(*paths):
        reason = os.strerror(errno.EACCES)
        raise PermissionError(errno.EACCES, reason, *map(str, paths))

    out = tmp_path / "out.csv"
    monkeypatch.setattr(files.os, "replace", refuse)
    result = invoke("predict", "m.json", "d.csv", "-o", out)
    assert result.stderr.endswith(f"{out}: {os.strerror(errno.EACCES)}\n")
    monkeypatch.setattr(files.os, "access", lambda place, mode: place != tmp_path)
    result = invoke("fit", "d.csv", "-t", "kind", "-o", out)  # before it is read
    assert result.stderr == f"heterolda: {tmp_path}: {os.strerror(errno.EACCES)}\n"
    assert list(tmp_path.iterdir()) == []
