"""The paper's study: its data sets, protocol and tables.

The names are imported when they are first used, like those of `heterolda`.
"""

from heterolda.foundations import lazy_names

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
__all__ = sorted(name for names in _MODULES.values() for name in names)
__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return __all__
