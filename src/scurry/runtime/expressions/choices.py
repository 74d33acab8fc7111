"""Functions that choose which operands they evaluate: CASE, IF, COALESCE, AND, OR.

Flink evaluates row by row, and an operand that a row does not need is not evaluated for it. Here an
operand is evaluated for whole columns. Where it cannot fail, that is the same; where it can, it is
evaluated for those rows alone that need it, and the results are put together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scurry.functions.expressions import Call
from scurry.runtime.expressions.frames import Datum, Frame, as_array

__all__ = ["CHOICES"]

Node = Callable[[Frame], Datum]
Choice = Callable[[Call, Sequence[Node], Sequence[bool]], Node]


def _true(datum: Datum, count: int) -> pa.Array:
    return pc.fill_null(as_array(datum, count), False)


def _assemble(
    parts: Sequence[tuple[np.ndarray, pa.Array]], count: int, kind: pa.DataType
) -> pa.Array:
    """One column from parts, each with the places its rows belong to."""
    if len(parts) == 1 and len(parts[0][0]) == count:
        return parts[0][1]
    order = np.empty(count, dtype=np.int64)
    order[np.concatenate([places for places, _ in parts])] = np.arange(count)
    whole = pa.concat_arrays([column.cast(kind) for _, column in parts])
    return whole.take(pa.array(order))


def _case(call: Call, operands: Sequence[Node], fails: Sequence[bool]) -> Node:
    conditions, results = list(operands[:-1:2]), [*operands[1::2], operands[-1]]
    kind = call.type.arrow_type()
    if not any(fails) and call.deterministic and not pa.types.is_nested(kind):
        return _case_whole(conditions, results, kind)

    def evaluate(rows: Frame) -> Datum:
        left = np.arange(rows.count)
        parts: list[tuple[np.ndarray, pa.Array]] = []
        for condition, result in zip(conditions, results, strict=False):
            frame = rows.take(pa.array(left))
            holds = _true(condition(frame), len(left)).to_numpy(zero_copy_only=False)
            if holds.any():
                parts.append(_part(rows, left[holds], result))
            left = left[~holds]
            if not len(left):
                break
        if len(left) or not parts:
            parts.append(_part(rows, left, results[-1]))
        return _assemble(parts, rows.count, kind)

    return evaluate


def _part(rows: Frame, places: np.ndarray, node: Node) -> tuple[np.ndarray, pa.Array]:
    frame = rows if len(places) == rows.count else rows.take(pa.array(places))
    return places, as_array(node(frame), len(places))


def _case_whole(conditions: Sequence[Node], results: Sequence[Node], kind: pa.DataType) -> Node:
    def evaluate(rows: Frame) -> Datum:
        masks = [_true(condition(rows), rows.count) for condition in conditions]
        values = [_fitted(result(rows), kind) for result in results]
        if not any(isinstance(value, pa.Array) for value in values):
            values[-1] = as_array(values[-1], rows.count)
        struct = pa.StructArray.from_arrays(masks, [str(at) for at in range(len(masks))])
        return pc.case_when(struct, *values)

    return evaluate


def _fitted(datum: Datum, kind: pa.DataType) -> Datum:
    return datum if datum.type == kind else datum.cast(kind)


def _if(call: Call, operands: Sequence[Node], fails: Sequence[bool]) -> Node:
    return _case(call, operands, fails)


def _coalesce(call: Call, operands: Sequence[Node], fails: Sequence[bool]) -> Node:
    kind = call.type.arrow_type()

    def evaluate(rows: Frame) -> Datum:
        left = np.arange(rows.count)
        parts: list[tuple[np.ndarray, pa.Array]] = []
        for at, operand in enumerate(operands):
            places, column = _part(rows, left, operand)
            last = at == len(operands) - 1
            if not last and not column.null_count:
                last = True
            if last:
                parts.append((places, column))
                break
            known = pc.is_valid(column).to_numpy(zero_copy_only=False)
            parts.append((places[known], column.filter(pa.array(known))))
            left = places[~known]
        return _assemble(parts, rows.count, kind)

    return evaluate


def _logic(stop: bool, combine: Callable[..., pa.Array]) -> Choice:
    """AND stops at FALSE, OR at TRUE: there what follows is not evaluated."""

    def build(call: Call, operands: Sequence[Node], fails: Sequence[bool]) -> Node:
        def evaluate(rows: Frame) -> Datum:
            found = operands[0](rows)
            for operand, dangerous in zip(operands[1:], fails[1:], strict=True):
                if dangerous:
                    found = _where_open(found, operand, rows)
                else:
                    found = combine(found, operand(rows))
            return found

        def _where_open(found: Datum, operand: Node, rows: Frame) -> pa.Array:
            column = as_array(found, rows.count)
            closed = pc.fill_null(pc.equal(column, stop), False)
            places = np.flatnonzero(~closed.to_numpy(zero_copy_only=False))
            if not len(places):
                return column
            _, values = _part(rows, places, operand)
            index = np.full(rows.count, -1)
            index[places] = np.arange(len(places))
            spread = values.take(pa.array(index, mask=index < 0))
            filled = pc.if_else(closed, pa.scalar(stop), spread)
            return combine(column, filled)

        return evaluate

    return build


CHOICES: dict[str, Choice] = {
    "CASE": _case,
    "IF": _if,
    "COALESCE": _coalesce,
    "IFNULL": _coalesce,
    "AND": _logic(False, pc.and_kleene),
    "OR": _logic(True, pc.or_kleene),
}
