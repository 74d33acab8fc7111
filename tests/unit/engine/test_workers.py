"""What a worker keeps from one micro-batch to the next, and when it lets go of it."""

from __future__ import annotations

import fcntl
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scurry.checkpoint.layout import Home
from scurry.common.errors import FunctionError
from scurry.datastream import StreamExecutionEnvironment
from scurry.engine.spark.envelope_batches import ENVELOPE_SCHEMA, to_arrow
from scurry.engine.spark.local_stores import LocalStores, delete_stores, stores_of
from scurry.engine.spark.payload import JobPayload
from scurry.engine.spark.presence import Seat
from scurry.engine.spark.worker import Kept, WorkerFailure
from scurry.runtime.envelope import DATA, Envelope
from scurry.runtime.specs import JobSpec
from scurry.state.local.store import Commit, Store
from scurry.testing import ListSink


def job(place: Path, parallelism: int = 2) -> JobSpec:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    env.from_collection([1]).key_by(lambda n: n).map(lambda n: n).sink_to(ListSink())
    return replace(env._compile(None).spec, local_root=str(place), run_id="run")


class Instance:
    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def kept_by(place: Path, name: str = "1-0") -> tuple[Kept[int, Instance], Seat]:
    return Kept[int, Instance](Instance.close), Seat(place, name)


def test_another_run_of_a_job_makes_its_own(tmp_path: Path) -> None:
    kept, seat = kept_by(tmp_path)
    made, other = Instance(), Instance()
    assert kept.find(1, "a") is None
    assert kept.keep(1, "a", made, seat) is made
    assert (kept.find(1, "a"), kept.find(1, "b"), kept.find(2, "a")) == (made, None, None)
    kept.keep(2, "a", other, Seat(tmp_path, "1-1"))
    kept.drop_unless(lambda instance, _: instance is not made)
    assert (kept.find(1, "a"), kept.find(2, "a")) == (None, other)
    assert (made.closed, other.closed) == (1, 0)


def test_what_is_replaced_is_closed(tmp_path: Path) -> None:
    kept, seat = kept_by(tmp_path)
    before, after = Instance(), Instance()
    kept.keep(1, "a", before, seat)
    kept.keep(1, "b", after, seat)
    assert (before.closed, after.closed) == (1, 0)
    assert kept.find(1, "b") is after


BROKEN = FunctionError("map", "m", "1", "ValueError: broken", "")


@pytest.mark.parametrize(
    ("failure", "told"), [(BROKEN, WorkerFailure), (OSError("broken"), OSError)]
)
def test_what_failed_is_closed_and_not_kept(
    tmp_path: Path, failure: Exception, told: type[Exception]
) -> None:
    kept, seat = kept_by(tmp_path)
    made = kept.keep(1, "a", Instance(), seat)
    with pytest.raises(told, match="broken"), kept.dropped_on_failure(1):
        raise failure
    assert kept.find(1, "a") is None
    assert made.closed == 1
    assert list(tmp_path.iterdir()) == []


def test_a_failure_to_close_does_not_hide_the_failure_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(instance: Instance) -> None:
        raise ValueError("cannot close")

    kept = Kept[int, Instance](fail)
    kept.keep(1, "a", Instance(), Seat(tmp_path, "1-0"))
    with pytest.raises(OSError, match="broken"), kept.dropped_on_failure(1):
        raise OSError("broken")
    assert "functions of 1-0 failed to close" in caplog.text


def test_a_store_is_opened_once_and_found_again_by_another_worker(tmp_path: Path) -> None:
    stores, spec = LocalStores(), job(tmp_path)
    store = stores.get(spec, "checkpoint", 1, 0, tmp_path)
    assert stores.get(spec, "checkpoint", 1, 0, tmp_path) is store
    assert store.path is not None
    assert store.path.parent == stores_of(str(tmp_path), "checkpoint")
    assert store.path.name.startswith("1-0-")
    store.close()


def commit(store: Store, base: bytes | None, lineage: bytes, value: bytes) -> None:
    assert store.apply(Commit(base, lineage, [("table", [b"key"], [value])]))
    store.confirm()


def test_a_store_is_for_one_worker_alone_until_that_lets_go(tmp_path: Path) -> None:
    (first, second), spec = (LocalStores(), LocalStores()), job(tmp_path)
    store = first.get(spec, "checkpoint", 1, 0, tmp_path)
    first.keep_others_out(store, 0)
    store.check()
    store.begin()
    commit(store, None, b"1", b"one")
    again = second.get(spec, "checkpoint", 1, 0, tmp_path)
    with ThreadPoolExecutor(1) as waiting:
        told = waiting.submit(second.keep_others_out, again, 60)
        first.close()
        told.result()
    again.check()
    again.begin()
    assert again.get("table", b"key") == b"one"
    second.close()


