"""From the names of types, as SQL text has them, to types.

A parser knows that ``DECIMAL(10, 2)`` is a name with two numbers; which types there are, how they
may be abbreviated and what their defaults are is known here.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence

from scurry.common.data_types.atomic import DecimalType
from scurry.common.data_types.data_type import DataType
from scurry.common.data_types.factory import DataTypes
from scurry.common.data_types.temporal import ZonedTimestampType
from scurry.common.errors import TypeMismatchError

__all__ = ["TYPE_NAMES", "type_from_name"]

Maker = Callable[..., DataType]


def _decimal(precision: int = 10, scale: int = 0) -> DataType:
    return DecimalType(precision, scale)


def _ignoring_digits(maker: Callable[[], DataType]) -> Maker:
    return lambda digits=0: maker()


_ATOMIC: Mapping[str, tuple[Maker, int]] = {
    "CHAR": (lambda length=1: DataTypes.CHAR(length), 1),
    "CHARACTER": (lambda length=1: DataTypes.CHAR(length), 1),
    "VARCHAR": (lambda length=1: DataTypes.VARCHAR(length), 1),
    "CHAR VARYING": (lambda length=1: DataTypes.VARCHAR(length), 1),
    "CHARACTER VARYING": (lambda length=1: DataTypes.VARCHAR(length), 1),
    "STRING": (DataTypes.STRING, 0),
    "BOOLEAN": (DataTypes.BOOLEAN, 0),
    "BINARY": (lambda length=1: DataTypes.BINARY(length), 1),
    "VARBINARY": (lambda length=1: DataTypes.VARBINARY(length), 1),
    "BINARY VARYING": (lambda length=1: DataTypes.VARBINARY(length), 1),
    "BYTES": (DataTypes.BYTES, 0),
    "DECIMAL": (_decimal, 2),
    "DEC": (_decimal, 2),
    "NUMERIC": (_decimal, 2),
    "TINYINT": (DataTypes.TINYINT, 0),
    "SMALLINT": (DataTypes.SMALLINT, 0),
    "INT": (DataTypes.INT, 0),
    "INTEGER": (DataTypes.INT, 0),
    "BIGINT": (DataTypes.BIGINT, 0),
    "FLOAT": (_ignoring_digits(DataTypes.FLOAT), 1),
    "REAL": (DataTypes.FLOAT, 0),
    "DOUBLE": (DataTypes.DOUBLE, 0),
    "DOUBLE PRECISION": (DataTypes.DOUBLE, 0),
    "DATE": (DataTypes.DATE, 0),
    "TIME": (DataTypes.TIME, 1),
    "TIME WITHOUT TIME ZONE": (DataTypes.TIME, 1),
    "TIMESTAMP": (DataTypes.TIMESTAMP, 1),
    "TIMESTAMP WITHOUT TIME ZONE": (DataTypes.TIMESTAMP, 1),
    "TIMESTAMP_LTZ": (DataTypes.TIMESTAMP_LTZ, 1),
    "TIMESTAMP WITH LOCAL TIME ZONE": (DataTypes.TIMESTAMP_LTZ, 1),
    "TIMESTAMP WITH TIME ZONE": (lambda digits=6: ZonedTimestampType(digits), 1),
    "NULL": (DataTypes.NULL, 0),
    "RAW": (DataTypes.RAW, 0),
}

TYPE_NAMES: frozenset[str] = frozenset(_ATOMIC)


def type_from_name(name: str, parameters: Sequence[int] = (), nullable: bool = True) -> DataType:
    """The atomic type that SQL text means by `name` and the numbers behind it.

    Names of several words are given with one space between them, and without the numbers:
    ``TIMESTAMP(3) WITH LOCAL TIME ZONE`` is ``("TIMESTAMP WITH LOCAL TIME ZONE", [3])``.
    """
    key = " ".join(name.upper().split())
    if key not in _ATOMIC:
        near = difflib.get_close_matches(key, sorted(_ATOMIC), 3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise TypeMismatchError(f"there is no type {key}{hint}")
    maker, most = _ATOMIC[key]
    if len(parameters) > most:
        raise TypeMismatchError(
            f"{key} takes {'no number' if not most else f'at most {most}'} in parentheses, "
            f"got ({', '.join(map(str, parameters))})"
        )
    return maker(*parameters).with_nullability(nullable)
