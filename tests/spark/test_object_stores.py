"""Jobs in micro-batches with checkpoints in an object store, and savepoints there."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession
from tests.faults.s3 import BUCKET, options, s3_server, store
from tests.spark.test_data_frames import FULL, SCHEMA, lines, streaming
from tests.spark.test_queryable_state import KEYS, check, client_of, program, until
from tests.spark.test_recovery import EXPECTED, add_job, environment
from tests.spark.test_savepoints import sink_in, started

from scurry.checkpoint.savepoint_manifest import UNFINISHED
from scurry.cli.main import main
from scurry.common import Configuration
from scurry.common.errors import FunctionError, JobError, StateError
from scurry.common.object_store import ObjectStore
from scurry.common.options.state import RUNS_ABOVE
from scurry.testing import ListSink

PLACE = f"s3://{BUCKET}"


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    with s3_server() as port:
        yield port


@pytest.fixture
def objects(server: int, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """The store, which all jobs and commands reach; states lie in sorted files there."""
    reached = {f"scurry.checkpoint.store.{name}": text for name, text in options(server).items()}
    monkeypatch.setenv("SCURRY_CONF", json.dumps({RUNS_ABOVE.key: "1", **reached}))
    return store(server)


def said(*arguments: str, exit_code: int = 0) -> str:
    """What a command prints."""
    done = CliRunner().invoke(main, list(arguments))
    assert done.exit_code == exit_code, done.output
    return done.output


def test_a_life_between_stores(tmp_path: Path, objects: ObjectStore) -> None:
    """A job goes from S3 to a file system, back, to another parallelism and to the other engine,
    each time by a savepoint; and the commands about savepoints work there."""
    sink = sink_in(tmp_path / "out")
    client = started(environment(f"{PLACE}/one", 12), sink, 3)
    running = said("savepoint", "create", f"{PLACE}/one", f"{PLACE}/sp", "--name", "running")
    assert running.strip() == f"{PLACE}/sp/running"
    first = client.stop_with_savepoint(False, f"{PLACE}/sp").result(120)
    client.get_job_execution_result().result(60)
    assert "is whole" in said("savepoint", "verify", first)
    assert len(json.loads(said("savepoint", "list", f"{PLACE}/sp", "--json"))) == 2
    assert "count" in said("savepoint", "show", first)
    counts = said("savepoint", "read", first, "count", "count", "--json").splitlines()
    assert len(counts) == 10

    here = str(tmp_path / "sp" / "copied")
    said("savepoint", "copy", first, here)
    assert said("savepoint", "read", here, "count", "count", "--json").splitlines() == counts
    there = environment(tmp_path / "two", 12).from_savepoint(here)
    client = started(there, sink, 3)
    # this one holds state in the form in which Spark keeps it on a file system
    second = client.stop_with_savepoint(False, f"{PLACE}/sp").result(120)
    client.get_job_execution_result().result(60)
    shutil.rmtree(tmp_path / "two")

    back = environment(f"{PLACE}/three", 12, parallelism=3).from_savepoint(second)
    client = started(back, sink, 2)
    assert "parallelism 2" in client.rescale(2).result(120)
    third = client.stop_with_savepoint(False, f"{PLACE}/sp").result(120)
    client.get_job_execution_result().result(60)
    assert 0 < len(sink.results()) < 200

    live = environment(f"{PLACE}/four", 12).from_savepoint(third)
    live.configure(Configuration.of({"execution.engine": "live", "spark.master": "local[3]"}))
    add_job(live, sink)
    live.execute()
    assert Counter(map(tuple, sink.results())) == EXPECTED
    check_looking_after(objects, first, second)


def check_looking_after(objects: ObjectStore, first: str, second: str) -> None:
    """Garbage is found and removed, and a damaged savepoint is refused."""
    left = f"{BUCKET}/sp/left"
    objects.write(f"{left}/{UNFINISHED}", b"1000")
    objects.write(f"{left}/job.json", b"{}")
    told = said("savepoint", "gc", f"{PLACE}/sp", "--keep", "2")
    assert f"would remove s3://{left}: it was never finished" in told
    assert told.count("later ones") == 2
    assert objects.find(left)
    said("savepoint", "gc", f"{PLACE}/sp", "--keep", "3", "--delete")
    assert not objects.find(left)
    said("savepoint", "drop", second)
    assert not objects.find(second.removeprefix("s3://"))
    key = next(key for key in objects.find(first.removeprefix("s3://")) if "/runs/" in key)
    objects.write(key, objects.read(key)[:-1] + b"!")
    name = key.removeprefix(f"{first.removeprefix('s3://')}/")
    assert name in said("savepoint", "verify", first, exit_code=1)
    with pytest.raises(StateError, match=name):
        started(environment(f"{PLACE}/five", 12).from_savepoint(first), ListSink(), 1)


def test_frames_in_and_out(session: SparkSession, objects: ObjectStore) -> None:
    """All types, of a DataFrame that is not written down anywhere but in the store."""
    frame = session.createDataFrame([FULL, (None,) * len(FULL)], SCHEMA).repartition(2)
    env, found = environment(f"{PLACE}/frames", 12), list[Any]()
    stream = env.from_data_frame(frame).uid("frame")
    stream.foreach_batch(lambda df, batch: found.extend(df.collect()), schema=SCHEMA).uid("seen")
    env.execute()
    assert sorted(found, key=str) == sorted(frame.collect(), key=str)
    assert objects.find(f"{BUCKET}/frames/stored-rooms") == {}


def test_a_streaming_frame_goes_on_elsewhere(
    session: SparkSession, tmp_path: Path, objects: ObjectStore
) -> None:
    """From a savepoint, with another driver's directory, and files that came meanwhile."""
    (tmp_path / "in").mkdir()
    seen: list[int] = []
    savepoint = None
    for life, numbers in enumerate(([0, 1, 2, 3, 4], [5, 6])):
        lines(tmp_path / "in", numbers)
        env = environment(f"{PLACE}/streamed-{life}", 7)
        if savepoint is not None:
            env.from_savepoint(savepoint)
        frame = streaming(session, tmp_path / "in")
        stream = env.from_data_frame(frame, available_now=life > 0).uid("frame")
        keyed = stream.key_by(lambda row: row.key).map(lambda row: row.n).uid("keyed")
        keyed.foreach_batch(
            lambda df, batch: seen.extend(row.value for row in df.collect()), schema="value long"
        ).uid("seen")
        client = env.execute_async()
        if not life:
            until(lambda: len(seen) > 20)
            savepoint = client.stop_with_savepoint(False, f"{PLACE}/streamed-sp").result(120)
        client.get_job_execution_result().result(60)
    assert sorted(seen) == list(range(70))
    env = environment(tmp_path / "files", 7).from_savepoint(savepoint)
    env.from_data_frame(streaming(session, tmp_path / "in")).uid("frame").print()
    with pytest.raises(StateError, match="holds what 'frame' keeps in an object store, such as ro"):
        env.execute()


