"""One instance of a function for each slot, opened once and closed, whatever workers Spark uses."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import stat
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from scurry.common import Configuration
from scurry.common.errors import FunctionError
from scurry.common.own_directories import user_root
from scurry.datastream import (
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from scurry.testing import ListSink


class Diary:
    """What instances have written down, in one file of one line for each event."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def write(self, what: str, name: str, slot: int, elements: int = 0) -> None:
        line = json.dumps([what, name, slot, os.getpid(), elements]) + "\n"
        with open(self.path, "a") as file:
            file.write(line)

    def read(self, what: str) -> list[tuple[Any, ...]]:
        """Name, slot, process and elements of all events of a kind."""
        lines = Path(self.path).read_text().splitlines() if os.path.exists(self.path) else []
        return [tuple(found[1:]) for found in map(json.loads, lines) if found[0] == what]


class Lived:
    """A function that counts its elements in an attribute."""

    def __init__(self, name: str, diary: Diary, fails_at: int = -1) -> None:
        self.name, self.diary, self.fails_at = name, diary, fails_at

    def open(self, runtime_context: RuntimeContext) -> None:
        self.slot = runtime_context.get_index_of_this_subtask()
        self.elements = 0
        self.diary.write("open", self.name, self.slot)

    def close(self) -> None:
        self.diary.write("close", self.name, self.slot, self.elements)

    def took(self, value: int) -> tuple[str, int, int, int]:
        if value == self.fails_at:
            raise ValueError("as told")
        self.elements += 1
        return self.name, self.slot, self.elements, value


class Logging(MapFunction):
    """Logs when it is opened, for every element, and when it is closed."""

    def __init__(self, fails_at: int = -1) -> None:
        self.fails_at = fails_at

    def open(self, runtime_context: RuntimeContext) -> None:
        self.log = logging.getLogger("shop.orders")
        self.log.info("opened")

    def map(self, value: int) -> int:
        self.log.debug("details of %d", value)
        self.log.info("order %d", value, extra={"order": value})
        if value == self.fails_at:
            raise ValueError("as told")
        return value

    def close(self) -> None:
        self.log.info("closed")


class InIngress(Lived, MapFunction):
    def map(self, value: int) -> Any:
        self.took(value)
        return value


