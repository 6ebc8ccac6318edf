"""The table of all cases."""

from __future__ import annotations

from benchmarks import growth, installed, local_search, memory, stages
from benchmarks.methods import (
    GRAM,
    MEMPM,
    PAPER,
    PEERS,
    SCORES,
    first,
    fitting,
    importing,
    on_numpy,
    one_row,
    predicting,
    projecting,
    same_errors,
    transcribed,
)
from benchmarks.runner import Case
from benchmarks.shapes import (
    DRAWN_SHAPES,
    PAPER_SHAPES,
    REAL_SHAPES,
    WIDE_SHAPES,
    Shape,
)

FIT_DRAWN = "fit, the study's shapes, drawn"
FIT_REAL = "fit, the study's real data"
FIT_LARGE = "fit, many rows or classes"
FIT_WIDE = "fit, fewer rows than features"
PREDICT = "predict"
ONE_ROW = "predict, one row"
GUARD = "what the guard costs"
SOLVERS = "the other solvers against global"
KERNELS = "compiled kernels against NumPy"
RECOMMENDED = "recommended"
PROJECT = "two components, from class statistics"
TRANSCRIBED = "the paper's own form"
OTHERS = "other peers"
FRESH = "a fresh process"
GROUPS = (
    *(FIT_REAL, FIT_DRAWN, FIT_LARGE, FIT_WIDE, PREDICT, ONE_ROW, GUARD, SOLVERS),
    *(KERNELS, RECOMMENDED, PROJECT, TRANSCRIBED, OTHERS, FRESH, local_search.GROUP),
)

# Largest geometric mean of our times against LDA svd, over so many shapes.
GEOMETRIC_MEAN = 0.5
MEANS = {FIT_DRAWN: len(DRAWN_SHAPES), FIT_REAL: len(REAL_SHAPES)}
# Here the peer is ours, too.
OWN = (GUARD, SOLVERS, KERNELS)

GLOBAL, PREDICT_GLOBAL = fitting("global"), predicting("global")
LDA, PREDICT_LDA = fitting("LDA svd"), predicting("LDA svd")
SHAPES = {shape.name: shape for shape in PAPER_SHAPES}
MANY_ROWS, FEWER_ROWS = Shape(1_000_000, 50, 5), Shape(50_000, 50, 5)
LETTERS = Shape(20_000, 16, 26)
MANY_CLASSES, FEWER_CLASSES = Shape(1_200, 64, 100), Shape(120, 8, 10)
IMAGES = Shape(5_000, 600, 10, kind="pixels")
FEWER_IMAGES = Shape(600, 200, 4, kind="pixels")
TWO_CLASSES, FEWER_OF_TWO = Shape(1_000_000, 50, 2), Shape(100_000, 50, 2)
MORE_LETTERS, FEWER_LETTERS = Shape(100_000, 16, 26), Shape(20_000, 16, 26)
# To find components in many features, of some classes and of many.
WIDE = Shape(10_000, 50, 10), Shape(10_000, 50, 26)
PLANTS, FEWER_PLANTS = Shape(1_600, 64, 100, "plant_margin"), Shape(120, 6, 4)


def all_cases() -> list:
    """Everything that a run measures, in the order of the page."""
    cases = [Case(FIT_DRAWN, shape, GLOBAL, LDA, 1.0) for shape in DRAWN_SHAPES]
    cases += [Case(FIT_REAL, shape, GLOBAL, LDA, 1.0) for shape in REAL_SHAPES]
    cases += [
        Case(FIT_LARGE, MANY_ROWS, GLOBAL, LDA, 0.12, FEWER_ROWS),
        Case(FIT_LARGE, MANY_ROWS, GLOBAL, fitting("LDA lsqr"), 0.5, FEWER_ROWS),
        Case(FIT_LARGE, MANY_ROWS, GLOBAL, GRAM, 3.0, FEWER_ROWS),
        Case(FIT_LARGE, LETTERS, GLOBAL, fitting("OneVsOne(LDA)"), 0.02),
        Case(FIT_LARGE, MANY_CLASSES, GLOBAL, LDA, None, FEWER_CLASSES),
        Case(FIT_LARGE, IMAGES, GLOBAL, LDA, 3.0, FEWER_IMAGES),
    ]
    cases += [Case(FIT_WIDE, s, GLOBAL, LDA, 2.0, WIDE_SHAPES[0]) for s in WIDE_SHAPES]
    cases += _predictions()
    without = fitting("global without guard")
    cases += [Case(GUARD, shape, GLOBAL, without, 1.1) for shape in PAPER_SHAPES]
    cases += [
        Case(SOLVERS, SHAPES[name], fitting(solver), GLOBAL)
        for name in ("liver", "zernike", "letters")
        for solver in ("c-hld", "r-hld-1", "r-hld-2")
    ]
    cases += _kernels()
    cases.append(
        Case(RECOMMENDED, PLANTS, fitting("recommended"), LDA, None, FEWER_PLANTS)
    )
    cases += _projections()
    cases += _transcribed()
    cases += _others()
    cases += _fresh()
    return [
        *cases,
        *local_search.cases(),
        *stages.measurements(),
        *growth.sweeps(),
        *memory.measurements(),
        *installed.measurements(),
    ]


