"""The command that fits a model to files."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import heterolda.cli.options as opt
from heterolda.cli.files import check_files, name_of, training_table
from heterolda.exceptions import ParameterError


@dataclass(frozen=True)
class Settings:
    """Options of a fit: the model, how to evaluate it, and where to write it."""

    method: Annotated[
        Literal["gaussian", "smoothed", "search"],
        opt.model(
            None,
            "smoothed: for data that need not be normal; of more than 100,000 rows it "
            "draws as many, and reads files twice. gaussian: the optimum for normal "
            "classes, by means and covariances alone. search: the gaussian rules, "
            "changed to have fewer errors on these rows (Algorithm 2), which are all "
            "kept in memory.",
        ),
    ] = "smoothed"
    shrinkage: opt.Shrinkage = "auto"
    costs: Annotated[
        Any,
        opt.model(
            "TRUE:DECIDED=COST,...",
            "Costs of wrong decisions, such as ill:well=10. All others cost 1.",
            parser=opt.parse_costs,
        ),
    ] = None
    priors: opt.Priors = None
    class_weight: Annotated[
        Any,
        opt.model(
            "WEIGHTS",
            "Factors of the priors, such as ill=10; or balanced, the inverse "
            "frequencies.",
            parser=opt.parse_class_weight,
        ),
    ] = None
    max_error: Annotated[
        Any,
        opt.model(
            "LABEL=RATE",
            "For two classes: the largest share of one class to misclassify, such as "
            "ill=0.01. Add --confidence to bound it on new rows, or --criterion "
            "neyman-pearson to bound it on the rows of the fit.",
            parser=opt.parse_numbers,
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
        opt.evaluation(
            "NUMBER",
            "Number of folds for the accuracy on held-out rows. By default 10 if "
            "refitting is quick.",
            min=2,
            max=1000,
        ),
    ] = None
    no_accuracy: Annotated[
        bool,
        opt.evaluation(
            None,
            "Skip the accuracy of the model and of LDA on held-out rows.",
            "--no-accuracy",
        ),
    ] = False
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
        Literal["ovo", "ovr"],
        opt.expert(
            None,
            "More than two classes: a rule for each pair, or for each class against "
            "the others.",
        ),
    ] = "ovo"
    voting: Annotated[
        Literal["probability", "weighted", "majority"],
        opt.expert(
            None,
            "How pairs of classes decide: all together, by probability; or by votes, "
            "weighted by accuracy or all equal, which give no probabilities.",
        ),
    ] = "probability"
    seed: Annotated[int, opt.expert("NUMBER", "Seed of random choices.", min=0)] = 0


# Options that cannot be combined.
_EXCLUDED = {
    "method smoothed": ["voting", "solver", "multiclass", "confidence"],
    "method search": [
        *("costs", "criterion", "max_error", "multiclass", "voting"),
        "missing='em'",
    ],
    "confidence": ["costs", "criterion", "cv"],
    "no_accuracy": ["cv"],
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
    - `heterolda fit 'parts/*.parquet' -t kind --exclude id,date --method gaussian`
    - `zcat big.csv.gz | heterolda fit - -t y --costs ill:well=10 -o model.json`

    The table has one row for each case, a column of class labels (the target) and
    columns of numbers (the features). The output gives the accuracy of the model on
    held-out rows, and that of plain LDA on the same rows. Files are read in pieces, so
    they may be larger than memory.
    """
    _check_combinations(settings, missing)
    check_files({"out": settings.out}, data=rows.data)
    from heterolda.cli.fitting import estimator_of, fit_and_report

    takes_missing = settings.method != "search"
    model = estimator_of(settings, missing)
    n_folds = 0 if settings.no_accuracy else settings.cv
    with training_table(
        rows, missing, reading.format, takes_missing=takes_missing
    ) as table:
        fit_and_report(
            model, table, name_of(rows.data), settings.out, n_folds, settings.seed
        )


def _check_combinations(settings: Settings, missing: str) -> None:
    """Reject combinations in which an option would silently be ignored."""
    given = {
        field.name
        for field in fields(settings)
        if getattr(settings, field.name) != field.default
    }
    given |= {f"missing={missing!r}", f"method {settings.method}"}
    for option, others in _EXCLUDED.items():
        for other in others:
            if {option, other} <= given:
                name, equals, value = other.partition("=")
                problem = f"cannot be combined with --{option.replace('_', '-')}"
                remedy = "leave one of them out"
                if option == "method smoothed":
                    remedy = "add --method gaussian"
                raise ParameterError(
                    name, f"{equals}{value} {problem}: {remedy}".lstrip()
                )
    if "confidence" in given and "max_error" not in given:
        raise ParameterError("confidence", "is not enough: add --max-error LABEL=RATE")
    if "max_error" in given and given.isdisjoint({"confidence", "criterion"}):
        raise ParameterError(
            "max_error",
            "is not enough: add --confidence 0.95 to bound it on new rows, or "
            "--criterion neyman-pearson to bound it on the rows of the fit",
        )
