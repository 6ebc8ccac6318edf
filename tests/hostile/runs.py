"""Fit and predict: the estimators, the ways in which they take data, and one run."""

import re
import warnings
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)

import heterolda
from helpers.cli import invoke
from heterolda.cli.models import without_names
from heterolda.export import load
from heterolda.solvers import SOLVERS

# Estimators, by name.


def _search(**settings):
    start = heterolda.GaussianLinearDiscriminant(**settings)
    return heterolda.LocalNeighborhoodSearch(start, max_iter=50, patience=10)


_discriminant = partial(heterolda.GaussianLinearDiscriminant, random_state=0)
OURS = {
    "global": _discriminant,
    **{s: partial(_discriminant, solver=s) for s in SOLVERS if s != "global"},
    "shrinkage auto": partial(_discriminant, shrinkage="auto"),
    "shrinkage cv": partial(_discriminant, shrinkage="cv"),
    "minimax": partial(_discriminant, criterion="minimax"),
    "paper": _search,
    "smoothed": heterolda.SmoothedLinearDiscriminant,
}
PEERS = {
    **{
        f"LDA {solver}": partial(LinearDiscriminantAnalysis, solver=solver)
        for solver in ("svd", "lsqr", "eigen")
    },
    "QDA": QuadraticDiscriminantAnalysis,
}
# Estimators that need all rows at once.
ALL_ROWS = ("shrinkage cv", "minimax", "paper", "smoothed")
MOMENTS = tuple(name for name in OURS if name not in ALL_ROWS)


# Ways of fitting. A new way is a function, and an entry of WAYS.


def fit(model, data):
    """Fit all at once."""
    extra = {} if data.weight is None else {"sample_weight": data.weight}
    return model.fit(data.X, data.y, **extra)


