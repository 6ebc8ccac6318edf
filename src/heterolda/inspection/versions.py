"""Facts about the installation for a bug report."""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, version

import sklearn

import heterolda.kernels as kernels

_EXTRAS = "dask", "pyarrow", "typer", "rich", "skl2onnx", "onnxruntime"
_VARIABLES = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    kernels.VARIABLE,
)


def show_versions() -> None:
    """Print the versions of heterolda and its dependencies, for bug reports.

    It also prints the kernels in use ("compiled", or "NumPy" with the reason), the
    relevant environment variables, and the output of `sklearn.show_versions`.

    Examples
    --------
    >>> import heterolda
    >>> heterolda.show_versions()
    heterolda: ...
    kernels: ...
    """
    print(f"heterolda: {sys.modules['heterolda'].__version__}")
    print(f"kernels: {kernels.in_use()}")
    for name in _EXTRAS:
        try:
            print(f"{name}: {version(name)}")
        except PackageNotFoundError:
            print(f"{name}: not installed")
    for name in _VARIABLES:
        if name in os.environ:
            print(f"{name}: {os.environ[name]}")
    sklearn.show_versions()
