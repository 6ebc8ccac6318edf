"""The command that reduces the features of a table to a few components."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import heterolda.cli.options as opt
from heterolda.cli.files import check_files, name_of, need_matplotlib, training_table
from heterolda.cli.messages import StatusLine, note, print_result, print_to_stderr
from heterolda.data.files import STANDARD_STREAM, check_written
from heterolda.foundations.wording import count

if TYPE_CHECKING:
    from heterolda.data.table import Table


def project(
    *,
    rows: opt.Rows,
    missing: opt.Missing = "error",
    reading: opt.Reading,
    components: Annotated[
        int | None,
        opt.model(
            "NUMBER",
            "How many; by default, one fewer than there are classes, and at least two.",
            min=1,
        ),
    ] = None,
    shrinkage: opt.Shrinkage = "auto",
    priors: opt.Priors = None,
    out: Annotated[
        str | None,
        opt.write(
            "FILE",
            "Projected rows: a .csv, .tsv (also .gz) or .parquet file, or - for CSV on "
            "standard output.",
            "--out",
            "-o",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        opt.write(
            "FILE",
            "Page with a map of the classes. It needs no network.",
            parser=opt.page,
        ),
    ] = None,
    method: Annotated[
        Literal["error", "chernoff", "fisher"],
        opt.expert(
            None,
            "error minimizes a bound on the errors of all pairs of classes, chernoff "
            "is a quick formula, fisher is LDA, which uses only the means.",
        ),
    ] = "error",
) -> None:
    """Reduce a table to the few components in which its classes differ.

    - `heterolda project iris.csv --target class --html iris.html`
    - `heterolda project iris.csv -t class --components 2 --out projected.csv`
    - `heterolda project 'parts/*.parquet' -t kind --exclude id -o small.parquet`

    Components are weighted sums of the features that separate the classes by their
    means and by their spreads. The --out table has the columns that are not
    features, unchanged, then component_1, component_2 and so on. Rows keep their order.
    Files are read and written in pieces, so they may be larger than memory.
    """
    if out is not None:
        check_written(out)
    check_files({"out": out, "html": html}, data=rows.data)
    if html is not None:
        need_matplotlib()
    text = reading.format
    from heterolda.estimators.projection import HeteroscedasticProjection

    projection = HeteroscedasticProjection(  # type: ignore[no-untyped-call]
        components, method=method, shrinkage=shrinkage, priors=priors
    )
    projection._validate_params()  # type: ignore[no-untyped-call]
    with training_table(rows, missing, text) as table:
        _project(projection, table, out, html, name_of(rows.data))


def _project(
    projection: Any,
    table: Table,
    out: str | None,
    html: Path | None,
    name: str,
) -> None:
    """Find the components, write the requested files, and describe the components."""
    import numpy as np

    from heterolda.cli.models import labeled, write_answers
    from heterolda.cli.traps import training_traps
    from heterolda.data.gathering import gather
    from heterolda.data.reading import Pass
    from heterolda.estimators.fit_record import raw_columns
    from heterolda.inspection.projection_text import describe_projection, write_map_page

    written = []
    with StatusLine(quiet=out == STANDARD_STREAM and sys.stdout.isatty()) as status:
        gathered = gather(table, status.doing("reading the data"))
        stats, sample = gathered.statistics, gathered.sample
        shown = sample.in_proportion()
        note(*training_traps(gathered.reading, shown.rows(stats.classes)))
        projection = labeled(projection, stats.classes)
        projection._fit_sampled(stats, sample, status.doing("finding the components"))
        if out is not None:
            features = map(str, projection.feature_names_in_)
            names = raw_columns(features, table.categories)
            n_components = projection.scalings_.shape[1]
            added = [f"component_{k + 1}" for k in range(n_components)]

            def answer(X: Any) -> Any:
                empty = np.empty((n_components, 0))
                return projection.transform(X).T if len(X) else empty

            used = replace(table, columns=names, keep=True)
            reading = Pass(used, classes=projection.classes_)
            show = status.doing("projecting")
            n_rows = write_answers(reading, out, (), names, added, answer, show)
            written.append(f"Wrote {count(n_rows, 'row')} to {out}.")
    if html is not None:
        write_map_page(projection, shown.X, shown.y, html, Path(name).name)
        written.append(f"The page is in {html}.")
    if out != STANDARD_STREAM:
        lines = describe_projection(projection, name, str(table.target))
        print_result([*lines, *([""] if written else []), *written])
    elif html is not None:
        print_to_stderr(f"the page is in {html}")
