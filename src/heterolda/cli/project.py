"""The command that reduces the features of a table to a few components."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import heterolda.cli.options as opt
from heterolda.cli.files import (
    check_outputs,
    format_of,
    name_of,
    need_matplotlib,
    training_table,
)
from heterolda.cli.messages import (
    StatusLine,
    errors_in_one_line,
    note,
    print_result,
    print_to_stderr,
    warnings_as_notes,
)
from heterolda.data.files import PARQUET, STANDARD_STREAM, check_written

if TYPE_CHECKING:
    from heterolda.data.table import Table


Components = Annotated[
    int | None,
    opt.model(
        "NUMBER",
        "Number of components. By default one fewer than classes, at least two.",
        min=1,
    ),
]
Shrinkage = Annotated[
    str,
    opt.model(
        "WEIGHT",
        "For few rows: make the spreads (covariances) of the classes more alike. auto, "
        "none, or a number from 0 to 1. With 0.3,0.1 the common spread is first moved "
        "towards its diagonal by 0.1.",
    ),
]
Out = Annotated[
    str | None,
    opt.write(
        "FILE",
        "Projected rows: a .csv, .tsv (also .gz) or .parquet file, or - for CSV on "
        "standard output.",
        "--out",
        "-o",
    ),
]
Page = Annotated[
    Path | None,
    opt.write("FILE", "Page with a map of the classes. It needs no network."),
]
Method = Annotated[
    Literal["error", "chernoff", "fisher"],
    opt.expert(
        None,
        "error minimizes a bound on the errors of all pairs of classes, chernoff is a "
        "quick formula, fisher is LDA, which uses only the means.",
    ),
]


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
    components: Components = None,
    shrinkage: Shrinkage = "auto",
    priors: opt.Priors = None,
    out: Out = None,
    html: Page = None,
    identifier: opt.Identifier = None,
    method: Method = "error",
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
    with errors_in_one_line(debug), warnings_as_notes():
        weight = None if shrinkage == "none" else opt.parse_shrinkage(shrinkage)
        shares = opt.parse_numbers("--priors", priors, "equal")
        if out is not None:
            check_written(out)
        written = None if out == STANDARD_STREAM else out
        check_outputs({"--out": written, "--html": html}, data=data)
        if html is not None:
            need_matplotlib()
        text = format_of(delimiter, decimal, no_header, na)
        from heterolda.estimators.projection import HeteroscedasticProjection

        projection = HeteroscedasticProjection(  # type: ignore[no-untyped-call]
            components, method=method, shrinkage=weight, priors=shares
        )
        projection._validate_params()  # type: ignore[no-untyped-call]
        only = opt.split_names(identifier)
        with training_table(
            *(data, target, columns, exclude, categorical, only),
            sample_weight=sample_weight,
            missing=missing,
            format=text,
            takes_missing=False,
        ) as table:
            _project(projection, table, only, out, html, name_of(data))


def _project(
    projection: Any,
    table: Table,
    only: tuple[str, ...],
    out: str | None,
    html: Path | None,
    name: str,
) -> None:
    """Find the components, write what is asked for, and say what they are."""
    import numpy as np

    from heterolda.cli.models import labelled
    from heterolda.cli.traps import training_traps
    from heterolda.data.gathering import gather
    from heterolda.data.writer import write_table
    from heterolda.inspection.projection_text import (
        component_names,
        describe_projection,
    )

    kept = [] if out is None else _kept_columns(table, only)
    written = []
    with StatusLine(quiet=out == STANDARD_STREAM and sys.stdout.isatty()) as status:
        gathered = gather(table, status.doing("reading the data"))
        stats, sample = gathered.statistics, gathered.sample
        X, y, _ = sample.in_proportion()
        names = [str(feature) for feature in np.asarray(stats.feature_names)]
        note(*training_traps(table, names, gathered.first, X, np.unique(y, True)[1]))
        projection = labelled(projection, stats.classes)
        show = status.doing("finding the components")
        projection._fit_sampled(stats, sample, show)
        for clash in {*kept} & {*component_names(len(projection.explained_))}:
            was_typed = clash in (*only, table.target)
            remedy = (
                "rename it" if was_typed else "choose the columns to write with --id"
            )
            raise ValueError(f"{name}: there is already a column {clash!r}: {remedy}")
        if out is not None:
            typed = out.lower().endswith(PARQUET)
            batches = _projected(projection, table, kept, typed)
            n_rows = write_table(batches, out, status.doing("projecting"))
            written.append(f"{n_rows:,} rows are in {out}.")
    if html is not None:
        from heterolda.inspection.projection_text import write_map_page

        write_map_page(projection, X, y, html, Path(name).name)
        written.append(f"The page is in {html}.")
    if out != STANDARD_STREAM:
        lines = describe_projection(projection, name, str(table.target))
        print_result([*lines, *([""] if written else []), *written])
    elif html is not None:
        print_to_stderr(f"the page is in {html}")


def _kept_columns(table: Table, only: tuple[str, ...]) -> list[str]:
    """Return the columns to write before the components, by those of the first file.

    These are all that are not features, or only some and the labels.
    """
    from heterolda.data.reading import open_files

    file = next(open_files(replace(table, keep=True)))
    if only:
        return list(dict.fromkeys([*only, str(table.target)]))
    features = set(file.table.feature_columns)
    return [name for name in file.schema.names if name not in features]


def _projected(
    projection: Any, table: Table, kept: list[str], typed: bool
) -> Iterator[tuple[Any, Any]]:
    """Yield the rows in their order, without those that the fit left out.

    Batches have the `kept` columns as they are, then the components; with each comes
    the format of its file. With `typed`, what the fit reads as numbers in text files is
    written as such.
    """
    import numpy as np
    import pyarrow as pa

    from heterolda.cli.models import without_names
    from heterolda.data.reading import Pass
    from heterolda.estimators.categories import raw_columns
    from heterolda.inspection.projection_text import component_names

    names = raw_columns(map(str, projection.feature_names_in_), table.categories)
    wanted = replace(table, columns=names, exclude=(), keep=True)
    plain = without_names(projection)
    n, labels = projection.scalings_.shape[1], pa.array(projection.classes_.tolist())
    reading = Pass(wanted, classes=projection.classes_)
    for records, rows in reading.with_records():
        columns = dict(zip(kept, records.select(kept).columns, strict=True))
        if typed and reading.file.is_text:
            # A feature of a category has the name of no column.
            features = reading.file.table.features
            read = dict(zip(features, map(pa.array, rows.X.T), strict=True))
            read[str(table.target)] = labels.take(pa.array(rows.codes))
            if table.sample_weight is not None:
                read[table.sample_weight] = pa.array(rows.weights)
            columns |= {name: read[name] for name in kept if name in read}
        projected = plain.transform(rows.X) if len(rows.X) else np.empty((0, n))
        for j, name in enumerate(component_names(n)):
            columns[name] = pa.array(projected[:, j])
        yield pa.RecordBatch.from_pydict(columns), reading.file.format
