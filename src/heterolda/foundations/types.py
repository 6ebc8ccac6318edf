"""Arrays by what they hold."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Count = NDArray[np.int64]  # errors, and weights in units
Index = NDArray[np.intp]  # indices and small integers
Mask = NDArray[np.bool_]
# What users may give: of priors, and of shrinkage where there are only moments.
Priors = ArrayLike | dict[Any, float] | str | None
Amount = float | str | tuple[float, float] | None
