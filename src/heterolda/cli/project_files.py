"""The rows of files in the components of a projection, batch by batch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from heterolda.cli.fit_settings import by_label
from heterolda.cli.messages import note, print_result, print_to_stderr
from heterolda.cli.models import without_names
from heterolda.cli.progress import StatusLine
from heterolda.cli.traps import training_traps
from heterolda.data.categories import raw_columns
from heterolda.data.files import PARQUET, STANDARD_STREAM
from heterolda.data.formats import Format
from heterolda.data.gathering import gather
from heterolda.data.labels import ClassFinder
from heterolda.data.reading import Pass, open_files
from heterolda.data.table import Table
from heterolda.data.writer import write_table
from heterolda.inspection.projection_text import component_names, describe_projection
from heterolda.statistics.rows import Rows


def project_files(
    projection: Any,
    table: Table,
    priors: Any,
    only: tuple[str, ...],
    out: str | None,
    html: Path | None,
    name: str,
) -> None:
    """Find the components, write what is asked for, and say what they are."""
    kept = [] if out is None else _kept_columns(table, only)
    asked_for = *only, table.target
    # How many there are by default depends on the classes, which are not known yet.
    _check_no_clash(name, kept, projection.n_components or 1, asked_for)
    written = []
    with StatusLine(quiet=out == STANDARD_STREAM and sys.stdout.isatty()) as status:
        found = gather(table, status.doing("reading the data"))
        stats, sample = found.statistics, found.sample
        X, y, _ = sample.in_proportion()
        names = [str(feature) for feature in np.asarray(stats.feature_names)]
        note(*training_traps(table, names, found.first, X, np.unique(y, True)[1]))
        projection.priors = by_label("priors", priors, ClassFinder(stats.classes))
        show = status.doing("finding the components")
        projection._fit_sampled(stats, sample, show)
        _check_no_clash(name, kept, len(projection.explained_), asked_for)
        if out is not None:
            typed = out.lower().endswith(PARQUET)
            batches = _projected(projection, table, kept, typed, strict=not only)
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
    file = next(open_files(replace(table, keep=True)))
    if only:
        return list(dict.fromkeys([*only, str(table.target)]))
    features = set(file.table.feature_columns)
    return [name for name in file.schema.names if name not in features]


def _check_no_clash(
    name: str, kept: list[str], n_components: int, asked_for: tuple[Any, ...]
) -> None:
    """Refuse columns with names of components; some of them were asked for."""
    for clash in component_names(n_components):
        if clash in kept:
            remedy = "choose the columns to write with --id"
            raise ValueError(
                f"{name}: there is already a column {clash!r}: "
                f"{'rename it' if clash in asked_for else remedy}"
            )


def _projected(
    projection: Any, table: Table, kept: list[str], typed: bool, *, strict: bool
) -> Iterator[tuple[Any, Format]]:
    """Yield the rows in their order, without those that the fit left out.

    Batches have the `kept` columns as they are, then the components; with each comes
    the format of its file. With `strict`, files that have other columns than the first
    are refused. With `typed`, what the fit reads as numbers in text files is written
    as such.
    """
    import pyarrow as pa

    names = raw_columns(map(str, projection.feature_names_in_), table.categories)
    wanted = replace(table, columns=names, exclude=(), keep=True)
    plain = without_names(projection)
    reading = Pass(wanted, classes=projection.classes_)
    for records, rows in reading.with_records():
        columns = dict(zip(kept, records.select(kept).columns, strict=True))
        if typed and reading.file.is_text:
            numbers = _typed_columns(rows, reading.file.table, projection.classes_)
            columns |= {name: numbers[name] for name in kept if name in numbers}
        n = projection.scalings_.shape[1]
        found = plain.transform(rows.X) if len(rows.X) else np.empty((0, n))
        for j, name in enumerate(component_names(n)):
            columns[name] = pa.array(found[:, j])
        yield pa.RecordBatch.from_pydict(columns), reading.file.format


def _typed_columns(rows: Rows, table: Table, classes: Any) -> dict[str, Any]:
    """Return features, labels and weights of a text file as what they stand for."""
    import pyarrow as pa

    # A feature of a category has the name of no column.
    typed = dict(zip(table.features, map(pa.array, rows.X.T), strict=True))
    typed[str(table.target)] = pa.array(classes.tolist()).take(pa.array(rows.codes))
    if table.sample_weight is not None:
        typed[table.sample_weight] = pa.array(rows.weights)
    return typed
