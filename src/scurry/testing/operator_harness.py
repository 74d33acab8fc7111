"""One function on a virtual clock, with everything it does in plain sight."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from scurry.common.errors import ProgramError
from scurry.common.keys import freeze
from scurry.common.pickling import dumps_program
from scurry.compile.choose_operators import choose_operator
from scurry.datastream.data_stream import DataStream
from scurry.datastream.transformation import freeze as freeze_steps
from scurry.functions import KeyedProcessFunction, OutputTag, ProcessFunction
from scurry.functions.dead_letters import DEAD_LETTER
from scurry.functions.transforms import Function
from scurry.plan.nodes import KeyBy
from scurry.runtime.batch import MIN_WATERMARK, NO_TIMESTAMP, Batch
from scurry.runtime.keyed import KeyedProcessOperator
from scurry.runtime.make_operator import MakeOperator
from scurry.runtime.operator import Operator
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.stateless import ProcessOperator
from scurry.runtime.task_context import TaskContext, TaskPlace, TaskState
from scurry.runtime.timers import timer_queue
from scurry.state.journal import MemoryJournal
from scurry.state.local.disk import LocalStore
from scurry.state.slot_store import SlotStore

_UID = "under-test"


class OperatorHarness:
    """Runs a :class:`KeyedProcessFunction` (with ``key_selector``) or a :class:`ProcessFunction`;
    :meth:`of` runs any other operator of a program.

    >>> harness = OperatorHarness(MyFunction(), key_selector=lambda event: event.user)
    >>> harness.process_element(event, timestamp=1000)
    >>> harness.process_watermark(2000)
    >>> harness.output
    """

    def __init__(
        self,
        function: Function,
        key_selector: Callable[[Any], Any] | None = None,
        max_parallelism: int = 128,
    ) -> None:
        _check(function, key_selector)
        kind = KeyedProcessOperator if key_selector is not None else ProcessOperator
        self._prepare(
            MakeOperator(kind, (function,)), type(function).__name__, key_selector, max_parallelism
        )

    @classmethod
    def of(cls, stream: DataStream, max_parallelism: int = 128) -> OperatorHarness:
        """Runs the operator that ``stream`` is the result of: a window, a reduce, a process
        function on a keyed stream. What comes before it in the program is left out. With
        ``stream.on_error("dead-letter")`` its letters are a side output, and are counted."""
        (node,) = freeze_steps([stream._transformation])
        before = node.inputs[0] if node.inputs else None
        select = before.selector.get_key if isinstance(before, KeyBy) else None
        harness = cls.__new__(cls)
        letters = node.on_error == DEAD_LETTER
        make = choose_operator(node).make
        assert make is not None
        harness._prepare(make, node.name, select, max_parallelism, letters)
        return harness

    def _prepare(
        self,
        make: Callable[[OperatorSpec], Operator],
        name: str,
        key_selector: Callable[[Any], Any] | None,
        max_parallelism: int,
        dead_letters: bool = False,
    ) -> None:
        self._dead_letters = dead_letters
        self._make, _ = dumps_program(make)
        self._name = name
        self._select = key_selector
        self._max_parallelism = max_parallelism
        self._journal = MemoryJournal()
        self._directory = tempfile.TemporaryDirectory(prefix="scurry-harness-")
        self._local = LocalStore(Path(self._directory.name) / "state")
        self._watermark = MIN_WATERMARK
        self._now = 0
        self._batch = 0
        self._records: list[tuple[Any, int | None]] = []
        self._side: dict[str, list[Any]] = {}
        self._start()

    def _start(self) -> None:
        self._store = SlotStore(self._local, self._max_parallelism)
        spec = OperatorSpec(
            uid=_UID,
            name=self._name,
            make=pickle.loads(self._make),
            dead_letters=self._dead_letters,
        )
        self._operator = spec.make(spec)
        self._operator.wire([self._take], _Listening(self._side))
        self._context = TaskContext(TaskPlace(0, self._max_parallelism), TaskState(self._store))
        self._begin()
        self._operator.open(self._context)
        self._operator.begin(self._watermark)

    def _begin(self) -> None:
        self._store.begin(self._journal)
        self._context.now = self._now
        self._context.batch = self._batch

    def _take(self, batch: Batch) -> None:
        stamps = [NO_TIMESTAMP] * batch.size if batch.ts is None else batch.ts.tolist()
        for row, stamp in zip(batch.rows, stamps, strict=True):
            self._records.append((row, None if stamp == NO_TIMESTAMP else stamp))

    @property
    def output(self) -> list[Any]:
        """What the function has emitted so far."""
        return [row for row, _ in self._records]

    @property
    def timestamped_output(self) -> list[tuple[Any, int | None]]:
        """The same with event timestamps."""
        return list(self._records)

    def side_output(self, tag: OutputTag) -> list[Any]:
        """What the function has sent to a side output."""
        return list(self._side.get(tag.tag_id, ()))

    def process_element(self, value: Any, timestamp: int | None = None) -> None:
        """An element arrives."""
        self._operator.process(self._single(value, timestamp, self._select))

    def _single(
        self, value: Any, timestamp: int | None, select: Callable[[Any], Any] | None
    ) -> Batch:
        stamp = NO_TIMESTAMP if timestamp is None else timestamp
        return Batch(
            [value],
            keys=None if select is None else [freeze(select(value))],
            ts=np.array([stamp], dtype=np.int64),
            wm=np.array([self._watermark], dtype=np.int64),
        )

    def process_watermark(self, watermark: int) -> None:
        """The watermark arrives; due event-time timers fire."""
        if watermark > self._watermark:
            self._operator.advance(watermark)
            self._watermark = watermark

    def set_processing_time(self, now: int) -> None:
        """Processing time passes; due processing-time timers fire."""
        self._now = self._context.now = now
        self._operator.begin(self._watermark)

    def counter(self, name: str) -> int:
        """A counter of the operator, such as "late": elements that came too late for windows."""
        return self._context.report.counters.get(f"{name}:{_UID}", 0)

    def state(self, name: str) -> dict[Any, Any]:
        """All keys and values of a state."""
        return dict(self._store.table(_UID, name).items())

    def timers(self, domain: str = "event") -> list[tuple[int, Any]]:
        """Pending timers in order, as (time, key); ``domain`` is "event" or "processing"."""
        return timer_queue(self._store, _UID, domain).pending()

    def checkpoint(self) -> None:
        """Commit the state, as at the end of a micro-batch."""
        self._store.commit(self._journal, b"")
        self._batch += 1
        self._begin()
        self._operator.begin(self._watermark)

    def restart(self, lose_local_state: bool = False) -> None:
        """Start anew from the last checkpoint, with a fresh copy of the function."""
        if lose_local_state:
            self._local.reset()
        self._start()

    def __enter__(self) -> OperatorHarness:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the function and release files."""
        self._operator.close()
        self._local.close()
        self._directory.cleanup()


def _check(function: Any, key_selector: Callable[[Any], Any] | None) -> None:
    name = type(function).__name__
    if not isinstance(function, (KeyedProcessFunction, ProcessFunction)):
        raise ProgramError(f"The harness runs process functions, not {name}.")
    if isinstance(function, KeyedProcessFunction) and key_selector is None:
        raise ProgramError(f"{name} is keyed: give the harness a key_selector.")


class _Listening(dict[str, Any]):
    """Side outputs that are all read: any tag leads to a list."""

    def __init__(self, found: dict[str, list[Any]]) -> None:
        super().__init__()
        self._found = found

    def __contains__(self, tag: object) -> bool:
        return True

    def get(self, tag: str, default: Any = None) -> Any:
        values = self._found.setdefault(tag, [])
        return [lambda batch: values.extend(batch.rows)]
