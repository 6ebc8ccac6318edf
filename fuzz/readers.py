"""All readers of files."""

from __future__ import annotations

from fuzz import model_json, results_files, statistics_npz, tables

READERS = {
    reader.name: reader
    for reader in (
        model_json.READER,
        statistics_npz.READER,
        *tables.TABLES,
        *results_files.RESULTS,
    )
}
