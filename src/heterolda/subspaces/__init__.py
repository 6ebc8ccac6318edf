"""Subspaces that tell classes apart: one method per file, from moments alone."""

from heterolda.subspaces.error import Progress
from heterolda.subspaces.quadratic_rule import QuadraticRule
from heterolda.subspaces.subspace import (
    Subspace,
    TooFewDirectionsError,
    find_subspace,
)

__all__ = [
    "Progress",
    "QuadraticRule",
    "Subspace",
    "TooFewDirectionsError",
    "find_subspace",
]
