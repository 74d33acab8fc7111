"""Predicates for retry strategies, under the module name PyFlink has for them."""

from __future__ import annotations

from scurry.functions.async_io import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)

__all__ = ["empty_result_predicate", "exception_type_predicate", "has_exception_predicate"]
