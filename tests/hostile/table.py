"""The table of hostile inputs, and what is right about each."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import DataConversionWarning

from heterolda.exceptions import (
    ModelMisfitWarning,
    PrecisionWarning,
    SmallClassWarning,
    TrivialRuleWarning,
)
from hostile import inputs, runs
from hostile.inputs import (
    benign,
    given,
    kept,
    labeled,
    named,
    normal,
    prior_of,
    typed,
    variant,
    weighted,
    with_column,
    with_entry,
)
from hostile.runs import OURS, WAYS, accurate, as_accurate, optimal, same

FIT = ("fit",)


@dataclass(frozen=True, eq=False)
class Case:
    """A row of the table: an input, and what is right about what comes of it."""

    make: Callable  # makes the data of a number of classes
    # A check of the default's answers besides `runs.sound`; or, where there is no right
    # answer, the pattern of an error message.
    right: Callable | str | None = None
    warns: type[Warning] | None = None  # the warning that `fit` must give, and no other
    classes: tuple[int, ...] = (2, 4)
    ways: tuple[str, ...] = tuple(WAYS)
    # The same as `right` for other settings than the default; "any" also takes a clear
    # error. By default they must be as accurate as on the twin, or reject as well.
    others: Callable | str | None = as_accurate
    # The same for scikit-learn's discriminants, to which False means nothing.
    peers: Callable | str | bool | None = True

    @cache  # noqa: B019 (the table lives as long as the process)
    def data(self, k):
        """Return the data of k classes."""
        return self.make(k)

    def trials(self):
        """Yield names of settings, numbers of classes and ways to fit."""
        yield from (("global", k, way) for k in self.classes for way in self.ways)
        if "fit" in self.ways:
            yield from (
                (name, self.classes[0], "fit") for name in OURS if name != "global"
            )

    def complaint(self, run):
        """Return what is wrong with a run, or nothing."""
        try:
            self.verify(run)
        except AssertionError as wrong:
            return str(wrong)
        return ""

    def verify(self, run):
        """Raise AssertionError unless a run is right."""
        error, right = run.error, self.right
        if run.is_peer:
            right = right if self.peers is True else self.peers
        elif run.name != "global" and self.others is not as_accurate:
            right = self.others
        elif run.name != "global" and not isinstance(right, str):
            right = as_accurate
        if right == "any":
            if error is None:
                runs.sound(run)
            else:
                assert runs.is_clear(error), f"raised {error!r}"
        elif isinstance(right, str):
            assert error is not None, "answered, though there is no answer"
            assert runs.is_clear(error), f"raised {error!r}"
            says = run.is_peer or re.search(right, str(error))
            assert says, f"said {str(error)!r} instead of {right!r}"
        else:
            runs.sound(run)
            if run.name == "global" and run.way == "fit":
                self.verify_warnings(run)
            if right is not None:
                right(run)

    def verify_warnings(self, run):
        """Raise AssertionError unless the warnings are those that are expected."""
        warned, wanted = set(run.warnings), {self.warns} - {None}
        if np.any(getattr(run.model, "chosen_on_rows_", False)):
            warned.discard(ModelMisfitWarning)
        assert warned == wanted, f"warned of {warned} instead of {wanted}"


# A fit needs squares. In other units statistics would no longer be those of the data,
# so the unit is for the user to choose.
TOO_LARGE = "so large that their squares overflow float64: divide"
TOO_SMALL = "vary so little that their squares underflow .*: multiply"
NAN = "contains NaN"
TRIVIAL = {"right": runs.always_0, "warns": TrivialRuleWarning, "others": None}

MAGNITUDES = {
    "benign data": Case(benign, optimal),
    "a column offset by 1e9": Case(given(lambda X: X + np.array([1e9, 0, 0])), same),
    # Scores are multiples of 0.5 there, so thresholds are rounded.
    "a column offset by 1e15": Case(
        inputs.far,
        as_accurate,
        others=partial(as_accurate, tolerance=0.06),
        warns=PrecisionWarning,
    ),
    "columns in units of 1e-150, 1 and 1e150": Case(
        given(lambda X: X * [1e-150, 1, 1e150]), same
    ),
    "all data times 1e200": Case(given(lambda X: X * 1e200), TOO_LARGE, peers=same),
    "all data times 1e-200": Case(given(lambda X: X * 1e-200), TOO_SMALL, peers=same),
    "class 0 in units of 1e-140, the others of 1e140": Case(
        variant(X=lambda X, y: X * np.where(y == 0, 1e-140, 1e140)[:, None]),
        accurate(0.9),
    ),
    "one outlier of 1e100": Case(with_entry(0, 1e100), others=None),
    "rows of 1e300 to predict": Case(
        variant(rows=lambda X, y: X * 1e300), runs.exact_sides, others=runs.exact_sides
    ),
    "NaN in rows to predict": Case(
        variant(rows=lambda X, y: np.where(X > 1, np.nan, X)), NAN
    ),
}

COVARIANCES = {
    "a constant column of 1e9": Case(with_column(lambda X, y: 1e9), same),
    "a column constant in each class, but different": Case(
        with_column(lambda X, y: 0.1 + y), accurate()
    ),
    "a column that differs by 1e-9 from another": Case(
        with_column(
            lambda X, y: X[:, 0] + 1e-9 * np.random.default_rng(3).normal(size=len(X))
        ),
        partial(same, tolerance=0.02),
        warns=PrecisionWarning,
    ),
    "a column that differs by 1e-7 from another and tells the classes": Case(
        normal(150, 3, inputs.telling_copy(1e-7)),
        accurate(0.93),
        warns=PrecisionWarning,
    ),
    # Covariances of float64 do not hold the difference; the rows do.
    "a column that differs by 1e-9 from another and tells the classes": Case(
        normal(150, 3, inputs.telling_copy(1e-9)),
        warns=PrecisionWarning,
        peers=accurate(0.93),
        ways=FIT,
    ),
    "constant and repeated columns": Case(
        given(lambda X: np.column_stack([0 * X - 7.5, X, X[:, 1], -4 * X[:, 0]])), same
    ),
    "class 0 of rank 1, the others full": Case(normal(60, 2, inputs.rank_one), optimal),
    "classes that vary in different subspaces": Case(
        normal(60, 2, inputs.different_ranges), optimal, classes=(2,)
    ),
    "fewer rows in a class than features": Case(
        normal(6, 20, lambda z, y: z + y[:, None]), accurate(), warns=SmallClassWarning
    ),
    "covariances of condition 1e16 (Hilbert)": Case(
        inputs.of_hilbert,
        partial(as_accurate, tolerance=0.03),
        warns=PrecisionWarning,
    ),
    "equal means, unequal covariances": Case(inputs.equal_means, optimal),
    "the same rows in all classes": Case(
        normal(40, 3, lambda z, y: np.repeat(z[:40], len(y) // 40, axis=0)),
        peers=None,
        **TRIVIAL,
    ),
}

BAD_WEIGHTS = (
    "weight.? (is zero|has negative|must be finite)|every .*sample.weight|1 or less"
)
BAD_PRIORS = "priors must be positive"

CLASSES = {
    "one class has one sample": Case(
        kept(lambda y: (y != 1) | (np.cumsum(y == 1) == 1)),
        accurate(0.9),
        warns=SmallClassWarning,
        classes=(2,),
        peers="any",
    ),
    "every class has one sample": Case(
        kept(lambda y: np.arange(len(y)) <= y.max()), "total weight .*1 or less"
    ),
    "a single class": Case(labeled(lambda y: 0 * y), "at least 2 classes are needed"),
    "weights that leave one of two classes out": Case(
        weighted(1, 0), "1 or less|still have|leave|at least 2", classes=(2,)
    ),
    "weights that leave a class out": Case(
        inputs.one_class_less, same, classes=(4,), ways=FIT, peers=False
    ),
    "weights that are negative": Case(weighted(1, -1), BAD_WEIGHTS),
    "weights that are all zero": Case(weighted(0, 0), BAD_WEIGHTS),
    "a prior of 0": Case(prior_of(0.0), BAD_PRIORS),
    "a prior of 1e-300": Case(
        prior_of(1e-300), runs.never_0, warns=TrivialRuleWarning, others=None
    ),
    "a prior of 1e-300, classes far apart": Case(inputs.rare_but_apart, accurate()),
    "20000 rows against 2": Case(
        inputs.imbalanced, accurate(), classes=(2,), warns=SmallClassWarning
    ),
    "labels of text in an object array": Case(
        named("a", "b", "c", "d", dtype=object), same
    ),
    "boolean labels": Case(named(False, True), same, classes=(2,)),
    "labels of mixed types": Case(
        named(0, "b", 2, "d", dtype=object), "objects of type int and str", ways=FIT
    ),
    "continuous targets": Case(
        variant(y=lambda X, y: y + 0.5 * X[:, 0]), "continuous", ways=FIT
    ),
    "NaN among the labels": Case(
        variant(y=lambda X, y: np.where(X[:, 0] > 1, np.nan, y)), "missing", ways=FIT
    ),
    "labels in a column": Case(
        labeled(lambda y: y[:, None]), same, warns=DataConversionWarning, ways=FIT
    ),
    "labels of another length": Case(
        labeled(lambda y: y[1:]), "inconsistent numbers|one entry", ways=("fit", "dask")
    ),
}

MISFITS = {
    # Without rows nobody can tell that the model does not fit, unless a class has no
    # variance at all.
    "a dummy that is 1 in 1 % of class 0 and never in class 1": Case(
        inputs.dummy(0.01, 0.0), runs.no_worse_than_lda, classes=(2,)
    ),
    "a dummy that is 1 in 10 % of class 0 and 1 % of class 1": Case(
        inputs.dummy(0.1, 0.01),
        runs.no_worse_than_lda,
        ways=("fit", "dask"),
        classes=(2,),
    ),
}

OPTIMA = {
    "the best rule always names one class": Case(
        inputs.trivial, classes=(2,), peers=None, **TRIVIAL
    ),
    "classes 1e6 standard deviations apart": Case(
        normal(40, 3, lambda z, y: z + 1e6 * y[:, None]), accurate(), others=accurate()
    ),
}

FORMATS = {
    "float32 data": Case(typed(np.float32), same),
    "int8 data": Case(typed(np.int8), same),
    "big-endian data": Case(typed(">f8"), same),
    # With four classes some column would be constant in one of them.
    "boolean data": Case(typed(bool), same, classes=(2,)),
    "an object array of numbers": Case(given(lambda X: X.astype(object)), same),
    "negative strides": Case(given(lambda X: X[::-1, ::-1].copy()[::-1, ::-1]), same),
    "a read-only memory map": Case(given(inputs.mapped), same),
    "NaN": Case(with_entry(5, np.nan), NAN),
    "infinity": Case(with_entry(5, np.inf), "contains .*infinity"),
    "complex numbers": Case(given(lambda X: X + 1j), "[Cc]omplex"),
    "numbers as text": Case(
        given(lambda X: X.astype(str)), same, peers="any", ways=FIT
    ),
    "words": Case(
        given(lambda X: np.where(X > 0, "yes", "no")),
        "could not convert string|numeric",
        ways=FIT,
    ),
    "no features": Case(given(lambda X: X[:, :0]), "0 feature"),
    "no rows": Case(kept(lambda y: y < 0), "0 sample", ways=FIT),
    "one dimension": Case(given(lambda X: X[:, 0]), "2D array|two dimensions"),
    "a sparse matrix": Case(
        given(csr_array), same, others="any", peers="Sparse data was", ways=FIT
    ),
    "other columns to predict than to fit": Case(
        inputs.other_columns, "feature names should match", ways=FIT
    ),
}


def chunked(parts):
    """Return a case of benign data in chunks, whose indices depend on y."""
    make = variant(parts=lambda X, y: tuple(np.asarray(p, int) for p in parts(y)))
    ways = ("partial_fit", "statistics", "dask")
    return Case(make, same, ways=ways, peers=False)


STREAMS = {
    "chunks of one row": chunked(
        lambda y: [*np.arange(20)[:, None], range(20, len(y))]
    ),
    "chunks of one class": chunked(lambda y: [np.flatnonzero(y == k) for k in set(y)]),
    "chunks without rows": chunked(
        lambda y: [[], range(50), [], range(50, len(y)), []]
    ),
}

GROUPS = {
    "Offsets, units and magnitudes": MAGNITUDES,
    "Constant, dependent and ill-conditioned features": COVARIANCES,
    "Classes, labels, weights and priors": CLASSES,
    "Data that the Gaussian model does not fit": MISFITS,
    "Optima at an extreme": OPTIMA,
    "Types and layouts": FORMATS,
    "Chunks": STREAMS,
}
CASES = {name: case for group in GROUPS.values() for name, case in group.items()}
