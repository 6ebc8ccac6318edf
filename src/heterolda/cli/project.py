"""The command that reduces the features of a table to a few components."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from heterolda.cli.data_source import (
    categories_of,
    check_outputs,
    name_of,
    reading_of,
    source_of,
)
from heterolda.cli.fit_options import (
    Categorical,
    Exclude,
    Features,
    Target,
    WholeRows,
)
from heterolda.cli.messages import (
    errors_in_one_line,
    print_result,
    print_to_stderr,
    usage_errors,
    warnings_as_notes,
)
from heterolda.cli.options import (
    EXPERTS,
    FIT,
    WRITE,
    Data,
    Debug,
    Decimal,
    Delimiter,
    Na,
    NoHeader,
    SampleWeight,
    one_of,
)
from heterolda.cli.parsing import (
    check_columns,
    parse_numbers,
    parse_shrinkage,
    split_names,
)
from heterolda.foundations.wording import PROJECTIONS

Out = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        **WRITE,
        metavar="FILE",
        help="Projected rows: a .csv, .tsv (also .gz) or .parquet file, or - for CSV "
        "on standard output.",
    ),
]
Html = Annotated[
    Path | None,
    typer.Option(
        **WRITE,
        metavar="FILE",
        help="Page with a map of the classes. It needs no network.",
    ),
]
Identifier = Annotated[
    str | None,
    typer.Option(
        "--id",
        **WRITE,
        metavar="NAMES",
        help="Write only these columns, the target and the components. They are not "
        "features.",
    ),
]
Components = Annotated[
    int | None,
    typer.Option(
        **FIT,
        metavar="NUMBER",
        min=1,
        help="Number of components. By default one fewer than classes, at least two.",
    ),
]
Method = Annotated[
    str,
    one_of(
        PROJECTIONS,
        "error minimises a bound on the errors of all pairs of classes, chernoff is a "
        "quick formula, fisher is LDA, which uses only the means.",
        **EXPERTS,
    ),
]
Shrinkage = Annotated[
    str,
    typer.Option(
        **FIT,
        metavar="WEIGHT",
        help="For few rows: make the spreads (covariances) of the classes more alike. "
        "auto, none, or a number from 0 to 1. With 0.3,0.1 the common spread is first "
        "moved towards its diagonal by 0.1.",
    ),
]
Priors = Annotated[
    str | None,
    typer.Option(
        **FIT,
        metavar="LABEL=SHARE,...",
        help="How much the classes matter, such as a=1,b=3, or equal. By default as "
        "often as they occur in the data.",
    ),
]


def project(
    data: Data,
    target: Target,
    columns: Features = None,
    exclude: Exclude = None,
    categorical: Categorical = None,
    sample_weight: SampleWeight = None,
    missing: WholeRows = "error",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    no_header: NoHeader = False,
    na: Na = None,
    components: Components = None,
    shrinkage: Shrinkage = "auto",
    priors: Priors = None,
    out: Out = None,
    html: Html = None,
    identifier: Identifier = None,
    method: Method = "error",
    debug: Debug = False,
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
        from heterolda.data.table import Table
        from heterolda.estimators.projection import HeteroscedasticProjection

        with usage_errors():
            check_columns(columns, exclude)
            weight = parse_shrinkage(shrinkage, ("auto", "none"))
            shares = parse_numbers("--priors", priors, "equal")
        _check_outputs(out, html, data)
        projection = HeteroscedasticProjection(  # type: ignore[no-untyped-call]
            components, method=method, shrinkage=None if weight == "none" else weight
        )
        only, features = split_names(identifier), split_names(columns)
        known = target, sample_weight, *features, *split_names(exclude)
        others = [name for name in dict.fromkeys(only) if name not in known]
        reading = reading_of(delimiter, decimal, no_header, na)
        with source_of(data, reading) as source, warnings_as_notes():
            rows = Table(
                source,
                target,
                features or None,
                [*split_names(exclude), *others],
                sample_weight,
                missing,
                takes_gaps=False,
            )
            rows = categories_of(rows, categorical)
            _project(projection, rows, shares, only, out, html, name_of(data))


def _check_outputs(out: str | None, html: Path | None, data: list[str]) -> None:
    """Refuse files that cannot be written, or would be lost."""
    from heterolda.data.table_writer import STANDARD_OUTPUT, check_table_name

    with usage_errors():
        if out is not None:
            check_table_name(out)
    table = None if out == STANDARD_OUTPUT else out
    check_outputs({"--out": table, "--html": html}, data=data)
    if html is not None:
        from heterolda.inspection.displays.base import pyplot

        pyplot()  # type: ignore[no-untyped-call]  # or say what to install


def _project(
    projection: Any,
    rows: Any,
    priors: Any,
    only: tuple[str, ...],
    out: str | None,
    html: Path | None,
    name: str,
) -> None:
    """Find the components, write what is asked for, and say what they are."""
    from heterolda.cli.fit_files import by_label
    from heterolda.cli.odd_numbers import note_odd_numbers
    from heterolda.cli.progress import StatusLine
    from heterolda.cli.project_files import (
        check_no_clash,
        kept_columns,
        project_batches,
    )
    from heterolda.data.labels import ClassFinder
    from heterolda.data.parquet_reader import PARQUET
    from heterolda.data.table_writer import write_table
    from heterolda.inspection.projection_text import describe_projection

    kept = [] if out is None else kept_columns(rows, only)
    asked_for = *only, rows.target
    # How many there are by default depends on the classes, which are not known yet.
    check_no_clash(name, kept, projection.n_components or 1, asked_for)
    written = []
    with StatusLine(quiet=out == "-" and sys.stdout.isatty()) as status:
        sample = rows.statistics_and_sample(status.rows("reading the data"))
        finder = ClassFinder(sample[0].classes)
        X, *_ = sample[1].in_proportion()
        note_odd_numbers(rows, X, sample[0].feature_names)
        projection.priors = by_label("priors", priors, finder)
        show = status.words("finding the components")

        def progress(start: int, n_starts: int, n_iter: int, bound: float) -> None:
            show(f"start {start} of {n_starts}, iteration {n_iter}")

        projection._fit_sampled(*sample, progress)
        check_no_clash(name, kept, len(projection.explained_), asked_for)
        if out is not None:
            settings = {"strict": not only, "numbers": out.lower().endswith(PARQUET)}
            batches = project_batches(projection, rows, kept, **settings)
            # Its thread must have ended before the process does, however that ends.
            with closing(batches):
                n_rows = write_table(batches, out, status.rows("projecting"))
            written.append(f"{n_rows:,} rows are in {out}.")
    if html is not None:
        from heterolda.inspection.map_page import write_map_page

        X, y, _ = sample[1].in_proportion()
        write_map_page(projection, X, y, html, Path(name).name)
        written.append(f"The page is in {html}.")
    if out != "-":
        lines = describe_projection(projection, name, rows.target)
        print_result([*lines, *([""] if written else []), *written])
    elif html is not None:
        print_to_stderr(f"the page is in {html}")
