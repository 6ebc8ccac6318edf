"""Bad invocations: one line, the right status, and nothing left behind."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import heterolda
from helpers.cli import command, invoke, make_frame, names, start, succeed
from heterolda import GaussianLinearDiscriminant, HeteroscedasticProjection
from heterolda.cli.parsing import split_names

if sys.platform != "win32":
    import fcntl
    import termios

# Few rows of drawn classes: sometimes Fisher's rule is better by chance.
pytestmark = pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning")

FEATURES = names()


def table(frame):
    return frame.drop(columns="id").to_csv(index=False)


def damaged_files(frame, model):
    """Contents of files that are wrong in some way."""
    good = table(frame)
    head = good.splitlines()[0]
    version = json.loads(model) | {"version": 7}
    return {
        "good.csv": good,
        "model.json": model,
        "empty.csv": "",
        "header.csv": head + "\n",
        "one-class.csv": re.sub("(north|east|south)\n", "west\n", good),
        "single.csv": "x0,x1,x2,kind\n1,2,3,centre\n3,2,1,west\n",
        "few.csv": "x0,kind\n1,west\n2,east\n3,west\n4,east\n",
        "words.csv": good + "1,two,3,west\n",
        "infinite.csv": good + "1,inf,3,west\n",
        "gap.csv": good + "1,,3,west\n",
        "no-label.csv": good + "1,2,3,\n",
        "twice.csv": good.replace("x1", "x0", 1),
        "ragged.csv": good + "1,2,3\n",
        "mixed.csv": good.replace("x1", "größe", 1).encode() + b"1,2,3,S\xfcd\n",
        "utf16.csv": good.encode("utf-16") + b"\0\xd8",
        "noise.csv": bytes(range(256)) * 20,
        "cut.csv.gz": gzip.compress(good.encode() * 50)[:400],
        "noise.parquet": b"PAR1" + bytes(100) + b"PAR1",
        "table.xlsx": "PK",
        "others.csv": "x0,x9,kind\n1,2,west\n",
        "taken.csv": good.replace("kind", "prediction", 1),
        "component.csv": good.replace("x1", "component_1", 1),
        "strange.csv": good + "1,2,3,mars\n",
        "double.csv": "a,x0,x1,x2,a\n1,2,3,4,5\n",
        "rest.csv": "x0,x1,x2,kind,also\n1,2,3,west,west\n",
        "no-target.csv": "x0,x1,x2\n1,2,3\n",
        "cut.json": model[: len(model) // 2],
        "noise.json": bytes(range(256)),
        "other.json": '{"a": 1}',
        "version.json": json.dumps(version),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    frame = make_frame(np.random.default_rng(0))
    model = GaussianLinearDiscriminant().fit(frame[FEATURES], frame["kind"])
    heterolda.save(model, folder / "model.json")
    projection = HeteroscedasticProjection(2).fit(frame[FEATURES], frame["kind"])
    heterolda.save(projection, folder / "projection.json")
    pipeline = make_pipeline(HeteroscedasticProjection(2), GaussianLinearDiscriminant())
    pipeline.fit(frame[FEATURES], frame["kind"])
    heterolda.save(pipeline, folder / "pipeline.json")
    text = (folder / "model.json").read_text()
    for name, content in damaged_files(frame, text).items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(data)
    (folder / "folder").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


FIT = "--target kind --out new.json"
PROJECT = "--target kind --out out.csv"
BAD = [
    # the data
    (f"fit nothing.csv {FIT}", 1, "there is no file 'nothing.csv'"),
    (f"fit 'none*.csv' {FIT}", 1, "there is no file"),
    (f"fit folder {FIT}", 1, "the folder 'folder' has no file that ends in"),
    (f"fit table.xlsx {FIT}", 1, "table.xlsx cannot be read as an Excel workbook"),
    (f"fit empty.csv {FIT}", 1, "empty.csv is empty"),
    (f"fit header.csv {FIT}", 1, "the data have no rows"),
    (f"fit one-class.csv {FIT}", 1, "at least 2 classes are needed, got 1"),
    (f"fit single.csv {FIT}", 1, "classes ['centre', 'west'] have a total"),
    (
        f"fit words.csv {FIT}",
        1,
        "words.csv: 1 column is not all numbers: 'x1' (row 201: 'two')",
    ),
    (f"fit infinite.csv {FIT}", 1, "infinite.csv: column 'x1', row 201 is infinite"),
    (f"fit gap.csv {FIT}", 1, "gap.csv: column 'x1', row 201 is miss.* --missing drop"),
    (f"fit no-label.csv {FIT}", 1, "no-label.csv: column 'kind', row 201 is miss"),
    (f"fit twice.csv {FIT}", 1, r"twice.csv: several columns are named \['x0'\]"),
    ("fit good.csv -t kind -o -", 2, "--out: name a file, not -"),
    (f"fit ragged.csv {FIT}", 1, "ragged.csv: row 201 has 3 cells, but there are 4"),
    (
        f"fit mixed.csv {FIT}",
        1,
        "in UTF-8 with bytes of another encoding, such as 0xfc",
    ),
    (f"fit utf16.csv {FIT}", 1, "begins as text in UTF-16, but is damaged"),
    (f"fit noise.csv {FIT}", 1, "noise.csv is not a text file"),
    (f"fit cut.csv.gz {FIT}", 1, "cut.csv.gz cannot be read"),
    (f"fit noise.parquet {FIT}", 1, "noise.parquet cannot be read"),
    (f"fit good.csv others.csv {FIT}", 1, "others.csv: its columns are not those of"),
    # the columns
    ("fit good.csv --target sort --out new.json", 2, "no column is named 'sort'"),
    (f"fit good.csv {FIT} --columns x0,x7", 2, "no column is named 'x7'"),
    (f"fit good.csv {FIT} --exclude x0,x1,x2", 1, "there is no column besides"),
    (
        f"fit good.csv {FIT} --columns kind",
        2,
        "--columns, exclude, target and sample_weight name",
    ),
    (f"fit good.csv {FIT} --sample-weight kind", 2, "name ['kind'] more than once"),
    (f"fit good.csv {FIT} --sample-weight x0", 1, "good.csv: column 'x0' has negative"),
    # the options
    (f"fit good.csv {FIT} --solver best", 2, "--solver"),
    (f"fit good.csv {FIT} --cv 1", 2, "--cv"),
    (f"fit good.csv {FIT} --bogus", 2, "--bogus"),
    (
        f"fit good.csv {FIT} --shrinkage much",
        2,
        r"--shrinkage must be .* range \[0.0, 1.0\], got 'much'",
    ),
    (f"fit good.csv {FIT} --shrinkage 0.1,2", 2, "--shrinkage must be two numbers in"),
    (f"fit good.csv {FIT} --costs north=3", 2, "write TRUE:DECIDED=COST"),
    (f"fit good.csv {FIT} --costs north:mars=3", 2, "'mars' is not one of the"),
    (f"fit good.csv {FIT} --priors north", 2, "write LABEL=NUMBER"),
    (f"fit good.csv {FIT} --priors north=1", 2, "--priors lack the classes 'east'"),
    (f"fit good.csv {FIT} --priors north=1,east=1,south=1,west=0", 2, "be positive"),
    (f"fit good.csv {FIT} --priors up=1", 2, "--priors: 'up' is not one of the"),
    (f"fit good.csv {FIT} --max-error north=.1", 2, "--max-error is for two"),
    (f"fit good.csv {FIT} --confidence .9", 2, "--confidence needs .* add --max-error"),
    (
        f"fit good.csv {FIT} --max-error north=.1 --confidence 2",
        2,
        "--confidence must be a float in the range",
    ),
    (
        f"fit good.csv {FIT} --max-error north=.1 --confidence .9 --criterion minimax",
        *(2, "--criterion cannot be combined with --confidence"),
    ),
    (
        f"fit good.csv {FIT} --max-error north=.1 --confidence .9",
        *(2, "--max-error needs two classes, but there are 4"),
    ),
    (
        f"fit good.csv {FIT} --max-error north=.1,west=.1 --confidence .9",
        *(2, "--max-error must bound one of the two classes"),
    ),
    (
        f"fit good.csv {FIT} --max-error north=1 --confidence .9",
        2,
        "--max-error must be a number strictly between 0 and 1",
    ),
    (
        f"fit good.csv {FIT} --criterion neyman-pearson",
        2,
        "neyman-pearson needs max_error.*--max-error",
    ),
    (f"fit good.csv {FIT} --refine --costs north:west=2", 2, "--class-weight"),
    (f"fit good.csv {FIT} --class-weight balanced", 2, "--class-weight needs"),
    ("fit good.csv", 2, "--target"),
    ("fit", 2, "DATA"),
    ("fitt good.csv", 2, "No such command 'fitt'"),
    (f"fit - good.csv {FIT}", 2, "name no other data with it"),
    # comparisons
    ("compare gap.csv -t kind -o out.png", 1, "column 'x1', row 201 is .* --missing"),
    ("compare few.csv -t kind", 1, "heterolda: no class has three different rows"),
    ("compare good.csv -t kind --cv 1", 2, "--cv"),
    ("compare good.csv -t kind -o model.json", 2, "--out model.json: name a .png"),
    # projections
    (
        f"project component.csv {PROJECT} --columns x0",
        1,
        "already a column 'component_1'",
    ),
    (f"project good.csv {PROJECT} --components 0", 2, "--components"),
    (f"project good.csv {PROJECT} --components 4", 2, "--components 4 is more than"),
    (f"project few.csv {PROJECT} --components 2 --method fisher", 2, "--components 2"),
    (f"project good.csv {PROJECT} --method lda", 2, "--method"),
    (
        f"project good.csv {PROJECT} --shrinkage cv",
        2,
        "--shrinkage must be a str among {'auto'}, a float",
    ),
    ("project good.csv -t kind --html folder", 1, "'folder' is a folder"),
    ("project good.csv -t kind --html -", 2, "--html: name a file"),
    # where to write
    ("fit good.csv -t kind -o nowhere/new.json", 1, "the folder 'nowhere' does not"),
    ("fit good.csv -t kind -o folder", 1, "'folder' is a folder"),
    ("predict model.json good.csv -o out.xlsx", 2, "which opens in Excel"),
    # the model
    ("predict nothing.json good.csv", 1, "nothing.json: No such file or directory"),
    ("predict cut.json good.csv", 1, "'cut.json' is not a readable file .* not JSON"),
    ("predict noise.json good.csv", 1, "noise.json is not a model file written by"),
    ("predict other.json good.csv", 1, "'other.json' is not a readable file"),
    ("predict version.json good.csv", 1, "version 7, .* reads only version 1: save"),
    ("evaluate good.csv good.csv", 1, "good.csv is not a model file written by"),
    # predictions
    ("predict model.json others.csv -o out.csv", 1, "no column is named 'x1', 'x2'"),
    ("predict model.json gap.csv -o out.csv", 1, "column 'x1', row 201 is missing"),
    ("predict model.json double.csv -o out.csv", 1, "several columns are named"),
    (
        "predict model.json words.csv -o o.parquet",
        1,
        "'x1' (row 201: 'two')",
    ),
    ("predict model.json ragged.csv -o out.csv.gz", 1, "ragged.csv: row 201 has 3"),
    ("predict model.json taken.csv -o out.csv", 1, "already a column 'prediction'"),
    (
        "predict model.json good.csv --id name -o out.csv",
        2,
        "no column is named 'name'",
    ),
    (
        "predict model.json good.csv --columns x0,x1",
        2,
        "--columns names 2 columns",
    ),
    # evaluation, inspection, export
    ("evaluate model.json header.csv", 1, "the data have no rows"),
    (
        "evaluate model.json strange.csv",
        1,
        "labels ['mars'] that are not classes",
    ),
    ("evaluate model.json rest.csv", 1, "name the column of the labels with --target"),
    ("evaluate model.json no-target.csv", 1, "there is no column left for the labels"),
    ("inspect model.json --pair north", 2, "write two labels"),
    ("inspect model.json --pair north,mars", 2, "there is no pair 'north' and 'mars'"),
    ("inspect model.json --rules 0", 2, "--rules"),
    ("export model.json -o rule.txt", 2, "add --to c or --to onnx"),
    ("export model.json -o rule.h --dtype float16", 2, "one of float, double"),
    ("export model.json -o rule.onnx --name me", 2, "--name is for C"),
    ("export model.json -o rule.h --name 7up", 2, "name '7up'"),
    # the study
    ("reproduce --datasets iris --methods best --out o", 2, "best"),
    ("datasets --write liver --data-dir x", 1, "--data-dir: 'x' is not a folder"),
    ("report folder", 1, "run.json does not exist"),
    # projections
    ("predict projection.json good.csv", 1, "projection.json holds a projection"),
    ("evaluate projection.json good.csv", 1, "does not predict classes: save a class"),
    ("inspect projection.json", 1, "does not predict classes"),
    ("inspect pipeline.json", 1, "holds a pipeline, .* save its last step to a file"),
    ("export projection.json -o rule.h", 1, "got HeteroscedasticProjection"),
]


def listing(folder):
    return sorted((p.name, p.stat().st_mtime_ns) for p in folder.iterdir())


def split(line):
    return [word.strip("'") for word in line.split()]


def matches(message, text):
    return message in text or re.search(message, text)


@pytest.mark.parametrize(("line", "status", "message"), BAD)
def test_bad_invocations_say_why_in_one_line(folder, line, status, message):
    before = listing(folder)
    result = invoke(*split(line))
    assert result.exit_code == status, (result.stderr, result.exception)
    assert result.stderr.count("\n") == 1, result.stderr
    assert matches(message, result.stderr), result.stderr
    assert result.stderr.startswith("heterolda")
    assert result.stdout == ""
    assert listing(folder) == before


def run(*arguments, **settings):
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, **settings
    )


def test_status_and_traceback_of_the_real_command(folder):
    wrong = run("fit", "good.csv", "-t", "kind", "--cv", "1")
    assert wrong.returncode == 2
    assert "--cv" in wrong.stderr
    assert wrong.stderr.count("\n") == 1
    absent = run("predict", "nothing.json", "good.csv")
    assert absent.returncode == 1
    assert absent.stderr == "heterolda: nothing.json: No such file or directory\n"
    shown = invoke("predict", "nothing.json", "good.csv", "--debug")
    assert shown.exit_code == 1
    assert "Traceback" in shown.stderr
    assert run("--version").stdout == f"heterolda {heterolda.__version__}\n"
    assert "evaluate" in succeed()


@pytest.mark.check
def test_a_full_disk_leaves_nothing(folder):
    before = listing(folder)
    if os.path.exists("/dev/full"):
        full = invoke("fit", "good.csv", "-t", "kind", "-o", "/dev/full")
        assert full.exit_code == 1
        assert full.stderr == "heterolda: /dev/full: No space left on device\n"
        assert not os.path.isfile("/dev/full")
    # A limit on the size of files fails in the middle of writing, as a full disk does.
    words = " ".join(command("predict", "model.json", "good.csv", "-o", "out.csv"))
    limited = subprocess.run(
        ["bash", "-c", f"ulimit -f 1; exec {words}"], capture_output=True, text=True
    )
    assert limited.returncode == 1
    assert limited.stderr == "heterolda: out.csv: File too large\n"
    assert listing(folder) == before


def test_an_old_file_is_kept_when_a_new_one_cannot_be_made(folder, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("old")
    assert invoke("predict", "model.json", "gap.csv", "-o", out).exit_code == 1
    assert out.read_text() == "old"
    succeed("predict", "model.json", "good.csv", "-o", out)
    assert out.read_text().startswith("x0,x1,x2,kind,prediction\n")
    assert sorted(tmp_path.iterdir()) == [out]


def wait_for(condition):
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it does not come to pass")


@pytest.mark.check
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("sent", ["SIGINT", "the terminal"])
def test_an_interrupt_leaves_nothing(folder, tmp_path, sent):
    """In the middle of the output, while the input is waited for."""
    out, settings = tmp_path / "out.csv", {}
    if sent == "the terminal":  # which is closed, and was that of the process
        ours, theirs = os.openpty()
        settings = {"stderr": theirs, "start_new_session": True}
        settings["preexec_fn"] = take_terminal
    with predicting(out, **settings) as process:
        if sent == "the terminal":
            os.close(theirs)
            os.close(ours)
            assert process.wait(30) == 130
        else:
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
            assert process.stderr.read() == b"heterolda: interrupted\n"
    assert list(tmp_path.iterdir()) == []


def take_terminal():
    """In a new process: its errors go to a terminal, which may hang up on it."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    fcntl.ioctl(2, termios.TIOCSCTTY, 0)


