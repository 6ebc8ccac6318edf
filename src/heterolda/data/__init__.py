"""Rows that are not in memory: CSV, Parquet, Arrow streams and Dask collections."""

from heterolda.data.out_of_core import fit_batches
from heterolda.data.table import statistics_from_batches

__all__ = ["fit_batches", "statistics_from_batches"]
