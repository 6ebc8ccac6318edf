"""The command that fits a model to files."""

from __future__ import annotations

import heterolda.cli.fit_options as fit_opt
import heterolda.cli.options as opt
from heterolda.cli.data_source import (
    check_outputs,
    format_of,
    name_of,
    training_table,
)
from heterolda.cli.messages import errors_in_one_line, warnings_as_notes
from heterolda.cli.parsing import parse_costs, parse_numbers, parse_shrinkage


def fit(
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
    recommended: fit_opt.Recommended = False,
    shrinkage: fit_opt.Shrinkage = None,
    costs: fit_opt.Costs = None,
    priors: fit_opt.Priors = None,
    max_error: fit_opt.MaxError = None,
    confidence: fit_opt.Confidence = None,
    cv: fit_opt.Cv = None,
    accuracy: fit_opt.Accuracy = True,
    out: opt.ModelOut = None,
    solver: fit_opt.Solver = "global",
    criterion: fit_opt.Criterion = "bayes",
    multiclass: fit_opt.Multiclass = "ovo",
    voting: fit_opt.Voting = None,
    refine: fit_opt.Refine = False,
    class_weight: fit_opt.ClassWeight = None,
    seed: fit_opt.Seed = 0,
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
        settings = {
            "solver": solver,
            "shrinkage": parse_shrinkage(shrinkage),
            "multiclass": multiclass,
            "voting": voting,
            "criterion": criterion,
            "priors": parse_numbers("--priors", priors, "equal"),
            "costs": parse_costs(costs),
            "max_error": parse_numbers("--max-error", max_error),
            "confidence": confidence,
            "recommended": recommended,
            "refine": refine,
            "class_weight": parse_numbers("--class-weight", class_weight, "balanced"),
            "seed": seed,
            "missing": missing,
        }
        check_outputs({"--out": out}, data=data)
        text = format_of(delimiter, decimal, no_header, na)
        from heterolda.cli.fit_files import fit_and_report
        from heterolda.cli.fit_settings import FitSettings

        checked = FitSettings(**settings)
        checked.check()
        rows = {"sample_weight": sample_weight, "missing": missing, "format": text}
        rows |= {"takes_missing": checked.can_take_missing}
        names = columns, exclude, categorical
        with (
            warnings_as_notes(),
            training_table(data, target, *names, **rows) as table,
        ):
            n_folds = cv if accuracy or cv is not None else 0
            fit_and_report(checked, table, name_of(data), out, n_folds)
