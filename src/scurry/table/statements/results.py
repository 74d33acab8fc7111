"""Results that are there at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from scurry.common.data_types import DataType, DataTypes
from scurry.sql import ast
from scurry.table.catalog.resolved_schema import ResolvedSchema
from scurry.table.table_result import TableResult

__all__ = ["filtered", "listing", "literal", "of_text"]


def listing(
    names: Sequence[str],
    rows: Iterable[Sequence[Any]],
    types: Sequence[DataType] | None = None,
    zone: str = "UTC",
) -> TableResult:
    """Rows of texts, or of other types; times are printed as they are in ``zone``."""
    schema = ResolvedSchema.physical(names, types or [DataTypes.STRING()] * len(names))
    return TableResult.of_rows(schema, rows, zone)


def of_text(text: str) -> TableResult:
    """A result that is one text."""
    return listing(["result"], [[text]])


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def filtered(names: Iterable[str], like: ast.LikeFilter | None) -> list[str]:
    """The names that a LIKE of SHOW lets through."""
    if like is None:
        return list(names)
    pattern = "".join(
        ".*" if sign == "%" else "." if sign == "_" else re.escape(sign) for sign in like.pattern
    )
    flags = re.IGNORECASE if like.operator == "ILIKE" else 0
    matches = re.compile(pattern, flags | re.DOTALL).fullmatch
    return [name for name in names if bool(matches(name)) != like.negated]
