"""The table of kernels: for each function of the catalogue, how its values are computed.

A kernel is registered under the function's name. It is a *builder*: given the typed call, once,
when an expression is compiled, it returns the function that is then called for every batch with the
rows and the values of the operands. So what can be prepared (a regular expression, a format) is
prepared once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from scurry.functions.expressions import Call, Expression, Literal
from scurry.runtime.expressions.frames import Datum

__all__ = ["KERNELS", "Builder", "Evaluate", "constant", "direct", "kernel"]

#: computes a call for some rows: the frame and the operands' values
Evaluate = Callable[..., Datum]
Builder = Callable[[Call], Evaluate]

KERNELS: dict[str, Builder] = {}


def kernel(*names: str) -> Callable[[Builder], Builder]:
    """Registers a builder under the names of functions."""

    def register(builder: Builder) -> Builder:
        for name in names:
            assert name not in KERNELS, f"two kernels for {name}"
            KERNELS[name] = builder
        return builder

    return register


def direct(name: str, compute: Callable[..., Any]) -> None:
    """Registers a function of the operands' values alone, such as a kernel of pyarrow's."""

    def build(call: Call) -> Evaluate:
        return lambda rows, *values: compute(*values)

    kernel(name)(build)


def constant(operand: Expression) -> Any:
    """The value of an operand that is a literal, None if it is no literal or NULL."""
    return operand.value if isinstance(operand, Literal) else None


def arrow_type(call: Call) -> pa.DataType:
    """The Arrow type of a call's values."""
    return call.type.arrow_type()


Operands = Sequence[Expression]
