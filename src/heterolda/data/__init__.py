"""Data that is not in memory: CSV, Parquet, Arrow streams and Dask collections."""

from typing import TYPE_CHECKING

from heterolda.foundations import lazy_names
from heterolda.foundations.collections import BACKENDS

if TYPE_CHECKING:
    from heterolda.estimators.fit_record import Category

__all__ = ["Category", "fit_batches", "statistics_from_batches"]

BACKENDS["dask"] = "heterolda.data.dask"

__getattr__ = lazy_names(
    __name__,
    {
        "out_of_core": ["fit_batches", "statistics_from_batches"],
        "table": ["Category"],
    },
)