def chunks(data):
    """Yield rows, labels and weights of the chunks; three slices by default."""
    n = len(data.X)
    third = max(1, -(-n // 3))
    parts = data.parts or [slice(k, k + third) for k in range(0, n, third)]
    for part in parts or [slice(0)]:
        weight = None if data.weight is None else np.asarray(data.weight)[part]
        yield data.X[part], np.asarray(data.y)[part], weight


def partial_fit(model, data):
    """Fit chunk by chunk. Only the last may warn of what is in the rows so far."""
    classes = np.unique(data.y)
    *early, (X, y, weight) = chunks(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", heterolda.SmallClassWarning)
        warnings.simplefilter("ignore", heterolda.ModelMisfitWarning)
        for chunk in early:
            model.partial_fit(*chunk[:2], classes=classes, sample_weight=chunk[2])
    return model.partial_fit(X, y, classes=classes, sample_weight=weight)


def statistics(model, data):
    """Fit class statistics, added chunk by chunk, the last one first."""
    stats = [heterolda.ClassStatistics.from_data(*chunk) for chunk in chunks(data)]
    return model.fit_statistics(sum(stats[::-1]))


def moments(model, data):
    """Fit moments, which X holds by their names."""
    return model.fit_statistics(heterolda.ClassStatistics.from_moments(**data.X))


def dask_arrays(model, data):
    """Fit dask arrays on threads."""
    n = len(data.X)
    sizes = (n - 2 * (n // 3), n // 3, n // 3)
    if data.parts is not None:
        sizes = tuple(len(part) for part in data.parts)
        order = np.concatenate(data.parts)
        data = data.but(X=data.X[order], y=np.asarray(data.y)[order])
    whole = (-1,) * (np.ndim(data.X) - 1)
    with dask.config.set(scheduler="threads"):
        return fit(model, data.but(X=da.from_array(data.X, chunks=(sizes, *whole))))


def commands(model, data):
    """Write files, fit and predict them by commands, and return the model they saved.

    A refusal is raised as ValueError and a note is given as a warning, so that both
    are checked as those of the library. Anything else a command does is an error.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        files, saved = folder / "data", folder / "model.json"
        files.mkdir()
        for k, (X, y, weight) in enumerate(chunks(data)):
            columns = {"kind": y} if weight is None else {"kind": y, "weight": weight}
            _write(_frame(X).assign(**columns), files / f"{k:03d}")
        settings = _options(model, data)
        notes = _command("fit", files, "--target", "kind", "--out", saved, *settings)
        for note in notes:
            if not note.startswith("note: these settings need all rows at once"):
                kinds = [kind for words, kind in _NOTES.items() if words in note]
                warnings.warn(note, *(kinds or [UserWarning]), stacklevel=2)
        fitted = without_names(load(saved))
        rows = _write(_frame(data.to_predict), folder / "rows")
        target = folder / "predicted.parquet"
        _command("predict", saved, rows, "--proba", "--out", target)
        table = pd.read_parquet(target)
    labels, expected = table["prediction"].to_numpy(), fitted.predict(data.to_predict)
    if not np.array_equal(labels, expected):
        raise CommandLineError("predicted other labels than the model")
    chances = table.filter(regex="^probability_").to_numpy()
    # The layout in memory differs, and with it the last bits.
    if not np.allclose(chances, fitted.predict_proba(data.to_predict), 1e-6, 1e-9):
        raise CommandLineError("predicted other probabilities than the model")
    return fitted


class CommandLineError(RuntimeError):
    """A command did what no command may do."""


class LeakNote(UserWarning):
    """A command noted that a column gives the class away."""


_NOTES = {
    "no more samples than features": heterolda.SmallClassWarning,
    "samples per feature": heterolda.SmallClassWarning,
    "rows per feature": heterolda.SmallClassWarning,
    "no hyperplane that beats": heterolda.TrivialRuleWarning,
    "float64 rounding": heterolda.PrecisionWarning,
    "Gaussian model does not fit": heterolda.ModelMisfitWarning,
    "the classes are not Gaussian": heterolda.ModelMisfitWarning,
    "gives the class away": LeakNote,
}


def _command(*arguments):
    """Run a command and return the lines of its standard error stream."""
    result = invoke(*arguments)
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


def _frame(X):
    X = np.asarray(X)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def _write(frame, path):
    """Write a table in the form that keeps its numbers bit for bit."""
    if {"float16", "float32", "int8", "bool"} & set(map(str, frame.dtypes)):
        path = path.with_suffix(".parquet")
        frame.to_parquet(path)
    else:
        path = path.with_suffix(".csv")
        frame.to_csv(path, index=False)
    return path


def _options(model, data):
    """Return the settings of an estimator as options."""
    options = []
    if isinstance(model, heterolda.LocalNeighborhoodSearch):
        options += ["--refine"]
        model = model.estimator
    if isinstance(model, heterolda.SmoothedLinearDiscriminant):
        options += ["--recommended"]
        model = heterolda.GaussianLinearDiscriminant(
            shrinkage="cv", priors=model.priors
        )
    for name in ("solver", "shrinkage", "criterion"):
        value = getattr(model, name)
        options += [] if value is None else [f"--{name}", str(value)]
    if model.priors is not None:
        pairs = zip(np.unique(data.y).tolist(), model.priors, strict=True)
        options += ["--priors", ",".join(f"{label}={p!r}" for label, p in pairs)]
    return options + ([] if data.weight is None else ["--sample-weight", "weight"])


WAYS = {
    "fit": fit,
    "partial_fit": partial_fit,
    "statistics": statistics,
    "dask": dask_arrays,
    "command line": commands,
    "moments": moments,
}
ARRAYS = ("fit", "partial_fit", "statistics", "dask")
STATISTICS = ("partial_fit", "statistics", "moments")
FIT_OR_COMMAND = ("fit", "command line")


@dataclass(frozen=True)
class Run:
    """What came of a fit and a prediction."""

    name: str  # of the estimator
    data: Any
    way: str
    model: Any = None
    error: Exception | None = None
    warnings: tuple = ()  # categories, each message once
    labels: Any = None
    probabilities: Any = None
    scores: Any = None

    @property
    def is_peer(self):
        """Return whether the estimator is one of scikit-learn's."""
        return self.name in PEERS

    @property
    def guarded(self):
        """Return the pairs whose rule is Fisher's, or may be, as the guard decided."""
        model = getattr(self.model, "estimator_", self.model)
        n_pairs = len(getattr(model, "pairs_", [0]))
        unknown = np.full(n_pairs, self.way == "command line")
        return getattr(model, "guarded_", unknown)

    @property
    def accuracy(self):
        """Return the share of the rows that are predicted right."""
        return float(np.mean(self.labels == self.data.labels))


def attempt(name, data, way="fit"):
    """Fit an estimator in some way and predict."""
    build = PEERS.get(name) or OURS[name]
    results = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = results["model"] = WAYS[way](build(**data.settings), data)
            results["labels"] = np.asarray(model.predict(data.to_predict))
            results["probabilities"] = np.asarray(model.predict_proba(data.to_predict))
            results["scores"] = np.asarray(model.decision_function(data.to_predict))
        except Exception as error:
            results["error"] = error
    messages = {str(w.message): w.category for w in caught}
    return Run(name, data, way, warnings=tuple(messages.values()), **results)


# Several inputs share a twin.
attempt_twin = lru_cache(maxsize=512)(attempt)
