"""scikit-learn's LDA on many rows, in a process of its own: it may end it.

python -m benchmarks.gpu.large_lda DEVICE ROWS FEATURES CLASSES KIND
"""

from __future__ import annotations

import json
import sys

import sklearn

from benchmarks.gpu.cases import timed_lda
from benchmarks.gpu.libraries import CuPy, Torch
from benchmarks.gpu.measuring import first_line


def main(arguments: list[str]) -> None:
    """Print the time, or the error, as JSON."""
    where, *numbers, kind = arguments
    lib = CuPy() if where == "cupy" else Torch(where)
    try:
        with sklearn.config_context(array_api_dispatch=True):
            found = timed_lda(lib, *map(int, numbers), kind)
    except Exception as error:
        found = {"error": first_line(error)}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
