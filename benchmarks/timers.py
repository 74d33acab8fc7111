"""One event-time timer for every event, which counts in a ``ValueState`` when it fires.

No two timers of a key coincide; the record that comes out is the timer's.
"""

from __future__ import annotations

from benchmarks._workloads import benchmark

main = benchmark("timers", "Event-time timers", __doc__)

if __name__ == "__main__":
    main()
