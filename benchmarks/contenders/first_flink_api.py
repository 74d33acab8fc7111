"""The first result of a small job, written for PyFlink: run by PyFlink and by Scurry.

``python -m benchmarks.contenders.first_flink_api pyflink`` (or ``scurry``) imports that package;
``scurry live`` runs it in the live engine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.contenders._first import EVENTS, KEYS, say_first

if sys.argv[1:] == ["pyflink"]:
    from pyflink.common import Types
    from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
    from pyflink.datastream.state import ValueStateDescriptor
else:
    from scurry.common import Configuration, Types
    from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
    from scurry.datastream.state import ValueStateDescriptor


class Count(KeyedProcessFunction):
    """Counts the events of each key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Iterator[int]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield count


def main() -> None:
    """Count by key, and say when the first count has arrived."""
    env = StreamExecutionEnvironment.get_execution_environment()
    if sys.argv[2:] == ["live"]:
        live = Configuration.of({"execution.engine": "live"})
        env = StreamExecutionEnvironment.get_execution_environment(live)
    events = env.from_collection(list(range(EVENTS)), type_info=Types.LONG())
    keyed = events.key_by(lambda event: event % KEYS, key_type=Types.LONG())
    with keyed.process(Count(), output_type=Types.LONG()).execute_and_collect() as results:
        for _ in results:
            say_first()
            break


if __name__ == "__main__":
    main()
