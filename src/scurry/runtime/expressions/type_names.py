"""TYPEOF: the type of an expression as text; it is known before there are rows."""

from __future__ import annotations

import pyarrow as pa

from scurry.functions.expressions import Call
from scurry.runtime.expressions.kernels import Evaluate, kernel


@kernel("TYPEOF")
def _typeof(call: Call) -> Evaluate:
    text = pa.scalar(str(call.operands[0].type))
    return lambda rows, *values: text
