"""Commands as processes: what they import, signals, closed streams, full disks."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest

import heterolda
from helpers.cli import command, invoke, make_frame, names, start, succeed
from heterolda import GaussianLinearDiscriminant

if sys.platform != "win32":
    import fcntl
    import termios

pytestmark = [
    pytest.mark.check,
    # Few rows of drawn classes: sometimes Fisher's rule is better by chance.
    pytest.mark.filterwarnings("ignore::heterolda.exceptions.ModelMisfitWarning"),
    pytest.mark.skipif(sys.platform == "win32", reason="signals and a shell"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    frame = make_frame(np.random.default_rng(0)).drop(columns="id")
    frame.to_csv(folder / "d.csv", index=False)
    model = GaussianLinearDiscriminant().fit(frame[names()], frame["kind"])
    heterolda.save(model, folder / "m.json")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


def run(*arguments, **streams):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.run(command(*arguments), timeout=120, **(pipes | streams))


def test_a_full_disk_leaves_nothing(folder):
    before = sorted(folder.iterdir())
    if os.path.exists("/dev/full"):
        full = invoke("fit", "d.csv", "-t", "kind", "-o", "/dev/full")
        assert full.exit_code == 1
        assert full.stderr == "heterolda: /dev/full: No space left on device\n"
        with open("/dev/full", "w") as device:
            done = run("--help", stdout=device)
        assert done.returncode == 1
        assert done.stderr == "heterolda: No space left on device\n"
    # A limit on the size of files fails in the middle of writing, as a full disk does.
    words = " ".join(command("predict", "m.json", "d.csv", "-o", "new.csv"))
    limited = subprocess.run(
        ["bash", "-c", f"ulimit -f 1; exec {words}"], capture_output=True, text=True
    )
    assert limited.returncode == 1
    assert limited.stderr.endswith("heterolda: new.csv: File too large\n")
    assert sorted(folder.iterdir()) == before


def wait_for(condition):
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it does not come to pass")


@contextmanager
def predicting(out, **settings):
    """A process that has written some rows under a name of its own, and waits."""
    settings = {"stdin": subprocess.PIPE, "bufsize": 0, **settings}
    with start("predict", "m.json", "-", "-o", out, **settings) as process:
        process.stdin.write(b"x0,x1,x2\n" + b"1,2,3\n" * 20_000)
        wait_for(lambda: any(p.stat().st_size for p in out.parent.iterdir()))
        time.sleep(0.2)  # Python handles a signal just before a read only after it
        assert not out.exists()
        try:
            yield process
        finally:
            process.kill()  # else a test that fails would wait for ever


@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM", "the terminal"])
def test_an_interrupt_leaves_nothing(folder, tmp_path, sent):
    """In the middle of the output, while the input is waited for."""
    out, settings = tmp_path / "out.csv", {}
    if sent == "the terminal":  # which is closed, and was that of the process
        ours, theirs = os.openpty()
        settings = {"stderr": theirs, "start_new_session": True}
        settings["preexec_fn"] = take_terminal
    elif sent == "SIGTERM":  # what nohup starts is terminated, but not hung up on
        ignore = partial(signal.signal, signal.SIGHUP, signal.SIG_IGN)
        settings = {"preexec_fn": ignore}
    with predicting(out, **settings) as process:
        if sent == "the terminal":
            os.close(theirs)
            os.close(ours)
            assert process.wait(30) == 130
        else:
            if sent == "SIGTERM":
                (path,) = tmp_path.iterdir()
                process.send_signal(signal.SIGHUP)
                size = path.stat().st_size
                process.stdin.write(b"1,2,3\n" * 20_000)
                wait_for(lambda: path.stat().st_size > size)
            process.send_signal(getattr(signal, sent))
            assert process.wait(30) == 130
            assert process.stderr.read() == b"heterolda: interrupted\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("package", ["typer", "sklearn"])
def test_an_interrupted_import_says_so_in_one_line(folder, package):
    code = (
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(name, *_):\n"
        f"        if name == {package!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder)\n"
        "from heterolda.cli import main\n"
        "sys.argv = ['heterolda', 'fit', 'd.csv', '-t', 'kind', '-o', 'late.json']\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "heterolda: interrupted\n")
    assert not (folder / "late.json").exists()


def take_terminal():
    """In a new process: its errors go to a terminal, which may hang up on it."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    fcntl.ioctl(2, termios.TIOCSCTTY, 0)


def test_an_interrupted_search_saves_nothing(rng, tmp_path):
    """The estimator would go on with what it has; whoever presses Ctrl-C would not."""
    data = tmp_path / "data.parquet"
    make_frame(rng, 100_000, d=10).to_parquet(data)
    options = [
        "-t",
        "kind",
        "--exclude",
        "id",
        "--method",
        "search",
        "--no-accuracy",
        "-o",
    ]
    with start("fit", data, *options, tmp_path / "new.json") as process:
        assert process.stderr.readline().startswith(b"note: these settings")
        process.send_signal(signal.SIGINT)
        status = process.wait(60)
        # Python itself may complain of a file that an import had open.
        assert process.stderr.read().splitlines()[-1] == b"heterolda: interrupted"
    assert status == 130
    assert list(tmp_path.iterdir()) == [data]


@pytest.mark.parametrize(
    ("closed", "status", "arguments"),
    [
        ([1], 0, ["--help"]),
        ([2], 2, ["fit"]),
        ([0, 1], 1, ["predict", "no.json", "-"]),
        ([0, 1, 2], 0, ["fit", "d.csv", "-t", "kind", "-o", "saved.json"]),
    ],
)
def test_closed_streams_are_empty_ones(folder, closed, status, arguments):
    done = run(*arguments, preexec_fn=lambda: [os.close(k) for k in closed])
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == (1 if status and 2 not in closed else 0)
    if "saved.json" in arguments:
        succeed("inspect", "saved.json")


def test_each_row_is_answered_while_the_next_waits(folder):
    with start("predict", "m.json", "-", stdin=subprocess.PIPE, bufsize=0) as process:
        process.stdin.write(b"x0,x1,x2\n1,2,3\n")
        assert process.stdout.readline() == b"x0,x1,x2,prediction\n"
        assert process.stdout.readline().startswith(b"1,2,3,")
        process.stdin.write(b"3,2,1\n")
        assert process.stdout.readline().startswith(b"3,2,1,")
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(30) == 0


def test_a_reader_that_stops_early_is_no_error(folder):
    words = " ".join(command("predict", "m.json", "d.csv"))
    done = subprocess.run(
        ["bash", "-c", f"{words} 2> >(cat >&2) | head -n 1"],
        capture_output=True,
        text=True,
    )
    assert done.stdout == "x0,x1,x2,kind,prediction\n"
    assert "Error" not in done.stderr
    assert "Traceback" not in done.stderr
