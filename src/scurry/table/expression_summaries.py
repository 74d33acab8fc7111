"""How expressions of the Table API print: as the calls that make them, ``plus(a, 1)``.

Flink's ``asSummaryString`` names each function as its definition does, which is mostly neither what
the method is called nor what SQL calls it: ``col("a").upper_case`` prints ``upper(a)``, and
``col("a").unhex`` prints ``UNHEX(a)``. The summary is what ``str`` gives. ``repr`` gives the SQL,
which messages use, as SQL is what a reader of a message can write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

from scurry.common.data_types import DataType
from scurry.connectors.tables.external_values import java_float
from scurry.sql import ast
from scurry.sql.unparse import unparse

__all__ = ["OPERATORS", "Called", "Printed", "function_called", "summary_of_node"]

#: Functions that Flink defines under SQL's name in small letters.
_SMALL = frozenset(
    """
    ABS ACOS ASCII ASIN ATAN ATAN2 AVG BIN CARDINALITY CHR COLLECT CONCAT CONCAT_WS COS COSH COT
    COUNT DECODE DEGREES E ELEMENT ENCODE EXP FIRST_VALUE FLATTEN HEX INSTR LAG LAST_VALUE LEAD
    LEFT LN LOCATE LOG LOG10 LOG2 LOWER LPAD LTRIM MAX MD5 MIN OVERLAY PI POSITION POWER RADIANS
    RAND REGEXP REPEAT REPLACE REVERSE RIGHT ROUND RPAD RTRIM SHA1 SHA2 SHA224 SHA256 SHA384
    SHA512 SIGN SIN SINH SQRT SUBSTR SUBSTRING SUM SUM0 TAN TANH TRUNCATE UPPER UUID
    """.split()  # noqa: SIM905
)

#: Functions that Flink defines under a name of their own. Every other function has SQL's name.
_OWN = {
    "CHAR_LENGTH": "charLength",
    "CONVERT_TZ": "convertTz",
    "CURRENT_DATABASE": "currentDatabase",
    "CURRENT_DATE": "currentDate",
    "CURRENT_TIME": "currentTime",
    "CURRENT_TIMESTAMP": "currentTimestamp",
    "DATE_FORMAT": "dateFormat",
    "FROM_BASE64": "fromBase64",
    "FROM_UNIXTIME": "fromUnixtime",
    "INITCAP": "initCap",
    "LISTAGG": "listAgg",
    "LOCALTIME": "localTime",
    "LOCALTIMESTAMP": "localTimestamp",
    "OVERLAPS": "temporalOverlaps",
    "PARSE_URL": "parseUrl",
    "RAND_INTEGER": "randInteger",
    "REGEXP_EXTRACT": "regexpExtract",
    "REGEXP_REPLACE": "regexpReplace",
    "SPLIT_INDEX": "splitIndex",
    "STDDEV_POP": "stddevPop",
    "STDDEV_SAMP": "stddevSamp",
    "STR_TO_MAP": "strToMap",
    "TO_BASE64": "toBase64",
    "TO_DATE": "toDate",
    "TO_TIMESTAMP": "toTimestamp",
    "TRANSLATE": "TRANSLATE3",
    "UNIX_TIMESTAMP": "unixTimestamp",
    "VAR_POP": "varPop",
    "VAR_SAMP": "varSamp",
    "$WINDOW_START": "start",
    "$WINDOW_END": "end",
    "$WINDOW_ROWTIME": "rowtime",
    "$WINDOW_PROCTIME": "proctime",
    "$WITH_COLUMNS": "withColumns",
    "$WITHOUT_COLUMNS": "withoutColumns",
}

OPERATORS = {
    "+": "plus",
    "-": "minus",
    "*": "times",
    "/": "divide",
    "%": "mod",
    "=": "equals",
    "<>": "notEquals",
    "<": "lessThan",
    "<=": "lessThanOrEqual",
    ">": "greaterThan",
    ">=": "greaterThanOrEqual",
    "AND": "and",
    "OR": "or",
}


@dataclass(frozen=True)
class Printed:
    """A part of a summary that stands there as it is."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class Called:
    """A function under Flink's name, with the expressions and values that it was given."""

    name: str
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(_argument, self.arguments))})"


def function_called(sql_name: str, arguments: tuple[Any, ...]) -> Called:
    """The call of a built-in function that SQL knows by that name."""
    name = sql_name.lower() if sql_name in _SMALL else _OWN.get(sql_name, sql_name)
    return Called(name, arguments)


def summary_of_node(node: ast.Expression) -> str:
    """A column, a value or a word; any other tree, which no method has made, in SQL."""
    match node:
        case ast.Name():
            return ".".join(part.name for part in node.parts)
        case ast.Star():
            return "*"
        case ast.Constant():
            return _argument(node.value)
        case ast.NullLiteral():
            return "null"
    return unparse(node)


def _argument(value: Any) -> str:
    if isinstance(value, list | tuple):
        return str(Called("array", tuple(value)))
    for kind, written in _WRITTEN:
        if isinstance(value, kind):
            return written(value)
    return str(value)


_WRITTEN: tuple[tuple[type | tuple[type, ...], Callable[[Any], str]], ...] = (
    (type(None), lambda value: "null"),
    (Enum, lambda value: str(value.name)),
    (bool, lambda value: str(value).lower()),
    (str, lambda value: "'" + value.replace("'", "''") + "'"),
    (float, java_float),
    (Decimal, lambda value: f"{value:f}"),
    ((bytes, bytearray), lambda value: str(list(value))),
    (DataType, str),
)
