"""Jobs on Spark that start from savepoints which were written, and writing from those of jobs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from scurry.common import Configuration, Types
from scurry.connectors.number_seq import NumberSequenceSource
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.state import ListStateDescriptor, ValueStateDescriptor
from scurry.state_processor import (
    KeyedStateBootstrapFunction,
    OperatorTransformation,
    SavepointReader,
    SavepointWriter,
)
from scurry.testing import ListSink

KEYS = 7
COUNT = ValueStateDescriptor("count", Types.LONG())
SEEN = ListStateDescriptor("seen", Types.LONG())


class Keeping(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)
        self.seen = runtime_context.get_list_state(SEEN)

    def process_element(self, number: int, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        self.seen.add(number)
        yield number


class History(KeyedStateBootstrapFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)


def run(root: Path, savepoint: str, parallelism: int, last: int, uid: str = "keeping") -> list[int]:
    """Run the program to its end, or until it is stopped; what its sink was given."""
    conf = Configuration()
    conf.set_string("execution.checkpointing.dir", str(root))
    conf.set_string("execution.savepoint.path", savepoint)
    conf.set_integer("scurry.batch.max-records", 100)
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    env.set_parallelism(parallelism)
    sink = ListSink()
    numbers = env.from_source(NumberSequenceSource(0, last), None, "numbers").uid("numbers")
    numbers.key_by(lambda n: n % KEYS).process(Keeping()).uid(uid).sink_to(sink).uid("sink")
    env.execute()
    return sink.values


def counts(path: str, uid: str = "keeping") -> dict[int, int]:
    with SavepointReader(path) as reader:
        return dict(zip(*reader.read(uid, "count").to_pydict().values(), strict=True))


def test_from_history_to_a_stream_and_on(tmp_path: Path, session: SparkSession) -> None:
    # the state of a job that had read the numbers up to 499, made in batch from a DataFrame
    history = session.range(500).withColumnRenamed("id", "number")
    keyed = OperatorTransformation.bootstrap_with(history).key_by(lambda row: row.number % KEYS)
    before = Counter(n % KEYS for n in range(500))
    lists = [{"key": key, "elements": [n for n in range(500) if n % KEYS == key]} for key in before]
    writer = SavepointWriter.new_savepoint().with_operator("keeping", keyed.transform(History()))
    writer.with_keyed_state("keeping", SEEN, lists)
    writer.with_source_position("numbers", {"0": 500}, parallelism=1)
    first = writer.write(str(tmp_path / "first"))
    assert counts(first) == before
    # it goes on from there: the numbers of history are not read again
    seen = run(tmp_path / "one", first, parallelism=3, last=899)
    assert sorted(seen) == list(range(500, 900))
    assert counts(str(tmp_path / "one")) == Counter(n % KEYS for n in range(900))
    # what the job has kept, in three slots, becomes another savepoint, changed by key
    changed = SavepointWriter.from_existing_savepoint(str(tmp_path / "one"), session)
    changed.transform_keyed_state("keeping", COUNT, lambda key, n: None if key == 0 else 10 * n)
    changed.change_operator_identifier("keeping", "renamed")
    changed.with_source_position("numbers", {"0": 900}, parallelism=1)
    second = changed.write(str(tmp_path / "second"))
    assert counts(second, "renamed") == {
        key: 10 * n for key, n in Counter(n % KEYS for n in range(900)).items() if key
    }
    more = run(tmp_path / "two", second, parallelism=2, last=1199, uid="renamed")
    assert sorted(more) == list(range(900, 1200))
    after = Counter(n % KEYS for n in range(900, 1200))
    kept = Counter(n % KEYS for n in range(900))
    assert counts(str(tmp_path / "two"), "renamed") == {
        key: after[key] + (10 * kept[key] if key else 0) for key in range(KEYS)
    }
    with SavepointReader(str(tmp_path / "two"), session) as reader:
        lists_after = dict(zip(*reader.read("renamed", "seen").to_pydict().values(), strict=True))
    assert {key: sorted(ns) for key, ns in lists_after.items()} == {
        key: [n for n in range(1200) if n % KEYS == key] for key in range(KEYS)
    }
