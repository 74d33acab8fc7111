"""The JSON functions."""

from __future__ import annotations

from scurry.sql.ast import json_functions as ast
from scurry.sql.ast.node import Expression
from scurry.sql.unparse.writer import commas, optional, unparse, when, words, writes


def _on(event: str, behavior: ast.JsonBehavior | None) -> str:
    return "" if behavior is None else f"{unparse(behavior)} ON {event}"


def _on_null(word: str) -> str:
    return when(word, f"{word} ON NULL")


def _filter(condition: Expression | None) -> str:
    return "" if condition is None else f" FILTER (WHERE {unparse(condition)})"


@writes(ast.JsonBehavior)
def _behavior(node: ast.JsonBehavior) -> str:
    return node.kind if node.default is None else f"DEFAULT {unparse(node.default)}"


@writes(ast.JsonExists)
def _exists(node: ast.JsonExists) -> str:
    inside = words(f"{unparse(node.json)}, {unparse(node.path)}", _on("ERROR", node.on_error))
    return f"JSON_EXISTS({inside})"


@writes(ast.JsonValue)
def _value(node: ast.JsonValue) -> str:
    inside = words(
        f"{unparse(node.json)}, {unparse(node.path)}",
        optional("RETURNING", node.returning),
        _on("EMPTY", node.on_empty),
        _on("ERROR", node.on_error),
    )
    return f"JSON_VALUE({inside})"


@writes(ast.JsonQuery)
def _query(node: ast.JsonQuery) -> str:
    wrapper = when(node.wrapper not in ("", "WITHOUT"), "WITH ") + node.wrapper
    inside = words(
        f"{unparse(node.json)}, {unparse(node.path)}",
        optional("RETURNING", node.returning),
        when(wrapper, f"{wrapper} ARRAY WRAPPER"),
        _on("EMPTY", node.on_empty),
        _on("ERROR", node.on_error),
    )
    return f"JSON_QUERY({inside})"


@writes(ast.JsonEntry)
def _entry(node: ast.JsonEntry) -> str:
    return f"KEY {unparse(node.key)} VALUE {unparse(node.value)}"


@writes(ast.JsonObject)
def _object(node: ast.JsonObject) -> str:
    return f"JSON_OBJECT({words(commas(node.entries), _on_null(node.on_null))})"


@writes(ast.JsonArray)
def _array(node: ast.JsonArray) -> str:
    return f"JSON_ARRAY({words(commas(node.items), _on_null(node.on_null))})"


@writes(ast.JsonObjectAggregate)
def _object_aggregate(node: ast.JsonObjectAggregate) -> str:
    inside = words(unparse(node.entry), _on_null(node.on_null))
    return f"JSON_OBJECTAGG({inside}){_filter(node.filter)}"


@writes(ast.JsonArrayAggregate)
def _array_aggregate(node: ast.JsonArrayAggregate) -> str:
    inside = words(unparse(node.item), _on_null(node.on_null))
    return f"JSON_ARRAYAGG({inside}){_filter(node.filter)}"
