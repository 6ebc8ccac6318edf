"""Fit and predict in several ways, and check what comes out.

A check raises AssertionError with a few words.
"""

import warnings
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.exceptions import NotFittedError

import heterolda
from benchmarks.verifier import error_of_rule, verify
from heterolda.solvers import SOLVERS

# What the certificate promises; and what a variance that cannot be told from zero,
# which counts as a share of 1e-7, may change in an error.
_GAP, _FLOOR = 1e-3, 3e-4

_discriminant = partial(heterolda.GaussianLinearDiscriminant, random_state=0)
OURS = {
    "global": _discriminant,  # the default
    **{s: partial(_discriminant, solver=s) for s in SOLVERS if s != "global"},
    "shrinkage 0.3": partial(_discriminant, shrinkage=0.3),
    "shrinkage cv": partial(_discriminant, shrinkage="cv"),
    "minimax": partial(_discriminant, criterion="minimax"),
    "smoothed": heterolda.SmoothedLinearDiscriminant,
}


def _search(**settings):
    start = heterolda.GaussianLinearDiscriminant(**settings)
    return heterolda.LocalNeighborhoodSearch(start, max_iter=50, patience=10)


OURS["Algorithm 2"] = _search
PEERS = {
    "LDA svd": LinearDiscriminantAnalysis,
    "LDA lsqr": partial(LinearDiscriminantAnalysis, solver="lsqr"),
    "LDA eigen": partial(LinearDiscriminantAnalysis, solver="eigen"),
    "QDA": QuadraticDiscriminantAnalysis,
}


def fit(model, data):
    """Fit all at once."""
    extra = {} if data.weight is None else {"sample_weight": data.weight}
    return model.fit(data.X, data.y, **extra)


