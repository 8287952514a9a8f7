"""Types of arrays, for annotations: numpy.typing takes longer to import than the rest of saltus."""

from typing import Any

import numpy as np
import numpy.typing as npt

ArrayLike = npt.ArrayLike
Array = npt.NDArray[np.float64]
AnyArray = npt.NDArray[Any]
Flags = npt.NDArray[np.uint8]
Records = npt.NDArray[np.void]
