"""The state of a job as data: what a savepoint or checkpoint holds, as tables of Arrow and Spark.

>>> from scurry.state_reader import read
>>> read("savepoints/before-upgrade", "count", "count").to_pandas()
"""

from __future__ import annotations

from scurry.state_reader.reader import (
    SavepointReader,
    diff,
    list_states,
    read,
    read_list_state,
    read_timers,
    read_windows,
    to_data_frame,
)

__all__ = [
    "SavepointReader",
    "diff",
    "list_states",
    "read",
    "read_list_state",
    "read_timers",
    "read_windows",
    "to_data_frame",
]
