"""The command that fits a model to files."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import heterolda.cli.options as opt
from heterolda.cli.files import check_files, format_of, name_of, training_table


@dataclass(frozen=True)
class Settings:
    """Options of a fit: the model, how to evaluate it, and where to write it."""

    recommended: Annotated[
        bool,
        opt.model(
            None,
            "A model that suits most data, normal or not, but takes longer. Of more "
            "than 100,000 rows it is fitted to a random sample.",
            "--recommended",
        ),
    ] = False
    shrinkage: opt.Shrinkage = None
    costs: Annotated[
        str | None,
        opt.model(
            "TRUE:DECIDED=COST,...",
            "Costs of wrong decisions, such as ill:well=10. All others cost 1.",
        ),
    ] = None
    priors: opt.Priors = None
    max_error: Annotated[
        str | None,
        opt.model(
            "LABEL=RATE",
            "For two classes: the largest share of one class to get wrong, such as "
            "ill=0.01. Add --confidence to hold it on new rows, or --criterion "
            "neyman-pearson to hold it under the fitted model.",
        ),
    ] = None
    confidence: Annotated[
        float | None,
        opt.model(
            "NUMBER",
            "Confidence that --max-error holds on new rows, such as 0.95. Sets half of "
            "the rows of that class aside and keeps all rows in memory.",
        ),
    ] = None
    cv: Annotated[
        int | None,
        opt.judge(
            "NUMBER",
            "Number of folds for the accuracy on held-out rows. By default 10, and "
            "only where refitting is quick.",
            min=2,
            max=1000,
        ),
    ] = None
    accuracy: Annotated[
        bool,
        opt.judge(
            None,
            "Skip the accuracy of the model and of LDA on held-out rows.",
            "--accuracy/--no-accuracy",
        ),
    ] = True
    out: Annotated[
        Path | None,
        opt.write(
            "FILE",
            "Model file to write (JSON), for predict, evaluate, inspect and export.",
            "--out",
            "-o",
        ),
    ] = None
    solver: Annotated[
        Literal["global", "fixed-point", "c-hld", "r-hld-1", "r-hld-2", "fisher"],
        opt.expert(
            None,
            "How to find the rule. global: GLD, the proven optimum; fixed-point: "
            "Algorithm 1; fisher: LDA for each pair. The others "
            "come from the paper, for comparison.",
        ),
    ] = "global"
    criterion: Annotated[
        Literal["bayes", "minimax", "neyman-pearson"],
        opt.expert(
            None,
            "What to minimize: bayes, the error or cost; minimax, the larger error "
            "rate; neyman-pearson, the error of one class while --max-error bounds the "
            "other.",
        ),
    ] = "bayes"
    multiclass: Annotated[
        Literal["ovo", "ova"],
        opt.expert(
            None,
            "More than two classes: a rule for each pair, or for each class against "
            "the others.",
        ),
    ] = "ovo"
    voting: Annotated[
        Literal["weighted", "majority"],
        opt.expert(
            None, "How the votes of pairs count: weighted by accuracy, or alike."
        ),
    ] = "weighted"
    refine: Annotated[
        bool,
        opt.expert(
            None,
            "Search for rules with fewer errors on these rows (Algorithm 2). Keeps all "
            "rows in memory.",
            "--refine",
        ),
    ] = False
    seed: Annotated[int, opt.expert("NUMBER", "Seed of random choices.", min=0)] = 0


# Options that an option excludes.
_EXCLUDED = {
    "recommended": [
        *("refine", "voting", "solver", "multiclass", "criterion", "costs"),
        *("max_error", "confidence", "missing em"),
    ],
    "refine": [
        *("costs", "criterion", "max_error", "multiclass", "voting", "missing em")
    ],
    "confidence": ["costs", "criterion", "cv"],
    "no_accuracy": ["cv"],
}
# An option, others of which it needs one, and the remedy.
_NEEDED = {
    "max_error": (
        ["confidence", "criterion"],
        "add --confidence 0.95 to hold it on new rows, or --criterion neyman-pearson "
        "to hold it under the model",
    ),
    "confidence": (["max_error"], "add --max-error LABEL=RATE"),
}


def fit(
    *,
    rows: opt.Rows,
    missing: opt.MissingOrEM = "error",
    reading: opt.Reading,
    settings: Settings,
) -> None:
    """Fit a linear discriminant to a table and show how good it is.

    - `heterolda fit iris.csv --target class --out iris.json`
    - `heterolda fit 'parts/*.parquet' -t kind --exclude id,date --recommended`
    - `zcat big.csv.gz | heterolda fit - -t y --costs ill:well=10 -o model.json`

    The table has one row for each case, a column of known classes (the target) and
    columns of numbers (the features). The output says how often the model is right on
    rows held out of the fit, and how often plain LDA is on the same rows. Files are
    read in pieces, so they may be larger than memory.
    """
    _check_together(settings, missing)
    parameters: dict[str, Any] = {
        "solver": settings.solver,
        "multiclass": settings.multiclass,
        "criterion": settings.criterion,
        "voting": settings.voting,
        "shrinkage": opt.parse_shrinkage(settings.shrinkage),
        "priors": opt.parse_numbers("--priors", settings.priors, "equal"),
        "costs": opt.parse_costs(settings.costs),
        "max_error": opt.parse_numbers("--max-error", settings.max_error),
        "missing": "em" if missing == "em" else "error",
        "random_state": settings.seed,
    }
    check_files({"--out": settings.out}, data=rows.data)
    text = format_of(reading)
    from heterolda.cli.fitting import estimator_of, fit_and_report

    model = estimator_of(settings, parameters)
    n_folds = settings.cv if settings.accuracy else 0
    needs_whole = settings.recommended or settings.refine
    with training_table(rows, missing, text, takes_missing=not needs_whole) as table:
        fit_and_report(
            model, table, name_of(rows.data), settings.out, n_folds, settings.seed
        )


def _check_together(settings: Settings, missing: str) -> None:
    """Refuse combinations in which an option would silently be ignored."""
    given = {
        field.name
        for field in fields(settings)
        if getattr(settings, field.name) != field.default
    }
    if not settings.accuracy:
        given.add("no_accuracy")
    given.add(f"missing {missing}")
    for option, others in _EXCLUDED.items():
        for other in others:
            if {option, other} <= given:
                raise opt.UsageError(
                    f"{_typed(other)} cannot be combined with {_typed(option)}: leave "
                    "one of them out"
                )
    for option, (others, remedy) in _NEEDED.items():
        if option in given and given.isdisjoint(others):
            raise opt.UsageError(f"{_typed(option)} is not enough: {remedy}")


def _typed(option: str) -> str:
    return "--" + option.replace("_", "-")
