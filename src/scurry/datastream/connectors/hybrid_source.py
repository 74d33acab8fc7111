"""Sources one after the other, under the module name PyFlink has for them."""

from __future__ import annotations

from scurry.connectors.hybrid import HybridSource, HybridSourceBuilder

__all__ = ["HybridSource", "HybridSourceBuilder"]