def test_a_frame_with_state_is_refused(
    session: SparkSession, tmp_path: Path, objects: ObjectStore
) -> None:
    (tmp_path / "in").mkdir()
    lines(tmp_path / "in", range(1))
    env = environment(f"{PLACE}/stateful", 7)
    distinct = streaming(session, tmp_path / "in").dropDuplicates(["key"])
    env.from_data_frame(distinct, available_now=True).print()
    with pytest.raises(JobError, match="failed in its batch 0: the DataFrame keeps state in Spark"):
        env.execute()


def test_what_fails_is_named(objects: ObjectStore) -> None:
    """In a program that is large."""
    env, ballast = environment(f"{PLACE}/failing", 12), random.Random(1).randbytes(3_000_000)
    numbers = env.from_collection(list(range(50, -1, -1)))
    numbers = numbers.map(lambda n: len(ballast) // n).name("divide")
    numbers.key_by(lambda n: n).reduce(max).sink_to(ListSink())
    with pytest.raises(FunctionError, match="divide") as caught:
        env.execute()
    assert "ZeroDivisionError" in caught.value.exception


def test_states_are_queried(tmp_path: Path, objects: ObjectStore) -> None:
    sink, where = ListSink(), f"{PLACE}/queried"
    job = program(where, sink, **{"scurry.queryable-state.dir": str(tmp_path)}).execute_async()
    client = client_of(where)
    until(lambda: client.get("counts", 3).batch >= 2)
    for _ in range(5):
        check(client.get("counts", 3), client.get("seen", 3))
    job.cancel().result()
    assert len(set(sink.values)) == len(sink.values)
    assert {number % KEYS for number in sink.values} == set(range(KEYS))
