"""The methods: ours, linear peers at their defaults and tuned, and landmarks.

Peers get standardised features, or features that `Power` has transformed (the names
that end with `POWER`). A tuned peer chooses among four values by five inner folds of
the training rows, after features were scaled with all of these. Landmarks are no linear
rules and no rivals: they show what other boundaries reach.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.multiclass import OneVsOneClassifier
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC

import heterolda
from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
)
from heterolda.experiments.catalogue import resolve_names

RECOMMENDED = "recommended"
TUNED, POWER = "-tuned", "+power"
# Training times are compared with this one.
TIMED_PEER = "OvO-LinearSVC-tuned"

VALUES = [0.01, 0.1, 1, 10]
INNER_FOLDS = 5
# With more training rows than the first number, the dear ones are tuned with a
# stratified sample of the second, and fitted to all.
MANY_ROWS, SAMPLE = 2500, 2000
# Without a limit SVC would take hours where C is large and the classes overlap.
ITERATIONS = 50_000


class Method(NamedTuple):
    """A row of the table of methods; `make` takes a seed, returns an estimator."""

    name: str
    make: Callable[[int], Any]
    description: str


class InnerFolds:
    """Stratified inner folds, of a sample of the rows where these are too many.

    Parameters
    ----------
    seed : int
        For shuffles and sample.
    sampled : bool
        Whether to use a sample if there are more than `MANY_ROWS` rows.
    """

    def __init__(self, seed: int, sampled: bool):
        self.seed = seed
        self.sampled = sampled

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds."""
        return INNER_FOLDS

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[Any, Any]]:
        """Training and test rows of each fold."""
        rows = np.arange(len(y))
        if self.sampled and len(y) > MANY_ROWS:
            rows, _ = train_test_split(
                rows, train_size=SAMPLE, stratify=y, random_state=self.seed
            )
        folds = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=self.seed)
        with warnings.catch_warnings():
            # A class of fewer rows than folds is spread over as many as it has rows.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            parts = list(folds.split(rows, y[rows]))
        for train, test in parts:
            yield rows[train], rows[test]


class Power(TransformerMixin, BaseEstimator):
    """scikit-learn's PowerTransformer, for columns that it fails on too.

    A column whose transformed values are not finite, or of which rounding has merged
    more than half of the distinct values, is standardised only. Values beyond a million
    standard deviations are cut off there. What was fitted is kept for the process: the
    methods of a fold share it.
    """

    _fitted: dict[bytes, Any] = {}  # noqa: RUF012 (shared on purpose)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to rows, or find what was fitted to them."""
        key = sha256(np.ascontiguousarray(X)).digest()
        if key not in self._fitted:
            self._fitted[key] = self._robust(X)
        self.steps_ = self._fitted[key]
        return self

    def transform(self, X: Any) -> Any:
        """Transformed rows."""
        with np.errstate(all="ignore"):
            power, scaler = self.steps_
            found = scaler.transform(np.nan_to_num(power.transform(X)))
        return np.clip(found, -1e6, 1e6)

    @staticmethod
    def _robust(X: Any) -> Any:
        with np.errstate(all="ignore"):
            power = PowerTransformer(standardize=False)
            Z = power.fit_transform(X)
            for j, (x, z) in enumerate(zip(X.T, Z.T, strict=True)):
                merged = len(np.unique(z)) < len(np.unique(x)) / 2
                if merged or not np.isfinite(z).all():
                    power.lambdas_[j] = 1.0
            # What PowerTransformer does itself by default.
            scaler = StandardScaler().fit(power.transform(X))
        return power, scaler


