"""What is measured, one function for each table or part of one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benchmarks.gpu.libraries import FLOATS, Library, Torch, gaussian_classes
from benchmarks.gpu.measuring import Bench, Entry, first_line
from heterolda import ClassStatistics, GaussianLinearDiscriminant
from heterolda.foundations.arrays import to_host

# Largest ratios to the peer.
FIT, MEMORY, LDA, TWO, TEN = 12.0, 1.5, 0.5, 3.0, 20.0
PRODUCT, READING, LDA_THERE = "X.T @ X", "X.sum()", "LDA svd, same device"
# Seconds that scikit-learn's LDA may take where it is expected to fail.
_PATIENCE = 60


def label(n: int, d: int, k: int, kind: str = "") -> str:
    """Data in words."""
    return f"{n:,} x {d}, {k} classes" + (f", {kind}" if kind else "")


def _known(
    lib: Library, table: str, key: str, data: str, ours: str, peer: str
) -> Entry:
    names = {"table": table, "key": f"{key}, {lib.name}", "data": data}
    return names | {"ours": ours, "peer": peer, "library": lib.name}


def _gram(X: Any) -> Any:
    return X.T @ X


def fits(bench: Bench, lib: Library) -> None:
    """Fits and class statistics against the product of the rows with themselves."""
    s = bench.sizes
    n, d, k = s.rows, s.features, s.classes
    for kind in FLOATS:
        X, y = gaussian_classes(lib, n, d, k, kind)
        known = _known(lib, "fit", f"fit, {kind}", label(n, d, k, kind), "fit", PRODUCT)
        bench.compare(
            lib,
            known | {"target": FIT},
            lambda X=X, y=y: GaussianLinearDiscriminant().fit(X, y),
            lambda X=X: _gram(X),
            memory=(X.nbytes + y.nbytes, MEMORY),
        )
        known |= {"key": f"statistics, {kind}, {lib.name}", "ours": "statistics"}
        bench.compare(
            lib,
            known,
            lambda X=X, y=y: ClassStatistics.from_data(X, y),
            lambda X=X: _gram(X),
        )
        del X, y
        lib.free()


def huge_fit(bench: Bench, lib: Library) -> None:
    """A fit to as many rows as few GPUs hold."""
    n, d = bench.sizes.huge
    k, kind = bench.sizes.classes, "float32"
    known = _known(lib, "fit", "huge fit", label(n, d, k, kind), "fit", PRODUCT)
    known["goal"] = "works"
    try:
        X, y = gaussian_classes(lib, n, d, k, kind)
    except Exception as error:
        bench.keep(known | {"error": f"{type(error).__name__}: no room for the data"})
        return
    bench.compare(
        lib,
        known,
        lambda: GaussianLinearDiscriminant().fit(X, y),
        lambda: _gram(X),
        memory=(X.nbytes + y.nbytes, None),
    )


def predictions(bench: Bench, lib: Library) -> None:
    """Predictions against reading the rows once."""
    s = bench.sizes
    n, d = s.rows, s.features
    for k, target in ((2, TWO), (10, TEN)):
        for kind in FLOATS:
            X, y = gaussian_classes(lib, n, d, k, kind)
            few = min(n, 200_000)
            model, failure = None, ""
            try:
                model = GaussianLinearDiscriminant().fit(X[:few], y[:few])
            except Exception as error:
                failure = f"the fit fails: {first_line(error)}"
            for name in ("predict", "predict_proba", "decision_function"):
                if name == "decision_function" and k > 2:
                    continue
                key = f"{name}, {k} classes, {kind}"
                data = label(n, d, k, kind)
                known = _known(lib, "predict", key, data, name, READING)
                known["target"] = target if name == "predict" else None
                if model is None:
                    bench.keep(known | {"error": failure})
                    continue
                call = getattr(model, name)
                bench.compare(
                    lib,
                    known,
                    lambda call=call, X=X: call(X),
                    lambda X=X: X.sum(),
                )
                del call
            del X, y, model
            lib.free()


def peers_on_the_device(bench: Bench, lib: Library) -> None:
    """scikit-learn's LDA on the same device."""
    s = bench.sizes
    n, d, k = s.lda, s.features, s.classes
    for kind in FLOATS:
        X, y = gaussian_classes(lib, n, d, k, kind)
        known = _known(
            lib, "LDA", f"LDA, {kind}", label(n, d, k, kind), "fit", LDA_THERE
        )
        bench.compare(
            lib,
            known | {"target": LDA},
            lambda X=X, y=y: GaussianLinearDiscriminant().fit(X, y),
            lambda X=X, y=y: LinearDiscriminantAnalysis().fit(X, y),
        )
        del X, y
        lib.free()


