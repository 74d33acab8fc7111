"""JSON in the Table API's expressions."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from scurry.common.data_types import DataType
from scurry.sql import ast
from scurry.table.expression_core import ExpressionCore, here, to_node
from scurry.table.expression_summaries import Printed

if TYPE_CHECKING:
    from scurry.table.expression import Expression

__all__ = [
    "JsonExistsOnError",
    "JsonMethods",
    "JsonOnNull",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
]


class JsonType(Enum):
    """What a JSON text can be."""

    VALUE = 0
    SCALAR = 1
    ARRAY = 2
    OBJECT = 3


class JsonExistsOnError(Enum):
    """What ``json_exists`` says if it fails."""

    TRUE = 0
    FALSE = 1
    UNKNOWN = 2
    ERROR = 3


class JsonValueOnEmptyOrError(Enum):
    """What ``json_value`` gives if there is nothing, or if it fails."""

    NULL = 0
    ERROR = 1
    DEFAULT = 2


class JsonQueryWrapper(Enum):
    """When ``json_query`` puts what it finds into an array."""

    WITHOUT_ARRAY = 0
    CONDITIONAL_ARRAY = 1
    UNCONDITIONAL_ARRAY = 2


class JsonQueryOnEmptyOrError(Enum):
    """What ``json_query`` gives if there is nothing, or if it fails."""

    NULL = 0
    EMPTY_ARRAY = 1
    EMPTY_OBJECT = 2
    ERROR = 3


class JsonOnNull(Enum):
    """What becomes of a value that is NULL."""

    NULL = 0
    ABSENT = 1


class JsonMethods(ExpressionCore):
    """Functions of texts that are JSON."""

    def is_json(self, json_type: JsonType | None = None) -> Expression:
        """Whether the text is JSON, and of that kind."""
        what = "JSON" if json_type is None else f"JSON {json_type.name}"
        given = () if json_type is None else (json_type,)
        return self._made(ast.Is(self._node, what, span=here()), "IS_JSON", self, *given)

    def json_exists(self, path: str, on_error: JsonExistsOnError | None = None) -> Expression:
        """Whether the path finds something."""
        behavior = None if on_error is None else ast.JsonBehavior(on_error.name, span=here())
        node = ast.JsonExists(self._node, to_node(path), behavior, span=here())
        given = (path,) if on_error is None else (path, on_error)
        return self._made(node, "JSON_EXISTS", self, *given)

    def json_value(
        self,
        path: str,
        returning_type: DataType | None = None,
        on_empty: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_empty: Any = None,
        on_error: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_error: Any = None,
    ) -> Expression:
        """The number, text or truth value that the path finds, as a text or as that type."""
        value = ast.JsonValue(
            self._node,
            to_node(path),
            None,
            _behavior(on_empty, default_on_empty),
            _behavior(on_error, default_on_error),
            span=here(),
        )
        node = value if returning_type is None else self._make(value).cast(returning_type).node
        shown = Printed("STRING") if returning_type is None else returning_type
        empty, error = (on_empty, default_on_empty), (on_error, default_on_error)
        return self._made(node, "JSON_VALUE", self, path, shown, *empty, *error)

    def json_query(
        self,
        path: str,
        wrapping_behavior: JsonQueryWrapper = JsonQueryWrapper.WITHOUT_ARRAY,
        on_empty: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
        on_error: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
    ) -> Expression:
        """The array or object that the path finds, as a JSON text."""
        query = ast.JsonQuery(
            self._node,
            to_node(path),
            None,
            wrapping_behavior.name.removesuffix("_ARRAY"),
            ast.JsonBehavior(on_empty.name.replace("_", " "), span=here()),
            ast.JsonBehavior(on_error.name.replace("_", " "), span=here()),
            span=here(),
        )
        given = (path, Printed("STRING"), wrapping_behavior, on_empty, on_error)
        return self._made(query, "JSON_QUERY", self, *given)

    def json_quote(self) -> Expression:
        """The text as a JSON string."""
        return self._call("JSON_QUOTE")

    def json_unquote(self) -> Expression:
        """The text that a JSON string means."""
        return self._call("JSON_UNQUOTE")


def _behavior(kind: JsonValueOnEmptyOrError, default: Any) -> ast.JsonBehavior:
    value = to_node(default) if kind is JsonValueOnEmptyOrError.DEFAULT else None
    return ast.JsonBehavior(kind.name, value, span=here())
