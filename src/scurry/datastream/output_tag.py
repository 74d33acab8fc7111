"""Side outputs, under the module name PyFlink has for them."""

from scurry.functions.output_tag import OutputTag

__all__ = ["OutputTag"]
