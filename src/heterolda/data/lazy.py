"""The one door for collections of rows that are not in memory.

Estimators ask here and import nothing of dask themselves.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

# By the package of a type: the module that handles it.
_BACKENDS = {"dask": "heterolda.data.dask"}


def lazy_backend(X: object) -> ModuleType | None:
    """Module that knows how to handle a lazy collection; None for anything else."""
    module = _BACKENDS.get(type(X).__module__.partition(".")[0])
    return None if module is None else import_module(module)
