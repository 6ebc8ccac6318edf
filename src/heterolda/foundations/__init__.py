"""Shared basics of all other folders: arrays, checks, files, rounding, wording."""

import sys
from collections.abc import Callable
from importlib import import_module
from threading import RLock
from typing import Any

# One import at a time: scikit-learn's imports are circular, and two threads that
# enter the circle at different points deadlock, which Python reports as an error.
_IMPORTING = RLock()


def lazy_names(package: str, modules: dict[str, list[str]]) -> Callable[[str], Any]:
    """Return a `__getattr__` for a package that imports its names on first use.

    Importing scikit-learn takes seconds, and printing a help text should not.
    """
    module_of = {name: module for module, names in modules.items() for name in names}

    def getattr_of_package(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with _IMPORTING:
            module = module_of[name]
            if not module.startswith("heterolda."):
                module = f"{package}.{module}"
            value = getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    return getattr_of_package
