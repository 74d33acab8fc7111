"""Every event is compared with its rule, one of 1000 in broadcast state.

Rules come through a stream of their own. Plain Spark has no broadcast state: there they are a
constant, so that it has less to do.
"""

from __future__ import annotations

from benchmarks._workloads import benchmark

main = benchmark("broadcast_rules", "Broadcast rules", __doc__)

if __name__ == "__main__":
    main()
