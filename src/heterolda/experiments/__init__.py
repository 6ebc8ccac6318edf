"""The paper's study: its data sets, protocol and tables.

The names are imported when they are first used, like those of `heterolda`.
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "catalogue": ["CATALOGUE", "DataSet"],
    "datasets": [
        "dataset_source",
        "load_dataset",
        "make_d1",
        "make_d2",
        "write_sample",
    ],
    "paper": ["paper_slips", "printed_figure"],
    "protocol": ["Study", "run_study"],
    "ranks": ["compare_ranks", "critical_difference"],
    "report": ["write_report"],
    "results": ["Results", "read_results"],
    "tables": ["render_table"],
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
