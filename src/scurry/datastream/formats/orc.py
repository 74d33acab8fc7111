"""ORC."""

from __future__ import annotations

from scurry.connectors.files.columnar_writers import OrcBulkWriters

__all__ = ["OrcBulkWriters"]
