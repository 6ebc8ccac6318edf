"""The table of all cases."""

from __future__ import annotations

from benchmarks import growth, local_search, memory, stages
from benchmarks.methods import (
    GRAM,
    MEMPM,
    PAPER,
    PEERS,
    SCORES,
    fitting,
    importing,
    predicting,
    same_errors,
    transcribed,
)
from benchmarks.runner import Case
from benchmarks.shapes import PAPER_SHAPES, Shape

FIT_PAPER = "fit, the paper's twelve shapes"
FIT_LARGE = "fit, many rows or classes"
PREDICT = "predict"
SOLVERS = "the other solvers against global"
TRANSCRIBED = "the paper's own form"
OTHERS = "other peers"
IMPORT = "import"

# Largest geometric mean of our times against LDA svd on the paper's shapes.
GEOMETRIC_MEAN = 0.5

GLOBAL, PREDICT_GLOBAL = fitting("global"), predicting("global")
SHAPES = {shape.name: shape for shape in PAPER_SHAPES}
MANY_ROWS, FEWER_ROWS = Shape(1_000_000, 50, 5), Shape(50_000, 50, 5)
LETTERS = Shape(20_000, 16, 26)
TWO_CLASSES, FEWER_OF_TWO = Shape(1_000_000, 50, 2), Shape(100_000, 50, 2)
MORE_LETTERS, FEWER_LETTERS = Shape(100_000, 16, 26), Shape(20_000, 16, 26)


def all_cases() -> list:
    """Everything that a run measures, in the order of the page."""
    cases = [
        Case(
            FIT_PAPER,
            shape,
            GLOBAL,
            fitting("LDA svd"),
            1.5 if shape.name in ("zernike", "optdigits") else 1.0,
        )
        for shape in PAPER_SHAPES
    ]
    cases += [
        Case(FIT_LARGE, MANY_ROWS, GLOBAL, fitting("LDA svd"), 0.12, FEWER_ROWS),
        Case(FIT_LARGE, MANY_ROWS, GLOBAL, fitting("LDA lsqr"), 0.5, FEWER_ROWS),
        Case(FIT_LARGE, MANY_ROWS, GLOBAL, GRAM, 3.0, FEWER_ROWS),
        Case(FIT_LARGE, LETTERS, GLOBAL, fitting("OneVsOne(LDA)"), 0.02),
    ]
    large = MORE_LETTERS, PREDICT_GLOBAL
    two = TWO_CLASSES, PREDICT_GLOBAL
    cases += [
        Case(PREDICT, *large, predicting("OneVsOne(LDA)"), 0.03, FEWER_LETTERS),
        Case(PREDICT, *large, SCORES, None, FEWER_LETTERS),
        Case(PREDICT, *two, predicting("LDA svd"), 1.1, FEWER_OF_TWO),
        Case(PREDICT, *two, SCORES, None, FEWER_OF_TWO),
    ]
    cases += [
        Case(SOLVERS, shape, fitting(solver), GLOBAL, 3.0)
        for shape in PAPER_SHAPES
        for solver in ("c-hld", "r-hld-1", "r-hld-2")
    ]
    cases += _transcribed()
    cases += _others()
    ours, peer = importing("heterolda"), importing("sklearn.discriminant_analysis")
    cases.append(Case(IMPORT, None, ours, peer, 1.2))
    return [
        *cases,
        *local_search.cases(),
        *stages.measurements(),
        *growth.sweeps(),
        *memory.measurements(),
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
        # The other forms of LDA predict as LDA svd does.
        same = "LDA lsqr", "LDA eigen"
        pairs += [(PREDICT_GLOBAL, predicting(p)) for p in PEERS if p not in same]
        cases += [Case(OTHERS, shape, *pair, None, quick) for pair in pairs]
    return cases
