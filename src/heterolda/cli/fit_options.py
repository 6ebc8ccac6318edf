"""Options of the commands that fit something."""

from __future__ import annotations

from typing import Annotated

from heterolda.cli.options import EXPERTS, FIT, JUDGE, one_of, panel
from heterolda.foundations.wording import (
    CRITERIA,
    MULTICLASS,
    PROJECTIONS,
    SOLVER_NAMES,
    VOTINGS,
)

_fit, _judge, _expert = map(panel, (FIT, JUDGE, EXPERTS))

# What to fit
Recommended = Annotated[
    bool,
    _fit(
        None,
        "A model that suits most data, normal or not, but takes longer. Of more than "
        "100,000 rows it is fitted to a random sample.",
        "--recommended",
    ),
]
Shrinkage = Annotated[
    str | None,
    _fit(
        "WEIGHT",
        "For few rows: make the spreads (covariances) of the classes more alike. cv "
        "chooses the amount on held-out rows and keeps all rows in memory; auto is a "
        "quick formula; or give a number from 0 to 1. With 0.3,0.1 the common spread "
        "is first moved towards its diagonal by 0.1.",
    ),
]
ProjectionShrinkage = Annotated[
    str,
    _fit(
        "WEIGHT",
        "For few rows: make the spreads (covariances) of the classes more alike. auto, "
        "none, or a number from 0 to 1. With 0.3,0.1 the common spread is first moved "
        "towards its diagonal by 0.1.",
    ),
]
Costs = Annotated[
    str | None,
    _fit(
        "TRUE:DECIDED=COST,...",
        "Costs of wrong decisions, such as ill:well=10. All others cost 1.",
    ),
]
Priors = Annotated[
    str | None,
    _fit(
        "LABEL=SHARE,...",
        "How frequent the classes are where the model is used, such as ill=1,well=99, "
        "or equal. By default as in the data.",
    ),
]
MaxError = Annotated[
    str | None,
    _fit(
        "LABEL=RATE",
        "For two classes: the largest share of one class to get wrong, such as "
        "ill=0.01. Add --confidence to hold it on new rows, or --criterion "
        "neyman-pearson to hold it under the fitted model.",
    ),
]
Confidence = Annotated[
    float | None,
    _fit(
        "NUMBER",
        "Confidence that --max-error holds on new rows, such as 0.95. Sets half of the "
        "rows of that class aside and keeps all rows in memory. With --cv each fold "
        "sets fewer rows aside and is stricter.",
    ),
]
Components = Annotated[
    int | None,
    _fit(
        "NUMBER",
        "Number of components. By default one fewer than classes, at least two.",
        min=1,
    ),
]

# How good is it
Cv = Annotated[
    int | None,
    _judge(
        "NUMBER",
        "Number of folds for the accuracy on held-out rows. By default 10, and only "
        "where refitting is quick.",
        min=2,
        max=1000,
    ),
]
Folds = Annotated[
    int,
    _judge(
        "NUMBER",
        "Number of folds. Each is held out once, and the models are fitted to the "
        "others. Equal rows of a class go to the same fold.",
        min=2,
        max=1000,
    ),
]
Accuracy = Annotated[
    bool,
    _judge(
        None,
        "Skip the accuracy of the model and of LDA on held-out rows.",
        "--accuracy/--no-accuracy",
    ),
]

# For experts
Solver = Annotated[
    str,
    one_of(
        SOLVER_NAMES,
        "How to find the rule. global: GLD, the proven optimum; fixed-point: "
        "Algorithm 1; fisher: LDA for each pair. The others are rivals in the paper.",
        **EXPERTS,
    ),
]
Criterion = Annotated[
    str,
    one_of(
        CRITERIA,
        "What to minimize: bayes, the error or cost; minimax, the larger error rate; "
        "neyman-pearson, the error of one class while --max-error bounds the other.",
        **EXPERTS,
    ),
]
Multiclass = Annotated[
    str,
    one_of(
        MULTICLASS,
        "More than two classes: a rule for each pair, or for each class against the "
        "others.",
        **EXPERTS,
    ),
]
Voting = Annotated[
    str | None,
    one_of(
        VOTINGS,
        "How the votes of pairs count: weighted by accuracy, or alike.",
        show_default="weighted",
        **EXPERTS,
    ),
]
Refine = Annotated[
    bool,
    _expert(
        None,
        "Search for rules with fewer errors on these rows (Algorithm 2). Keeps all "
        "rows in memory.",
        "--refine",
    ),
]
ClassWeight = Annotated[
    str | None,
    _expert(
        "LABEL=WEIGHT,...",
        "How much errors of a class count when refining, or balanced.",
    ),
]
Seed = Annotated[int, _expert("NUMBER", "Seed of random choices.", min=0)]
Method = Annotated[
    str,
    one_of(
        PROJECTIONS,
        "error minimizes a bound on the errors of all pairs of classes, chernoff is a "
        "quick formula, fisher is LDA, which uses only the means.",
        **EXPERTS,
    ),
]
