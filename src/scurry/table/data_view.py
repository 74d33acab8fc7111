"""Lists and maps of accumulators, under the module name PyFlink has for them."""

from __future__ import annotations

from scurry.functions.udfs import DataView, ListView, MapView

__all__ = ["DataView", "ListView", "MapView"]
