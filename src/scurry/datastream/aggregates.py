"""Built-in aggregates of windows: ``.aggregate(agg.count(), agg.sum("amount"))``.

Import the module under a name of its own, ``from scurry.datastream import aggregates as agg``: its
functions are called like Python's.
"""

from __future__ import annotations

from scurry.functions.window_aggregates import Aggregate, avg, count, max, min, sum

__all__ = ["Aggregate", "avg", "count", "max", "min", "sum"]
