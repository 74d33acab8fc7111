"""Where DataFrames land in an object store, without Spark and without a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.connectors.test_data_frames import FakeFrame, frame

from scurry.common.any_paths import ObjectPath
from scurry.common.errors import JobError, StateError
from scurry.common.object_store import ObjectStore, StoreSettings
from scurry.connectors.data_frames import feed, landing, stored_landing
from scurry.connectors.data_frames.query_checkpoint import QueryCheckpoint
from scurry.connectors.data_frames.source import DataFrameSource
from scurry.connectors.data_frames.stored_landing import StoredLanding

__all__ = ["frame"]


class MemoryStore(ObjectStore):
    """Objects in a dict, and the number of requests."""

    def __init__(self) -> None:
        super().__init__("s3", StoreSettings())
        self.objects: dict[str, bytes] = {}
        self.asked = 0

    def read(self, key: str) -> bytes:
        self.asked += 1
        if key not in self.objects:
            raise FileNotFoundError(key)
        return self.objects[key]

    def write(self, key: str, content: bytes) -> None:
        self.asked += 1
        self.objects[key] = content

    def create(self, key: str, content: bytes) -> bool:
        self.asked += 1
        return self.objects.setdefault(key, content) == content

    def delete(self, keys: Any) -> None:
        self.asked += 1
        for key in keys:
            self.objects.pop(key, None)

    def find(self, prefix: str) -> dict[str, int]:
        self.asked += 1
        return {k: len(v) for k, v in self.objects.items() if k.startswith(f"{prefix}/")}


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> ObjectPath:
    for module in (landing, stored_landing):
        monkeypatch.setattr(module, "CHUNKS_OF_OBJECT", 2)
    return ObjectPath(MemoryStore(), f"bucket/{id(monkeypatch)}/room")


def asked(room: ObjectPath) -> int:
    assert isinstance(room.store, MemoryStore)
    return room.store.asked


@pytest.mark.parametrize(("partitions", "most"), [(None, 1), (1, 4), (3, 3), (2, 100)])
def test_a_frame_is_read_once_in_its_order(
    frame: FakeFrame, room: ObjectPath, partitions: int | None, most: int
) -> None:
    position, found, finished = [0, [[n, 0] for n in range(partitions or 1)]], [], False
    while not finished:
        # each plan by another driver
        source = DataFrameSource(frame, partitions=partitions)  # type: ignore[arg-type]
        source.take_room(room)
        plans = source.enumerator(1)
        plan = plans.plan(position, most)
        batches = [batch for item in plan.ranges for batch in source.read(item.what)]
        columns = [batch.columns for batch in batches if batch.columns is not None]
        found += [n for each in columns for n in each["n"].to_pylist()]
        position, finished = json.loads(json.dumps(plan.position)), plan.finished
        plans.committed(position)
    assert sorted(found) == list(range(20))
    for first, end in ((0, 7), (7, 8), (8, 20)):
        assert [n for n in found if first <= n < end] == list(range(first, end))
    assert frame.evaluated == 1
    assert room.store.find(room.key) == {}


def test_an_idle_job_makes_no_request(frame: FakeFrame, room: ObjectPath) -> None:
    source = DataFrameSource(frame)  # type: ignore[arg-type]
    source.take_room(room)
    plans = source.enumerator(1)
    first = plans.plan(plans.initial_position(), 1)
    before = asked(room)
    for _ in range(5):
        plans.plan(first.position, 0)
        plans.committed(first.position)
    assert asked(room) == before


def test_two_drivers_land_a_static_frame(frame: FakeFrame, room: ObjectPath) -> None:
    late = StoredLanding(room)
    assert not late.has(0)
    early = StoredLanding(room)
    feed.land(early, 0, frame)  # type: ignore[arg-type]
    feed.land(late, 0, frame)  # type: ignore[arg-type]
    assert late.pieces(0) == early.pieces(0)


class Query:
    """A query whose checkpoint says how far it is, and the driver it works for."""

    def __init__(self, room: ObjectPath, frame: FakeFrame) -> None:
        self.landing = StoredLanding(room, resumed=True)
        self.checkpoint = QueryCheckpoint(room, self.landing)
        self.frame = frame
        self.place = self.checkpoint.begin()

    def land(self, batch: int, offsets: str) -> None:
        (self.place / "offsets").mkdir(exist_ok=True)
        (self.place / "offsets" / str(batch)).write_text(offsets)
        self.checkpoint.land(batch, feed._landing_of(self.frame))  # type: ignore[arg-type]

    def offsets(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.place.glob("offsets/*")}


def test_a_query_goes_on_from_the_last_batch_that_has_landed(
    frame: FakeFrame, room: ObjectPath
) -> None:
    first = Query(room, frame)
    first.land(0, "a to b")
    first.land(1, "b to c")
    first.landing.remove_before(2)
    (first.place / "offsets" / "2").write_text("planned, and not landed")
    first.checkpoint.close()
    assert not first.place.exists()
    second = Query(room, frame)
    assert second.offsets() == {"0": "a to b", "1": "b to c"}
    assert (second.landing.has(0), second.landing.has(1)) == (False, True)
    before = frame.evaluated
    second.land(1, "b to c")
    assert frame.evaluated == before
    second.land(2, "c to d")
    second.landing.remove_before(2)
    assert {Path(key).parent.name for key in room.store.find(room.key)} == {"2"}
    second.checkpoint.close()


def test_a_driver_that_was_outrun_lands_nothing(frame: FakeFrame, room: ObjectPath) -> None:
    slow, quick = Query(room, frame), Query(room, frame)
    assert not slow.landing.has(0)
    quick.land(0, "a to b")
    with pytest.raises(JobError, match="Another driver has landed batch 0 of the streaming Data"):
        slow.land(0, "a to c")
    third = Query(room, frame)
    assert third.offsets() == {"0": "a to b"}
    for each in (slow, quick, third):
        each.checkpoint.close()


def test_a_query_with_state_is_refused(frame: FakeFrame, room: ObjectPath) -> None:
    query = Query(room, frame)
    (query.place / "state").mkdir()
    with pytest.raises(JobError, match=r"the DataFrame keeps state in Spark.*Do that part in the"):
        query.land(0, "a to b")
    assert not StoredLanding(room).has(0)
    query.checkpoint.close()


def test_a_landed_object_that_is_gone(room: ObjectPath) -> None:
    with pytest.raises(StateError, match=r"room/0/x.arrow.0 is missing. It holds records of a"):
        list(StoredLanding(room).read(0, "x.arrow", 0, 1))