@contextmanager
def predicting(out, **settings):
    """A process that has written some rows under a name of its own, and waits."""
    settings = {"stdin": subprocess.PIPE, "bufsize": 0, **settings}
    with start("predict", "model.json", "-", "-o", out, **settings) as process:
        process.stdin.write(b"x0,x1,x2\n" + b"1,2,3\n" * 20_000)
        wait_for(lambda: any(p.stat().st_size for p in out.parent.iterdir()))
        assert not out.exists()
        try:
            yield process
        finally:
            process.kill()  # else a test that fails would wait for ever


@pytest.mark.check
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_what_nohup_starts_goes_on_until_it_is_terminated(folder, tmp_path):
    ignore = partial(signal.signal, signal.SIGHUP, signal.SIG_IGN)
    with predicting(tmp_path / "out.csv", preexec_fn=ignore) as process:
        (path,) = tmp_path.iterdir()
        process.send_signal(signal.SIGHUP)
        size = path.stat().st_size
        process.stdin.write(b"1,2,3\n" * 20_000)
        wait_for(lambda: path.stat().st_size > size)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 130
        assert process.stderr.read() == b"heterolda: interrupted\n"
    assert list(tmp_path.iterdir()) == []


def test_columns_that_only_the_model_names_are_not_typed(folder, tmp_path):
    model = tmp_path / "m.json"
    succeed("fit", "good.csv", "-t", "kind", "--no-accuracy", "-o", model)
    assert invoke("evaluate", model, "no-target.csv").exit_code == 1
    assert invoke("evaluate", model, "no-target.csv", "-t", "kind").exit_code == 2


