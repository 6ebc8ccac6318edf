"""The command that fits a model to files."""

from __future__ import annotations

import typer

import heterolda.cli.options as opt
from heterolda.cli.files import check_outputs, format_of, name_of, training_table
from heterolda.cli.messages import (
    errors_in_one_line,
    options_text,
    warnings_as_notes,
)

# Options that the first one has no use for, and what to use instead of some.
_CONTRADICTIONS = {
    "recommended": (
        *("refine", "voting", "solver", "multiclass", "class_weight", "criterion"),
        *("costs", "max_error", "confidence"),
    ),
    "refine": ("costs", "criterion", "max_error", "multiclass"),
    "confidence": ("costs", "criterion"),
}
_REMEDIES = {
    ("recommended", "costs"): "weigh errors with --priors",
    ("refine", "costs"): "weigh errors with --class-weight",
}


def fit(
    context: typer.Context,
    data: opt.Data,
    target: opt.Target,
    columns: opt.Features = None,
    exclude: opt.Exclude = None,
    categorical: opt.Categorical = None,
    sample_weight: opt.SampleWeight = None,
    missing: opt.Missing = "error",
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    no_header: opt.NoHeader = False,
    na: opt.Na = None,
    recommended: opt.Recommended = False,
    shrinkage: opt.Shrinkage = None,
    costs: opt.Costs = None,
    priors: opt.Priors = None,
    max_error: opt.MaxError = None,
    confidence: opt.Confidence = None,
    cv: opt.Cv = None,
    accuracy: opt.Accuracy = True,
    out: opt.ModelOut = None,
    solver: opt.Solver = "global",
    criterion: opt.Criterion = "bayes",
    multiclass: opt.Multiclass = "ovo",
    voting: opt.Voting = None,
    refine: opt.Refine = False,
    class_weight: opt.ClassWeight = None,
    seed: opt.Seed = 0,
    debug: opt.Debug = False,
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
    with errors_in_one_line(debug):
        _check_together(context, missing)
        settings = {
            "solver": solver,
            "multiclass": multiclass,
            "criterion": criterion,
            "shrinkage": opt.parse_shrinkage(shrinkage),
            "priors": opt.parse_numbers("--priors", priors, "equal"),
            "costs": opt.parse_costs(costs),
            "max_error": opt.parse_numbers("--max-error", max_error),
            "missing": "em" if missing == "em" else "error",
            "random_state": seed,
        }
        weights = opt.parse_numbers("--class-weight", class_weight, "balanced")
        check_outputs({"--out": out}, data=data)
        text = format_of(delimiter, decimal, no_header, na)
        from heterolda.cli.fitting import estimator_of, fit_and_report, try_out

        model = estimator_of(
            settings, recommended, confidence, refine, voting, class_weight=weights
        )
        try_out(model)
        n_folds = cv if accuracy or cv is not None else 0
        with (
            warnings_as_notes(),
            training_table(
                *(data, target, columns, exclude, categorical),
                sample_weight=sample_weight,
                missing=missing,
                format=text,
                takes_missing=not (recommended or refine),
            ) as table,
        ):
            fit_and_report(model, table, name_of(data), out, n_folds, seed)


def _check_together(context: typer.Context, missing: str) -> None:
    """Refuse combinations in which an option would silently be ignored."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    defaults = {option.name: option.default for option in context.command.params}
    given = {
        name
        for name, source in sources.items()
        if source is not None
        and source.name == "COMMANDLINE"
        and context.params[name] != defaults[name]
    }
    for option, others in _CONTRADICTIONS.items():
        for other in others:
            if option in given and other in given:
                remedy = _REMEDIES.get((option, other), "leave one of them out")
                raise opt.UsageError(
                    f"{options_text({other: None})} cannot be combined with "
                    f"{options_text({option: None})}: {remedy}"
                )
    if missing == "em" and not given.isdisjoint(["recommended", "refine"]):
        raise opt.UsageError(
            "--missing em cannot be combined with --recommended or --refine, which "
            "need complete rows: use --missing drop"
        )
    if "class_weight" in given and "refine" not in given:
        raise opt.UsageError("--class-weight needs --refine: use --costs or --priors")
    if "max_error" in given and given.isdisjoint(["confidence", "criterion"]):
        raise opt.UsageError(
            "--max-error is for two classes: add --confidence 0.95 to hold it on new "
            "rows, or --criterion neyman-pearson to hold it under the model"
        )
    if "confidence" in given and "max_error" not in given:
        raise opt.UsageError("--confidence needs a bound: add --max-error LABEL=RATE")
