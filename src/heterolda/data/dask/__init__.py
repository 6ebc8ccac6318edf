"""Dask collections: their chunks; statistics and predictions of them."""
