"""The command that reduces the features of a table to a few components."""

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
from heterolda.cli.parsing import parse_numbers, parse_shrinkage, split_names
from heterolda.data.files import STANDARD_STREAM, check_written


def project(
    data: opt.Data,
    target: opt.Target,
    columns: opt.Features = None,
    exclude: opt.Exclude = None,
    categorical: opt.Categorical = None,
    sample_weight: opt.SampleWeight = None,
    missing: opt.WholeRows = "error",
    delimiter: opt.Delimiter = None,
    decimal: opt.Decimal = None,
    no_header: opt.NoHeader = False,
    na: opt.Na = None,
    components: fit_opt.Components = None,
    shrinkage: fit_opt.ProjectionShrinkage = "auto",
    priors: fit_opt.Priors = None,
    out: opt.ComponentsOut = None,
    html: opt.MapPage = None,
    identifier: opt.Identifier = None,
    method: fit_opt.Method = "error",
    debug: opt.Debug = False,
) -> None:
    """Reduce a table to the few components in which its classes differ.

    - `heterolda project iris.csv --target class --html iris.html`
    - `heterolda project iris.csv -t class --components 2 --out projected.csv`
    - `heterolda project 'parts/*.parquet' -t kind --id sample -o small.parquet`

    Components are weighted sums of the features that separate the classes by their
    means and by their spreads. The table of --out has the columns that are not
    features, unchanged, then component_1, component_2 and so on. Rows keep their order.
    Files are read and written in pieces, so they may be larger than memory.
    """
    with errors_in_one_line(debug):
        weight = None if shrinkage == "none" else parse_shrinkage(shrinkage)
        shares = parse_numbers("--priors", priors, "equal")
        if out is not None:
            check_written(out)
        written = None if out == STANDARD_STREAM else out
        check_outputs({"--out": written, "--html": html}, data=data)
        if html is not None:
            from heterolda.inspection.displays.base import pyplot

            pyplot()  # type: ignore[no-untyped-call]  # or say what to install
        text = format_of(delimiter, decimal, no_header, na)
        from heterolda.cli.project_files import project_files
        from heterolda.estimators.projection import HeteroscedasticProjection

        projection = HeteroscedasticProjection(  # type: ignore[no-untyped-call]
            components, method=method, shrinkage=weight
        )
        projection._validate_params()  # type: ignore[no-untyped-call]
        rows = {"sample_weight": sample_weight, "missing": missing, "format": text}
        rows |= {"takes_missing": False, "also_out": split_names(identifier)}
        names = columns, exclude, categorical
        with (
            warnings_as_notes(),
            training_table(data, target, *names, **rows) as table,
        ):
            only = split_names(identifier)
            outputs = out, html, name_of(data)
            project_files(projection, table, shares, only, *outputs)
