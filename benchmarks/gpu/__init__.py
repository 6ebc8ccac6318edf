"""Fits, predictions and searches on a GPU, against what it can do at most."""
