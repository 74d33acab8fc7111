"""Programs travel to tasks as they are, and never as a broadcast variable.

PySpark makes a broadcast variable of a function of more than a megabyte, which a program soon is
that holds a model, a table or a collection. Scurry has no use for that. The process that Spark asks
for the state variables of a stage when a query starts is given no broadcast variables, so the query
would fail. And tasks are executed by the processes of slots: each micro-batch would leave a file.
"""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext

_THRESHOLD = "spark.broadcast.UDFCompressionThreshold"


def send_whole_programs(context: SparkContext) -> None:
    """Have functions that are handed to Spark from now on travel whole, whatever their size."""
    conf: Any = context._jsc.sc().conf()
    conf.set(_THRESHOLD, str(1 << 40))
