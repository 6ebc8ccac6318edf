"""What users import: the discriminant, the local search and `recommended`.

Other names of the files in this folder are not public.
"""

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.local_search import LocalNeighborhoodSearch
from heterolda.estimators.recipes import recommended

__all__ = ["GaussianLinearDiscriminant", "LocalNeighborhoodSearch", "recommended"]
