"""What the workloads compute, as plain arithmetic on the columns of an event.

The same expressions work on Python's integers, in every engine, and on numpy's columns, where the
expected sums are worked out (:mod:`benchmarks._workloads`).
"""

from __future__ import annotations

from typing import Any

#: Entries of each key's map.
ENTRIES = 10
#: A key's list is read and emptied at every so-manieth event of the key.
LIST_LENGTH = 20
#: How long after its event a timer is due.
TIMER_DELAY_MS = 5000
#: How far behind the highest timestamp the watermark is.
OUT_OF_ORDER_MS = 1000
#: A threshold for each of the 1000 values an event can have.
RULES = {value: value * 37 % 1000 for value in range(1000)}
_ROUND = 10_000


def entry_of(ts: Any) -> Any:
    """The entry of its key's map that an event is counted in."""
    return ts // _ROUND % ENTRIES


def reads_list(key: Any, ts: Any) -> Any:
    """Whether at this event the key's list is summed up and emptied."""
    return (ts // _ROUND + key) % LIST_LENGTH == LIST_LENGTH - 1


def amount_of(ts: Any) -> Any:
    """What is compared with a rule's threshold."""
    return ts // 1000 % 1000
