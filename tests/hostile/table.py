"""The table of hostile inputs, and what is right about each."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import DataConversionWarning

from heterolda import (
    ModelMisfitWarning,
    PrecisionWarning,
    SmallClassWarning,
    TrivialRuleWarning,
)
from hostile import checks, inputs
from hostile.checks import (
    accurate,
    always_0,
    as_accurate,
    exact_sides,
    optimal,
    same,
    same_within,
)
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
from hostile.runs import (
    ALL_ROWS,
    ARRAYS,
    FIT_OR_COMMAND,
    MOMENTS,
    OURS,
    STATISTICS,
    WAYS,
    LeakNote,
)


@dataclass(frozen=True, eq=False)
class Case:
    """A row of the table: an input, and what is right about what comes of it."""

    make: Callable  # makes the data of a number of classes
    # A check of the answers besides `checks.sound`; or, where there is no right answer,
    # the pattern of an error message.
    right: Callable | str | None = None
    warns: type[Warning] | None = None  # the one that must be given, and no other
    # Another one, which a fit of statistics must give, and any other may that does not
    # have all rows at once.
    told: type[Warning] | None = None
    may: type[Warning] | None = None  # one that may be given
    either: bool = False  # a clear error is as good as an answer
    # Which of these differ for an estimator; "peers" stands for all of scikit-learn's.
    but: dict[str, dict] = field(default_factory=dict)
    classes: tuple[int, ...] = (2, 4)
    ways: tuple[str, ...] = (*ARRAYS, "command line")
    only: tuple[str, ...] = tuple(OURS)
    peers: bool = True  # whether it means anything to scikit-learn's discriminants

    @cache  # noqa: B019 (the table lives as long as the process)
    def data(self, k):
        """Return the data of k classes."""
        return self.make(k)

    def trials(self, name):
        """Yield numbers of classes and ways to try an estimator of ours with."""
        for k in self.classes if name in self.only else ():
            # To save time, of four classes only the default is tried in all ways, and
            # not the smoothed error, which goes pair by pair as with two.
            whole = k == 2 or self.classes == (k,)
            if name != "smoothed" or whole:
                ways = FIT_OR_COMMAND if name in ALL_ROWS else WAYS
                ways = ways if whole or name == "global" else ("fit",)
                yield from ((k, way) for way in ways if way in self.ways)

    def complaint(self, run):
        """Return what is wrong with a run, or nothing."""
        name = "peers" if run.is_peer else run.name
        try:
            replace(self, **self.but.get(name, {})).verify(run)
        except AssertionError as wrong:
            return str(wrong)
        return ""

    def verify(self, run):
        """Raise AssertionError unless a run is right, `but` left aside."""
        error = run.error
        if isinstance(self.right, str):
            assert error is not None, "answered, though there is no answer"
            assert checks.is_clear(error), f"raised {type(error).__name__}: {error}"
            says = run.is_peer or re.search(self.right, str(error))
            assert says, f"said {str(error)!r} instead of {self.right!r}"
        elif not (self.either and error is not None and checks.is_clear(error)):
            checks.sound(run)
            if not run.is_peer:
                self.verify_warnings(run)
            if self.right is not None:
                self.right(run)

    def verify_warnings(self, run):
        """Raise AssertionError unless the warnings are those that are expected."""
        warned, wanted = set(run.warnings) - {self.may}, {self.warns}
        if run.way in STATISTICS:
            wanted.add(self.told)
        elif run.way != "fit":
            warned.discard(self.told)
        if run.guarded.any():
            warned.discard(ModelMisfitWarning)
        names = [[w.__name__ for w in kinds if w] for kinds in (run.warnings, wanted)]
        assert warned == wanted - {None}, f"warned of {names[0]} instead of {names[1]}"


def of(*names, **changes):
    """Return what is right for some estimators instead, as `but` takes it."""
    return dict.fromkeys(names, changes)


# Solvers that put a threshold far away rather than to say that no rule is of use.
LOCAL = ("fixed-point", "c-hld", "r-hld-1", "r-hld-2", "fisher")
# Shrinkage towards a diagonal takes small differences away, whatever they tell.
SHRUNK = ("shrinkage auto", "shrinkage cv", "smoothed")
NOT_SHRUNK = tuple(name for name in OURS if name not in SHRUNK)
# It goes by the number of columns, whatever is in them.
COUNTED = of(*SHRUNK, right=same_within(0.03))
# A copied feature is twice as cheap to ridge rules.
RIDGED = of("smoothed", right=as_accurate(0.03))
SMALL = {"warns": SmallClassWarning, "but": of(*SHRUNK, warns=None)}
MISFIT = {"told": ModelMisfitWarning, "but": of(*SHRUNK, told=None)}
TRIVIAL = {"right": always_0, "warns": TrivialRuleWarning}
FIT = ("fit",)

# A fit needs squares. In other units statistics would no longer be those of the data,
# so the unit is for the user to choose.
TOO_LARGE = "so large that their squares overflow float64: divide"
TOO_SMALL = "vary so little that their squares underflow .*: multiply"
NAN = "contains NaN|is missing"

MAGNITUDES = {
    "benign data": Case(benign, optimal),
    "a column offset by 1e9": Case(given(lambda X: X + np.array([1e9, 0, 0])), same),
    "all columns offset by 1e9": Case(given(lambda X: X + 1e9), same),
    "a column offset by 1e15": Case(
        inputs.far, as_accurate(0.05), warns=PrecisionWarning
    ),
    "columns in units of 1e-150, 1 and 1e150": Case(
        given(lambda X: X * [1e-150, 1, 1e150]), same
    ),
    "all data times 0.01": Case(given(lambda X: X * 0.01), same),
    "all data times 1e200": Case(
        given(lambda X: X * 1e200), TOO_LARGE, but=of("peers", right=same)
    ),
    "all data times 1e-200": Case(
        given(lambda X: X * 1e-200), TOO_SMALL, but=of("peers", right=same)
    ),
    "class 0 in units of 1e-140, the others of 1e140": Case(
        variant(X=lambda X, y: X * np.where(y == 0, 1e-140, 1e140)[:, None]),
        accurate(0.9),
        **MISFIT,
    ),
    "one outlier of 1e100": Case(with_entry(0, 1e100), **MISFIT),
    "one outlier of 1e300": Case(
        with_entry(0, 1e300), TOO_LARGE, but=of("peers", right=None)
    ),
    "rows of 1e300 to predict": Case(variant(rows=lambda X, y: X * 1e300), exact_sides),
    "NaN in rows to predict": Case(
        variant(rows=lambda X, y: np.where(X > 1, np.nan, X)), NAN
    ),
}

COVARIANCES = {
    "a constant column": Case(with_column(lambda X, y: 0.1), same, but=COUNTED),
    "a constant column of 1e9": Case(with_column(lambda X, y: 1e9), same, but=COUNTED),
    "a column constant in one class": Case(
        normal(60, 2, inputs.constant_in_one), optimal, **MISFIT
    ),
    "a column constant in each class, but different": Case(
        with_column(lambda X, y: 0.1 + y), accurate(), may=LeakNote
    ),
    "a duplicate column": Case(
        with_column(lambda X, y: X[:, 0]), same, but=COUNTED | RIDGED
    ),
    "a column that differs by 1e-9 from another": Case(
        with_column(inputs.noisy_copy), same_within(0.02), but=RIDGED
    ),
    "a column that differs by 1e-7 from another and tells the classes": Case(
        normal(150, 3, inputs.telling_copy(1e-7)),
        accurate(0.93),
        may=PrecisionWarning,
        but=of("smoothed", right=None),  # it has no guard
    ),
    # Covariances of float64 do not hold the difference; the rows do.
    "a column that differs by 1e-9 from another and tells the classes": Case(
        normal(150, 3, inputs.telling_copy(1e-9)),
        warns=PrecisionWarning,
        but=of("peers", right=accurate(0.93)),
        ways=FIT,
        only=NOT_SHRUNK,
    ),
    "constant and repeated columns": Case(
        given(inputs.repeated), same, but=COUNTED | RIDGED
    ),
    "class 0 of rank 1, the others full": Case(
        normal(60, 2, inputs.rank_one), optimal, **MISFIT
    ),
    "classes that vary in different subspaces": Case(
        normal(60, 2, inputs.different_ranges), optimal, classes=(2,), **MISFIT
    ),
    "classes in disjoint intervals": Case(normal(40, 3, inputs.disjoint), accurate()),
    "fewer rows in a class than features": Case(
        normal(6, 20, lambda z, y: z + y[:, None]), accurate(), **SMALL
    ),
    "covariances of condition 1e16 (Hilbert)": Case(
        inputs.of_hilbert, as_accurate(0.03), may=PrecisionWarning
    ),
    "covariances exactly equal": Case(inputs.equal_covariances, optimal),
    "covariances equal to one unit in the last place": Case(
        inputs.nearly_equal_covariances, same
    ),
    "equal means, unequal covariances": Case(
        inputs.equal_means, optimal, but=of(*LOCAL, **TRIVIAL)
    ),
    "the same rows in all classes": Case(
        normal(40, 3, lambda z, y: np.repeat(z[:40], len(y) // 40, axis=0)),
        but=of("minimax", "peers", right=None, warns=None),
        **TRIVIAL,
    ),
    "all rows the same": Case(
        normal(20, 3, lambda z, y: 0 * z + [0.1, -3.0, 1e9]),
        but=of("peers", right=None),
        **TRIVIAL,
    ),
}

BAD_WEIGHTS = (
    "weight.? (is zero|has negative|must be finite)|every .*sample.weight|1 or less"
    "|too few samples|weight', row [0-9]+ is missing"
)
BAD_PRIORS = "priors must be positive"

CLASSES = {
    "one class has one sample": Case(
        kept(lambda y: (y != 1) | (np.cumsum(y == 1) == 1)),
        accurate(0.9),
        warns=SmallClassWarning,
        but={
            **of(*SHRUNK, warns=None),
            **of("minimax", right=None),  # both classes count the same
            **of("peers", either=True),
        },
        classes=(2,),
    ),
    "every class has one sample": Case(
        kept(lambda y: np.arange(len(y)) <= y.max()),
        "total weight .*1 or less|too few samples",
    ),
    "a single class": Case(
        labeled(lambda y: 0 * y), "at least 2 classes are needed, got 1"
    ),
    "weights that leave one of two classes out": Case(
        weighted(1, 0),
        r"classes \[1\].*(1 or less|still have|leave)|at least 2 classes",
        classes=(2,),
    ),
    "weights that leave a class out": Case(
        inputs.one_class_less, same, classes=(4,), ways=FIT, peers=False
    ),
    "weights that are negative": Case(weighted(1, -1), BAD_WEIGHTS),
    "weights that are NaN": Case(weighted(1, np.nan), BAD_WEIGHTS),
    "weights that are all zero": Case(weighted(0, 0), BAD_WEIGHTS),
    "a prior of 0": Case(prior_of(0.0), BAD_PRIORS),
    "a prior of 1": Case(prior_of(1.0), BAD_PRIORS),
    "a prior of 1e-300": Case(
        prior_of(1e-300),
        checks.never_0,
        warns=TrivialRuleWarning,
        but={
            **of(*LOCAL, warns=None),
            # Their thresholds do not go by the priors, but by moments or by counts.
            **of("c-hld", "minimax", right=None, warns=None),
            **of("paper", "smoothed", right=None),
        },
    ),
    "a prior of 1e-300, classes far apart": Case(inputs.rare_but_apart, accurate()),
    "20000 rows against 2": Case(inputs.imbalanced, accurate(), classes=(2,), **SMALL),
    "300 classes": Case(
        inputs.many_classes,
        accurate(),
        warns=SmallClassWarning,
        classes=(300,),
        ways=FIT,
        only=("global", "fisher"),
    ),
    "labels of text": Case(named("a", "b", "c", "d"), same),
    "labels of text in an object array": Case(
        named("a", "b", "c", "d", dtype=object), same
    ),
    "boolean labels": Case(named(False, True), same, classes=(2,)),
    "labels of mixed types": Case(
        named(0, "b", 2, "d", dtype=object), "objects of type int and str", ways=FIT
    ),
    "continuous targets": Case(
        variant(y=lambda X, y: y + 0.5 * X[:, 0]),
        "continuous|is a measurement and not a class",
        ways=FIT_OR_COMMAND,
    ),
    "NaN among the labels": Case(
        variant(y=lambda X, y: np.where(X[:, 0] > 1, np.nan, y)),
        "NaN|has missing|is missing",
        ways=FIT_OR_COMMAND,
    ),
    "labels in a column": Case(
        labeled(lambda y: y[:, None]), same, warns=DataConversionWarning, ways=FIT
    ),
    "labels in two columns": Case(
        labeled(lambda y: np.column_stack([y, y])), "y should be a 1d array", ways=FIT
    ),
    "labels of another length": Case(
        labeled(lambda y: y[1:]),
        "inconsistent numbers of samples|one entry for each",
        ways=("fit", "dask"),
    ),
}

# The other solvers of the paper are what they are, without a guard.
UNFIT = {
    "right": checks.no_worse_than_lda,
    "may": ModelMisfitWarning,
    "classes": (2,),
    "only": ("global", "fisher"),
}
MISFITS = {
    "a dummy that is 1 in 1 % of class 0 and never in class 1": Case(
        inputs.dummy(0.01, 0.0), **UNFIT
    ),
    "a dummy that is 1 in 10 % of class 0 and 1 % of class 1": Case(
        inputs.dummy(0.1, 0.01),
        # Without rows nobody can tell that the model does not fit, unless a class has
        # no variance at all.
        ways=("fit", "dask", "command line"),
        **UNFIT,
    ),
}

OPTIMA = {
    "the best rule always names one class": Case(
        inputs.trivial,
        but={
            **of("c-hld", "r-hld-1", "r-hld-2", "fisher", right=optimal, warns=None),
            **of("minimax", "peers", right=None, warns=None),
        },
        classes=(2,),
        **TRIVIAL,
    ),
    "classes 1e6 standard deviations apart": Case(
        normal(40, 3, lambda z, y: z + 1e6 * y[:, None]), accurate()
    ),
    "two equal minima": Case(inputs.two_minima, checks.optimal_again, classes=(2,)),
    "optimum beyond the convex combinations": Case(
        inputs.outside, optimal, classes=(2,)
    ),
    "4000 rows on 14 points": Case(inputs.ties, checks.possible_count, classes=(2,)),
}

FORMATS = {
    "float16 data": Case(typed(np.float16), same),
    "float32 data": Case(typed(np.float32), same),
    "int8 data": Case(typed(np.int8), same),
    "big-endian data": Case(typed(">f8"), same),
    # With four classes some column would be constant in one of them.
    "boolean data": Case(typed(bool), same, classes=(2,)),
    "an object array of numbers": Case(given(lambda X: X.astype(object)), same),
    "rows and columns with gaps between": Case(
        given(lambda X: np.kron(X, [[1, 0, 0], [0, 0, 0]])[::2, ::3]), same
    ),
    "columns one after the other (Fortran)": Case(given(np.asfortranarray), same),
    "negative strides": Case(given(lambda X: X[::-1, ::-1].copy()[::-1, ::-1]), same),
    "a read-only memory map": Case(given(inputs.mapped), same),
    "NaN": Case(with_entry(5, np.nan), NAN),
    "infinity": Case(with_entry(5, np.inf), "contains infinity|infinite"),
    "complex numbers": Case(given(lambda X: X + 1j), "[Cc]omplex|not all numbers"),
    "numbers as text": Case(
        given(lambda X: X.astype(str)),
        same,
        but=of("peers", either=True),
        ways=FIT_OR_COMMAND,
    ),
    "words": Case(
        given(lambda X: np.where(X > 0, "yes", "no")),
        "could not convert string|numeric|not all numbers",
        ways=FIT_OR_COMMAND,
    ),
    "no features": Case(given(lambda X: X[:, :0]), "0 feature|no column besides"),
    "no rows": Case(kept(lambda y: y < 0), "0 sample|no rows", ways=FIT_OR_COMMAND),
    "one dimension": Case(
        given(lambda X: X[:, 0]), "2D array|two dimensions", ways=ARRAYS
    ),
    "three dimensions": Case(
        given(lambda X: X[:, :, None]), "dim", ways=("fit", "dask")
    ),
    "a sparse matrix": Case(
        given(csr_array),
        same,
        but=of("peers", "paper", "smoothed", right="Sparse data was"),
        ways=FIT,
    ),
    "other columns to predict than to fit": Case(
        inputs.other_columns, "feature names should match", ways=FIT
    ),
}


def chunked(parts):
    """Return a case of benign data in chunks, whose indices depend on y."""
    ways = ("partial_fit", "statistics", "dask", "command line")
    return Case(inputs.cut(parts), same, ways=ways, peers=False)


def of_moments(right=same, **changes):
    """Return a case of moments that are not quite, or not at all, those of data."""
    use = {"classes": (2,), "ways": ("moments",), "only": MOMENTS, "peers": False}
    return Case(inputs.moments(**changes), right, **MISFIT, **use)


STREAMS = {
    "chunks of one row": chunked(
        lambda y: [*np.arange(20)[:, None], range(20, len(y))]
    ),
    "chunks of one class": chunked(lambda y: [np.flatnonzero(y == k) for k in set(y)]),
    "chunks without rows": chunked(
        lambda y: [[], range(50), [], range(50, len(y)), []]
    ),
    "merges in any order": Case(
        benign,
        checks.same_in_any_order,
        ways=("statistics",),
        only=MOMENTS,
        peers=False,
    ),
    "a covariance asymmetric by 1e-12": of_moments(add=[[0, 1e-12], [0, 0]]),
    "a covariance asymmetric by 1e-2": of_moments(
        "class 1 is not symmetric", add=[[0, 1e-2], [0, 0]]
    ),
    "a covariance indefinite by 1e-12": of_moments(add=[[0, 1e-12], [1e-12, 0]]),
    "a covariance indefinite by 1e-2": of_moments(
        "class 1 is indefinite", add=[[0, 1e-2], [1e-2, 0]]
    ),
    "a negative variance": of_moments("negative variance", add=[[-2, 0], [0, 0]]),
    "NaN in a covariance": of_moments("covariances contains NaN", add=np.nan),
    "NaN in a mean": of_moments("means contains NaN", means=[[0, 0], [np.nan, 1]]),
    "a count of 1": of_moments("counts must exceed 1", counts=[50, 1]),
    "one thread of linear algebra, and four": Case(
        inputs.large,
        checks.same_on_four_threads,
        classes=(2,),
        ways=FIT,
        only=(*MOMENTS, "paper"),
        peers=False,
    ),
}

GROUPS = {
    "Offsets, units and magnitudes": MAGNITUDES,
    "Constant, dependent and ill-conditioned features": COVARIANCES,
    "Classes, labels, weights and priors": CLASSES,
    "Data that the Gaussian model does not fit": MISFITS,
    "Optima that are hard to find": OPTIMA,
    "Types and layouts": FORMATS,
    "Chunks, statistics and threads": STREAMS,
}
CASES = {name: case for group in GROUPS.values() for name, case in group.items()}
