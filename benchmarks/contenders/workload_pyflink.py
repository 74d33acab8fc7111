"""PyFlink: any of the workloads of :mod:`benchmarks.contenders._programs`, at its best settings.

What was emitted is counted and added up around the function, since the sink cannot be asked.
Event time is made by Flink's own table source, in the JVM: cheaper than an assigner in Python.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pyflink.common import Types
from pyflink.datastream import KeyedBroadcastProcessFunction, KeyedProcessFunction

from benchmarks.contenders._programs import FUNCTIONS, wire
from benchmarks.contenders._shapes import OUT_OF_ORDER_MS
from benchmarks.contenders.pyflink import options_parser, run

_ROWTIME = f"""
    , rowtime AS TO_TIMESTAMP_LTZ(ts, 3),
    WATERMARK FOR rowtime AS rowtime - INTERVAL '{OUT_OF_ORDER_MS / 1000:.3f}' SECOND
"""


class Tally:
    """Runs a function, and writes what it emitted to a file when it is closed."""

    def __init__(self, function: Any, tallies: str) -> None:
        self.function = function
        self.tallies = tallies

    def open(self, runtime_context: Any) -> None:
        self.rows = self.checksum = 0
        self.first = 0.0
        self.function.open(runtime_context)

    def process_element(self, value: Any, ctx: Any) -> Iterator[tuple[int, int]]:
        if not self.first:
            self.first = time.time()
        return self.counted(self.function.process_element(value, ctx))

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[tuple[int, int]]:
        return self.counted(self.function.process_broadcast_element(value, ctx))

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[int, int]]:
        return self.counted(self.function.on_timer(timestamp, ctx))

    def counted(self, emitted: Iterable[tuple[int, int]] | None) -> Iterator[tuple[int, int]]:
        """Pass on what was emitted."""
        for record in emitted or ():
            self.rows += 1
            self.checksum += record[1]
            yield record

    def close(self) -> None:
        tally = {"first": self.first, "rows": self.rows, "checksum": self.checksum}
        if self.first:
            Path(self.tallies, f"{uuid.uuid4().hex}.json").write_text(json.dumps(tally))


class KeyedTally(Tally, KeyedProcessFunction):
    """A tally of one keyed input."""


class BroadcastTally(Tally, KeyedBroadcastProcessFunction):
    """A tally of a keyed input with rules beside it."""


def main() -> None:
    """Run the job and report."""
    parser = options_parser()
    parser.add_argument("--workload", choices=sorted(FUNCTIONS), required=True)
    options = parser.parse_args()
    workload = options.workload
    kind = BroadcastTally if workload == "broadcast_rules" else KeyedTally

    def build(env: Any, events: Any, tallies: str) -> Any:
        keyed = events.key_by(lambda event: event[0], key_type=Types.LONG())
        output = Types.TUPLE([Types.LONG(), Types.LONG()])
        return wire(workload, env, keyed, kind(FUNCTIONS[workload](), tallies), output)

    if workload == "timers":
        run(options, build, more_columns=_ROWTIME, select="`key`, `value`, rowtime")
    else:
        run(options, build)


if __name__ == "__main__":
    main()