class RegularizedDiscriminant(ClassifierMixin, BaseEstimator):
    """Regularised discriminant analysis of Friedman (1989), tuned by inner folds.

    The covariance of a class is mixed with the pooled one, by `POOLINGS`, and the
    result with a multiple of the identity, by `RIDGES`. Each inner fold gathers its
    statistics once, and each mixture has one decomposition for all ridges.

    Parameters
    ----------
    seed : int, default=0
        For the inner folds.
    """

    # Strongest first: among equals it is taken.
    POOLINGS = (1.0, 0.75, 0.5, 0.25, 0.0)
    RIDGES = (1.0, 0.5, 0.1, 0.01, 0.001)

    def __init__(self, seed: int = 0):
        self.seed = seed

    def fit(self, X: Any, y: Any) -> Self:
        """Choose both amounts, then gather the statistics of all rows."""
        self.classes_ = np.unique(y)
        hits = np.zeros((len(self.POOLINGS), len(self.RIDGES)))
        for train, test in InnerFolds(self.seed, True).split(X, y):
            part = ClassStatistics.from_data(X[train], y[train])
            for i, pooling in enumerate(self.POOLINGS):
                scores = _friedman_scores(part, pooling, self.RIDGES, X[test])
                found = part.classes[scores.argmax(axis=1)]
                hits[i] += np.sum(found == y[test][:, None], axis=0)
        i, j = np.unravel_index(hits.argmax(), hits.shape)
        self.pooling_, self.ridge_ = self.POOLINGS[i], self.RIDGES[j]
        self.statistics_ = ClassStatistics.from_data(X, y)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes."""
        scores = _friedman_scores(self.statistics_, self.pooling_, (self.ridge_,), X)
        return softmax(scores[:, :, 0], axis=1)

    def predict(self, X: Any) -> Any:
        """The most probable classes."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def _friedman_scores(
    statistics: ClassStatistics, pooling: float, ridges: tuple[float, ...], X: Any
) -> Any:
    """Log densities and priors, of shape (n_rows, n_classes, n_ridges)."""
    scatters, weights = statistics.scatters, statistics.weights
    pooled, total = scatters.sum(axis=0), weights.sum()
    # What a direction without variance counts as, for a class of a single row.
    least = 1e-6 * np.trace(pooled) / total / len(pooled)
    amounts = np.array(ridges)
    scores = np.empty((len(X), len(weights), len(amounts)))
    for k, (scatter, weight) in enumerate(zip(scatters, weights, strict=True)):
        if k == 0 or pooling < 1:
            mixed = (1 - pooling) * scatter + pooling * pooled
            mixed /= (1 - pooling) * weight + pooling * total
            values, vectors = np.linalg.eigh(mixed)
        spread = (1 - amounts) * values[:, None] + amounts * values.mean()
        spread = np.maximum(spread, least)
        squares = ((X - statistics.means[k]) @ vectors) ** 2
        scores[:, k] = np.log(weight / total) - 0.5 * (
            squares @ (1 / spread) + np.log(spread).sum(axis=0)
        )
    return scores


def _ovo(seed: int) -> Any:
    return OneVsOneClassifier(LinearSVC(random_state=seed))


def _svc(seed: int) -> Any:
    return SVC(kernel="linear", max_iter=ITERATIONS)


def _elastic_net(seed: int) -> Any:
    return LogisticRegression(
        solver="saga", l1_ratio=0.5, max_iter=100, tol=1e-3, random_state=seed
    )


def _search(
    make: Callable[[int], Any], name: str, values: list[Any], sampled: bool, seed: int
) -> Any:
    return GridSearchCV(make(seed), {name: values}, cv=InnerFolds(seed, sampled))


