"""The commit protocol: the order of its steps, and a crash between any two of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from scurry.common.errors import LostPromiseError
from scurry.common.fault_points import DRIVER_POINTS
from scurry.compile.job import CompiledJob
from scurry.datastream import StreamExecutionEnvironment
from scurry.engine import protocol
from scurry.functions.history import Mark
from scurry.functions.sink import CommitterContext, Sink, SinkWriter, WriterContext
from scurry.functions.source import ReadPlan, ReadRange, Source, SourceBatch, SourceEnumerator
from scurry.runtime.envelope import DATA, Envelope
from scurry.testing import LocalJob
from scurry.testing.sinks import ListSink

TOTAL = 12


class Log(list[Any]):
    """What happened on the driver; it does not travel to the workers."""

    def __reduce__(self) -> Any:
        return Log, ()


class Numbers(Source):
    """0 to 11."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return Counting(self.log)

    def read(self, what: Any) -> Iterator[SourceBatch]:
        yield SourceBatch(rows=list(range(*what)))


class Counting(SourceEnumerator):
    def __init__(self, log: Log) -> None:
        self.log = log

    def initial_position(self) -> Any:
        return 0

    def plan(self, position: Any, max_records: int) -> ReadPlan:
        end = min(TOTAL, position + max_records)
        return ReadPlan(end, [ReadRange("0", [position, end])], finished=end == TOTAL)

    def observed(self, records: int, bytes_read: int) -> None:
        self.log.append(f"observed {records}")

    def committed(self, position: Any) -> None:
        self.log.append(f"told {position}")


class Target(Sink):
    """Holds what a database would: the values, and the mark of the last batch."""

    def __init__(self, name: str, log: Log) -> None:
        self.name = name
        self.log = log
        self.values = Log()
        self.mark: Mark | None = None

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return ListSink().create_writer(context)

    def start(self, context: CommitterContext) -> None:
        self.history = context.history

    def committed_mark(self) -> Mark | None:
        return self.mark

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        self.log.append(f"{self.name} {batch_id}")
        if not self.history.repeats(batch_id, self.mark):
            self.mark = self.history.mark(batch_id)
            for _, rows in messages:
                self.values += rows


class Program:
    """Running sums by parity, written to two sinks."""

    def __init__(self) -> None:
        self.log = Log()
        self.first, self.second = Target("first", self.log), Target("second", self.log)

    def compiled(self) -> CompiledJob:
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        numbers = env.from_source(Numbers(self.log), None, "numbers").uid("numbers")
        keyed = numbers.map(lambda n: (n % 2, n)).key_by(lambda pair: pair[0])
        sums = keyed.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("sums")
        sums.sink_to(self.first).uid("first")
        sums.sink_to(self.second).uid("second")
        return env._compile(None)

    def check(self) -> None:
        sums, expected = Counter[int](), []
        for number in range(TOTAL):
            sums[number % 2] += number
            expected.append((number % 2, sums[number % 2]))
        assert sorted(self.first.values) == sorted(self.second.values) == sorted(expected)


class Crash(Exception):
    """The driver dies."""


def die_at(point: str, patch: pytest.MonkeyPatch) -> None:
    def strike(name: str) -> None:
        if name == point:
            raise Crash

    patch.setattr(protocol, "fault_point", strike)


def test_the_order_of_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program()
    log = program.log
    with LocalJob(program.compiled()) as job:
        job.step(4)
        log.clear()
        monkeypatch.setattr(protocol, "fault_point", log.append)
        for name in ("write_plan", "sync", "write_epoch", "commit"):
            recording(job.checkpoint, name, log, monkeypatch)
        job.step(4)
    assert log == [
        *("write_plan", "planned"),
        *(
            "before-sinks",
            "sync",
            "first 1",
            "between-sinks",
            "second 1",
            "between-sinks",
            "after-sinks",
        ),
        *("write_epoch", "after-epoch", "observed 4"),
        *("commit", "sync", "told 8"),
    ]


def recording(target: Any, name: str, log: Log, patch: pytest.MonkeyPatch) -> None:
    method = getattr(target, name)

    def call(*arguments: Any) -> None:
        log.append(name)
        method(*arguments)

    patch.setattr(target, name, call)


@pytest.mark.parametrize("batch", [0, 1, 2], ids=["first", "middle", "last"])
@pytest.mark.parametrize("point", DRIVER_POINTS)
def test_a_crash_between_two_steps(point: str, batch: int) -> None:
    program = Program()
    with LocalJob(program.compiled()) as job:
        for _ in range(batch):
            job.step(4)
        with pytest.MonkeyPatch.context() as patch:
            die_at(point, patch)
            with pytest.raises(Crash):
                job.step(4)
        job.recover()
        assert job.batch == batch, "it has a plan, so it is that one that is run again"
        # another limit changes nothing: the plan says what it reads
        while job.step(3):
            pass
        assert job.done
    program.check()


@pytest.mark.parametrize("point", DRIVER_POINTS)
def test_a_crash_while_a_crash_is_mended(point: str) -> None:
    program = Program()
    with LocalJob(program.compiled()) as job:
        for at in (point, *DRIVER_POINTS):
            with pytest.MonkeyPatch.context() as patch:
                die_at(at, patch)
                if at != "planned" or job.batch < 0:
                    with pytest.raises(Crash):
                        job.step(4)
            job.recover()
        while job.step(4):
            pass
    program.check()


