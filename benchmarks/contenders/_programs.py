"""The workloads as PyFlink programs: one text, run by PyFlink and by Scurry.

Only the imports differ. Whoever imports this module after ``pyflink`` gets PyFlink's classes, any
other Scurry's; workers are sent the functions themselves, so that they need not decide again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any

import cloudpickle

from benchmarks.contenders._shapes import (
    RULES,
    TIMER_DELAY_MS,
    amount_of,
    entry_of,
    reads_list,
)

if "pyflink" in sys.modules:
    from pyflink.common import Types
    from pyflink.datastream import KeyedBroadcastProcessFunction, KeyedProcessFunction
    from pyflink.datastream.state import (
        ListStateDescriptor,
        MapStateDescriptor,
        ValueStateDescriptor,
    )
else:
    from scurry.common import Types
    from scurry.datastream import KeyedBroadcastProcessFunction, KeyedProcessFunction
    from scurry.datastream.state import (
        ListStateDescriptor,
        MapStateDescriptor,
        ValueStateDescriptor,
    )

for module in (__name__, "benchmarks.contenders._shapes"):
    cloudpickle.register_pickle_by_value(sys.modules[module])

Output = Iterator[tuple[int, int]]
RULES_STATE = MapStateDescriptor("rules", Types.LONG(), Types.LONG())


class CountByEntry(KeyedProcessFunction):
    """Counts the events of each key by entry, in a ``MapState``."""

    def open(self, runtime_context: Any) -> None:
        counts = MapStateDescriptor("counts", Types.LONG(), Types.LONG())
        self.counts = runtime_context.get_map_state(counts)

    def process_element(self, value: Any, ctx: Any) -> Output:
        entry = entry_of(value[2])
        count = (self.counts.get(entry) or 0) + 1
        self.counts.put(entry, count)
        yield value[0], count


class Buffer(KeyedProcessFunction):
    """Appends every event to a ``ListState``; now and then says its sum and empties it."""

    def open(self, runtime_context: Any) -> None:
        held = ListStateDescriptor("held", Types.LONG())
        self.held = runtime_context.get_list_state(held)

    def process_element(self, value: Any, ctx: Any) -> Output:
        total = 0
        self.held.add(value[1])
        if reads_list(value[0], value[2]):
            total = sum(self.held.get())
            self.held.clear()
        yield value[0], total


class CountLater(KeyedProcessFunction):
    """Sets a timer for every event, and counts when it fires."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + TIMER_DELAY_MS)

    def on_timer(self, timestamp: int, ctx: Any) -> Output:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


class CheckRules(KeyedBroadcastProcessFunction):
    """Compares every event with its rule, one of 1000 in broadcast state.

    Rules come beside the events, not before them: events that are early wait in memory.
    """

    def open(self, runtime_context: Any) -> None:
        self.early: dict[int, list[Any]] = {}

    def process_element(self, value: Any, ctx: Any) -> Output:
        threshold = ctx.get_broadcast_state(RULES_STATE).get(value[1])
        if threshold is None:
            self.early.setdefault(value[1], []).append(value)
        else:
            yield value[0], int(amount_of(value[2]) >= threshold)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Output:
        rule, threshold = value
        ctx.get_broadcast_state(RULES_STATE).put(rule, threshold)
        for event in self.early.pop(rule, ()):
            yield event[0], int(amount_of(event[2]) >= threshold)


FUNCTIONS: dict[str, Callable[[], Any]] = {
    "map_state": CountByEntry,
    "list_state": Buffer,
    "timers": CountLater,
    "broadcast_rules": CheckRules,
}


def wire(workload: str, keyed: Any, function: Any, output_type: Any = None) -> Any:
    """The stream of what ``function`` makes of the keyed events."""
    if workload == "broadcast_rules":
        kind = Types.TUPLE([Types.LONG(), Types.LONG()])
        env = keyed.get_execution_environment()
        rules = env.from_collection(list(RULES.items()), type_info=kind)
        keyed = keyed.connect(rules.broadcast(RULES_STATE))
    return keyed.process(function, output_type=output_type)


def chosen_workload() -> str:
    """Takes ``--workload`` off the command line; the rest is for the contender's own parser."""
    # --work is another option, not short for this one
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--workload", choices=sorted(FUNCTIONS), required=True)
    options, sys.argv[1:] = parser.parse_known_args()
    return str(options.workload)
