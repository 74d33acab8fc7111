"""A changed program on the checkpoint directory of the one before: refused, or with leave to drop
state; also after a failure in the middle of a micro-batch, and with another parallelism."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from scurry.checkpoint.directory import JobDirectory
from scurry.common import Configuration
from scurry.common.errors import FunctionError, StateError
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.state import ValueStateDescriptor
from scurry.testing import ListSink

IGNORE = "execution.state-recovery.ignore-unclaimed-state"
IGNORE_OLDER = "execution.savepoint.ignore-unclaimed-state"
KEYS = "abab" * 3


class Count(KeyedProcessFunction):
    def __init__(self, refused: int | None) -> None:
        self.refused = refused

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if value[1] == self.refused:
            raise RuntimeError("refused")
        self.count.update((self.count.value() or 0) + 1)
        yield value[0], self.count.value()


class Numbered(KeyedProcessFunction):
    """Hands on what it gets, and has state."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.last.update(value)
        yield value


def run(
    checkpoints: Path,
    count: str = "count",
    source: str = "letters",
    refused: int | None = None,
    parallelism: int = 2,
    levels: int = 0,
    **settings: str,
) -> list[Any]:
    """The program's output, sorted; it fails at the element ``refused``."""
    configuration = Configuration.of(
        {
            "execution.checkpointing.dir": str(checkpoints),
            "scurry.batch.max-records": "4",
            **{key.replace("__", "."): value for key, value in settings.items()},
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    letters = env.from_collection([(key, n) for n, key in enumerate(KEYS)]).uid(source)
    sink = ListSink()
    for level in range(levels):
        letters = letters.key_by(lambda e: e[1]).process(Numbered()).uid(f"level {level}")
    letters.key_by(lambda e: e[0]).process(Count(refused)).uid(count).sink_to(sink).uid("out")
    env.execute()
    return sorted(sink.values)


@pytest.fixture
def failed(tmp_path: Path) -> Path:
    """A checkpoint after four of twelve letters; four more were planned, and failed."""
    with pytest.raises(FunctionError):
        run(tmp_path / "ck", refused=6)
    return tmp_path / "ck"


@pytest.mark.micro_batch("counts micro-batches")
def test_state_is_dropped_only_with_leave(failed: Path) -> None:
    before = (failed / "job.json").read_bytes()
    with pytest.raises(StateError, match=r"uid 'count', .*ValueState 'count'"):
        run(failed, count="other")
    with pytest.raises(StateError, match=rf"uid 'letters', .*its position(?s:.)*set {IGNORE}"):
        run(failed, source="other")
    assert (failed / "job.json").read_bytes() == before
    counts = run(failed, count="other", parallelism=3, **{IGNORE.replace(".", "__"): "true"})
    assert counts == [(key, n) for key in "ab" for n in range(1, 5)]
    newest = JobDirectory(str(failed)).last_epoch()
    assert newest is not None
    assert list(newest.inventory) == ["letters", "other"]


@pytest.mark.micro_batch("counts micro-batches")
def test_a_source_that_was_dropped_leaves_nothing_behind(failed: Path) -> None:
    """Not in the plan either that was made before, and is run again."""
    counts = run(failed, source="other", **{IGNORE_OLDER.replace(".", "__"): "true"})
    assert counts == [(key, n) for key in "ab" for n in range(3, 9)]
    assert run(failed, source="other") == []


@pytest.mark.micro_batch("counts micro-batches")
@pytest.mark.parametrize("parallelism", [2, 3])
def test_state_goes_along_when_keyed_levels_are_inserted(failed: Path, parallelism: int) -> None:
    """Also with the micro-batch that has to be run again, and with a failure behind the change."""
    with pytest.raises(FunctionError):
        run(failed, refused=9, levels=2, parallelism=parallelism)
    newest = JobDirectory(str(failed)).last_epoch()
    assert newest is not None
    assert newest.inventory["count"].stages == [3]
    drop = {IGNORE.replace(".", "__"): "true"}
    assert run(failed, levels=0, parallelism=2, **drop) == [("a", 5), ("a", 6), ("b", 5), ("b", 6)]
