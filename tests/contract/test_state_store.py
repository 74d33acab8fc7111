"""State against a plain dict: a state machine whose actions include commits, crashes and losses."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from scurry.runtime.timers import TimerQueue
from scurry.state.journal import MemoryJournal
from scurry.state.local import LocalStore
from scurry.state.slot_store import SlotStore
from scurry.state.table import KeyScope, TableValueState

KEYS = st.one_of(st.integers(0, 5), st.sampled_from(["a", "b", ("t", 1), None, "x" * 600]))
VALUES = st.one_of(
    st.integers(), st.text(max_size=5), st.lists(st.integers(), max_size=3), st.none()
)


class StateMachine(RuleBasedStateMachine):
    """What the store says must always be what a dict says."""

    @initialize()
    def start(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.journal = MemoryJournal()
        self.local = LocalStore(Path(self.directory.name) / "s")
        self.truth: dict[Any, Any] = {}
        self.timers: set[tuple[int, Any]] = set()
        self.committed: tuple[Any, Any] = ({}, set())
        self.worker()

    def worker(self) -> None:
        """A fresh worker: nothing in memory."""
        self.store = SlotStore(self.local, 128)
        self.begin()

    def begin(self) -> None:
        self.store.begin(self.journal)
        self.scope = KeyScope()
        self.value = TableValueState(self.store.table("op", "v"), self.scope)
        self.queue = self.store.part("op#t", lambda: TimerQueue("op#t", self.local, 128))
        self.queue.begin()

    @rule(key=KEYS, value=VALUES)
    def update(self, key: Any, value: Any) -> None:
        self.scope.key = key
        self.value.update(copy.deepcopy(value))
        self.truth[key] = value

    @rule(key=KEYS)
    def read(self, key: Any) -> None:
        self.scope.key = key
        assert self.value.value() == self.truth.get(key)

    @rule(key=KEYS, item=st.integers())
    def change_in_place(self, key: Any, item: int) -> None:
        self.scope.key = key
        held = self.value.value()
        if isinstance(held, list):
            held.append(item)
            self.truth[key] = [*self.truth[key], item]

    @rule(key=KEYS)
    def clear(self, key: Any) -> None:
        self.scope.key = key
        self.value.clear()
        self.truth.pop(key, None)

    @rule(time=st.integers(-20, 20), key=KEYS)
    def set_timer(self, time: int, key: Any) -> None:
        self.queue.register(time, key)
        self.timers.add((time, key))

    @rule(time=st.integers(-20, 20), key=KEYS)
    def delete_timer(self, time: int, key: Any) -> None:
        self.queue.delete(time, key)
        self.timers.discard((time, key))

    @rule(until=st.integers(-20, 20))
    def fire(self, until: int) -> None:
        fired = []
        while (due := self.queue.pop_due(until)) is not None:
            fired.append(due)
        expected = {timer for timer in self.timers if timer[0] <= until}
        assert set(fired) == expected
        assert len(fired) == len(expected)
        assert [time for time, _ in fired] == sorted(time for time, _ in fired)
        self.timers -= expected

    @rule()
    def commit(self) -> None:
        self.store.commit(self.journal, b"notes")
        self.committed = (copy.deepcopy(self.truth), set(self.timers))
        self.begin()

    @rule()
    def commit_and_move_to_another_worker(self) -> None:
        self.store.commit(self.journal, b"notes")
        self.committed = (copy.deepcopy(self.truth), set(self.timers))
        self.worker()

    @rule()
    def crash_before_the_commit(self) -> None:
        self.truth, self.timers = copy.deepcopy(self.committed[0]), set(self.committed[1])
        self.worker()

    @rule()
    def crash_between_local_store_and_spark(self) -> None:
        """The local store was written, Spark never committed: the journal must win."""
        before = copy.deepcopy(self.journal)
        self.store.commit(self.journal, b"notes")
        self.journal = before
        self.crash_before_the_commit()

    @rule()
    def lose_the_local_store(self) -> None:
        self.local.reset()
        self.crash_before_the_commit()

    @invariant()
    def everything_is_as_the_dict_says(self) -> None:
        if hasattr(self, "store"):
            found = dict(self.store.table("op", "v").items())
            assert found == {k: v for k, v in self.truth.items() if v is not None}
            assert set(self.queue.pending()) == self.timers
            times = [time for time, _ in self.timers]
            assert self.queue.next_due <= min(times, default=self.queue.next_due)

    def teardown(self) -> None:
        if hasattr(self, "local"):
            self.local.close()
            self.directory.cleanup()


TestState = StateMachine.TestCase
TestState.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_the_log_is_compacted_and_still_complete(tmp_path: Path) -> None:
    journal, local = MemoryJournal(), LocalStore(tmp_path / "a")
    store = SlotStore(local, 128, small_log=2000)
    for batch in range(200):
        store.begin(journal)
        table = store.table("op", "v")
        for key in range(5):
            table.live[key] = (batch, "x" * 50)
            table.dirty[key] = None
        store.commit(journal, b"")
    assert sum(map(len, journal.entries.values())) < 10_000, "200 batches of 5 keys, compacted"
    fresh = SlotStore(LocalStore(tmp_path / "b"), 128)
    fresh.begin(journal)
    assert fresh.rebuilds == 1
    assert dict(fresh.table("op", "v").items()) == dict.fromkeys(range(5), (199, "x" * 50))


def test_a_batch_without_changes_writes_nothing(tmp_path: Path) -> None:
    journal = MemoryJournal()
    store = SlotStore(LocalStore(tmp_path / "a"), 128)
    store.begin(journal)
    store.table("op", "v").live["k"] = 1
    store.table("op", "v").dirty["k"] = None
    assert store.commit(journal, b"n") > 0
    head = journal.head()
    store.begin(journal)
    assert store.table("op", "v").load("k") == 1
    assert store.commit(journal, b"n") == 0
    assert journal.head() == head


def test_a_zombie_that_commits_late_is_not_believed(tmp_path: Path) -> None:
    """Two attempts at one batch share the local store; whoever commits second finds it changed."""
    journal, path = MemoryJournal(), tmp_path / "a"
    local = LocalStore(path)
    zombie, retry = SlotStore(local, 128), SlotStore(local, 128)
    zombie_journal = copy.deepcopy(journal)
    zombie.begin(zombie_journal)
    zombie.table("op", "v").live["k"] = "zombie"
    zombie.table("op", "v").dirty["k"] = None
    local.end()
    retry.begin(journal)
    retry.table("op", "v").live["k"] = "retry"
    retry.table("op", "v").dirty["k"] = None
    retry.commit(journal, b"")
    zombie.commit(zombie_journal, b"")
    later = SlotStore(local, 128)
    later.begin(journal)
    assert later.table("op", "v").load("k") == "retry"
