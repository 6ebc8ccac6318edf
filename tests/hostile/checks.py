"""Check runs: what no classifier may do, and what is right about an answer.

A check raises AssertionError with a few words. `least_error` and `fewest_errors` are
brute force, and share no code with the library.
"""

from fractions import Fraction
from functools import lru_cache, partial, reduce
from itertools import permutations
from operator import add

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from heterolda import ClassStatistics, ModelMisfitWarning
from hostile.runs import OURS, STATISTICS, attempt, attempt_twin

# What the certificate promises; and what a variance that cannot be told from zero,
# which counts as a share of 1e-7, may change in an error.
_GAP, _FLOOR = 1e-3, 3e-4


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


def overflowed(run):
    """Return whether NumPy warned of an operation."""
    return any(issubclass(w, RuntimeWarning) for w in run.warnings)


def is_finite(run):
    """Return whether all probabilities and scores are numbers."""
    return bool(np.isfinite(run.probabilities).all() and np.isfinite(run.scores).all())


def sound(run):
    """Check what holds for every fitted classifier, whatever the data."""
    assert run.error is None, f"raised {run.error!r}"
    assert not overflowed(run), "gave a RuntimeWarning"
    assert is_finite(run), "gave probabilities or scores that are not finite"
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
    for name in ("coef_", "intercept_", "bayes_error_", "n_errors_"):
        value = vars(run.model).get(name, 0)
        assert np.isfinite(value).all(), f"has a {name} that is not finite"
    if run.name == "paper":
        _counts_its_errors(run)


def _counts_its_errors(run):
    """Check the counts of a search of two classes."""
    data, model = run.data, run.model
    if len(model.classes_) > 2 or data.weight is not None or data.rows is not None:
        return
    errors, counted = np.count_nonzero(run.labels != data.labels), model.n_errors_[0]
    assert errors == counted, f"counts {counted} errors, but makes {errors}"
    assert counted <= model.n_errors_start_[0], "makes more errors than its start"


def same(run, tolerance=0.0, accuracy=False):
    """Check that the answers are those for the twin.

    A share of rows, next to the thresholds, may be answered otherwise; or it is the
    share by which the accuracy may be lower. Algorithm 2 goes another way in other
    coordinates: it must not lose what the start of the twin has.
    """
    # Statistics have no rows that could contradict the model, the others have.
    way = "statistics" if run.way == "partial_fit" else run.way
    twin = attempt_twin(run.name, run.data.twin, way if way in STATISTICS else "fit")
    if run.is_peer and twin.error is not None:
        return
    assert twin.error is None, f"twin: {twin.error!r}"
    before = twin.accuracy
    if run.name == "paper":
        start = twin.model.estimator_.score(twin.data.X, twin.data.y)
        before, tolerance, accuracy = min(before, start), tolerance + 0.01, True
    differ = np.mean(_codes(twin) != _codes(run))
    lost = before - run.accuracy if accuracy else differ
    assert lost <= tolerance, f"accuracy {run.accuracy:.0%} instead of {before:.0%}"


def same_within(tolerance):
    """Return a check that all but a share of the answers are those for the twin."""
    return partial(same, tolerance=tolerance)


def as_accurate(tolerance):
    """Return a check that the accuracy is that of the twin, but for a share."""
    return partial(same, tolerance=tolerance, accuracy=True)


def _codes(run):
    """Return answers as places of the classes, whatever the labels are called."""
    return np.searchsorted(run.model.classes_, run.labels)


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
    fine = np.mean(lost) <= allowed or ModelMisfitWarning in run.warnings
    assert fine, f"accuracy {run.accuracy:.0%}, LDA's {np.mean(theirs):.0%}"


def always_0(run):
    """Check that all answers are class 0."""
    others = np.unique(run.labels[run.labels != 0]).tolist()
    assert not others, f"answers {others}, too"


def never_0(run):
    """Check that no answer of ours is class 0."""
    assert run.is_peer or not np.any(run.labels == 0), "answers class 0"


def optimal(run):
    """Check that the rules have the least error of the Gaussian model, and report it.

    Other solvers than "global" need not find it; but no error may be below it, and
    none may be reported below that of the rule.
    """
    model, data = run.model, run.data
    shrunk = run.name.startswith("shrinkage")
    if run.is_peer or shrunk or not hasattr(model, "bayes_error_"):
        return
    for k in {0, len(model.pairs_) - 1} - set(np.flatnonzero(run.guarded)):
        pair = tuple(model.pairs_[k].tolist())
        two = _two(data, pair)
        error = float(error_of(model.coef_[k], model.intercept_[k], *two))
        best, reported = _least(data, pair), model.bayes_error_[k]
        found = f"has {error:.6f}, reports {reported:.6f}, brute force found {best:.6f}"
        assert error >= best - 1e-6, found
        assert reported >= error - _FLOOR, found
        if run.name == "global":
            assert error <= best * (1 + _GAP) + _FLOOR, found
            assert reported <= error + _FLOOR, found


def _two(data, pair):
    """Return moments and priors of two classes."""
    means, cov, priors = moments(data.X, data.y)
    priors = np.asarray(data.settings.get("priors", priors))
    two = list(pair)
    return means[two], cov[two], priors[two] / priors[two].sum()


@lru_cache(maxsize=256)
def _least(data, pair):
    return least_error(*_two(data, pair))


