"""Side outputs, under the module name PyFlink has for them."""

from __future__ import annotations

from scurry.functions.output_tag import OutputTag

__all__ = ["OutputTag"]
