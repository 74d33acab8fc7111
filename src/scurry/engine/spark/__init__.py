"""Jobs as queries of Spark's Structured Streaming. Only here, in connectors and in testing is
PySpark imported."""

from __future__ import annotations