def optimal_again(run):
    """Check that a second fit is the same bit for bit, and has the least error."""
    if run.is_peer:
        return
    again = attempt(run.name, run.data, run.way)
    for name in ("coef_", "intercept_"):
        equal = np.array_equal(getattr(run.model, name), getattr(again.model, name))
        assert equal, f"has another {name} in a second fit"
    optimal(run)


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


def possible_count(run):
    """Check the errors that a search counts against those of all lines."""
    if run.name == "paper":
        fewest, n = fewest_errors(run.data.X, run.data.y), run.model.n_errors_[0]
        assert n >= fewest, f"counts {n} errors, but every line makes {fewest} or more"


def same_in_any_order(run):
    """Check that merges in all orders of four chunks give the same answers."""
    data = run.data
    parts = [ClassStatistics.from_data(data.X[i::4], data.y[i::4]) for i in range(4)]
    for a, b, c, d in permutations(parts):
        for merged in (reduce(add, (a, b, c, d)), (a + b) + (c + d)):
            labels = OURS[run.name]().fit_statistics(merged).predict(data.X)
            assert np.all(labels == run.labels), "answers otherwise in another order"


def same_on_four_threads(run):
    """Check that the number of threads of linear algebra does not matter."""
    runs = []
    for n in (1, 4):
        with threadpool_limits(n):
            runs.append(attempt(run.name, run.data))
    one, four = runs
    assert np.all(one.labels == four.labels), "answers otherwise with four threads"
    a, b = one.model.coef_, four.model.coef_
    near = np.abs(a - b).max() <= 1e-9 * np.abs(a).max()
    assert near, "has other coefficients with four threads"


# Brute force.


def moments(X, y):
    """Return means, covariances and relative frequencies of the classes."""
    X = np.asarray(X, dtype=float)
    groups = [X[np.asarray(y) == label] for label in np.unique(y)]
    d = X.shape[1]
    return (
        np.array([g.mean(axis=0) for g in groups]),
        np.array([np.cov(g.T, ddof=1).reshape(d, d) for g in groups]),
        np.array([len(g) / len(X) for g in groups]),
    )


def error_of(coef, intercept, means, cov, priors):
    """Return the errors of rules that decide for class 1 where the score is positive.

    `coef` has the shape (..., n_features), `intercept` and the result have (...). A
    class without variance along the normal is a point.
    """
    total = 0.0
    for sign, mean, matrix, prior in zip((1, -1), means, cov, priors, strict=True):
        score = sign * (coef @ mean + intercept)
        variance = np.einsum("...i,ij,...j->...", coef, matrix, coef)
        sd = np.sqrt(np.maximum(variance, 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(sd > 0, score / sd, np.where(score > 0, np.inf, -np.inf))
        total = total + prior * ndtr(z)
    return total


def least_error(means, cov, priors):
    """Return the least error of a linear rule for two classes of up to 3 features.

    Directions and thresholds are scanned, and the best polished by a simplex search.
    """
    priors = np.asarray(priors) / np.sum(priors)
    w = directions(len(means[0]))
    center, spread = w @ means.T, np.sqrt(np.einsum("ni,kij,nj->nk", w, cov, w))
    low, high = (center - 6 * spread).min(axis=1), (center + 6 * spread).max(axis=1)
    t = low + np.linspace(0, 1, 200)[:, None] * (high - low)

    def error(intercept, coef):
        # The opposite of a rule is wrong wherever the rule is right.
        value = error_of(coef, intercept, means, cov, priors)
        return np.minimum(value, 1 - value)

    errors = error(-t, w)
    best = min(float(errors.min()), *priors)
    for flat in np.argsort(errors, axis=None)[:2]:
        i, j = np.unravel_index(flat, errors.shape)
        options = {"xatol": 1e-8, "fatol": 1e-9, "maxiter": 800}
        end = minimize(
            lambda v: float(error(v[0], v[1:])),
            np.append(-t[i, j], w[j]),
            method="Nelder-Mead",
            options=options,
        )
        best = min(best, end.fun)
    return best


def directions(d, n=2000):
    """Return unit vectors all over the half sphere, the axes among them."""
    if d == 1:
        return np.ones((1, 1))
    if d == 2:
        angle = np.linspace(0, np.pi, n, endpoint=False)
        others = np.column_stack([np.cos(angle), np.sin(angle)])
    else:
        z = np.linspace(0, 1, n)  # Fibonacci's spiral
        angle = np.pi * (3 - np.sqrt(5)) * np.arange(n)
        r = np.sqrt(1 - z * z)
        others = np.column_stack([r * np.cos(angle), r * np.sin(angle), z])
    return np.vstack([np.eye(d), others])


def fewest_errors(X, y):
    """Return the fewest errors of a line on rows in the plane, of which few differ."""
    points, place = np.unique(X, axis=0, return_inverse=True)
    excess = np.bincount(place, np.where(y == 1, 1, -1))
    fewest = min(np.count_nonzero(y == 1), np.count_nonzero(y == 0))
    for w in directions(2):
        _, level = np.unique((points @ w).round(9), return_inverse=True)
        # Errors of the rule that names class 1 above each level; and of its opposite.
        above = np.cumsum(np.bincount(level, excess)) + np.count_nonzero(y == 0)
        fewest = min(fewest, above.min(), len(y) - above.max())
    return int(fewest)
