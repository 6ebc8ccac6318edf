"""Arrays by what they hold."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Count = NDArray[np.int64]  # errors, and weights in units
Index = NDArray[np.intp]  # indices and small integers
Mask = NDArray[np.bool_]
