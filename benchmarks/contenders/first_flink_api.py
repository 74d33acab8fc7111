"""The first result of a small job, written for PyFlink: run by PyFlink and by Scurry.

``python -m benchmarks.contenders.first_flink_api pyflink`` (or ``scurry``) imports that package.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.contenders._first import EVENTS, KEYS, say_first


def main(package: str) -> None:
    """Count by key, and say when the first count has arrived."""
    api = importlib.import_module(f"{package}.datastream")
    common = importlib.import_module(f"{package}.common")
    descriptor = importlib.import_module(f"{package}.datastream.state").ValueStateDescriptor

    class Count(api.KeyedProcessFunction):  # type: ignore[misc, name-defined]
        def open(self, runtime_context: Any) -> None:
            self.count = runtime_context.get_state(descriptor("count", common.Types.LONG()))

        def process_element(self, value: int, ctx: Any) -> Iterator[int]:
            count = (self.count.value() or 0) + 1
            self.count.update(count)
            yield count

    env = api.StreamExecutionEnvironment.get_execution_environment()
    events = env.from_collection(list(range(EVENTS)), type_info=common.Types.LONG())
    counts = events.key_by(lambda event: event % KEYS, key_type=common.Types.LONG())
    counted = counts.process(Count(), output_type=common.Types.LONG())
    with counted.execute_and_collect() as results:
        for _ in results:
            say_first()
            break


if __name__ == "__main__":
    main(sys.argv[1])