def test_names_may_have_commas_and_line_breaks():
    assert split_names('a, "b,c",d\ne') == ("a", "b,c", "d\ne")


@pytest.mark.check
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_an_interrupted_search_saves_nothing(rng, tmp_path):
    """The estimator would go on with what it has; whoever presses Ctrl-C would not."""
    data = tmp_path / "data.parquet"
    make_frame(rng, 100_000, d=10).to_parquet(data)
    options = ["-t", "kind", "--exclude", "id", "--refine", "--no-accuracy", "-o"]
    with start("fit", data, *options, tmp_path / "new.json") as process:
        assert process.stderr.readline().startswith(b"note: these settings")
        process.send_signal(signal.SIGINT)
        status = process.wait(60)
        # Python itself may complain of a file that an import had open.
        assert process.stderr.read().splitlines()[-1] == b"heterolda: interrupted"
    assert status == 130
    assert list(tmp_path.iterdir()) == [data]


def test_commands_start_without_the_heavy_libraries():
    code = "from heterolda.cli.commands import app; import sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "typer" in loaded
    assert not loaded & {"sklearn", "scipy", "pyarrow", "matplotlib"}


@pytest.mark.parametrize(
    ("words", "package"),
    [
        ("fit good.csv -t kind -o new.json", "this needs pyarrow"),
        ("fit - -t kind", "this needs pyarrow"),
        ("compare - -t kind", "this needs pyarrow"),
        ("project - -t kind -o new.csv", "this needs pyarrow"),
        ("predict model.json good.csv", "this needs pyarrow"),
        ("evaluate model.json -", "this needs pyarrow"),
        ("compare good.csv -t kind -o new.png", "pictures need matplotlib"),
        ("project good.csv -t kind --html new.html", "pictures need matplotlib"),
        ("inspect model.json --html new.html", "pictures need matplotlib"),
        ("export model.json -o new.onnx", "export to ONNX needs skl2onnx"),
    ],
)
def test_what_is_not_installed_is_named_at_once(folder, monkeypatch, words, package):
    monkeypatch.chdir(folder)
    for name in ("pyarrow", "matplotlib", "matplotlib.pyplot", "skl2onnx"):
        monkeypatch.setitem(sys.modules, name, None)
    # It must not wait for the end of a stream.
    monkeypatch.delattr("shutil.copyfileobj")
    result = invoke(*words.split(), stdin="x0,kind\n")
    assert result.exit_code == 1
    install = f"pip install {package.split()[-1]}"
    assert result.stderr == f"heterolda: {package}: {install}\n"
    assert not list(folder.glob("new.*"))
