"""A keyed buffer in a ``ListState``: every event is appended.

At every twentieth event of a key its list is read, summed up and emptied.
"""

from __future__ import annotations

from benchmarks._workloads import benchmark

main = benchmark("list_state", "ListState", __doc__)

if __name__ == "__main__":
    main()
