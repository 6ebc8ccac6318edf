"""The rows of files in the components of a projection, batch by batch."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np

from heterolda.cli.evaluate_files import without_names
from heterolda.cli.predict_files import same_columns
from heterolda.data.batches import Batch, decoded_with_records
from heterolda.data.categories import raw_columns
from heterolda.data.columns import OpenFile
from heterolda.data.labels import ClassFinder
from heterolda.data.prefetch import prefetch
from heterolda.data.reading import Reading
from heterolda.data.sources import open_source
from heterolda.data.table import Table
from heterolda.inspection.projection_text import component_names


def kept_columns(data: Table, only: tuple[str, ...]) -> list[str]:
    """Columns to write beside the components, by those of the first file.

    These are all that are not features, or only some and the labels.
    """
    file: OpenFile = next(
        iter(open_source(data.source, replace(data.wanted, keep=True)))
    )
    features = set(file.columns.features or ())
    kept = [name for name in file.schema.names if name not in features]
    if only:
        kept = list(dict.fromkeys([*only, str(data.target)]))
    return kept


def check_no_clash(
    name: str, kept: list[str], n_components: int, asked_for: tuple[str, ...]
) -> None:
    """Refuse columns with names of components; some of them were asked for."""
    for clash in component_names(n_components):
        if clash in kept:
            remedy = "choose the columns to write with --id"
            raise ValueError(
                f"{name}: there is already a column {clash!r}: "
                f"{'rename it' if clash in asked_for else remedy}"
            )


def project_batches(
    projection: Any,
    data: Table,
    kept: list[str],
    *,
    strict: bool = True,
    numbers: bool = False,
) -> Generator[tuple[Any, Reading], None, None]:
    """Project the rows of files, in their order, without those that the fit left out.

    Batches have the `kept` columns as they are, then the components; with each comes
    how its rows were read. With `strict`, files that have other columns than the first
    are refused. With `numbers`, what the fit reads as numbers in text files is written
    as such.
    """
    wanted = replace(
        data.wanted,
        features=raw_columns(map(str, projection.feature_names_in_), data.categories),
        exclude=tuple(kept),
        keep=True,
    )
    files = open_source(data.source, wanted)
    rows = decoded_with_records(same_columns(files) if strict else files, data.missing)
    finder, plain = ClassFinder(projection.classes_), without_names(projection)
    for records, good, batch in prefetch(rows, data.source):
        beside = records.select(kept)
        beside = beside if good is None else beside.filter(good)
        columns = dict(zip(kept, beside.columns, strict=True))
        if numbers and batch.file.is_text:
            typed = _typed_columns(batch, finder)
            columns |= {name: typed[name] for name in kept if name in typed}
        yield _appended(columns, plain, batch), batch.file.reading


def _typed_columns(batch: Batch, finder: ClassFinder) -> dict[str, Any]:
    """Features, labels and weights of a text file, by name, as what they stand for."""
    import pyarrow as pa

    columns = batch.file.columns
    # A feature of a category has the name of no column.
    typed = dict(zip(columns.feature_names, map(pa.array, batch.X.T), strict=True))
    labels = pa.array(finder.classes.tolist())
    typed[str(columns.target)] = labels.take(pa.array(finder.of(batch)))
    if columns.weight is not None:
        typed[columns.weight] = pa.array(batch.weight)
    return typed


def _appended(columns: dict[str, Any], projection: Any, batch: Batch) -> Any:
    """Columns, and the components after them."""
    import pyarrow as pa

    n_components = projection.scalings_.shape[1]
    found = np.empty((0, n_components))
    if len(batch.X):
        found = projection.transform(batch.X)
    for j, name in enumerate(component_names(n_components)):
        columns[name] = pa.array(found[:, j])
    return pa.RecordBatch.from_pydict(columns)
