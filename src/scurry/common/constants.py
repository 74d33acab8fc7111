"""Bounds of the 64-bit numbers that timestamps and watermarks are."""

from __future__ import annotations

from typing import Final

__all__ = ["MAX_LONG_VALUE", "MIN_LONG_VALUE"]

#: The largest such number: the watermark at the end of bounded input.
MAX_LONG_VALUE: Final = (1 << 63) - 1
#: The smallest: the watermark before there is one.
MIN_LONG_VALUE: Final = -(1 << 63)
