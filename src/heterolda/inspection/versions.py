"""What a report of a defect should say about the installation."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from joblib import cpu_count
from threadpoolctl import threadpool_info

import heterolda.kernels as kernels

_PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl"),
    # The extras.
    *("dask", "distributed", "pyarrow", "matplotlib", "typer", "rich"),
    *("skl2onnx", "onnxruntime"),
)
_VARIABLES = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    kernels.VARIABLE,
)


def show_versions() -> None:
    """Print the versions of heterolda and its dependencies, for bug reports.

    It also prints which kernels are in use ("compiled", or "NumPy" with the reason),
    the processors that this process may use, the threads of linear algebra, and the
    environment variables that matter.

    Examples
    --------
    >>> import heterolda
    >>> heterolda.show_versions()
    heterolda             ...
    kernels               ...
    python                ...
    """
    lines = [
        ("heterolda", sys.modules["heterolda"].__version__),
        ("kernels", kernels.in_use()),
        ("python", sys.version.replace("\n", " ")),
        ("platform", platform.platform()),
        ("processors", cpu_count()),
    ]
    for pool in threadpool_info():
        library = f"{pool['internal_api']} {pool['version']}"
        lines.append(("threads", f"{pool['num_threads']} of {library}"))
    lines += [(name, _installed(name)) for name in _PACKAGES]
    lines += [(name, os.environ[name]) for name in _VARIABLES if name in os.environ]
    for name, value in lines:
        print(f"{name:<21} {value}")


def _installed(name: str) -> str:
    """Return the version of a package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
