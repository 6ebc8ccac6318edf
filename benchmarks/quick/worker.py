"""Measure calls in a separate process, whose path decides which heterolda it imports.

Reads a request per line (what to do, the model, the file with the data, and how often)
and answers each with the processor seconds of the calls. The working tree and the base
both run this file, so it uses only names that both have.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import heterolda

GLD, DIAL, SEARCH = "GLD", "dial", "LNS"
LDA, LOGISTIC, NAIVE = "LDA", "logistic", "naive form"
MODELS = {
    GLD: heterolda.GaussianLinearDiscriminant,
    DIAL: heterolda.SmoothedLinearDiscriminant,
    LDA: LinearDiscriminantAnalysis,
    LOGISTIC: LogisticRegression,
}
IMPORTS = {
    GLD: "from heterolda import GaussianLinearDiscriminant",
    LDA: "from sklearn.discriminant_analysis import LinearDiscriminantAnalysis",
}


def seconds(task: str, model: str, path: str, times: int) -> float:
    """Return the processor seconds of several calls in a row."""
    if task == "import":
        return _import_seconds(model)
    call = _call(task, model, path)
    gc.collect()
    gc.disable()
    begin = time.process_time()
    for _ in range(times):
        call()
    passed = time.process_time() - begin
    gc.enable()
    return passed


@cache
def _call(task: str, model: str, path: str) -> Callable[[], Any]:
    """Return the call to measure."""
    with np.load(path) as data:
        X, y = data["X"], data["y"]
    if model in MODELS:
        estimator = MODELS[model]()
        if task == "predict":
            return partial(estimator.fit(X, y).predict, X)
        return partial(estimator.fit, X, y)
    start = FrozenEstimator(LinearDiscriminantAnalysis().fit(X, y))
    search = heterolda.LocalNeighborhoodSearch(start)
    if model == SEARCH:
        return partial(search.fit, X, y)
    from benchmarks.speed.cases import naive_search  # in the working tree only

    return naive_search(search.fit(X, y), X, y)


def _import_seconds(model: str) -> float:
    """Import in a fresh interpreter, which prints the seconds that this took."""
    code = f"import time; begin = time.process_time(); {IMPORTS[model]}; "
    code += "print(time.process_time() - begin)"
    command = [sys.executable, "-W", "ignore", "-c", code]
    return float(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def main() -> None:
    """Answer requests until there are no more; first say which files are in use."""
    gc.freeze()  # or each collection would look at all modules, for a tenth of a second
    print(json.dumps(heterolda.__file__), flush=True)
    for line in sys.stdin:
        print(seconds(*json.loads(line)), flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings(action="ignore"):
        main()