def processors(bench: Bench, lib: Library) -> None:
    """Our own fit and predictions on the device against those in NumPy."""
    s = bench.sizes
    n, d, k = s.rows, s.features, s.classes
    for kind in FLOATS:
        X, y = gaussian_classes(lib, n, d, k, kind)
        Xh, yh = lib.host(X), lib.host(y)
        data, peer = label(n, d, k, kind), "NumPy, all processors"
        known = _known(lib, "processors", f"processors, {kind}", data, "fit", peer)

        def same(mine: Any, other: Any) -> str:
            there = to_host(mine.coef_)
            apart = np.abs(there - other.coef_).max() / np.abs(other.coef_).max()
            return f"rules differ by {apart:.0e}"

        bench.compare(
            lib,
            known,
            lambda X=X, y=y: GaussianLinearDiscriminant().fit(X, y),
            lambda Xh=Xh, yh=yh: GaussianLinearDiscriminant().fit(Xh, yh),
            note=same,
        )
        del X, y, Xh, yh
        lib.free()


def small_data(bench: Bench, lib: Library) -> None:
    """Data that a GPU is not for."""
    n, d = bench.sizes.small
    k = bench.sizes.classes
    X, y = gaussian_classes(lib, n, d, k, "float64")
    Xh, yh = lib.host(X), lib.host(y)
    data = label(n, d, k, "float64")
    known = _known(lib, "small", "small, fit", data, "fit", "NumPy")
    bench.compare(
        lib,
        known,
        lambda: GaussianLinearDiscriminant().fit(X, y),
        lambda: GaussianLinearDiscriminant().fit(Xh, yh),
    )
    known |= {"key": f"small, predict, {lib.name}", "ours": "predict"}
    try:
        here, there = (
            GaussianLinearDiscriminant().fit(*rows) for rows in ((Xh, yh), (X, y))
        )
    except Exception as error:
        bench.keep(known | {"error": f"the fit fails: {first_line(error)}"})
        return
    bench.compare(lib, known, lambda: there.predict(X), lambda: here.predict(Xh))


def large_lda(bench: Bench, lib: Library) -> None:
    """What scikit-learn's LDA makes of the rows of our fits, in another process."""
    s = bench.sizes
    n, d, k = s.rows, s.features, s.classes
    where = lib.where if isinstance(lib, Torch) else "cupy"
    lib.free()
    for kind in FLOATS:
        known = _known(
            lib, "LDA", f"large LDA, {kind}", label(n, d, k, kind), "", LDA_THERE
        )

        def work(kind: str = kind) -> Entry:
            words = [sys.executable, "-m", "benchmarks.gpu.large_lda"]
            words += [where, str(n), str(d), str(k), kind]
            env = os.environ | {"SCIPY_ARRAY_API": "1"}
            try:
                done = subprocess.run(
                    words, capture_output=True, text=True, timeout=_PATIENCE, env=env
                )
            except subprocess.TimeoutExpired:
                return {"error": f"still at work after {_PATIENCE} s"}
            lines = done.stdout.strip().splitlines() or ['{"error": "it crashed"}']
            return json.loads(lines[-1])

        bench.attempt(known, work)


def timed_lda(lib: Library, n: int, d: int, k: int, kind: str) -> Entry:
    """Seconds that scikit-learn's LDA takes."""
    X, y = gaussian_classes(lib, n, d, k, kind)
    lib.wait()
    begin = time.perf_counter()
    LinearDiscriminantAnalysis().fit(X, y)
    lib.wait()
    return {"peer_seconds": [time.perf_counter() - begin]}
