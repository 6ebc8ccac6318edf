"""Inner loops: each in Python, and in C for NumPy arrays where that is faster.

Each file has one kernel, whose public function calls the C form if it can. The Python
form gives the same answers, and also takes arrays on a device. Setting the environment
variable HETEROLDA_KERNELS to "numpy" forces the Python forms.
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
    """Return the extension module, or None and the reason for not using it."""
    choice = os.environ.get(VARIABLE, "")
    if choice not in ("", "compiled", "numpy"):
        raise ImportError(
            f"the environment variable {VARIABLE} must be 'compiled' or 'numpy', got "
            f"{choice!r}"
        )
    if choice == "numpy":
        return None, f"{VARIABLE}=numpy"
    try:
        return import_module("heterolda.kernels._compiled"), ""
    except ImportError as error:
        if choice:
            raise
        absent = isinstance(error, ModuleNotFoundError)
        reason = "none were built" if absent else str(error)
        if current_process().name == "MainProcess":  # workers need not repeat it
            warnings.warn_explicit(
                f"heterolda runs without its compiled kernels ({reason}), which is "
                "slower. Install it with a C compiler, or set the environment "
                f"variable {VARIABLE} to 'numpy' to hide this warning.",
                UserWarning,
                "heterolda",  # not a file name, so Python prints no source line
                0,
            )
        return None, reason


compiled, _reason = _load()


def in_use() -> str:
    """Describe the kernels in use."""
    return "compiled" if compiled is not None else f"NumPy ({_reason or 'chosen'})"


def ready(array: Any) -> Any:
    """Return an array as the compiled kernels need it: in C order, and aligned."""
    if array is None or (array.flags.c_contiguous and array.flags.aligned):
        return array
    return np.require(array, requirements="CA")