def _predictions() -> list[Case]:
    """Many rows and one row; what may be lost to LDA depends on the classes."""
    cases = [
        Case(PREDICT, shape, PREDICT_GLOBAL, PREDICT_LDA, _share(shape.n_classes))
        for shape in PAPER_SHAPES
    ]
    hundred, fewer = Shape(20_000, 64, 100), Shape(2_000, 16, 40)
    large = MORE_LETTERS, PREDICT_GLOBAL
    two = TWO_CLASSES, PREDICT_GLOBAL
    cases += [
        Case(PREDICT, hundred, PREDICT_GLOBAL, PREDICT_LDA, None, fewer),
        Case(PREDICT, *two, PREDICT_LDA, 1.0, FEWER_OF_TWO),
        Case(PREDICT, *two, SCORES, None, FEWER_OF_TWO),
        Case(PREDICT, *large, predicting("OneVsOne(LDA)"), 0.03, FEWER_LETTERS),
        Case(PREDICT, *large, SCORES, None, FEWER_LETTERS),
    ]
    return cases + [
        Case(ONE_ROW, SHAPES[name], *_both(method), target)
        for name in ("D1", "vowels", "pendigits", "letters")
        for method, target in (("predict", 1.5), ("predict_proba", 2.0))
    ]


def _share(n_classes: int) -> float:
    """Largest ratio of our time to LDA's to predict many rows."""
    return 1.0 if n_classes == 2 else 2.0 if n_classes <= 10 else 2.5


def _both(method: str) -> tuple:
    return one_row("global", method), one_row("LDA svd", method)


def _kernels() -> list[Case]:
    """What the compiled kernels gain, as information."""
    calls = [
        (SHAPES[name], make("global"))
        for name in ("D1", "zernike", "letters")
        for make in (fitting, predicting)
    ]
    calls += [
        (SHAPES["letters"], one_row("global", "predict_proba")),
        (SHAPES["D1"], fitting("local search")),
        (SHAPES["liver"], fitting("recommended")),
    ]
    return [Case(KERNELS, shape, ours, on_numpy(ours)) for shape, ours in calls]


def _projections() -> list[Case]:
    """The closed forms have a target; a search has none."""
    targets = {"fisher": 5.0, "chernoff": 5.0, "error": None}
    cases = [
        Case(PROJECT, shape, projecting(how), LDA, target)
        for how, target in targets.items()
        for shape in DRAWN_SHAPES
    ]
    return cases + [Case(PROJECT, shape, projecting("error"), LDA) for shape in WIDE]


def _fresh() -> list[Case]:
    """Import, the first fit and the first search."""
    module, lda = "sklearn.discriminant_analysis", "LinearDiscriminantAnalysis"
    peer = first("fit LDA svd", f"from {module} import {lda}", f"{lda}().fit(X, y)")
    ours = {
        "fit global": "GaussianLinearDiscriminant",
        "local search": "LocalNeighborhoodSearch",
    }
    imports = importing("heterolda", ours["fit global"]), importing(module, lda)
    return [Case(FRESH, None, *imports, 1.2)] + [
        Case(
            FRESH,
            None,
            first(what, f"from heterolda import {name}", f"{name}().fit(X, y)"),
            peer,
        )
        for what, name in ours.items()
    ]


def _transcribed() -> list[Case]:
    """Our solvers against the paper's text, at the size of zernike."""
    return [
        Case(
            TRANSCRIBED,
            Shape(2_000, 47, 10),
            fitting(solver),
            transcribed(solver),
            0.02 if solver == "c-hld" else None,
            Shape(400, 47, 2),
            same_errors,
        )
        for solver in PAPER
    ]


def _others() -> list[Case]:
    """All peers on a set of two classes, of six and of 26, as information."""
    cases = [Case(OTHERS, SHAPES["spambase"], GLOBAL, MEMPM)]
    for name in ("spambase", "satellite", "letters"):
        shape = SHAPES[name]
        quick = Shape(4_000, shape.d, shape.n_classes)
        pairs = [(GLOBAL, fitting(p)) for p in PEERS if p != "LDA svd"]  # has its table
        # LDA predicts the same way in all its forms, and has its table.
        same = "LDA svd", "LDA lsqr", "LDA eigen"
        pairs += [(PREDICT_GLOBAL, predicting(p)) for p in PEERS if p not in same]
        cases += [Case(OTHERS, shape, *pair, None, quick) for pair in pairs]
    return cases
