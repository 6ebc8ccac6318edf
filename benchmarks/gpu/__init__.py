"""Fits and predictions on a GPU, against what it can do at most."""
