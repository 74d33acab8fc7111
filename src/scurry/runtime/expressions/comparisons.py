"""Comparisons on columns. Arrays, maps and rows are compared as Python values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from scurry.common.data_types import common_type
from scurry.functions.expressions import Call, Literal
from scurry.runtime.expressions.frames import Datum, Frame, as_array
from scurry.runtime.expressions.kernels import Evaluate, direct, kernel
from scurry.runtime.expressions.python_values import apply

_COMPARE: dict[str, tuple[Callable[..., Any], Callable[..., bool]]] = {
    "=": (pc.equal, operator.eq),
    "<>": (pc.not_equal, operator.ne),
    "<": (pc.less, operator.lt),
    "<=": (pc.less_equal, operator.le),
    ">": (pc.greater, operator.gt),
    ">=": (pc.greater_equal, operator.ge),
}


def compare(name: str, left: Datum, right: Datum, rows: Frame) -> Datum:
    """One of the six comparisons of two columns of one type."""
    arrow, python = _COMPARE[name]
    if kinds.is_nested(left.type):
        return apply(python, (left, right), rows, pa.bool_())
    if kinds.is_null(left.type) and kinds.is_null(right.type):
        return left.cast(pa.bool_())
    return arrow(left, right)


def _build(name: str) -> Callable[[Call], Evaluate]:
    return lambda call: lambda rows, left, right: compare(name, left, right, rows)


for _name in _COMPARE:
    kernel(_name)(_build(_name))

direct("IS NULL", pc.is_null)
direct("IS NOT NULL", pc.is_valid)


def _same(rows: Frame, left: Datum, right: Datum) -> Datum:
    """Equality for which NULL equals NULL."""
    equal = pc.fill_null(compare("=", left, right, rows), False)
    return pc.or_(equal, pc.and_(pc.is_null(left), pc.is_null(right)))


@kernel("IS NOT DISTINCT FROM")
def _not_distinct(call: Call) -> Evaluate:
    return _same


@kernel("IS DISTINCT FROM")
def _distinct(call: Call) -> Evaluate:
    return lambda rows, left, right: pc.invert(_same(rows, left, right))


def _between(rows: Frame, value: Datum, low: Datum, high: Datum) -> Datum:
    above = compare(">=", value, low, rows)
    return pc.and_kleene(above, compare("<=", value, high, rows))


def _symmetric(rows: Frame, value: Datum, low: Datum, high: Datum) -> Datum:
    return pc.or_kleene(_between(rows, value, low, high), _between(rows, value, high, low))


def _negated(compute: Evaluate) -> Evaluate:
    return lambda rows, *values: pc.invert(compute(rows, *values))


kernel("BETWEEN")(lambda call: _between)
kernel("NOT BETWEEN")(lambda call: _negated(_between))
kernel("BETWEEN SYMMETRIC")(lambda call: _symmetric)
kernel("NOT BETWEEN SYMMETRIC")(lambda call: _negated(_symmetric))


@kernel("IN")
def _in(call: Call) -> Evaluate:
    constants = all(isinstance(operand, Literal) for operand in call.operands[1:])
    if constants and not kinds.is_nested(call.operands[0].type.arrow_type()):
        return _in_constants
    return _in_values


def _in_constants(rows: Frame, value: Datum, *items: pa.Scalar) -> Datum:
    known = pa.array([item.as_py() for item in items if item.is_valid], value.type)
    column = as_array(value, rows.count)
    found = pc.is_in(column, value_set=known)
    unknown = pa.scalar(None, pa.bool_())
    if any(not item.is_valid for item in items):
        found = pc.if_else(found, True, unknown)
    return pc.if_else(pc.is_valid(column), found, unknown)


def _in_values(rows: Frame, value: Datum, *items: Datum) -> Datum:
    return _any([compare("=", value, item, rows) for item in items])


def _any(found: Sequence[Datum]) -> Datum:
    made = found[0]
    for one in found[1:]:
        made = pc.or_kleene(made, one)
    return made


direct("NOT", pc.invert)
for _text, _value in (("TRUE", True), ("FALSE", False)):
    direct(f"IS {_text}", lambda v, _value=_value: pc.fill_null(pc.equal(v, _value), False))
    direct(
        f"IS NOT {_text}",
        lambda v, _value=_value: pc.invert(pc.fill_null(pc.equal(v, _value), False)),
    )
direct("IS UNKNOWN", pc.is_null)
direct("IS NOT UNKNOWN", pc.is_valid)


@kernel("NULLIF")
def _null_if(call: Call) -> Evaluate:
    target = common_type([operand.type for operand in call.operands])
    assert target is not None
    kind = target.arrow_type()

    def evaluate(rows: Frame, left: Datum, right: Datum) -> Datum:
        equal = compare("=", left.cast(kind), right.cast(kind), rows)
        return pc.if_else(pc.fill_null(equal, False), pa.scalar(None, left.type), left)

    return evaluate
