"""The hook by which collections of rows, such as those of Dask, reach estimators."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

# Modules that handle collections, by the package of their type; `data` adds to these.
BACKENDS: dict[str, str] = {}


def lazy_backend(X: object) -> ModuleType | None:
    """Return the module that handles a lazy collection; None for anything else."""
    module = BACKENDS.get(type(X).__module__.partition(".")[0])
    return None if module is None else import_module(module)
