"""What a worker keeps from one micro-batch to the next, and when it lets go of it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from scurry.checkpoint.layout import Home
from scurry.common.errors import FunctionError
from scurry.datastream import StreamExecutionEnvironment
from scurry.engine.spark.envelope_batches import ENVELOPE_SCHEMA, to_arrow
from scurry.engine.spark.local_stores import LocalStores, delete_stores, stores_of
from scurry.engine.spark.payload import JobPayload
from scurry.engine.spark.worker import Kept, WorkerFailure
from scurry.runtime.envelope import DATA, Envelope
from scurry.runtime.specs import JobSpec
from scurry.testing import ListSink


def job(place: Path, parallelism: int = 2) -> JobSpec:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    env.from_collection([1]).key_by(lambda n: n).map(lambda n: n).sink_to(ListSink())
    return replace(env._compile(None).spec, local_root=str(place), run_id="run")


def test_another_run_of_a_job_makes_its_own() -> None:
    kept = Kept[int, str]()
    assert kept.find(1, "a") is None
    assert kept.keep(1, "a", "made") == "made"
    assert (kept.find(1, "a"), kept.find(1, "b"), kept.find(2, "a")) == ("made", None, None)
    kept.keep(2, "a", "other")
    kept.drop_unless(lambda made: made != "made")
    assert (kept.find(1, "a"), kept.find(2, "a")) == (None, "other")


BROKEN = FunctionError("map", "m", "1", "ValueError: broken", "")


@pytest.mark.parametrize(
    ("failure", "told"), [(BROKEN, WorkerFailure), (OSError("broken"), OSError)]
)
def test_what_failed_is_not_kept(failure: Exception, told: type[Exception]) -> None:
    kept = Kept[int, str]()
    kept.keep(1, "a", "made")
    with pytest.raises(told, match="broken"), kept.dropped_on_failure(1):
        raise failure
    assert kept.find(1, "a") is None


def test_a_store_is_opened_once_and_found_again_by_another_worker(tmp_path: Path) -> None:
    stores, spec = LocalStores(), job(tmp_path)
    store = stores.get(spec, "checkpoint", 1, 0)
    assert stores.get(spec, "checkpoint", 1, 0) is store
    assert store.path is not None
    assert store.path.parent == stores_of(str(tmp_path), "checkpoint")
    assert store.path.name.startswith("1-0-")
    store.close()


def test_the_stores_of_a_job_that_has_ended_are_closed(tmp_path: Path) -> None:
    stores, spec = LocalStores(), job(tmp_path)
    ended = stores.get(spec, "ended", 1, 0)
    assert stores.holds(ended)
    delete_stores(str(tmp_path), "ended")
    other = stores.get(spec, "other", 1, 0)
    assert (stores.holds(ended), stores.holds(other)) == (False, True)
    other.close()


def test_the_stores_of_slots_that_are_no_more_are_deleted(tmp_path: Path) -> None:
    before = LocalStores()
    opened = [before.get(job(tmp_path, 3), "checkpoint", 1, slot) for slot in range(3)]
    for store in opened:
        store.close()
    LocalStores().get(job(tmp_path, 1), "checkpoint", 1, 0).close()
    left = [place.name for place in stores_of(str(tmp_path), "checkpoint").iterdir()]
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
