"""Starting sinks that may hold batches of another history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from scurry.checkpoint.directory import JobDirectory
from scurry.checkpoint.epochs import Epoch, decode_epoch, rescaled
from scurry.common import Configuration
from scurry.common.errors import (
    ConfigurationError,
    NotSupportedError,
    OtherHistoryError,
    ProgramError,
    StateError,
)
from scurry.connectors.redis import RedisSink
from scurry.datastream import StreamExecutionEnvironment
from scurry.functions.history import Branch, Mark
from scurry.functions.sink import CommitterContext, Sink, SinkWriter, WriterContext
from scurry.testing import ListSink
from scurry.testing.local import LocalJob


class Marked(Sink):
    """Keeps in memory what a target would hold: the mark, and what was done to it."""

    cannot = ""

    def __init__(self, calls: list[str], name: str) -> None:
        self.calls = calls
        self.name = name
        self.mark: Mark | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return ListSink().create_writer(context)

    def start(self, context: CommitterContext) -> None:
        self.history = context.history

    def committed_mark(self) -> Mark | None:
        return self.mark

    def why_not_truncate(self) -> str:
        return self.cannot

    def truncate(self) -> None:
        self.calls.append(f"{self.name} truncates")
        self.mark = self.history.mark(self.history.last)

    def accept(self, mark: Mark) -> None:
        self.calls.append(f"{self.name} accepts {mark.batch}")
        self.mark = mark

    def recover(self, batch_id: int) -> None:
        self.calls.append(f"{self.name} recovers {batch_id}")

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        if not self.history.repeats(batch_id, self.mark):
            self.calls.append(f"{self.name} writes {batch_id}")
            self.mark = self.history.mark(batch_id)


class Lasting(Marked):
    cannot = "What is written stays."


def environment(choice: str | None = None) -> StreamExecutionEnvironment:
    settings = {} if choice is None else {"scurry.sink.on-other-history": choice}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.of(settings))
    return env.set_parallelism(1)


def two_sinks(choice: str, first: Sink, second: Sink, own: str | None = None) -> Any:
    env = environment(choice)
    numbers = env.from_collection(list(range(20)))
    numbers.sink_to(first).uid("first")
    end = numbers.sink_to(second).uid("second")
    if own is not None:
        end.on_other_history(own)
    return env._compile(None)


def run_and_go_back(choice: str, second: type[Marked], own: str | None = None) -> list[str]:
    calls: list[str] = []
    compiled = two_sinks(choice, Marked(calls, "a"), second(calls, "b"), own)
    with LocalJob(compiled) as job:
        job.step(2)
        copy = job.copy_checkpoint()
        job.step(2)
        calls.clear()
        try:
            job.go_back(copy)
            job.step(2)
        except OtherHistoryError as refusal:
            calls.append(str(refusal))
    return calls


def test_sinks_are_truncated_before_anything_is_written() -> None:
    assert run_and_go_back("truncate", Marked) == [
        "a truncates",
        "b truncates",
        "a recovers 1",
        "b recovers 1",
        "a writes 1",
        "b writes 1",
    ]


def test_no_sink_is_truncated_if_another_has_to_refuse() -> None:
    (text,) = run_and_go_back("truncate", Lasting)
    assert "The sink 'Lasting: Writer' (uid 'second', " in text
    assert "'truncate' was chosen, but cannot be done: What is written stays." in text
    (text,) = run_and_go_back("truncate", Marked, "refuse")
    assert "(uid 'second', " in text


def test_a_sink_may_choose_for_itself() -> None:
    assert run_and_go_back("truncate", Lasting, "append")[:2] == ["a truncates", "b accepts 0"]
    assert run_and_go_back("refuse", Marked, "append")[0].startswith("The sink 'Marked: Writer'")


def test_a_sink_that_cannot_truncate_says_so_in_the_refusal() -> None:
    calls = run_and_go_back("append", Lasting, "refuse")
    assert "'truncate' takes back" not in calls[0]
    assert "'truncate' cannot be done: What is written stays." in calls[0]


def test_a_batch_that_is_committed_again_is_a_repetition() -> None:
    calls: list[str] = []
    compiled = two_sinks("refuse", Marked(calls, "a"), ListSink())
    with LocalJob(compiled) as job:
        job.plan_step(2)
        copy = job.copy_checkpoint()
        job.step(2)
        job.go_back(copy)
        job.step(2)
        assert calls == ["a recovers 0", "a writes 0", "a recovers 0"]


def test_somebody_else_is_noticed_at_the_next_commit() -> None:
    sink = Marked([], "a")
    with LocalJob(two_sinks("append", sink, ListSink())) as job:
        job.step(2)
        sink.mark = Mark(7, "another")
        with pytest.raises(OtherHistoryError) as caught:
            job.step(2)
    assert "somebody else has gone on from a copy" in str(caught.value)
    assert "in the sink 'Marked: Writer' (uid 'first', " in str(caught.value)


class Plain(Sink):
    """A sink as it was written before there were histories."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return ListSink().create_writer(context)

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        self.batches.append(batch_id)


