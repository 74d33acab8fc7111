"""Data types, under the module name PyFlink has for them."""

from __future__ import annotations

from scurry.common.data_types import *  # noqa: F403
from scurry.common.data_types import __all__ as _names
from scurry.common.data_types.arrow_types import (
    create_arrow_schema,
    from_arrow_type,
    to_arrow_type,
)
from scurry.common.data_types.user_defined import UserDefinedType
from scurry.common.types import Row, RowKind

__all__ = [
    *_names,
    "Row",
    "RowKind",
    "UserDefinedType",
    "create_arrow_schema",
    "from_arrow_type",
    "to_arrow_type",
]