_CUT = f"at most {ITERATIONS:,} iterations for each pair of classes"
_SAGA = "l1_ratio=0.5, solver='saga', tol=1e-3"
_DEFAULTS: dict[str, tuple[Callable[[int], Any], str]] = {
    "LDA": (lambda seed: LinearDiscriminantAnalysis(), "of all classes"),
    "LDA-LW": (
        lambda seed: LinearDiscriminantAnalysis("lsqr", shrinkage="auto"),
        "shrinkage of Ledoit and Wolf",
    ),
    "logistic": (lambda seed: LogisticRegression(), "LogisticRegression"),
    "elastic-net": (_elastic_net, f"LogisticRegression, {_SAGA}"),
    "LinearSVC": (lambda seed: LinearSVC(random_state=seed), "one against the rest"),
    "OvO-LinearSVC": (_ovo, "OneVsOneClassifier(LinearSVC())"),
    "SVC": (_svc, f"kernel='linear'; {_CUT}"),
    "ridge": (lambda seed: RidgeClassifier(), "RidgeClassifier"),
    "centroids": (lambda seed: NearestCentroid(), "NearestCentroid"),
    "perceptron": (lambda seed: Perceptron(random_state=seed), "Perceptron"),
}
# What is tuned, over which values, whether with a sample of many rows.
_SEARCHES: dict[str, tuple[Callable[[int], Any], str, list[Any], bool, str]] = {
    "LDA": (
        lambda seed: LinearDiscriminantAnalysis("lsqr"),
        "shrinkage",
        [None, "auto", 0.1, 0.5],
        False,
        "solver='lsqr'",
    ),
    "logistic": (
        lambda seed: LogisticRegression(max_iter=1000),
        "C",
        VALUES,
        False,
        "max_iter=1000, so that a large C converges",
    ),
    "elastic-net": (_elastic_net, "C", VALUES, True, _SAGA),
    "LinearSVC": (
        lambda seed: LinearSVC(random_state=seed),
        "C",
        VALUES,
        False,
        "one against the rest",
    ),
    "OvO-LinearSVC": (_ovo, "estimator__C", VALUES, False, "one C for all pairs"),
    "SVC": (_svc, "C", VALUES, True, f"kernel='linear'; {_CUT}"),
    "ridge": (lambda seed: RidgeClassifier(), "alpha", [0.1, 1, 10, 100], False, ""),
    "centroids": (
        lambda seed: NearestCentroid(),
        "shrink_threshold",
        [None, 0.5, 1.5, 4],
        False,
        "shrunken",
    ),
    "perceptron": (
        lambda seed: Perceptron(penalty="l2", random_state=seed),
        "alpha",
        [0, 1e-5, 1e-4, 1e-3],
        False,
        "penalty='l2'",
    ),
}
_LANDMARKS: dict[str, tuple[Callable[[int], Any], str]] = {
    "QDA": (
        lambda seed: QuadraticDiscriminantAnalysis(
            solver="eigen", shrinkage=1e-3, tol=1e-12
        ),
        "QuadraticDiscriminantAnalysis(solver='eigen', shrinkage=1e-3)",
    ),
    "RDA": (RegularizedDiscriminant, "Friedman's, both amounts tuned"),
    "kNN": (
        partial(
            _search,
            lambda seed: KNeighborsClassifier(),
            "n_neighbors",
            [1, 5, 15, 45],
            True,
        ),
        "nearest neighbours, tuned: n_neighbors of 1, 5, 15, 45",
    ),
    "forest": (
        lambda seed: RandomForestClassifier(200, random_state=seed),
        "RandomForestClassifier(200)",
    ),
}
_OURS: dict[str, tuple[Callable[[int], Any], str]] = {
    "GLD": (
        lambda seed: GaussianLinearDiscriminant(),
        "GaussianLinearDiscriminant()",
    ),
    "GLD-cv": (
        lambda seed: GaussianLinearDiscriminant(shrinkage="cv"),
        "GaussianLinearDiscriminant(shrinkage='cv')",
    ),
    "LNS": (lambda seed: LocalNeighborhoodSearch(), "LocalNeighborhoodSearch()"),
    RECOMMENDED: (lambda seed: heterolda.recommended(), "heterolda.recommended()"),
}


def _scaled(scaler: Callable[[], Any], make: Callable[[int], Any], seed: int) -> Any:
    return make_pipeline(scaler(), make(seed))


def _both(name: str, make: Callable[[int], Any], description: str) -> list[Method]:
    """A method with standardised and with transformed features."""
    return [
        Method(name + end, partial(_scaled, scaler, make), description + text)
        for end, scaler, text in (
            ("", StandardScaler, ""),
            (POWER, Power, "; PowerTransformer before it"),
        )
    ]


def _table(rows: dict[str, tuple[Callable[[int], Any], str]]) -> list[Method]:
    """Methods of a table, those with transformed features last."""
    found = [method for name, row in rows.items() for method in _both(name, *row)]
    return sorted(found, key=lambda method: method.name.endswith(POWER))


