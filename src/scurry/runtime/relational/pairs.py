"""Pairs of rows of two sides: which of them a condition is true for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.relational.relation import EvaluatingOperator

Pair = tuple[bytes, bytes]


def true_pairs(
    operator: EvaluatingOperator,
    condition: Any,
    codecs: Sequence[RowCodec],
    pairs: list[Pair],
) -> set[Pair]:
    """Those of ``pairs``, of a left and a right row each, for which ``condition`` is true."""
    if not pairs:
        return set()
    lefts, rights = zip(*pairs, strict=True)
    columns = [*codecs[0].decode(lefts), *codecs[1].decode(rights)]
    schema = pa.schema([*codecs[0].schema, *codecs[1].schema])
    table = pa.RecordBatch.from_arrays(columns, schema=schema)
    true = operator.truth(condition, table)
    return {pairs[at] for at in np.flatnonzero(true).tolist()}


def has_null(key: Any) -> bool:
    """Whether a key, of one column or of several, has a null."""
    return key is None or (isinstance(key, tuple) and None in key)