def test_a_lock_that_was_deleted_meanwhile_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody has deleted the stores between the opening of the file and its locking."""
    first, second, spec = LocalStores(), LocalStores(), job(tmp_path)
    store = first.get(spec, "checkpoint", 1, 0, tmp_path)
    place, flock = Path(f"{store.path}.lock"), fcntl.flock

    def late(file: Any, how: int) -> None:
        place.unlink()
        monkeypatch.setattr(fcntl, "flock", flock)
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    first.keep_others_out(store, 60)
    again = second.get(spec, "checkpoint", 1, 0, tmp_path)
    second.keep_others_out(again, 0)
    again.check()
    assert again.path is not None
    assert any(each.name.startswith("apart") for each in again.path.iterdir())
    first.close()
    second.close()


def test_a_store_that_is_not_let_go_is_left_to_who_has_it(tmp_path: Path) -> None:
    """A task that was paused may write to it when it is woken, and declare it to be the right
    one: that must not be seen here."""
    (first, second, third), spec = (LocalStores(), LocalStores(), LocalStores()), job(tmp_path)
    paused = first.get(spec, "checkpoint", 1, 0, tmp_path)
    first.keep_others_out(paused, 0)
    paused.check()
    paused.begin()
    commit(paused, None, b"1", b"one")
    store = second.get(spec, "checkpoint", 1, 0, tmp_path)
    second.keep_others_out(store, 0.05)
    store.check()
    store.begin()
    assert store.lineage() is None
    commit(store, None, b"2", b"two")
    commit(paused, b"1", b"3", b"three")
    store.check()
    store.begin()
    assert store.get("table", b"key") == b"two"
    first.close()
    second.close()
    last = third.get(spec, "checkpoint", 1, 0, tmp_path)
    third.keep_others_out(last, 0)
    last.check()
    last.begin()
    assert last.lineage() == b"3", "what is believed or not is for the journal to say"
    assert store.path is not None
    assert not [each for each in store.path.iterdir() if each.name.startswith("apart")]
    third.close()


def test_a_store_can_be_opened_again_when_its_task_has_ended(tmp_path: Path) -> None:
    """The next attempt of a live job may run in the same process."""
    spec, content = job(tmp_path), []
    for _ in range(2):
        stores = LocalStores()
        store = stores.get(spec, "checkpoint", 1, 0, tmp_path)
        store.check()
        store.begin()
        content.append(store.tables())
        if not content[0]:
            store.apply(Commit(None, b"one", [("table", [b"key"], [b"record"])]))
            store.confirm()
        stores.close()
    assert content == [[], ["table"]]


def test_the_stores_of_a_job_that_has_ended_are_closed(tmp_path: Path) -> None:
    stores, spec = LocalStores(), job(tmp_path)
    ended = stores.get(spec, "ended", 1, 0, tmp_path)
    assert stores.holds(ended)
    delete_stores(str(tmp_path), "ended")
    other = stores.get(spec, "other", 1, 0, tmp_path)
    assert (stores.holds(ended), stores.holds(other)) == (False, True)
    other.close()


def test_the_stores_of_a_checkpoint_that_is_gone_are_deleted(tmp_path: Path) -> None:
    """A job without a checkpoint directory of its own that was killed, for example."""
    checkpoints = {name: tmp_path / name for name in ("kept", "gone", "new")}
    for name, place in checkpoints.items():
        place.mkdir()
        if name != "new":
            LocalStores().get(job(tmp_path), name, 1, 0, place).close()
    checkpoints["gone"].rmdir()
    LocalStores().get(job(tmp_path), "new", 1, 0, checkpoints["new"]).close()
    found = {name: stores_of(str(tmp_path), name).exists() for name in checkpoints}
    assert found == {"kept": True, "gone": False, "new": True}


def test_nothing_is_left_of_the_stores_of_a_job_at_its_end(tmp_path: Path) -> None:
    stores, spec = LocalStores(), job(tmp_path)
    opened = [stores.get(spec, "checkpoint", 1, slot, tmp_path) for slot in range(2)]
    place = stores_of(str(tmp_path), "checkpoint")
    stores.erase(opened[0])
    assert len(list(place.glob("*-*-*"))) == 1
    stores.erase(opened[1])
    assert not place.exists()


def test_the_stores_of_slots_that_are_no_more_are_deleted(tmp_path: Path) -> None:
    before = LocalStores()
    opened = [before.get(job(tmp_path, 3), "checkpoint", 1, slot, tmp_path) for slot in range(3)]
    for store in opened:
        store.close()
    LocalStores().get(job(tmp_path, 1), "checkpoint", 1, 0, tmp_path).close()
    left = [place.name for place in stores_of(str(tmp_path), "checkpoint").glob("*-*-*")]
    assert [name.split("-")[1] for name in left] == ["0"]
    shutil.rmtree(tmp_path)


def test_envelopes_travel_under_the_route_of_their_slot() -> None:
    sent = [Envelope(slot, 1, "op", 0, "c", 7, DATA, 9, b"x") for slot in (0, 1, 2)]
    (batch,) = to_arrow(sent, [50, 60])
    assert batch.schema == ENVELOPE_SCHEMA
    assert batch.column("slot").to_pylist() == [50, 60, 50]
    assert batch.column("payload").to_pylist() == [b"x"] * 3
    assert list(to_arrow([], [50])) == []


def test_each_copy_of_a_job_has_functions_of_its_own(tmp_path: Path) -> None:
    payload = JobPayload(job(tmp_path), "checkpoint", [0], Home(tmp_path))
    first, second = payload.load(), payload.load()
    assert first.operators.keys() == second.operators.keys()
    assert first.sources[0].source is not second.sources[0].source


def test_tasks_that_open_stores_at_the_same_time_delete_none(tmp_path: Path) -> None:
    spec, checkpoint = job(tmp_path, 4), tmp_path / "checkpoint"
    checkpoint.mkdir()

    def open_all(slot: int) -> list[bool]:
        mine = LocalStores()
        made = [mine.get(spec, "job-1", stage, slot, checkpoint) for stage in range(150)]
        there = [Path(str(store.path)).exists() for store in made]
        mine.close()
        return there

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(open_all, range(4)))
    assert all(all(there) for there in found)
