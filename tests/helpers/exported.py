"""Models to export, ways to run them, and how far rounding can move a score."""

import re
import shutil
import subprocess
import warnings
from copy import copy
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_digits

from helpers.problems import on_a_line
from heterolda import (
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
    to_c,
    to_onnx,
)
from heterolda.estimators.votes import OneVsOne, OneVsRest
from heterolda.exceptions import TrivialRuleWarning
from heterolda.experiments import make_d1
from heterolda.export.rules import describe
from heterolda.kernels.coupling import couple
from heterolda.kernels.votes import count_votes
from heterolda.solvers import all_pairs

DOUBLE, SINGLE = 2.0**-53, 2.0**-24  # relative errors of one rounding
GLD = GaussianLinearDiscriminant

# D1 has two classes; the ten of the digits have names, and four of them numbers. No
# threshold tells the inner ones of four classes on a line from the others.
MODELS = {
    "d1": lambda: GLD(),
    "d1-search": lambda: LocalNeighborhoodSearch(max_iter=30),
    "d1-smoothed": lambda: SmoothedLinearDiscriminant(0.5, transformation=None),
    "digits": lambda: GLD(shrinkage=0.1),
    "digits-majority": lambda: GLD(shrinkage=0.1, voting="majority"),
    "digits-ovr": lambda: GLD(shrinkage=0.1, multiclass="ovr"),
    "line-ovr": lambda: GLD(multiclass="ovr"),
    "digits-search": lambda: LocalNeighborhoodSearch(GLD(shrinkage=0.1), max_iter=5),
    "four-smoothed": lambda: SmoothedLinearDiscriminant(0.5, transformation=None),
}


@cache
def data(name):
    """Training rows and labels."""
    if name == "d1":
        return make_d1(random_state=0)
    if name == "line":
        return on_a_line(np.random.default_rng(0), [0, 1, 2, 3])
    X, y = load_digits(return_X_y=True)
    if name == "four":
        return X[y < 4], y[y < 4] - 2
    return X, np.array([f"digit {label}" for label in y])


@cache
def fitted(name):
    """One of the models, fitted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrivialRuleWarning)
        return MODELS[name]().fit(*data(name.partition("-")[0]))


@cache
def transformed(n_classes):
    """A model that transforms features, among them by the logarithms."""
    rng = np.random.default_rng(8)
    y = np.repeat(np.arange(n_classes), 60)
    X = np.exp(rng.normal(size=(len(y), 5)) + 0.4 * rng.normal(size=(n_classes, 5))[y])
    X = X * [1, -1, 1e-4, 3, 1] + [0, 0, 0, 1e6, -2]
    model = SmoothedLinearDiscriminant(0.5)
    given = model.fit(X, y).transformation_
    given.lambdas_ = np.array([0.0, 2.0, -2.0, given.lambdas_[3], 4.0])
    return model


TYPES = {"float": np.float32, "double": np.float64}
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic"]
C99 = ["gcc", "-std=c99", "-O2"]
MAIN = """
#include "{header}"
#include <stdio.h>

int main(void)
{{
    {kind} x[{d}];
    while (fread(x, sizeof x, 1, stdin) == 1) {{
        int result = {name}_predict(x);
        fwrite(&result, sizeof result, 1, stdout);
    }}
    return 0;
}}
"""


def build(header, code, command=C99, extra=()):
    """Compile a program around a header and return a function that runs it."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    d = int(re.search(r"_n_features = (\d+)", header.path.read_text())[1])
    source = header.path.with_suffix(".c")
    source.write_text(
        code.format(header=header.path.name, kind=header.dtype, d=d, name=header.name)
    )
    program = header.path.with_suffix(".out")
    subprocess.run([*command, *STRICT, "-o", program, source, *extra], check=True)

    def run(rows):
        data = np.ascontiguousarray(rows).tobytes()
        return subprocess.run([program], input=data, stdout=-1, check=True).stdout

    return run


def places_in_c(header, rows, command=C99, extra=("-lm",)):
    """What the predict function of a header returns for rows, cast to its type."""
    run = build(header, MAIN, command, extra)
    return np.frombuffer(run(rows.astype(TYPES[header.dtype])), dtype=np.intc)


def run_graph(graph, X):
    """Labels and probabilities of a graph, or components."""
    from onnxruntime import InferenceSession

    return InferenceSession(graph.SerializeToString()).run(None, {"X": X})


class Exporter:
    """Runs models in another form: C or ONNX, in single or double precision."""

    def __init__(self, form, dtype, folder):
        self.form, self.single = form, dtype in ("float", "float32")
        self.dtype = np.float32 if self.single else np.float64
        self._kind, self._folder = dtype, folder

    def places(self, model, rows):
        """Index of the class of each row, -1 where there is none."""
        rows = np.asarray(rows).astype(self.dtype)
        if self.form == "C":
            return places_in_c(self.write(model), rows)
        labels = run_graph(self.write(model), rows)[0].tolist()
        names = [
            int(x) if isinstance(x, bool | float) else x
            for x in model.classes_.tolist()
        ]
        return np.array([names.index(x) if x in names else -1 for x in labels])

    def check(self, model, X, share=0.9, **exact):
        """Labels are those of predict where rounding cannot change them.

        These must be a share of the rows at least. Returns the places of all rows.
        """
        place = self.places(model, X)
        later = SINGLE if self.single and self.form == "C" else DOUBLE
        clear = certain(model, X, self.errors(model, X, **exact), later)
        assert clear.mean() > share
        label = model.classes_[place[clear]]
        np.testing.assert_array_equal(label, model.predict(X[clear]))
        return place

    def write(self, model):
        """The header or the graph of a model."""
        if self.form == "C":
            return to_c(model, self._folder / "model.h", self._kind)
        return to_onnx(model, dtype=self._kind)

    def comment(self, model):
        """The comment of a header as one line."""
        text = self.write(model).path.read_text()
        return " ".join(text.partition("*/")[0].split())

    def errors(self, model, X, **exact):
        """Bounds on the errors of scores."""
        if self.single:
            return errors_in_single(model, X, **exact)
        return (2 if self.form == "C" else 1) * errors_in_double(model, X)


