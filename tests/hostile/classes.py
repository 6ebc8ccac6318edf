"""Classes that are too small, weights and priors that are amiss, and odd labels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning

from heterolda import SmallClassWarning, TrivialRuleWarning
from hostile.case import Case
from hostile.contenders import NON_NORMAL
from hostile.data import Data, benign, grouped, variant
from hostile.judges import Accurate, Checked, Fair, Judge, Refused, Same
from hostile.ways import FIT_OR_COMMAND

FIT = ("fit",)
# Solvers that put a threshold far away rather than to say that no rule is of use.
LOCAL_SOLVERS = ("fixed-point", "c-hld", "r-hld-1", "r-hld-2", "fisher")
SHRUNK = ("shrinkage auto", "shrinkage cv", "smoothed")
_FEW = Refused(words="total weight .*1 or less|too few samples")


@cache
def _one_sample_in_one(k: int) -> Data:
    data = benign(k)
    keep = (data.y != 1) | (np.cumsum(data.y == 1) == 1)
    return Data(data.X[keep], data.y[keep])


@cache
def _one_sample_in_each(k: int) -> Data:
    data = benign(k)
    return Data(data.X[:k], data.y[:k])


@cache
def _imbalanced(k: int) -> Data:
    """20000 rows against 2, which lie far outside."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(20002, 3))
    y = np.zeros(len(X), int)
    y[[5000, 15000]] = 1
    X[y == 1] += 12
    return Data(X, y)


@cache
def _many_classes(k: int) -> Data:
    z, y, _ = grouped(k, 6, 2)
    X = 0.01 * z + np.column_stack([y // 20, y % 20])
    return Data(X, y, rows=X[:40], truth=y[:40])


def _priors(value: float) -> Callable[[Data], Any]:
    """The prior of class 0; the others are equal."""

    def settings(data: Data) -> Any:
        k = len(np.unique(data.y))
        return {"priors": [value, *[(1 - value) / (k - 1)] * (k - 1)]}

    return settings


@cache
def _rare_but_apart(k: int) -> Data:
    z, y, _ = grouped(k, 40, 3)
    z[:, 0] += 1e3 * y
    return Data(z, y, settings=_priors(1e-300)(Data(z, y)))


@cache
def _one_class_less(k: int) -> Data:
    data = benign(k)
    kept = data.y != 1
    twin = Data(data.X[kept], data.y[kept])
    rows, truth = twin.X, twin.y
    return data.but(weight=kept.astype(float), rows=rows, truth=truth, twin=twin)


def _never_0(trial: Any) -> str | None:
    return "answers class 0" if np.any(trial.labels == 0) else None


_BAD_PRIORS = Refused(words="priors must be positive")
_BAD_WEIGHTS = (
    "weight.? (is zero|has negative|must be finite)|every .*sample.weight|1 or less"
    "|too few samples"
    "|weight', row [0-9]+ is missing"
)

CASES = [
    Case(
        "one class has one sample",
        _one_sample_in_one,
        Accurate(least=0.9, warns=SmallClassWarning),
        but={
            "peers": Fair(),
            "minimax": Judge(warns=SmallClassWarning),  # both classes count the same
            **dict.fromkeys(SHRUNK, Accurate(least=0.9)),
        },
        classes=(2,),
    ),
    Case("every class has one sample", _one_sample_in_each, _FEW),
    Case(
        "a single class",
        variant(y=lambda data: 0 * data.y),
        Refused(words="at least 2 classes are needed, got 1"),
    ),
    Case(
        "weights that leave one of two classes out",
        variant(weight=lambda data: (data.y != 1).astype(float)),
        Refused(
            words="classes \\[1\\].*(1 or less|still have|leave)|at least 2 classes"
        ),
        classes=(2,),
    ),
    Case(
        "weights that leave a class out",
        _one_class_less,
        Same(),
        classes=(4,),
        ways=("fit",),
        peers=False,
    ),
    *(
        Case(
            f"weights that are {name}",
            variant(weight=weight),
            Refused(words=_BAD_WEIGHTS),
        )
        for name, weight in {
            "negative": lambda data: np.where(data.y == 1, -1.0, 1.0),
            "NaN": lambda data: np.where(data.y == 1, np.nan, 1.0),
            "all zero": lambda data: np.zeros(len(data.y)),
        }.items()
    ),
    Case("a prior of 0", variant(settings=_priors(0.0)), _BAD_PRIORS),
    Case("a prior of 1", variant(settings=_priors(1.0)), _BAD_PRIORS),
    Case(
        "a prior of 1e-300",
        variant(settings=_priors(1e-300)),
        Checked(check=_never_0, warns=TrivialRuleWarning),
        but={
            **dict.fromkeys(LOCAL_SOLVERS, Checked(check=_never_0)),
            # Their thresholds do not go by the priors, but by moments or by counts.
            **dict.fromkeys(("c-hld", "minimax"), Judge()),
            **dict.fromkeys(NON_NORMAL, Judge(warns=TrivialRuleWarning)),
        },
    ),
    Case("a prior of 1e-300, classes far apart", _rare_but_apart, Accurate()),
    Case(
        "20000 rows against 2",
        _imbalanced,
        Accurate(warns=SmallClassWarning),
        but=dict.fromkeys(SHRUNK, Accurate()),
        classes=(2,),
    ),
    Case(
        "300 classes",
        _many_classes,
        Accurate(warns=SmallClassWarning),
        classes=(300,),
        ways=FIT,
        only=("global", "fisher"),
    ),
    Case(
        "labels of text",
        variant(y=lambda data: np.array(["a", "b", "c", "d"])[data.y]),
        Same(),
    ),
    Case(
        "labels of text in an object array",
        variant(y=lambda data: np.array(["a", "b", "c", "d"], object)[data.y]),
        Same(),
    ),
    Case("boolean labels", variant(y=lambda data: data.y == 1), Same(), classes=(2,)),
    Case(
        "labels of mixed types",
        variant(y=lambda data: np.array([0, "b", 2, "d"], object)[data.y]),
        Refused(words="objects of type int and str"),
        ways=FIT,
    ),
    Case(
        "continuous targets",
        variant(y=lambda data: data.y + 0.5 * data.X[:, 0]),
        Refused(words="continuous|1 or less|is a measurement"),
        ways=FIT_OR_COMMAND,
    ),
    Case(
        "NaN among the labels",
        variant(y=lambda data: np.where(data.X[:, 0] > 1, np.nan, data.y)),
        Refused(words="NaN|has missing|is missing"),
        ways=FIT_OR_COMMAND,
    ),
    Case(
        "labels in a column",
        variant(y=lambda data: data.y[:, None]),
        Same(warns=DataConversionWarning),
        ways=FIT,
    ),
    Case(
        "labels in two columns",
        variant(y=lambda data: np.column_stack([data.y, data.y])),
        Refused(words="y should be a 1d array"),
        ways=FIT,
    ),
    Case(
        "labels of another length",
        variant(y=lambda data: data.y[1:]),
        Refused(words="inconsistent numbers of samples|one entry for each"),
        ways=("fit", "dask"),
    ),
]
