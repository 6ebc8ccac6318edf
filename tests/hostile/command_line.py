"""The command line as a way of fitting: the data go through files.

What it refuses becomes an error, and its notes become warnings, so that both are judged
as those of the library are. All else that it may do wrong is an error from inside.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from heterolda import (
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
    ModelMisfitWarning,
    PrecisionWarning,
    SmallClassWarning,
    SmoothedLinearDiscriminant,
    TrivialRuleWarning,
)
from heterolda.cli.commands import app
from heterolda.cli.models import without_names
from heterolda.export import load
from hostile.data import Data

TARGET, WEIGHT = "kind", "weight"
# Other types than float64 that a Parquet file keeps; all else goes as text.
_KEPT = {"float16", "float32", "int8", "bool"}
_NOTES = {
    "no more samples than features": SmallClassWarning,
    "samples per feature": SmallClassWarning,
    "rows per feature": SmallClassWarning,
    "no hyperplane that beats": TrivialRuleWarning,
    "float64 rounding": PrecisionWarning,
    "Gaussian model does not fit": ModelMisfitWarning,
    "the classes are not Gaussian": ModelMisfitWarning,
}
# Notes of the command alone.
_OWN = re.compile(
    "note: (these settings need all rows at once|.* (gives?|numbers?) the (class|rows))"
)


class CommandLineError(RuntimeError):
    """The command line did what no command may do."""


def command_line(model: Any, data: Data, chunks: Any) -> Any:
    """Write files, fit and predict them by commands, and read the model.

    Parameters
    ----------
    model : estimator
        Its settings become options.
    data : Data
        What is fitted and predicted.
    chunks : iterable of (X, y, weight)
        The same, file by file.

    Returns
    -------
    fitted estimator
        From its file. It gives the same predictions as the command.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        files = folder / "data"
        files.mkdir()
        for k, (X, y, weight) in enumerate(chunks):
            frame = _frame(X).assign(**{TARGET: y})
            if weight is not None:
                frame[WEIGHT] = weight
            _write(frame, files / f"{k:03d}")
        saved = folder / "model.json"
        options = ["--target", TARGET, "--out", saved, *_options(model, data)]
        _warn(_run("fit", files, *options))
        fitted = without_names(load(saved))
        rows = _write(_frame(data.to_predict), folder / "rows")
        target = folder / "predicted.parquet"
        _run("predict", saved, rows, "--proba", "--out", target)
        _compare(fitted, data, pd.read_parquet(target))
        return fitted


def _frame(X: Any) -> pd.DataFrame:
    X = np.asarray(X)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def _write(frame: pd.DataFrame, path: Path) -> Path:
    """Write a table in the form that keeps its numbers bit for bit."""
    if _KEPT & set(map(str, frame.dtypes)):
        path = path.with_suffix(".parquet")
        frame.to_parquet(path)
    else:
        path = path.with_suffix(".csv")
        frame.to_csv(path, index=False)
    return path


def _options(model: Any, data: Data) -> list[str]:
    """The settings of an estimator as options."""
    options = []
    if isinstance(model, LocalNeighborhoodSearch):
        options += ["--refine"]
        model = model.estimator
    if isinstance(model, SmoothedLinearDiscriminant):
        options += ["--recommended"]
        model = GaussianLinearDiscriminant(shrinkage="cv", priors=model.priors)
    for name in ("solver", "shrinkage", "criterion"):
        value = getattr(model, name)
        options += [] if value is None else [f"--{name}", str(value)]
    if model.priors is not None:
        labels = np.unique(data.y).tolist()
        pairs = zip(labels, model.priors, strict=True)
        options += ["--priors", ",".join(f"{label}={p!r}" for label, p in pairs)]
    if data.weight is not None:
        options += ["--sample-weight", WEIGHT]
    return options


def _run(*arguments: Any) -> list[str]:
    """Run a command; the lines of its standard error stream."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    lines = result.stderr.splitlines()
    if result.exit_code == 0:
        if re.search(r"\bnan\b", result.stdout, re.IGNORECASE):
            raise CommandLineError(f"printed NaN: {result.stdout}")
        return lines
    errors = [line for line in lines if not line.startswith("note: ")]
    ended = isinstance(result.exception, SystemExit) and result.exit_code in (1, 2)
    if not ended or len(errors) != 1 or not errors[0].startswith("heterolda: "):
        raise CommandLineError(f"{result.exception!r}: {result.stderr}")
    raise ValueError(errors[0].removeprefix("heterolda: "))


def _warn(lines: list[str]) -> None:
    """Give the notes of a command as the warnings that they come from."""
    for line in lines:
        if not _OWN.match(line):
            kinds = [kind for words, kind in _NOTES.items() if words in line]
            warnings.warn(line, *(kinds or [UserWarning]), stacklevel=3)


def _compare(model: Any, data: Data, table: pd.DataFrame) -> None:
    """Whether the command predicts what the model predicts."""
    labels = table["prediction"].to_numpy()
    chances = table.filter(regex="^probability_").to_numpy()
    if not np.array_equal(labels, model.predict(data.to_predict)):
        raise CommandLineError("predicted other labels than the model")
    # The layout in memory differs, and with it the last bits.
    if not np.allclose(chances, model.predict_proba(data.to_predict), 1e-6, 1e-9):
        raise CommandLineError("predicted other probabilities than the model")