def rows_for_transformed(model, n, rng):
    """Rows within the training range and far beyond, on both sides."""
    given, d = model.transformation_, model.n_features_in_
    z = rng.normal(size=(n, d)) * 10 ** rng.uniform(-2, 1, (n, 1))
    z[0], z[1] = 1e7, -1e7  # counts as no farther than others
    return given.center_ + given.scale_ * z


def certain_if_transformed(model, X, tolerance):
    """Rows whose label does not hang on the last digits of a score."""
    T = model.transformation_.transform(X)
    coef, intercept = model.transformed_coef_, model.transformed_intercept_
    scores = T @ coef.T + intercept
    size = np.abs(T) @ np.abs(coef).T + np.abs(intercept)
    last, first = np.sort(model.predict_proba(X), axis=1)[:, -2:].T
    return (np.abs(scores) > tolerance * size).all(axis=1) & (
        first - last > tolerance * first
    )


def scaled(name, factor):
    """A copy of a model with larger scores and larger log-odds, by a factor."""
    model = copy(fitted(name))
    model.coef_, model.intercept_ = factor * model.coef_, factor * model.intercept_
    return model


def random_rows(name, n, rng):
    """Rows near those that a model was fitted to, all of them different."""
    X, y = data(name.partition("-")[0])
    parts = [X[y == label] for label in np.unique(y)]
    means = np.array([part.mean(axis=0) for part in parts])
    deviations = np.array([part.std(axis=0, ddof=1) for part in parts])
    k = rng.integers(len(parts), size=n)
    return means[k] + deviations[k] * rng.normal(size=(n, X.shape[1]))


def errors_in_double(model, X):
    """Bounds on the errors of scores in double precision, in any order of the sum.

    Each of d products and d sums is off by a relative 2^-53 at most.
    """
    size = np.abs(X) @ np.abs(model.coef_).T + np.abs(model.intercept_)
    return 1.01 * (X.shape[1] + 2) * DOUBLE * size


def errors_in_single(model, X, *, exact_rows=False):
    """Bounds on the errors of scores in single precision, with centered features.

    Rounding x moves the score by |w| |x| u, unless x is exact already. Then x - c, w,
    w (x - c) and each of d sums are rounded; the offset is, and so is adding it.
    """
    center, _, offset = (a.astype(float) for a in describe(model).in_single())
    w, d = np.abs(model.coef_).T, X.shape[1]
    moved = 0 * X if exact_rows else SINGLE * np.abs(X)
    terms = (np.abs(X - center) + moved) @ w
    single = moved @ w + (d + 3) * SINGLE * terms + 2 * SINGLE * np.abs(offset)
    both = errors_in_double(model, X) + errors_in_double(model, center[None])
    return 1.01 * single + both


def certain(model, X, errors, unit=DOUBLE):
    """Rows whose label is the same for all scores within the errors.

    `unit` is the rounding error of what is computed from scores.
    """
    scores = X @ model.coef_.T + model.intercept_
    committee = model._committee
    sure = (np.abs(scores) > errors).all(axis=1)
    if isinstance(committee, OneVsRest):
        low, high = _log_odds(committee, scores, errors, unit)
        rows, winner = np.arange(len(low)), low.argmax(axis=1)
        high[rows, winner] = -np.inf
        return low[rows, winner] > high.max(axis=1)
    if not isinstance(committee, OneVsOne):
        return sure
    if committee.voting == "probability":
        low, high = _log_odds(committee, scores, errors, unit)
        # Sums of probabilities are exponentials of up to three log-odds.
        slack = 6 * (high - low).max(axis=1) + 1e3 * unit
        last, first = np.sort(couple(scores, committee.curve))[:, -2:].T
        return first > last * np.exp(slack)
    votes = count_votes(scores, committee.vote_weights)
    sums = np.zeros_like(votes)
    for (i, j), s in zip(all_pairs(committee.n_classes), scores.T, strict=True):
        sums[:, i] -= s
        sums[:, j] += s
    sums[votes < votes.max(axis=1, keepdims=True)] = -np.inf
    last, first = np.sort(sums, axis=1)[:, -2:].T
    slack = 2 * errors.sum(axis=1) + 1e3 * unit * np.abs(scores).sum(axis=1)
    return sure & (first - last > slack)


def _log_odds(committee, scores, errors, unit):
    """Least and largest log-odds."""
    curve = committee.curve
    low, high = curve.log_odds(scores - errors), curve.log_odds(scores + errors)
    slack = 16 * unit * (np.maximum(np.abs(low), np.abs(high)) + 1)
    s = np.abs(np.clip(scores, curve.low, curve.high))
    terms = np.abs(curve.bend) * s**2 + np.abs(curve.slope).max(axis=0) * s
    slack += 16 * unit * terms
    return low - slack, high + slack
