"""What all other folders build on: arrays, checks, files, rounding, wording."""

import sys
from collections.abc import Callable
from importlib import import_module
from threading import RLock
from typing import Any

# One import at a time: threads that enter scikit-learn's circle of imports at
# different places wait for each other, and Python ends that with an error.
_IMPORTING = RLock()


def lazy_names(package: str, modules: dict[str, list[str]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose names are in these modules of it.

    Names are imported when they are first used: scikit-learn takes seconds to import,
    and a command that prints its help should not.
    """
    module_of = {name: module for module, names in modules.items() for name in names}

    def getattr_of_package(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with _IMPORTING:
            value = getattr(import_module(f"{package}.{module_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return getattr_of_package
