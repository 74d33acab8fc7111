"""State that belongs to no key, read out of journals; and the reader, found where state is."""

from __future__ import annotations

from typing import Any

import pytest

import scurry.state
import scurry.state_reader
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.functions import CheckpointedFunction
from scurry.datastream.state import ListStateDescriptor, MapStateDescriptor
from scurry.state.stored_tables import StoredJournal
from scurry.state_reader.contents import operator_states_of, read_list_state
from scurry.testing import ListSink
from scurry.testing.local import LocalJob


class Handling(KeyedProcessFunction, CheckpointedFunction):
    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.buffer = store.get_list_state(ListStateDescriptor("buffer"))
        self.rules = store.get_broadcast_state(MapStateDescriptor("rules"))

    def snapshot_state(self, context: Any) -> None:
        pass

    def process_element(self, value: int, ctx: Any) -> Any:
        self.buffer.add(value)
        self.rules.put("limit", 5)
        yield value


@pytest.mark.parametrize("parallelism", [1, 3])
def test_elements_are_read_with_their_instances(parallelism: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    stream = env.from_collection(list(range(20)))
    stream.key_by(lambda n: n).process(Handling()).uid("handling").sink_to(ListSink())
    with LocalJob(env._compile(None)) as job:
        assert job.step()
        journals = {
            place: stored
            for place, journal in job.checkpoint.journals.items()
            if (stored := StoredJournal.of(journal)) is not None
        }
        held = list(operator_states_of(journals, "handling"))
    env.close()
    lists = [(place.slot, states["buffer"]) for place, states in held]
    found = read_list_state(lists, "handling", "buffer", "json").to_pydict()
    assert sorted(found["value"]) == list(range(20))
    assert set(found["subtask"]) <= set(range(parallelism))
    maps = [(place.slot, states["rules"]) for place, states in held]
    entries = read_list_state(maps, "handling", "rules", "json").to_pylist()
    assert [(row["key"], row["value"]) for row in entries] == [("limit", 5)] * len(held)


def test_the_reader_is_also_found_where_state_is() -> None:
    for name in ("read", "read_timers", "read_windows", "read_list_state", "list_states", "diff"):
        assert getattr(scurry.state, name) is getattr(scurry.state_reader, name)
    with pytest.raises(AttributeError, match="has no attribute 'reed'"):
        _ = scurry.state.reed
