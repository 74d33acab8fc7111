"""A keyed count in a ``MapState``: one entry is read and written for every event.

Each key's map has ten entries.
"""

from __future__ import annotations

from benchmarks._workloads import benchmark

main = benchmark("map_state", "MapState", __doc__)

if __name__ == "__main__":
    main()
