"""Scurry: Apache Flink's stream-processing model in Python, on a Spark cluster.

A program written for PyFlink runs after a change of its imports from ``pyflink.*`` to
``scurry.*``. The packages below carry PyFlink's names: ``scurry.datastream`` holds the
environment and the streams, ``scurry.common`` the types, time and configuration.
"""

from __future__ import annotations

__version__ = "0.1.0"
#: The first version of PySpark that jobs can run on, and the one that follows the last.
PYSPARK_FROM, PYSPARK_BEFORE = "4.3", "4.4"
