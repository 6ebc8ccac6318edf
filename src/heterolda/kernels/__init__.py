"""Compiled loops; importing one of these files imports Numba."""
