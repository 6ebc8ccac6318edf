"""The main jobs from an installed package, without the test suite: python smoke.py."""

import subprocess
import sys
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from importlib.metadata import version
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine

import heterolda
from heterolda import kernels

NO_COMMAND = (
    'heterolda: the command needs typer and rich: pip install "heterolda[cli]"\n'
)
HERE = Path(__file__).resolve().parents[2] / "src"


def main():
    """Fit, refine, save and load; raise where something is amiss."""
    assert HERE not in Path(heterolda.__file__).resolve().parents, "not installed"
    assert version("heterolda") == heterolda.__version__
    X, y = load_wine(return_X_y=True)
    model = heterolda.GaussianLinearDiscriminant().fit(X, y)
    assert model.score(X, y) > 0.98
    assert np.all(model.gap_ < 0.01)
    assert {len(column) for column in model.summary().values()} == {3 * X.shape[1]}
    search = heterolda.LocalNeighborhoodSearch().fit(X, y)
    assert np.all(search.n_errors_ <= search.n_errors_start_)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        heterolda.save(model, path)
        loaded = heterolda.load(path)
        assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
        if find_spec("typer") is None:
            learn_how_to_install_the_command(Path(folder))
        else:
            use_the_command(path, Path(folder))
    print(f"heterolda {heterolda.__version__} works (kernels: {kernels.in_use()})")


def learn_how_to_install_the_command(folder):
    """Get one line, and no traceback, from an install without the extra `cli`."""
    for words in ([], ["--version"], ["fit", "--help"]):
        command = [sys.executable, "-m", "heterolda", *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", NO_COMMAND)


def use_the_command(model, folder):
    """Do what needs no other extra, and learn what is missing where one is needed."""
    from heterolda.cli.app import app

    def say(*words, status=0):
        shown, errors, ended = StringIO(), StringIO(), None
        with redirect_stdout(shown), redirect_stderr(errors), chdir(folder):
            try:
                app(list(map(str, words)))
            except SystemExit as end:
                ended = end.code
        assert ended == status, (words, errors.getvalue())
        return (errors if status else shown).getvalue()

    command = [sys.executable, "-m", "heterolda", "--version"]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=folder).stdout
    assert shown == f"heterolda {heterolda.__version__}\n"
    assert "heterolda fit iris.csv --target class" in say("--help")
    assert "3 classes" in say("inspect", model)
    assert "wine_predict" in say("export", model, "-o", "wine.h")
    assert say("datasets", "--write", "wine") == "wine.csv\n"
    fit = ["fit", "wine.csv", "--target", "class"]
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        wanted = "heterolda: this needs pyarrow: pip install pyarrow\n"
        assert say(*fit, status=1) == wanted
    else:
        assert "accuracy" in say(*fit)


if __name__ == "__main__":
    main()
