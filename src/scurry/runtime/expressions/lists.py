"""Elements of columns of lists."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["element_at"]


def element_at(column: pa.Array, at: int) -> pa.Array:
    """The element at one position, from 1, of each list; NULL where the list is too short."""
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]) if len(lengths) else lengths
    inside = lengths >= at
    places = pa.array(np.where(inside, starts + at - 1, 0), pa.int64(), mask=~inside)
    return column.flatten().take(places)
