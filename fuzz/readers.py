"""All readers of files, and the compiled kernels where there are any."""

from __future__ import annotations

from fuzz import (
    kernels,
    model_json,
    outputs,
    results_files,
    statistics_npz,
    tables,
)
from heterolda.kernels import compiled

READERS = {
    reader.name: reader
    for reader in (
        model_json.READER,
        statistics_npz.READER,
        *tables.TABLES,
        *results_files.RESULTS,
        outputs.READER,
        *([kernels.READER] if compiled is not None else []),
    )
}
