"""Data types."""

from __future__ import annotations

from scurry.sql.ast.data_types import (
    CollectionType,
    FieldNode,
    IntervalQualifier,
    IntervalType,
    MapTypeNode,
    NamedType,
    RawTypeNode,
    RowTypeNode,
    TypeNode,
    UserType,
)
from scurry.sql.unparse.writer import (
    commas,
    full_names,
    quoted,
    string,
    unparse,
    words,
    writes,
)


def _nullable(node: TypeNode, text: str) -> str:
    return words(text, {None: "", True: "NULL", False: "NOT NULL"}[node.nullable])


@writes(NamedType)
def _named(node: NamedType) -> str:
    numbers = f"({', '.join(map(str, node.parameters))})" if node.parameters else ""
    name = "INTEGER" if node.name == "INT" and full_names() else node.name
    return _nullable(node, f"{name}{numbers}")


@writes(IntervalType)
def _interval(node: IntervalType) -> str:
    return _nullable(node, f"INTERVAL {unparse(node.qualifier)}")


@writes(CollectionType)
def _collection(node: CollectionType) -> str:
    return _nullable(node, f"{node.kind}<{unparse(node.element)}>")


@writes(MapTypeNode)
def _map(node: MapTypeNode) -> str:
    return _nullable(node, f"MAP<{unparse(node.key)}, {unparse(node.value)}>")


@writes(RowTypeNode)
def _row(node: RowTypeNode) -> str:
    return _nullable(node, f"ROW<{commas(node.fields)}>")


@writes(RawTypeNode)
def _raw(node: RawTypeNode) -> str:
    return _nullable(node, f"RAW({string(node.class_name)}, {string(node.snapshot)})")


@writes(UserType)
def _user(node: UserType) -> str:
    return _nullable(node, unparse(node.name))


@writes(FieldNode)
def _field(node: FieldNode) -> str:
    comment = "" if node.comment is None else string(node.comment)
    return words(quoted(node.name.name), unparse(node.type), comment)


@writes(IntervalQualifier)
def _qualifier(node: IntervalQualifier) -> str:
    numbers = [] if node.precision is None else [node.precision]
    if node.end is None:
        numbers += [] if node.fraction is None else [node.fraction]
        return f"{node.start}{_numbers(numbers)}"
    fraction = "" if node.fraction is None else f"({node.fraction})"
    return f"{node.start}{_numbers(numbers)} TO {node.end}{fraction}"


def _numbers(numbers: list[int]) -> str:
    return f"({', '.join(map(str, numbers))})" if numbers else ""
