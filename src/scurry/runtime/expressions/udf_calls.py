"""Calls of the user's scalar functions on columns.

A function of the kind ``general`` is called for each row, with Python values. One of the kind
``pandas`` is called once for a batch with a Series for each argument, and one of the kind ``arrow``
with Arrow arrays; what comes back must have as many values. Of functions that are awaited, several
calls are under way at the same time (`awaiting`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from scurry.functions.expressions import UdfCall
from scurry.functions.udfs import FunctionContext
from scurry.runtime.expressions.awaiting import await_all
from scurry.runtime.expressions.errors import EvaluationError
from scurry.runtime.expressions.frames import Datum, Frame, as_array
from scurry.runtime.expressions.user_values import from_user, to_user
from scurry.runtime.failures import ElementFailed, apply_all

__all__ = ["OpenedFunction", "udf_kernel"]


class OpenedFunction:
    """A user's function, opened when it is first called."""

    def __init__(self, call: UdfCall) -> None:
        self.call = call
        self.function = call.function.function()
        self._open = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of an awaited function, the same for all its calls, so that a connection
        it has opened can be used again."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        return self._loop

    def close(self) -> None:
        """Close the function, if it was opened."""
        if self._open:
            self._open = False
            self.function.close()
        if self._loop is not None:
            self._loop.close()
            self._loop = None

    def eval(self, context: FunctionContext) -> Callable[..., Any]:
        if not self._open:
            self.function.open(context)
            self._open = True
        found: Callable[..., Any] = getattr(self.function, "eval")  # noqa: B009
        return found


def udf_kernel(opened: OpenedFunction) -> Callable[..., Datum]:
    """The kernel of one call."""
    call = opened.call
    if call.function.kind == "async":
        return _asynchronous(call, opened)
    if call.function.func_type == "pandas":
        return _pandas(call, opened)
    return _arrow(call, opened) if call.function.func_type == "arrow" else _rowwise(call, opened)


def _arguments(call: UdfCall, rows: Frame, values: Sequence[Datum]) -> list[list[Any]]:
    types = [operand.type for operand in call.operands]
    return [
        to_user(as_array(value, rows.count), kind)
        for value, kind in zip(values, types, strict=True)
    ]


def _rowwise(call: UdfCall, opened: OpenedFunction) -> Callable[..., Datum]:
    def evaluate(rows: Frame, *values: Datum) -> pa.Array:
        function = opened.eval(rows.context.functions)
        columns = _arguments(call, rows, values)
        found = _call_each(function, columns, rows.count)
        return from_user(found, call.type, call.function.name)

    return evaluate


def _call_each(function: Callable[..., Any], columns: list[list[Any]], count: int) -> list[Any]:
    """What the function returns for each row; raises :class:`ElementFailed` with the arguments for
    which it raises."""
    if len(columns) == 1:
        (values,) = columns
        try:
            return apply_all(function, values)
        except ElementFailed as failed:
            raise ElementFailed((failed.element,)) from failed.__cause__
    rows = list(zip(*columns, strict=True)) if columns else [()] * count
    return apply_all(lambda row: function(*row), rows)


def _asynchronous(call: UdfCall, opened: OpenedFunction) -> Callable[..., Datum]:
    name = call.function.name

    def evaluate(rows: Frame, *values: Datum) -> pa.Array:
        function = opened.eval(rows.context.functions)
        columns = _arguments(call, rows, values)
        every = list(zip(*columns, strict=True)) if columns else [()] * rows.count
        made = opened.loop().run_until_complete(
            await_all(function, every, rows.context.asynchronous, name)
        )
        return from_user(made, call.type, name)

    return evaluate


def _pandas(call: UdfCall, opened: OpenedFunction) -> Callable[..., Datum]:
    kind = call.type.arrow_type()

    def evaluate(rows: Frame, *values: Datum) -> pa.Array:
        function = opened.eval(rows.context.functions)
        series = [as_array(value, rows.count).to_pandas() for value in values]
        made = function(*series)
        return _counted(_column(made, kind), rows.count, call)

    return evaluate


def _column(made: Any, kind: pa.DataType) -> pa.Array:
    """What a pandas function returned: a Series, or a DataFrame whose columns are a ROW's fields,
    in their order."""
    if pa.types.is_struct(kind) and getattr(made, "ndim", 1) == 2:
        pairs = [(made.iloc[:, at], kind.field(at)) for at in range(kind.num_fields)]
        arrays = [pa.Array.from_pandas(series, type=field.type) for series, field in pairs]
        return pa.StructArray.from_arrays(arrays, fields=[field for _, field in pairs])
    return pa.Array.from_pandas(made, type=kind)


def _arrow(call: UdfCall, opened: OpenedFunction) -> Callable[..., Datum]:
    kind = call.type.arrow_type()

    def evaluate(rows: Frame, *values: Datum) -> pa.Array:
        function = opened.eval(rows.context.functions)
        made = function(*(as_array(value, rows.count) for value in values))
        column = (
            as_array(made, rows.count) if isinstance(made, pa.Scalar | pa.ChunkedArray) else made
        )
        return _counted(column.cast(kind), rows.count, call)

    return evaluate


def _counted(column: pa.Array, count: int, call: UdfCall) -> pa.Array:
    if len(column) != count:
        raise EvaluationError(
            f"the function {call.function.name} returned {len(column)} values for {count} rows; "
            "a vectorised function returns one for each"
        )
    return column
