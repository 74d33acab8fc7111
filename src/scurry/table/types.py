"""Data types, under the module name PyFlink has for them."""

from __future__ import annotations

from scurry.common.data_types import *  # noqa: F403
from scurry.common.data_types import __all__ as _names
from scurry.common.types import Row, RowKind

__all__ = [*_names, "Row", "RowKind"]