def _tuned(name: str) -> tuple[Callable[[int], Any], str]:
    make, parameter, values, sampled, description = _SEARCHES[name]
    text = f"{parameter.removeprefix('estimator__')} of {', '.join(map(str, values))}"
    search = partial(_search, make, parameter, values, sampled)
    return search, "; ".join(filter(None, [text, description]))


_ROWS = {
    "ours": [
        *(Method(name, *row) for name, row in _OURS.items()),
        _both("GLD", *_OURS["GLD"])[1],
    ],
    "default": _table(_DEFAULTS),
    "tuned": _table({name + TUNED: _tuned(name) for name in _SEARCHES}),
    # Trees do not see a transformation.
    "landmarks": [m for m in _table(_LANDMARKS) if m.name != f"forest{POWER}"],
}
OURS, PEERS, TUNED_PEERS, LANDMARKS = (
    [method.name for method in rows] for rows in _ROWS.values()
)
METHODS = {row.name: row for rows in _ROWS.values() for row in rows}
# Shuffles of cells that have fewer than the others, or none, by method and set.
LIMITS = {
    # With 100 classes, 256 features or 64 of images: minutes for each shuffle.
    ("OvO-LinearSVC", "plant_margin"): 1,
    ("OvO-LinearSVC-tuned", "plant_margin"): 1,
    ("LinearSVC-tuned", "plant_margin"): 1,
    ("elastic-net-tuned", "plant_margin"): 1,
    ("LinearSVC-tuned", "semeion"): 1,
    ("elastic-net-tuned", "semeion"): 1,
    ("elastic-net-tuned", "digits"): 2,
    # It refuses a class of a single row.
    ("QDA", "ecoli"): 0,
}
LIMITS |= {(f"{name}{POWER}", dataset): n for (name, dataset), n in LIMITS.items()}
# A quarter of an hour and eight minutes.
LIMITS[f"OvO-LinearSVC-tuned{POWER}", "plant_margin"] = 0
LIMITS[f"elastic-net-tuned{POWER}", "plant_margin"] = 0
_GROUPS = {
    "all": list(METHODS),
    "ours": OURS,
    "peers": [*PEERS, *TUNED_PEERS],
    "default": PEERS,
    "tuned": TUNED_PEERS,
    "landmarks": LANDMARKS,
    "plain": [name for name in METHODS if not name.endswith(POWER)],
    "power": [name for name in METHODS if name.endswith(POWER)],
}


def resolve(names: list[str]) -> list[str]:
    """Names of methods from names and groups."""
    return resolve_names("method", names, list(METHODS), _GROUPS)


# Measured seconds of a fit for each of n d k.
_SLOPES = {
    "logistic": 4e-8,
    "elastic-net": 5e-7,
    "LinearSVC": 1e-7,
    "OvO-LinearSVC": 1e-7,
    "perceptron": 3e-8,
    "RDA": 1e-7,
}


def work(method: str, n: int, d: int, k: int) -> float:
    """Rough seconds of a fold, of a set with n rows, d features and k classes."""
    name = method.removesuffix(POWER)
    base = name.removesuffix(TUNED)

    def fit(rows: int) -> float:
        seconds = 4e-3 + _SLOPES.get(base, 1e-8) * rows * d * k
        if base == "LinearSVC":
            seconds *= 1 + d / 50
        if base == "OvO-LinearSVC":
            seconds += 1.5e-3 * k * (k - 1)
        if base == "SVC":
            seconds += 1e-8 * rows**2
        if base == "RDA":
            seconds += 1e-8 * k * d**3
        if base == "kNN":
            seconds += 0.09 + 2e-5 * rows
        if base == "forest":
            seconds += 0.25 + 2.5e-4 * rows
        return seconds

    if not name.endswith(TUNED):
        return fit(n)
    sampled = _SEARCHES[base][3] and n > MANY_ROWS
    return fit(n) + 16 * fit(SAMPLE if sampled else n)
