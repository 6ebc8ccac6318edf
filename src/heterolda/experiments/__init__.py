"""The paper's study: its data sets, protocol and tables.

Names are imported on first use, like those of `heterolda`.
"""

from heterolda.foundations import lazy_names

_MODULES = {
    "datasets": ["load_dataset", "make_d1", "make_d2"],
    "report": ["write_report"],
    "results": ["Results", "read_results"],
    "study": ["Study"],
    "tables": ["render_table"],
}
__all__ = sorted(name for names in _MODULES.values() for name in names)
__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return __all__
