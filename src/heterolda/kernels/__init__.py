"""The inner loops: in C where that could be compiled, and each of them in NumPy.

Each file here has one kernel: the function to call, which takes the compiled form if
there is one, and the NumPy form, which says what it does. Both give the same answers.
Setting the environment variable HETEROLDA_KERNELS to "numpy" forces the latter.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

VARIABLE = "HETEROLDA_KERNELS"


def _load() -> Any:
    """The extension module, or None."""
    wanted = os.environ.get(VARIABLE, "")
    if wanted not in ("", "compiled", "numpy"):
        raise ImportError(
            f"the environment variable {VARIABLE} must be 'compiled' or 'numpy', got "
            f"{wanted!r}"
        )
    if wanted == "numpy":
        return None
    try:
        from heterolda.kernels import _compiled
    except ImportError as error:
        if wanted:
            raise
        warnings.warn(
            f"heterolda runs without its compiled kernels ({error}): the same answers "
            "take longer. Install it with a C compiler, or set the environment "
            f"variable {VARIABLE} to 'numpy' to hide this line.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return _compiled


compiled = _load()