def chunks(data):
    """Yield rows, labels and weights of the chunks; three slices by default."""
    n = len(data.X)
    third = max(1, -(-n // 3))
    for part in data.parts or [slice(k, k + third) for k in range(0, n, third)]:
        weight = None if data.weight is None else np.asarray(data.weight)[part]
        yield data.X[part], np.asarray(data.y)[part], weight


def partial_fit(model, data):
    """Fit chunk by chunk."""
    classes = np.unique(data.y)
    for X, y, weight in chunks(data):
        model.partial_fit(X, y, classes=classes, sample_weight=weight)
    return model


def statistics(model, data):
    """Fit class statistics, added chunk by chunk, the last one first."""
    stats = [heterolda.ClassStatistics.from_data(*chunk) for chunk in chunks(data)]
    return model.fit_statistics(sum(stats[::-1]))


def dask_arrays(model, data):
    """Fit dask arrays on threads."""
    import dask
    import dask.array as da

    n = len(data.X)
    sizes = (n - 2 * (n // 3), n // 3, n // 3)
    if data.parts is not None:
        sizes = tuple(len(part) for part in data.parts)
        order = np.concatenate(data.parts)
        data = data.but(X=data.X[order], y=np.asarray(data.y)[order])
    whole = (-1,) * (np.ndim(data.X) - 1)
    with dask.config.set(scheduler="threads"):
        return fit(model, data.but(X=da.from_array(data.X, chunks=(sizes, *whole))))


WAYS = {
    "fit": fit,
    "partial_fit": partial_fit,
    "statistics": statistics,
    "dask": dask_arrays,
}


@dataclass(frozen=True)
class Run:
    """Results of a fit and a prediction."""

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
    def accuracy(self):
        """Return the share of the rows that are predicted right."""
        return float(np.mean(self.labels == self.data.labels))

    @property
    def is_finite(self):
        """Return whether NumPy warned of nothing and all results are numbers."""
        overflowed = any(issubclass(w, RuntimeWarning) for w in self.warnings)
        results = self.probabilities, self.scores
        return not overflowed and all(np.isfinite(part).all() for part in results)


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


# Checks.


def is_clear(error):
    """Return whether an error was meant for the user.

    Our own errors and a few types are, unless NumPy or SciPy raised them. Subclasses
    of these types, such as AxisError, are not. scikit-learn may raise a LinAlgError.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    name = "" if trace is None else trace.tb_frame.f_globals.get("__name__", "")
    package = name.partition(".")[0]
    if type(error) is np.linalg.LinAlgError:
        return package == "sklearn"
    ours = type(error).__module__.startswith("heterolda.")
    clear = ours or type(error) in (ValueError, TypeError, NotFittedError)
    return clear and package not in ("numpy", "scipy")


def sound(run):
    """Check what holds for every fitted classifier, whatever the data."""
    assert run.error is None, f"raised {run.error!r}"
    assert run.is_finite, "gave NaN, infinity or a RuntimeWarning"
    p = run.probabilities
    rounding = 1e-6 if p.dtype == np.float32 else 1e-9
    total = p.sum(axis=1, dtype=float)
    adds_up = p.min() >= 0 and np.abs(total - 1).max() <= rounding
    assert adds_up, "gave probabilities that do not add up to one"
    if run.is_peer:
        return
    assert p.min() > 0, "gave a probability of zero, whose logarithm is infinite"
    likely = run.model.classes_[p.argmax(axis=1)]
    assert np.all(likely == run.labels), "predicted another class than the likeliest"
    for name in ("coef_", "intercept_", "model_error_", "n_errors_"):
        held = vars(run.model)
        value = held.get(name, held.get(f"transformed_{name}", 0))
        assert np.isfinite(value).all(), f"has a {name} that is not finite"


def same(run, tolerance=0.0):
    """Check that all answers but a share are those for the twin."""
    twin = _twin(run)
    if twin is not None:
        ours, others = (
            np.searchsorted(r.model.classes_, r.labels) for r in (run, twin)
        )
        differ = np.mean(ours != others)
        assert differ <= tolerance, f"answers {differ:.0%} otherwise than for the twin"


def as_accurate(run, tolerance=0.05):
    """Check that the accuracy is that of the twin, but for a share."""
    twin = _twin(run) if run.data.twin is not None else None
    if twin is not None:
        both = f"accuracy {run.accuracy:.0%} instead of {twin.accuracy:.0%}"
        assert run.accuracy >= twin.accuracy - tolerance, both


def _twin(run):
    """Return the run of the twin; None if scikit-learn has no answer to that."""
    # Statistics have no rows that could contradict the model, the others have.
    way = "statistics" if run.way in ("partial_fit", "statistics") else "fit"
    twin = attempt_twin(run.name, run.data.twin, way)
    if run.is_peer and twin.error is not None:
        return None
    assert twin.error is None, f"twin: {twin.error!r}"
    return twin


def accurate(least=1.0):
    """Return a check that the accuracy is no less than a bound."""

    def check(run):
        assert run.accuracy >= least, f"accuracy {run.accuracy:.0%}, not {least:.0%}"

    return check


def no_worse_than_lda(run):
    """Check that the accuracy is not clearly below LDA's, or there is a warning."""
    data = run.data
    lda = LinearDiscriminantAnalysis().fit(data.X, data.y).predict(data.to_predict)
    right, theirs = run.labels == data.labels, lda == data.labels
    lost = theirs.astype(int) - right
    allowed = 0.015 + 2 * np.std(lost) / np.sqrt(len(lost))
    fine = (
        np.mean(lost) <= allowed
        or heterolda.exceptions.ModelMisfitWarning in run.warnings
    )
    assert fine, f"accuracy {run.accuracy:.0%}, LDA's {np.mean(theirs):.0%}"


def always_0(run):
    """Check that all answers are class 0."""
    assert np.all(run.labels == 0), "answers other classes than 0"


def never_0(run):
    """Check that no answer of ours is class 0."""
    assert run.is_peer or not np.any(run.labels == 0), "answers class 0"


def exact_sides(run):
    """Check that rows are on the side that exact arithmetic says, for two classes."""
    if run.is_peer or len(run.model.classes_) > 2:
        return
    w = [Fraction(x) for x in run.model.coef_[0].tolist()]
    w0 = Fraction(float(run.model.intercept_[0]))
    for row, label in zip(run.data.rows.tolist(), run.labels, strict=True):
        score = w0 + sum(a * Fraction(x) for a, x in zip(w, row, strict=True))
        right = (score > 0) == (label == run.model.classes_[1])
        assert right, "names the class of the other side"


def optimal(run):
    """Check by an independent verifier that our rules are the best, and say so."""
    if run.is_peer:
        return
    model, X, y = run.model, run.data.X, run.data.y
    groups = [X[y == label] for label in model.classes_]
    means = np.array([rows.mean(axis=0) for rows in groups])
    cov = np.array([np.cov(rows.T) for rows in groups])
    for k in np.flatnonzero(~model.chosen_on_rows_):
        pair = model.pairs_[k]
        priors = model.priors_[pair] / model.priors_[pair].sum()
        two = means[pair], cov[pair], priors
        error = error_of_rule(model.coef_[k], model.intercept_[k], *two)
        least, reported = error * (1 - _GAP) - _FLOOR, model.model_error_[k]
        assert verify(*two, max(least, 0.0)).proven, f"{error:.6f} is not the least"
        assert abs(reported - error) <= _FLOOR, f"{reported:.6f} is not {error:.6f}"
