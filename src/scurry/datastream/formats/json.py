"""JSON."""

from __future__ import annotations

from scurry.connectors.files.json_lines import JsonLinesFormat

__all__ = ["JsonLinesFormat"]
