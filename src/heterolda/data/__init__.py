"""Data that is not in memory: CSV, Parquet, Arrow streams and Dask collections."""

from heterolda.foundations import lazy_names

__all__ = ["Category", "fit_batches", "statistics_from_batches"]

__getattr__ = lazy_names(
    __name__,
    {
        "categories": ["Category"],
        "out_of_core": ["fit_batches", "statistics_from_batches"],
    },
)
