"""State read as data: of a job that runs, of its savepoint wherever it lies, and by the command."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from scurry.cli.main import main
from scurry.common import Configuration, Types
from scurry.common.errors import StateError
from scurry.connectors.number_seq import NumberSequenceSource
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.functions import CheckpointedFunction
from scurry.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from scurry.state_reader import SavepointReader, to_data_frame
from scurry.testing import ListSink

KEYS = 7
FAR = 4_000_000_000_000


class Keeping(KeyedProcessFunction, CheckpointedFunction):
    """Keeps the same numbers in three ways, and sets a timer that never fires. How many each
    instance has handled is operator state."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.handled = store.get_list_state(ListStateDescriptor("handled"))
        self.total = sum(self.handled.get())

    def snapshot_state(self, context: Any) -> None:
        self.handled.update([self.total])

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.digits = runtime_context.get_map_state(
            MapStateDescriptor("digits", Types.LONG(), Types.LONG())
        )

    def process_element(self, number: int, ctx: Any) -> Any:
        self.total += 1
        self.count.update((self.count.value() or 0) + 1)
        self.seen.add(number)
        self.digits.put(number % 10, (self.digits.get(number % 10) or 0) + 1)
        ctx.timer_service().register_processing_time_timer(FAR + ctx.get_current_key())
        yield number


def program(root: Path, parallelism: int, in_runs: bool) -> tuple[Any, ListSink]:
    conf = Configuration()
    conf.set_string("execution.checkpointing.dir", str(root))
    conf.set_integer("scurry.batch.max-records", 50)
    conf.set_integer("scurry.state.files-above", 700)
    if in_runs:
        conf.set_integer("scurry.state.runs-above", 0)
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    env.set_parallelism(parallelism)
    sink = ListSink()
    numbers = env.from_source(NumberSequenceSource(0, 10**12), None, "numbers").uid("numbers")
    numbers.key_by(lambda n: n % KEYS).process(Keeping()).uid("keeping").sink_to(sink).uid("sink")
    return env, sink


def check(reader: SavepointReader, numbers: Counter[int] | None) -> Counter[int]:
    """What was read is what these numbers give; the numbers that were seen."""
    counts = dict(zip(*reader.read("keeping", "count").to_pydict().values(), strict=True))
    seen = dict(zip(*reader.read("keeping", "seen").to_pydict().values(), strict=True))
    digits = dict(zip(*reader.read("keeping", "digits").to_pydict().values(), strict=True))
    found = Counter(n for ns in seen.values() for n in ns)
    assert numbers is None or found == numbers
    assert set(found.values()) == {1}
    assert {key: sorted(ns) for key, ns in seen.items()} == {
        key: sorted(n for n in found if n % KEYS == key) for key in range(KEYS)
    }
    assert counts == {key: len(ns) for key, ns in seen.items()}
    handled = reader.read_list_state("keeping", "handled").to_pydict()
    assert sum(handled["value"]) == found.total()
    assert len(set(handled["subtask"])) == len(handled["subtask"])
    assert {
        key: {each["key"]: each["value"] for each in entries} for key, entries in digits.items()
    } == {key: dict(Counter(n % 10 for n in ns)) for key, ns in seen.items()}
    return found


@pytest.mark.parametrize(("parallelism", "in_runs"), [(1, False), (3, True)])
def test_what_was_read_is_what_the_job_has_seen(
    tmp_path: Path, session: SparkSession, parallelism: int, in_runs: bool
) -> None:
    root = tmp_path / "ck"
    env, sink = program(root, parallelism, in_runs)
    job = env.execute_async()
    while len(sink.values) < 300:
        time.sleep(0.05)
    # while it runs
    with SavepointReader(str(root)) as reader:
        then = check(reader, None)
        time.sleep(0.5)
        assert check(reader, None) == then
    assert not any((root / "frozen").glob("*"))
    path = job.stop_with_savepoint(False, str(tmp_path / "sp")).result(120)
    job.get_job_execution_result().result(120)
    numbers = Counter(sink.values)
    assert then < numbers
    # when it has ended
    with SavepointReader(str(root)) as reader:
        check(reader, numbers)
    # when nothing is left but its savepoint, elsewhere
    shutil.rmtree(root)
    moved = str(shutil.move(path, tmp_path / "elsewhere"))
    with SavepointReader(moved, session) as reader:
        check(reader, numbers)
        timers = reader.read_timers("keeping").to_pylist()
        assert [(t["key"], t["time"], t["domain"], t["namespace"]) for t in timers] == [
            (key, FAR + key, "processing", None) for key in range(KEYS)
        ]
        check_listed(reader)
        check_queries(reader, session, numbers)
    check_command(moved, counts=Counter(number % KEYS for number in numbers))


def check_listed(reader: SavepointReader) -> None:
    listed = {row["name"]: row for row in reader.list_states().to_pylist()}
    assert listed["count"]["type"] == "LONG"
    assert listed["count"]["records"] == KEYS
    assert listed["digits"]["type"] == "MAP(LONG, LONG)"
    with pytest.raises(StateError, match=r"There are: 'keeping'\. Did you mean 'keeping'"):
        reader.read("kepping", "count")
    with pytest.raises(StateError, match=r"'count', 'digits', 'seen'\. Did you mean 'count'"):
        reader.read("keeping", "counts")


def check_queries(reader: SavepointReader, session: SparkSession, numbers: Counter[int]) -> None:
    to_data_frame(reader.read("keeping", "count"), session).createOrReplaceTempView("counts")
    (total,) = session.sql("SELECT sum(value) FROM counts").first()
    assert total == numbers.total()
    frame = to_data_frame(reader.read("keeping", "digits"), session)
    (total,) = frame.selectExpr("inline(entries)").groupBy().sum("value").first()
    assert total == numbers.total()


def check_command(path: str, counts: Counter[int]) -> None:
    run = CliRunner()
    listed = run.invoke(main, ["savepoint", "read", path])
    assert all(name in listed.output for name in ("keeping", "count", "digits", "seen"))
    shown = run.invoke(main, ["savepoint", "read", path, "keeping", "count", "--json"])
    assert shown.exit_code == 0, shown.output
    rows = [json.loads(line) for line in shown.stdout.splitlines()]
    assert {row["key"]: row["value"] for row in rows} == counts
    few = run.invoke(main, ["savepoint", "read", path, "keeping", "--timers", "--limit", "2"])
    assert str(FAR) in few.output
    assert f"and {KEYS - 2} more" in few.output
    assert run.invoke(main, ["savepoint", "read", path, "keeping"]).exit_code == 2
