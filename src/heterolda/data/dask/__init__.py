"""Dask collections: their chunks; statistics, predictions and searches of them."""
