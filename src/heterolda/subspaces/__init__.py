"""Subspaces that separate classes, from moments alone."""

from heterolda.subspaces.classes import QuadraticRule
from heterolda.subspaces.subspace import Subspace, TooFewDirectionsError, find_subspace

__all__ = ["QuadraticRule", "Subspace", "TooFewDirectionsError", "find_subspace"]
