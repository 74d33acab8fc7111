"""Values and types that Flink gave for SQL expressions, and ours in the same form.

The files ``functions/*.json`` are made from the ``*.txt`` next to them by
``scripts/flink_expressions.py``.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.data_types import (
    ArrayType,
    DataType,
    FloatType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
)
from scurry.functions.expressions import Call, Expression, InputRef, Literal
from scurry.planner.bind.expressions import ExpressionBinder
from scurry.planner.bind.scope import Scope
from scurry.planner.columns import Column
from scurry.runtime.expressions import EvaluationContext, compile_expression
from scurry.runtime.expressions.literals import scalar_of
from scurry.runtime.expressions.python_values import pyvalues
from scurry.sql.parser import parse_expression

FILES = Path(__file__).parent / "functions"
ZONE = "Asia/Tokyo"
_DURATION = re.compile(r"PT(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?[\d.]+)S)?")
_EPOCH = dt.date(1970, 1, 1)


def recorded(name: str) -> Iterator[dict[str, Any]]:
    """The expressions of a file with what Flink said of them."""
    yield from json.loads((FILES / f"{name}.json").read_text())["results"]


class NoCatalog:
    """A catalogue without tables and functions."""

    batch = False

    def find_table(self, names: tuple[str, ...]) -> None:
        return None

    def table_names(self) -> tuple[str, ...]:
        return ()

    def find_function(self, names: tuple[str, ...]) -> None:
        return None

    def function_names(self) -> tuple[str, ...]:
        return ()


def resolve(sql: str, schema: RowType | None = None) -> Expression:
    """The typed tree of an expression over columns."""
    fields = () if schema is None else schema.fields
    columns = tuple(Column(field.name, field.data_type) for field in fields)
    return ExpressionBinder(Scope.of("t", columns), NoCatalog()).bind(parse_expression(sql))


def evaluate(tree: Expression, batch: pa.RecordBatch | None = None) -> list[Any]:
    """The values of a tree for each row of a batch, or for one row without columns."""
    rows = batch if batch is not None else _one_row()
    column = compile_expression(tree)(rows, EvaluationContext(zone=ZONE))
    return [comparable(value, tree.type) for value in plain(column)]


#: operands that stay constants, because they are words of the syntax or decide the type
_WORDS = {
    "EXTRACT": (0,),
    "FLOOR TO": (1,),
    "CEIL TO": (1,),
    "TIMESTAMPADD": (0,),
    "TIMESTAMPDIFF": (0,),
    "FIELD": (1,),
    "ROUND": (1,),
    "TRUNCATE": (1,),
    "JSON_EXISTS": (2,),
    "JSON_VALUE": (2, 3, 4, 5, 6),
    "JSON_QUERY": (2, 3, 4, 5),
    "JSON_OBJECT": (0,),
    "JSON_ARRAY": (0,),
    "LIKE": (2,),
}


def lifted(tree: Expression, columns: list[pa.Scalar]) -> Expression:
    """The tree with its constants replaced by columns that hold them."""
    if isinstance(tree, Literal):
        columns.append(scalar_of(tree))
        return InputRef(len(columns) - 1, tree.type)
    kept = _WORDS.get(tree.function, ()) if isinstance(tree, Call) else ()
    operands = tuple(
        operand if at in kept else lifted(operand, columns)
        for at, operand in enumerate(tree.operands)
    )
    return tree.with_operands(operands)


def _one_row() -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"nothing": [0]})


def plain(column: pa.Array) -> list[Any]:
    """Python values, times as integers at any depth."""
    kind = column.type
    if pa.types.is_list(kind):
        inner = plain(column.flatten())
        return _nested(column, inner, list)
    if pa.types.is_map(kind):
        return [None if v is None else dict(v) for v in column.to_pylist()]
    return pyvalues(column)


def _nested(column: pa.Array, inner: list[Any], make: type) -> list[Any]:
    taken = iter(inner)
    lengths = [None if v is None else len(v) for v in column.to_pylist()]
    return [None if n is None else make(next(taken) for _ in range(n)) for n in lengths]


def comparable(value: Any, kind: DataType) -> Any:
    """A value of ours in the form that `of_flink` gives Flink's."""
    if value is None:
        return None
    if isinstance(kind, TimestampType | LocalZonedTimestampType):
        return value * {"ms": 10**6, "us": 1000, "ns": 1}[kind.arrow_type().unit]
    if isinstance(kind, FloatType):
        return float(np.float32(value))
    if isinstance(kind, ArrayType):
        return [comparable(one, kind.element_type) for one in value]
    if isinstance(kind, MapType):
        pairs = (
            (comparable(k, kind.key_type), comparable(v, kind.value_type)) for k, v in value.items()
        )
        return sorted(pairs, key=repr)
    if isinstance(kind, MultisetType):
        return sorted(((comparable(k, kind.element_type), n) for k, n in value.items()), key=repr)
    if isinstance(kind, RowType):
        return tuple(comparable(v, t) for v, t in zip(value.values(), kind.children, strict=True))
    return value


def of_flink(value: Any, kind: DataType) -> Any:
    """A value of Flink's, from its form in the file."""
    if isinstance(value, list):
        element = kind.element_type if isinstance(kind, ArrayType) else kind
        return [of_flink(one, element) for one in value]
    if not isinstance(value, dict):
        return value
    (name, content), *_ = value.items()
    if name == "map" and isinstance(kind, MultisetType):
        return sorted(((of_flink(k, kind.element_type), n) for k, n in content), key=repr)
    if name == "map":
        assert isinstance(kind, MapType)
        pairs = ((of_flink(k, kind.key_type), of_flink(v, kind.value_type)) for k, v in content)
        return sorted(pairs, key=repr)
    if name == "row":
        return tuple(of_flink(v, t) for v, t in zip(content, kind.children, strict=True))
    if name == "float":
        return float(np.float32(content)) if isinstance(kind, FloatType) else float(content)
    return _READ[name](content)


def _nanos(text: str) -> int:
    date, _, clock = text.removesuffix("Z").partition("T")
    return (dt.date.fromisoformat(date) - _EPOCH).days * 86400 * 10**9 + _clock(clock)


def _clock(text: str) -> int:
    hour, minute, *second = text.split(":")
    seconds = Decimal(second[0]) if second else Decimal(0)
    return (int(hour) * 3600 + int(minute) * 60) * 10**9 + int(seconds * 10**9)


def _duration(text: str) -> int:
    found = _DURATION.fullmatch(text)
    assert found is not None, text
    hours, minutes, seconds = (Decimal(part or 0) for part in found.groups())
    return int((hours * 3600 + minutes * 60 + seconds) * 1000)


_READ: dict[str, Any] = {
    "decimal": Decimal,
    "bytes": bytes.fromhex,
    "LocalDate": lambda text: (dt.date.fromisoformat(text) - _EPOCH).days,
    "LocalTime": lambda text: _clock(text) // 10**6,
    "LocalDateTime": _nanos,
    "Instant": _nanos,
    "Duration": _duration,
    "Period": lambda text: int(text[1:-1]),
}


def same(one: Any, two: Any) -> bool:
    """Equality in which NaN equals NaN and floating-point numbers may differ in the last digit."""
    if isinstance(one, float) and isinstance(two, float):
        return (one != one and two != two) or math.isclose(one, two, rel_tol=1e-14)
    if isinstance(one, list | tuple) and isinstance(two, list | tuple):
        return len(one) == len(two) and all(map(same, one, two))
    return type(one) is type(two) and bool(one == two)
