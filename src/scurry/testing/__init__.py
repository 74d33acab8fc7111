"""A testing kit for programs written with Scurry.

Three ways to test, from the smallest to the real thing:

* :class:`OperatorHarness`, for two inputs :class:`TwoInputHarness`, runs one function on a virtual
  clock: elements, watermarks and processing time go in; records, side outputs, state and timers can
  be looked at.
* :func:`run_local` and :func:`collect_local` run a whole program in this process, with no JVM, the
  input cut into micro-batches as told, restarting or crashing between them if wanted.
* :func:`scurry.testing.spark.collect_on_spark` runs the same program on a local Spark.

What the first two do **not** simulate: Spark's scheduling (tasks run one after the other in one
thread), retries and speculative attempts of single tasks, the loss of an executor, the limits of
Spark's Arrow and shuffle buffers, real time passing (processing time moves only when told to), and
the latency of anything. Serialisation *is* simulated: functions are pickled, and records between
stages travel as the same bytes as on Spark. Run what matters on Spark too.
"""

from __future__ import annotations

from scurry.testing.local import LocalJob, collect_local, run_local
from scurry.testing.operator_harness import OperatorHarness
from scurry.testing.sinks import ListSink
from scurry.testing.two_input_harness import TwoInputHarness

__all__ = [
    "ListSink",
    "LocalJob",
    "OperatorHarness",
    "TwoInputHarness",
    "collect_local",
    "run_local",
]