def test_sinks_that_know_nothing_of_histories_go_on_working() -> None:
    plain = Plain()
    with LocalJob(two_sinks("refuse", plain, ListSink())) as job:
        job.step(2)
        copy = job.copy_checkpoint()
        job.step(2)
        job.go_back(copy)
        job.step(2)
    assert plain.batches == [0, 1, 1]
    assert plain.committed_mark() is None
    with pytest.raises(NotSupportedError, match="Plain cannot take back what it has committed"):
        plain.truncate()


def test_sinks_in_memory_take_what_comes() -> None:
    """What was printed cannot be taken back, and a planned batch of the copy is a repetition."""
    sink = ListSink()
    with LocalJob(two_sinks("refuse", sink, ListSink())) as job:
        job.step(2)
        job.plan_step(2)
        copy = job.copy_checkpoint()
        job.step()
        job.step(2)
        job.go_back(copy)
        job.step()
        job.step(2)
    assert sink.values == [0, 1, 2, 3, 4, 5, 4, 5]


def test_choices_are_checked_when_the_job_is_built() -> None:
    env = environment("restore")
    env.from_collection([1]).sink_to(ListSink())
    with pytest.raises(
        ConfigurationError,
        match=r"scurry.sink.on-other-history is 'restore'; it must be one of refuse, truncate, app",
    ):
        env._compile(None)
    end = environment().from_collection([1]).sink_to(ListSink())
    with pytest.raises(ProgramError, match=r"on_other_history\('x'\) at .*test_histories.py:\d+"):
        end.on_other_history("x")
    env = environment()
    redis = RedisSink.values("redis://localhost")
    env.from_collection([1]).sink_to(redis).on_other_history("truncate")
    with pytest.raises(ProgramError, match=r"at the sink 'RedisSink: Writer' .*no older values"):
        env._compile(None)


def test_refuse_is_what_holds_without_a_choice() -> None:
    env = environment()
    env.from_collection([1]).sink_to(ListSink())
    assert [each.choice for each in env._compile(None).sinks] == ["refuse"]


def test_an_epoch_from_before_there_were_histories_is_read() -> None:
    old = b'{"batch":5,"positions":{},"partitions":[],"version":1}'
    epoch = decode_epoch(old)
    assert (epoch.batch, epoch.history, epoch.version) == (5, [], 2)


def test_an_epoch_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    directory = JobDirectory(str(tmp_path))
    (tmp_path / "epochs").mkdir()
    (tmp_path / "epochs" / "0.json").write_bytes(msgspec.json.encode(Epoch(0, {}, [], version=99)))
    (tmp_path / "spark" / "commits").mkdir(parents=True)
    (tmp_path / "spark" / "commits" / "0").touch()
    with pytest.raises(StateError, match="newer version of Scurry: its epochs have version 99"):
        directory.last_epoch()


def test_rescaling_keeps_the_history() -> None:
    spec = two_sinks("refuse", ListSink(), ListSink()).spec
    branches = [Branch("a", 0), Branch("b", 3)]
    assert rescaled(Epoch(4, {}, [], history=branches), spec).history == branches
