"""Writing the state of operators as a slot of a job would, into files.

There is one slot. Its tables, codecs and journal are those of every slot; only the journal's
entries go to a file, in the form in which slots begin with state
(:mod:`scurry.checkpoint.initial_state`).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from scurry.checkpoint.initial_state import InitialState, ShareWriter
from scurry.checkpoint.layout import Home
from scurry.checkpoint.written_state import ONLY
from scurry.common.errors import FunctionError, ScurryError, StateError
from scurry.common.keys import freeze, thaw
from scurry.functions.contexts import TimerService
from scurry.runtime.failures import function_error
from scurry.runtime.keyed import KeyedProcessOperator
from scurry.runtime.keyed_context import KeyedTimerService, state_clock
from scurry.runtime.keyed_state import KeyedRuntimeContext
from scurry.runtime.operator import Clock
from scurry.runtime.rescaling import SlotStart
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext, TaskPlace, TaskState
from scurry.state.inventory import OperatorRecord, described
from scurry.state.journal import Group, Head, Journal, chunked, pack
from scurry.state.local.disk import LocalStore
from scurry.state.slot_store import SlotStore
from scurry.state.tables.key_scope import KeyScope
from scurry.state_processor.rows import elements
from scurry.state_processor.transformation import BootstrapContext, BootstrapTransformation

#: So large that a store never becomes runs, and a log is never compacted.
_NEVER = 1 << 62
#: Elements that are handled between two commits.
_AT_ONCE = 100_000


class _FileJournal(Journal):
    """A journal whose entries are appended to a file, and read by nobody."""

    def __init__(self, share: ShareWriter, runs: Path) -> None:
        self._share = share
        self._runs = runs
        self._head: Head | None = None

    @property
    def runs(self) -> Path:
        return self._runs

    def head(self) -> Head | None:
        return self._head

    def put_head(self, head: Head) -> None:
        self._head = head

    def append(self, seq: int, blob: bytes) -> None:
        self._share.append(blob)

    def read(self, seq: int) -> bytes:
        raise StateError("What is being written is not read.")

    def remove(self, seq: int) -> None:
        raise StateError("What is being written is not compacted.")

    def drop_before(self, seq: int) -> None:
        pass


class OperatorBuilder(BootstrapContext):
    """Writes the states of one operator: set the key and the clock, then use handles."""

    def __init__(self, uid: str, task: TaskContext) -> None:
        self.spec = OperatorSpec(uid=uid, name=uid, make=_unused)
        self._scope, self._clock = KeyScope(), Clock()
        self._timers = KeyedTimerService(self.spec, task, self._scope, self._clock)
        self._timers.event.begin()
        self._timers.processing.begin()
        clock = state_clock(self._clock, lambda: None)
        self.runtime = KeyedRuntimeContext(self.spec, task, self._scope, clock)

    def at(self, key: Any, now: int | None = None) -> None:
        """Handles mean ``key`` from now on, and writes happen at ``now``."""
        self._scope.key = freeze(key)
        if now is not None:
            self._clock.now = now

    def get_current_key(self) -> Any:
        return thaw(self._scope.key)

    def timer_service(self) -> TimerService:
        return self._timers


def _unused(spec: OperatorSpec) -> Any:
    raise AssertionError("the operator is not run")


class StateBuilder:
    """The state of a savepoint that is being written to ``home``."""

    def __init__(self, home: Home, max_parallelism: int) -> None:
        self._state = InitialState(home.initial_state_of(*ONLY))
        self._share = ShareWriter(self._state, "0")
        self._room = tempfile.TemporaryDirectory(prefix="scurry-writing-")
        local = LocalStore(Path(self._room.name) / "store", runs_above=_NEVER)
        self._journal = _FileJournal(self._share, Path(self._room.name) / "runs")
        self.store = SlotStore(local, max_parallelism, small_log=_NEVER)
        self._task = TaskContext(TaskPlace(0, max_parallelism, 1), TaskState(self.store))
        self._operators: dict[str, OperatorBuilder] = {}
        self._written: dict[str, str] = {}
        self._pending = 0
        self.store.begin(self._journal)

    def __enter__(self) -> StateBuilder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.store.close(erase=True)
        self._room.cleanup()
        self._share.__exit__(kind, error, trace)

    def operator(self, uid: str) -> OperatorBuilder:
        """What writes the states of the operator ``uid``."""
        if uid not in self._operators:
            self._operators[uid] = OperatorBuilder(uid, self._task)
        return self._operators[uid]

    def wrote(self) -> None:
        """An element was handled: commit now and then, so that memory does not grow."""
        self._pending += 1
        if self._pending >= _AT_ONCE:
            self.commit()

    def commit(self) -> None:
        """Write what has changed."""
        self._pending = 0
        self.store.commit(self._journal, b"")
        self._written.update(self.store.take_written())
        self.store.begin(self._journal)

    def copy(self, groups: Iterable[Group]) -> None:
        """Write records of tables that nobody here opens."""
        for piece in chunked(groups):
            self._share.append(pack(piece))

    def run(self, uid: str, transformation: BootstrapTransformation) -> None:
        """Have a function make state of data."""
        builder, function = self.operator(uid), transformation.function
        now = transformation.now
        builder._clock.now = int(time.time() * 1000) if now is None else now
        value: Any = None
        try:
            function.open(builder.runtime)
            for value in elements(transformation.data):
                builder.at(transformation.select(value))
                made = function.process_element(value, builder)
                if made is not None:
                    # a generator has done nothing yet
                    for _ in made:
                        pass
                self.wrote()
            function.close()
        except (ScurryError, FunctionError):
            raise
        except Exception as failure:
            raise function_error(uid, uid, "", value, failure) from failure

    def finish(self, notes: bytes, base: int, entry: list[Group]) -> dict[str, OperatorRecord]:
        """All is written; ``notes`` are those of the slot, ``base`` is beyond all numbers of
        earlier journals. Returns what is known of the operators."""
        self.commit()
        self._state.write_start(SlotStart(base, notes, pack(entry)))
        records: dict[str, OperatorRecord] = {}
        sizes = self.store.records.sizes()
        for table, kind in self._written.items():
            uid, _, state = table.partition("\x1f")
            made = records.setdefault(uid, _record(uid))
            made.add(ONLY.stage, described(state, kind))
            if table in sizes:
                made.sizes.update(dict.fromkeys(described(state, kind), sizes[table]))
        return records


def _record(uid: str) -> OperatorRecord:
    return OperatorRecord(KeyedProcessOperator.state_layout(), uid, states={}, stages=[], sizes={})
