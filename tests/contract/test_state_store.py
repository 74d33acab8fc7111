"""State against a plain dict: a state machine whose actions include commits, crashes and losses."""

from __future__ import annotations

import copy
import gc
import tempfile
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.contract._slots import SETTINGS

from scurry.common import Configuration
from scurry.common.errors import ConfigurationError
from scurry.datastream import StreamExecutionEnvironment
from scurry.runtime.timers import TimerQueue
from scurry.state import log_slices
from scurry.state.backends import StateSettings
from scurry.state.journal import MemoryJournal
from scurry.state.local.disk import LocalStore
from scurry.state.local.memory import MemoryStore
from scurry.state.slot_store import SlotStore
from scurry.state.tables.key_scope import KeyScope
from scurry.state.tables.list_table import ListTable, TableListState
from scurry.state.tables.map_table import MapTable, TableMapState
from scurry.state.tables.table import TableValueState

KEYS = st.one_of(st.integers(0, 5), st.sampled_from(["a", "b", ("t", 1), None, "x" * 600]))
VALUES = st.one_of(
    st.integers(), st.text(max_size=5), st.lists(st.integers(), max_size=3), st.none()
)


class StateMachine(RuleBasedStateMachine):
    """What the store says must always be what a dict says."""

    backend = "disk"

    @initialize()
    def start(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.journal = MemoryJournal()
        self.local = SETTINGS[self.backend].local_store(Path(self.directory.name) / "s")
        #: a value, entries of a map and elements of a list for each key
        self.truth: dict[Any, Any] = {}
        self.timers: set[tuple[int, Any]] = set()
        self.entries: dict[Any, Any] = {}
        self.elements: dict[Any, Any] = {}
        self.remember()
        self.worker()

    def remember(self) -> None:
        """What is true now is true after a crash."""
        held = self.truth, self.timers, self.entries, self.elements
        self.committed = copy.deepcopy(held)

    def worker(self) -> None:
        """A fresh worker: nothing in memory."""
        self.store = SlotStore(self.local, 128)
        self.begin()

    def begin(self) -> None:
        self.store.begin(self.journal)
        self.scope = KeyScope()
        self.value = TableValueState(self.store.table("op", "v", bulk=True), self.scope)
        made = self.store.records, 128
        maps = self.store.part("op\x1fm", lambda: MapTable("op\x1fm", *made, bulk=True))
        lists = self.store.part(
            "op\x1fl", lambda: ListTable("op\x1fl", *made, lambda: self.store.epoch, bulk=True)
        )
        self.map, self.list = TableMapState(maps, self.scope), TableListState(lists, self.scope)
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

    @rule(key=KEYS, entry=KEYS, value=VALUES)
    def put_entry(self, key: Any, entry: Any, value: Any) -> None:
        self.scope.key = key
        self.map.put(entry, copy.deepcopy(value))
        self.entries.setdefault(key, {})[entry] = value

    @rule(key=KEYS, entry=KEYS)
    def remove_entry(self, key: Any, entry: Any) -> None:
        self.scope.key = key
        assert self.map.get(entry) == self.entries.get(key, {}).get(entry)
        self.map.remove(entry)
        self.entries.setdefault(key, {}).pop(entry, None)

    @rule(key=KEYS)
    def clear_map_and_list(self, key: Any) -> None:
        self.scope.key = key
        self.map.clear()
        self.list.clear()
        self.entries.pop(key, None)
        self.elements.pop(key, None)

    @rule(key=KEYS, value=VALUES)
    def append(self, key: Any, value: Any) -> None:
        self.scope.key = key
        self.list.add(copy.deepcopy(value))
        self.elements.setdefault(key, []).append(value)

    @rule(keys=st.lists(KEYS))
    def announce(self, keys: list[Any]) -> None:
        self.store.prefetch("op", keys)

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
        self.remember()
        self.begin()

    @rule()
    def commit_and_move_to_another_worker(self) -> None:
        self.store.commit(self.journal, b"notes")
        self.remember()
        self.worker()

    @rule()
    def crash_before_the_commit(self) -> None:
        held = copy.deepcopy(self.committed)
        self.truth, self.timers, self.entries, self.elements = held
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
            found = dict(self.store.table("op", "v", bulk=True).items())
            assert found == {k: v for k, v in self.truth.items() if v is not None}
            for listed, truth in (("m", self.entries), ("l", self.elements)):
                found = dict(self.store.listed("op", listed).items())
                assert found == {key: held for key, held in truth.items() if held}
            assert set(self.queue.pending()) == self.timers
            times = [time for time, _ in self.timers]
            assert self.queue.next_due <= min(times, default=self.queue.next_due)

    def teardown(self) -> None:
        if hasattr(self, "local"):
            self.local.close()
            self.directory.cleanup()


class InMemory(StateMachine):
    """The same with the local store in memory."""

    backend = "memory"


class InRuns(StateMachine):
    """The same with the tables in runs."""

    backend = "runs"


TestState = StateMachine.TestCase
TestStateInMemory = InMemory.TestCase
TestStateInRuns = InRuns.TestCase
for case in (TestState, TestStateInMemory, TestStateInRuns):
    case.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@pytest.fixture(params=list(SETTINGS))
def local(request: Any, tmp_path: Path) -> Any:
    return SETTINGS[request.param].local_store(tmp_path / "a")


@pytest.fixture(params=["disk", "memory"])
def logged(request: Any, tmp_path: Path) -> Any:
    """A store of tables that are in the log, whatever becomes of them."""
    return SETTINGS[request.param].local_store(tmp_path / "a")


def test_the_log_is_compacted_and_still_complete(
    local: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    journal = MemoryJournal()
    store = SlotStore(local, 128, small_log=2000)
    for batch in range(200):
        store.begin(journal)
        table = store.table("op", "v", bulk=True)
        for key in range(5):
            table.live[key] = (batch, "x" * 50)
            table.dirty[key] = None
        store.commit(journal, b"")
    assert sum(map(len, journal.entries.values())) < 10_000, "200 batches of 5 keys, compacted"
    fresh = SlotStore(LocalStore(tmp_path / "b"), 128)
    fresh.begin(journal)
    assert fresh.rebuilds == 1
    assert dict(fresh.table("op", "v", bulk=True).items()) == dict.fromkeys(
        range(5), (199, "x" * 50)
    )


def test_a_log_of_one_commit_is_not_compacted(logged: Any) -> None:
    """Nothing in it is superseded, so compacting it would write all of it a second time."""
    journal = MemoryJournal()
    store = SlotStore(logged, 128, small_log=2000)
    store.begin(journal)
    table = store.table("op", "v", bulk=True)
    for key in range(200):
        table.live[key] = f"{key} {Random(key).random()}"
        table.dirty[key] = None
    store.commit(journal, b"")
    assert list(journal.entries) == [0]


def test_a_batch_without_changes_writes_nothing(local: Any) -> None:
    journal = MemoryJournal()
    store = SlotStore(local, 128)
    store.begin(journal)
    store.table("op", "v", bulk=True).live["k"] = 1
    store.table("op", "v", bulk=True).dirty["k"] = None
    assert store.commit(journal, b"n") > 0
    head = journal.head()
    store.begin(journal)
    assert store.table("op", "v", bulk=True).load("k") == 1
    assert store.commit(journal, b"n") == 0
    assert journal.head() == head


def test_a_zombie_that_commits_late_is_not_believed(local: Any) -> None:
    """Two attempts at one batch share the local store; whoever commits second finds it changed."""
    journal = MemoryJournal()
    zombie, retry = SlotStore(local, 128), SlotStore(local, 128)
    zombie_journal = copy.deepcopy(journal)
    zombie.begin(zombie_journal)
    zombie.table("op", "v", bulk=True).live["k"] = "zombie"
    zombie.table("op", "v", bulk=True).dirty["k"] = None
    local.end()
    retry.begin(journal)
    retry.table("op", "v", bulk=True).live["k"] = "retry"
    retry.table("op", "v", bulk=True).dirty["k"] = None
    retry.commit(journal, b"")
    zombie.commit(zombie_journal, b"")
    later = SlotStore(local, 128)
    later.begin(journal)
    assert later.table("op", "v", bulk=True).load("k") == "retry"


def test_a_compaction_is_spread_over_commits(logged: Any, monkeypatch: Any) -> None:
    """Keys come, change and go while a cycle is under way; a rebuild finds what a dict holds."""
    monkeypatch.setattr(log_slices, "_LEAST_SLICE", 500)
    random = Random(7)
    store = SlotStore(logged, 128, small_log=2000)
    journal, truth = MemoryJournal(), dict[int, str]()
    written, cycling = [], 0
    for batch in range(300):
        store.begin(journal)
        table = store.table("op", "v", bulk=True)
        for _ in range(5):
            key = random.randrange(200)
            value = None if random.random() < 0.3 else f"{batch} {random.random()}"
            table.live[key] = value
            table.dirty[key] = None
            truth.pop(key, None)
            if value is not None:
                truth[key] = value
        written.append(store.commit(journal, b""))
        head = journal.head()
        assert head is not None
        cycling += head.cycle >= 0
        if batch % 10 == 9:
            fresh = SlotStore(MemoryStore(), 128)
            fresh.begin(journal)
            assert dict(fresh.table("op", "v", bulk=True).items()) == truth
    assert cycling > 20, "most cycles take several commits"
    assert max(written) < 3000, "no commit writes everything at once"
    live = sum(len(str(value)) for value in truth.values())
    assert sum(map(len, journal.entries.values())) < 6 * live


def test_a_job_may_change_its_backend(tmp_path: Path) -> None:
    journal, long = MemoryJournal(), "long" * 300
    backends = ["disk", "memory", "runs", "disk"]
    for number, backend in enumerate(backends):
        store = SlotStore(SETTINGS[backend].local_store(tmp_path / str(number)), 128)
        store.begin(journal)
        table = store.table("op", "v", bulk=True)
        assert table.load(long) == (None if number == 0 else backends[number - 1])
        table.live[long] = backend
        table.dirty[long] = None
        store.commit(journal, b"")


def test_memory_is_bounded_by_the_cache_and_the_batch(local: Any) -> None:
    journal, store = MemoryJournal(), SlotStore(local, 128, cache=100)
    for batch in range(5):
        store.begin(journal)
        table = store.table("op", "v", bulk=True)
        for key in range(batch * 1000, batch * 1000 + (1000 if batch < 4 else 50)):
            table.live[key] = key
            table.dirty[key] = None
        store.commit(journal, b"")
        assert len(table.live) <= 100
    store.begin(journal)
    assert set(table.live) == set(range(4000, 4050)), "what was written last is kept"
    assert len(dict(table.items())) == 4050


def test_values_that_can_be_changed_in_place_leave_nothing_in_memory(tmp_path: Path) -> None:
    journal, store = MemoryJournal(), SlotStore(LocalStore(tmp_path), 128, cache=1000)
    held = list[int]()
    tracemalloc.start()
    for batch in range(40):
        store.begin(journal)
        table = store.table("op", "v", bulk=True)
        for key in range(batch * 900, batch * 900 + 900):
            table.live[key] = [key]
            table.dirty[key] = None
        store.commit(journal, b"")
        journal.entries.clear()
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert held[-1] - held[4] < 1_000_000, "35 times 900 keys and where they are take 4 MB"


def test_a_rebuild_says_how_far_it_is(logged: Any) -> None:
    journal, store = MemoryJournal(), SlotStore(logged, 128)
    for key in range(5):
        store.begin(journal)
        table = store.table("op", "v", bulk=True)
        table.live[key] = "x" * 100
        table.dirty[key] = None
        store.commit(journal, b"")
    seen: list[tuple[int, int]] = []
    fresh = SlotStore(MemoryStore(), 128, on_rebuild=lambda done, total: seen.append((done, total)))
    fresh.begin(journal)
    total = sum(map(len, journal.entries.values()))
    assert seen[-1] == (total, total)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert len(seen) == 5


def test_settings_that_make_no_sense_are_refused() -> None:
    for key, value, message in [
        ("state.backend", "disc", "state.backend is 'disc'; it must be one of disk, memory."),
        (
            "state.backend.cache-size",
            "-1",
            "state.backend.cache-size is -1; it must be a whole number from 0 on.",
        ),
    ]:
        env = StreamExecutionEnvironment(Configuration.of({key: value}))
        with pytest.raises(ConfigurationError) as refused:
            env._state_settings()
        assert str(refused.value) == message


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("state.backend", "memory", MemoryStore),
        ("state.backend", "disk", LocalStore),
        ("state.backend.type", "hashmap", MemoryStore),
        ("state.backend.type", "rocksdb", LocalStore),
        ("state.backend.cache-size", "7", LocalStore),
    ],
)
def test_the_configuration_chooses_the_backend(
    key: str, value: str, expected: type, tmp_path: Path
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.of({key: value}))
    env.from_collection([1]).print()
    state = env._compile(None).spec.state
    assert type(state.local_store(tmp_path / "s")) is expected
    assert state.cache_entries == (7 if value == "7" else StateSettings().cache_entries)


def test_what_is_fetched_at_once_is_what_is_stored(local: Any) -> None:
    """Keys of every kind, read one by one and all at once, give the same."""
    keys: list[Any] = [*range(3000), "a", ("t", 1), 1 << 70, "x" * 600, 2.5, None]
    journal, store = MemoryJournal(), SlotStore(local, 128, cache=0)
    for batch in range(4):
        store.begin(journal)
        table = store.table("op", "v", bulk=True)
        store.prefetch("op", [*keys, "absent"])
        fetched = len(table.live)
        scope = KeyScope()
        state = TableValueState(table, scope)
        for scope.key in keys:
            expected = None if batch == 0 else [batch - 1] if scope.key == "a" else batch - 1
            assert state.value() == expected
            state.update([batch] if scope.key == "a" else batch)
        scope.key = "absent"
        assert state.value() is None
        store.commit(journal, b"")
        assert fetched == (len(keys) + 1 if batch else 0), "from experience, after one batch"