@pytest.mark.parametrize("batch", [0, 2], ids=["first", "last"])
def test_a_crash_after_the_commit_and_before_the_sources_are_told(
    batch: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    program = Program()
    with LocalJob(program.compiled()) as job:
        for _ in range(batch):
            job.step(4)
        with monkeypatch.context() as patch:
            patch.setattr(job.planner, "committed", lambda: None)
            job.step(4)
        assert f"told {4 * batch + 4}" not in program.log
        caplog.clear()
        job.recover()
        assert ("so there is nothing left to do" in caplog.text) == (batch == 2)
        while job.step(4):
            pass
    assert program.log[-1] == "told 12", "also if there was nothing left to do"
    program.check()


def test_sinks_that_committed_are_not_written_twice() -> None:
    program = Program()
    with LocalJob(program.compiled()) as job:
        with pytest.MonkeyPatch.context() as patch:
            die_at("between-sinks", patch)
            with pytest.raises(Crash):
                job.step(4)
        assert (len(program.first.values), len(program.second.values)) == (4, 0)
        job.recover()
        job.step(4)
        assert (len(program.first.values), len(program.second.values)) == (4, 4)


def test_what_is_not_meant_for_the_driver_is_a_mistake() -> None:
    with LocalJob(Program().compiled()) as job:
        job.plan_step(4)
        stray = Envelope(0, 1, "sums", 0, "", 0, DATA, 0, b"")
        with pytest.raises(AssertionError, match="not meant for the driver"):
            job._protocol.finish_batch(0, [stray])


class Shelf:
    """A target outside of the job: open and committed parts, by name. It is never pickled."""

    def __init__(self) -> None:
        self.open: dict[str, list[Any]] = {}
        self.committed: dict[str, list[Any]] = {}
        self.made = 0

    def visible(self) -> list[Any]:
        return sorted(row for rows in self.committed.values() for row in rows)


SHELVES: dict[str, Shelf] = {}


class Parts(Sink):
    """Each writer leaves an open part, which is committed by its name."""

    promises = True

    def __init__(self, shelf: str) -> None:
        self.shelf = shelf

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return PartWriter(self.shelf, context.index)

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        shelf = SHELVES[self.shelf]
        lost = 0
        for message in messages:
            name = message["name"]
            if name in shelf.open:
                shelf.committed[name] = shelf.open.pop(name)
            lost += name not in shelf.committed
            protocol.fault_point("within")
        if lost:
            raise LostPromiseError(f"{lost} parts are gone")

    def repeated(self, batch_id: int, promised: list[Any], messages: list[Any]) -> list[Any]:
        shelf = SHELVES[self.shelf]
        held = {**shelf.open, **shelf.committed}
        kept = [each for each in promised if each["name"] in held]
        lost = {each["task"] for each in promised} - {each["task"] for each in kept}
        return kept + [each for each in messages if each["task"] in lost]

    def recover(self, batch_id: int) -> None:
        SHELVES[self.shelf].open.clear()


class PartWriter(SinkWriter):
    def __init__(self, shelf: str, task: int) -> None:
        self.shelf, self.task = SHELVES[shelf], task
        self.rows: list[Any] = []

    def write(self, rows: list[Any]) -> None:
        self.rows += rows

    def prepare(self) -> Any:
        if not self.rows:
            return None
        name = f"{self.task}-{self.shelf.made}"
        self.shelf.made += 1
        self.shelf.open[name], self.rows = self.rows, []
        return {"name": name, "task": self.task}


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    SHELVES["it"] = Shelf()
    yield SHELVES["it"]
    SHELVES.clear()


def parts_job(parallelism: int = 2) -> CompiledJob:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    numbers = env.from_collection(list(range(TOTAL))).uid("numbers")
    numbers.rebalance().map(lambda n: n).uid("map").sink_to(Parts("it")).uid("parts")
    return env._compile(None)


@pytest.mark.parametrize("point", [*DRIVER_POINTS, "promised", "within"])
@pytest.mark.parametrize("driver", ["same", "next", "rescaled"])
def test_a_promise_is_kept(point: str, driver: str, shelf: Shelf) -> None:
    job = first = LocalJob(parts_job())
    job.step(4)
    with pytest.MonkeyPatch.context() as patch:
        die_at(point, patch)
        with pytest.raises(Crash):
            job.step(4)
    if driver == "same":
        job.recover()
    elif driver == "next":
        job = LocalJob(parts_job(), after=job)
    else:
        job.checkpoint.roll_back()
        job.rescale(parts_job(3))
    if point in ("promised", "within", "between-sinks", "after-sinks", "after-epoch"):
        assert shelf.visible() == list(range(8)), "before the micro-batch is run again"
    assert not shelf.open
    while job.step(4):
        pass
    for each in {first, job}:
        each.close()
    assert shelf.visible() == list(range(TOTAL))


def test_what_the_target_has_lost_of_a_promise_is_written_again(
    shelf: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    with LocalJob(parts_job()) as job:
        with pytest.MonkeyPatch.context() as patch:
            die_at("within", patch)
            with pytest.raises(Crash):
                job.step(8)
        assert len(shelf.visible()) == 4
        shelf.open.clear()
        job.recover()
        assert "1 parts are gone\n  in the sink" in caplog.text
        assert len(shelf.visible()) == 4
        while job.step(4):
            pass
    assert shelf.visible() == list(range(TOTAL))


def test_what_is_promised_survives_a_failure_of_another_sink(shelf: Shelf) -> None:
    with LocalJob(parts_job()) as job:
        with pytest.MonkeyPatch.context() as patch:
            die_at("promised", patch)
            with pytest.raises(Crash):
                job.step(4)
        thrown_away: list[int] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Parts, "abort", lambda self, batch: thrown_away.append(batch))
            job._protocol.abort()
            assert thrown_away == []
        job.recover()
        assert shelf.visible() == [0, 1, 2, 3]