class Keyed(Lived, KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield self.took(value)


class Second(Lived, KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.took(value[-1])
        yield value


def run(diary: Diary, fails_at: int = -1, restarts: int = 0) -> list[Any]:
    """80 numbers in micro-batches of 20, through three functions in three places."""
    configuration = Configuration.of({"scurry.batch.max-records": "20"})
    if restarts:
        configuration.set_string("restart-strategy.type", "fixed-delay")
        configuration.set_string("restart-strategy.fixed-delay.attempts", str(restarts))
        configuration.set_string("restart-strategy.fixed-delay.delay", "10 ms")
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    sink = ListSink()
    (
        env.from_collection(list(range(80)))
        .map(InIngress("ingress", diary))
        .key_by(lambda n: n % 16)
        .process(Keyed("keyed", diary, fails_at))
        .key_by(lambda row: row[-1] % 5)
        .process(Second("second", diary))
        .sink_to(sink)
    )
    env.execute()
    return sink.values


PLACES = {("ingress", 0), ("keyed", 0), ("keyed", 1), ("second", 0), ("second", 1)}


def test_a_slot_has_one_instance_from_the_first_element_to_the_last(tmp_path: Path) -> None:
    diary = Diary(tmp_path / "diary")
    rows = run(diary)
    opened, closed = diary.read("open"), diary.read("close")
    assert Counter((name, slot) for name, slot, _, _ in opened) == Counter(PLACES)
    assert Counter((name, slot) for name, slot, _, _ in closed) == Counter(PLACES)
    assert {place[:3] for place in opened} == {place[:3] for place in closed}
    elements = {(name, slot): count for name, slot, _, count in closed}
    assert elements["ingress", 0] == 80
    assert elements["keyed", 0] + elements["keyed", 1] == 80
    # the attribute counts on, from one micro-batch to the next
    for slot in (0, 1):
        counted = sorted(count for _, at, count, _ in rows if at == slot)
        assert counted == list(range(1, elements["keyed", slot] + 1))


@pytest.mark.parametrize("restarts", [0, 1])
def test_functions_are_closed_before_a_failed_job_ends(tmp_path: Path, restarts: int) -> None:
    diary = Diary(tmp_path / "diary")
    with pytest.raises(FunctionError, match="as told"):
        run(diary, fails_at=50, restarts=restarts)
    opened, closed = diary.read("open"), diary.read("close")
    assert {(name, slot) for name, slot, _, _ in opened} == PLACES
    assert [name for name, _, _, _ in opened].count("ingress") == 1 + restarts
    assert Counter(place[:3] for place in opened) == Counter(place[:3] for place in closed)


def test_functions_are_closed_before_a_stopped_job_ends(tmp_path: Path) -> None:
    from scurry.common.watermark_strategy import WatermarkStrategy
    from scurry.connectors.datagen import DataGeneratorSource, RateLimiterStrategy

    diary = Diary(tmp_path / "diary")
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    source = DataGeneratorSource(lambda n: n, 10**9, RateLimiterStrategy.per_second(200))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.key_by(lambda n: n % 16).process(Keyed("keyed", diary)).sink_to(ListSink())
    client = env.execute_async()
    deadline = time.monotonic() + 60
    while len(diary.read("open")) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    client.cancel().result()
    closed = diary.read("close")
    assert sorted(slot for _, slot, _, _ in closed) == [0, 1]
    assert {place[:3] for place in closed} == {place[:3] for place in diary.read("open")}


def logged(caplog: pytest.LogCaptureFixture, fails_at: int = -1) -> list[logging.LogRecord]:
    """What a job of three elements logs, with the root logger at INFO."""
    caplog.set_level(logging.INFO)
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    env.from_collection([1, 2, 3]).map(Logging(fails_at)).sink_to(ListSink())
    try:
        env.execute()
    finally:
        records = [record for record in caplog.records if record.name == "shop.orders"]
        assert all(record.process != os.getpid() for record in records)
    return records


def test_what_functions_log_reaches_the_handlers_of_the_main_program(
    caplog: pytest.LogCaptureFixture,
) -> None:
    records = logged(caplog)
    told = [record.getMessage() for record in records]
    assert told == ["opened", "order 1", "order 2", "order 3", "closed"]
    assert vars(records[1])["order"] == 1
    assert records[1].filename == os.path.basename(__file__)


def test_what_a_failing_job_logs_is_not_lost(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(FunctionError):
        logged(caplog, fails_at=2)
    told = [record.getMessage() for record in caplog.records if record.name == "shop.orders"]
    assert told == ["opened", "order 1", "order 2", "closed"]


def test_a_long_checkpoint_interval_delays_nothing() -> None:
    configuration = Configuration.of({"scurry.batch.max-records": "1"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
    env.enable_checkpointing(60_000)
    sink = ListSink()
    env.from_collection([1, 2, 3]).sink_to(sink)
    began = time.monotonic()
    env.execute()
    assert sink.values == [1, 2, 3]
    assert time.monotonic() - began < 60


def test_sockets_lie_where_only_the_owner_can_go(session: SparkSession) -> None:
    directory = Path(session.conf.get("spark.python.unix.domain.socket.dir") or "")
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    lines = Path("/proc/net/unix").read_text().splitlines()
    sockets = [Path(path) for line in lines if (path := line.split()[-1]).endswith(".sock")]
    ours = [path for path in sockets if path.parent == directory or user_root() in path.parents]
    assert ours, "workers of this session listen there"
    assert all(stat.S_IMODE(path.parent.stat().st_mode) == 0o700 for path in ours if path.exists())


@pytest.mark.micro_batch("looks for the directories of micro-batches")
def test_nothing_is_left_of_a_job_that_has_ended(tmp_path: Path) -> None:
    local = tmp_path / "local"
    settings = {
        "scurry.state.local-dir": str(local),
        "execution.checkpointing.dir": str(tmp_path / "checkpoint"),
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.of(settings))
    before = left_by_this_process()
    env.set_parallelism(2).from_collection(list(range(20))).key_by(lambda n: n).reduce(
        lambda one, other: one + other
    ).sink_to(ListSink())
    env.execute()
    assert list(user_root(str(local)).iterdir()) == []
    for kind in ("instances", "logs"):
        (place,) = (tmp_path / "checkpoint").glob(f"driver-*/{kind}")
        assert list(place.iterdir()) == []
    assert left_by_this_process() <= before


def left_by_this_process() -> set[Path]:
    """Directories and notes of jobs of this process; other tests may run at the same time."""
    jobs = user_root() / "jobs"
    mine = set(jobs.glob(f"*-{os.getpid()}-*"))
    for note in jobs.glob("*.json"):
        with contextlib.suppress(FileNotFoundError):
            if json.loads(note.read_bytes())["pid"] == os.getpid():
                mine.add(note)
    return mine
