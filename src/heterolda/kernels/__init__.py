"""The inner loops: a Python body of each, and C for NumPy arrays where that is faster.

Each file here has one kernel. The function to call takes the compiled form for NumPy
arrays if there is one; its Python body says what it does, and serves arrays of other
libraries where rows may be on a device. Both give the same answers. Setting the
environment variable HETEROLDA_KERNELS to "numpy" forces the latter.
"""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from multiprocessing import current_process
from typing import Any

import numpy as np

VARIABLE = "HETEROLDA_KERNELS"


def _load() -> tuple[Any, str]:
    """Return the extension module, or None, and why there is none."""
    wanted = os.environ.get(VARIABLE, "")
    if wanted not in ("", "compiled", "numpy"):
        raise ImportError(
            f"the environment variable {VARIABLE} must be 'compiled' or 'numpy', got "
            f"{wanted!r}"
        )
    if wanted == "numpy":
        return None, f"{VARIABLE}=numpy"
    try:
        return import_module("heterolda.kernels._compiled"), ""
    except ImportError as error:
        if wanted:
            raise
        absent = isinstance(error, ModuleNotFoundError)
        reason = "none were built" if absent else str(error)
        if current_process().name == "MainProcess":  # workers need not repeat it
            warnings.warn_explicit(
                f"heterolda runs without its compiled kernels ({reason}): the same "
                "answers take longer. Install it with a C compiler, or set the "
                f"environment variable {VARIABLE} to 'numpy' to hide this line.",
                UserWarning,
                "heterolda",  # no file: a line of it would be a second line
                0,
            )
        return None, reason


compiled, _reason = _load()


def in_use() -> str:
    """Return which kernels are in use, in words."""
    return "compiled" if compiled is not None else f"NumPy ({_reason or 'chosen'})"


def ready(array: Any) -> Any:
    """Return an array as the compiled kernels take it: in C order, and aligned."""
    return None if array is None else np.require(array, requirements="CA")
