"""The command that fits a model to files."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import heterolda.cli.options as opt
from heterolda.cli.files import check_files, format_of, name_of, training_table
from heterolda.cli.messages import options_text


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
            "the rows of that class aside and keeps all rows in memory. With --cv each "
            "fold holds out fewer rows and is stricter.",
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
        Literal["weighted", "majority"] | None,
        opt.expert(
            None,
            "How the votes of pairs count: weighted by accuracy, or alike.",
            show_default="weighted",
        ),
    ] = None
    refine: Annotated[
        bool,
        opt.expert(
            None,
            "Search for rules with fewer errors on these rows (Algorithm 2). Keeps all "
            "rows in memory.",
            "--refine",
        ),
    ] = False
    class_weight: Annotated[
        str | None,
        opt.expert(
            "LABEL=WEIGHT,...",
            "How much errors of a class count when refining, or balanced.",
        ),
    ] = None
    seed: Annotated[int, opt.expert("NUMBER", "Seed of random choices.", min=0)] = 0


# An option, others that it has no use for, and what to use instead.
_CONTRADICTIONS = (
    (
        "recommended",
        (
            *("refine", "voting", "solver", "multiclass", "class_weight", "criterion"),
            *("max_error", "confidence"),
        ),
        "leave one of them out",
    ),
    ("recommended", ("costs",), "weigh errors with --priors"),
    ("refine", ("costs",), "weigh errors with --class-weight"),
    ("refine", ("criterion", "max_error", "multiclass"), "leave one of them out"),
    ("confidence", ("costs", "criterion"), "leave one of them out"),
    ("no_accuracy", ("cv",), "leave one of them out"),
)
# An option, others of which it needs one, and what to do.
_NEEDS = (
    ("class_weight", ("refine",), "--class-weight needs --refine: use --costs"),
    (
        "max_error",
        ("confidence", "criterion"),
        "--max-error is for two classes: add --confidence 0.95 to hold it on new rows, "
        "or --criterion neyman-pearson to hold it under the model",
    ),
    (
        "confidence",
        ("max_error",),
        "--confidence needs a bound: add --max-error LABEL=RATE",
    ),
)


def fit(rows: opt.Rows, reading: opt.Reading, settings: Settings) -> None:
    """Fit a linear discriminant to a table and show how good it is.

    - `heterolda fit iris.csv --target class --out iris.json`
    - `heterolda fit 'parts/*.parquet' -t kind --exclude id,date --recommended`
    - `zcat big.csv.gz | heterolda fit - -t y --costs ill:well=10 -o model.json`

    The table has one row for each case, a column of known classes (the target) and
    columns of numbers (the features). The output says how often the model is right on
    rows held out of the fit, and how often plain LDA is on the same rows. Files are
    read in pieces, so they may be larger than memory.
    """
    _check_together(settings, rows.missing)
    parameters: dict[str, Any] = {
        "solver": settings.solver,
        "multiclass": settings.multiclass,
        "criterion": settings.criterion,
        "shrinkage": opt.parse_shrinkage(settings.shrinkage),
        "priors": opt.parse_numbers("--priors", settings.priors, "equal"),
        "costs": opt.parse_costs(settings.costs),
        "max_error": opt.parse_numbers("--max-error", settings.max_error),
        "missing": "em" if rows.missing == "em" else "error",
        "random_state": settings.seed,
    }
    weights = opt.parse_numbers("--class-weight", settings.class_weight, "balanced")
    check_files({"--out": settings.out}, data=rows.data)
    text = format_of(reading)
    from heterolda.cli.fitting import check_parameters, estimator_of, fit_and_report

    model = estimator_of(settings, parameters, weights)
    check_parameters(model)
    n_folds = settings.cv if settings.accuracy else 0
    needs_whole = settings.recommended or settings.refine
    with training_table(rows, text, takes_missing=not needs_whole) as table:
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
    if "accuracy" in given:  # its default is yes
        given.add("no_accuracy")
    for option, others, remedy in _CONTRADICTIONS:
        for other in others:
            if {option, other} <= given:
                raise opt.UsageError(
                    f"{options_text({other: None})} cannot be combined with "
                    f"{options_text({option: None})}: {remedy}"
                )
    for option, others, problem in _NEEDS:
        if option in given and given.isdisjoint(others):
            raise opt.UsageError(problem)
    if missing == "em" and not given.isdisjoint(["recommended", "refine"]):
        raise opt.UsageError(
            "--missing em cannot be combined with --recommended or --refine, which "
            "need complete rows: use --missing drop"
        )
