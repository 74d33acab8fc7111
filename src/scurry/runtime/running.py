"""Running extremes: the greatest, or least, of the numbers of a column up to each place.

Times mostly come in order, and then a column is its own running maximum. To see that takes a
fraction of the time of computing it.
"""

from __future__ import annotations

import numpy as np

from scurry.runtime.batch import Longs


def running_max(numbers: Longs) -> Longs:
    """The greatest number up to each place; ``numbers`` itself where it never falls."""
    if bool((numbers[1:] >= numbers[:-1]).all()):
        return numbers
    return np.maximum.accumulate(numbers)


def running_min(numbers: Longs) -> Longs:
    """The least number up to each place; ``numbers`` itself where it never rises."""
    if bool((numbers[1:] <= numbers[:-1]).all()):
        return numbers
    return np.minimum.accumulate(numbers)
