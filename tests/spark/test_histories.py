"""A job on Spark that goes on from an older copy of its checkpoint directory."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from scurry.common import Configuration, Encoder
from scurry.common.errors import OtherHistoryError
from scurry.common.job_status import JobStatus
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
)
from scurry.testing import ListSink

NUMBERS = list(range(60))


def environment(root: Path, records: int, choice: str, parallelism: int = 2) -> Any:
    configuration = Configuration.of(
        {
            "execution.checkpointing.dir": str(root / "ck"),
            "scurry.batch.max-records": str(records),
            "scurry.sink.on-other-history": choice,
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "5",
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    three = FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).build()
    files = (
        FileSink.for_row_format(str(root / "out"), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .enable_compact(three, FileCompactor.concat_file_compactor())
    )
    numbers = env.from_collection(NUMBERS).uid("numbers")
    numbers.key_by(lambda n: n % 7).map(lambda n: n).uid("same").sink_to(files.build()).uid("out")
    return env


def written(root: Path) -> Counter[int]:
    paths = [path for path in (root / "out").rglob("*") if ".scurry" not in path.parts]
    return Counter(int(line) for path in paths for line in path.read_text().split())


def run_until(env: Any, batch: int) -> int:
    """Run, and stop some time after micro-batch ``batch``; the last one."""
    batches: list[int] = []
    env.on_progress(lambda progress: batches.append(progress.batch))
    client = env.execute_async()
    while (not batches or batches[-1] < batch) and (
        client.get_job_status().result() is JobStatus.RUNNING
    ):
        time.sleep(0.01)
    client.cancel().result()
    return batches[-1]


@pytest.fixture
def restored(tmp_path: Path) -> int:
    """A job that was run to its end, with the copy of its checkpoint that was made on the way put
    back; the batch at which the copy stands."""
    last = run_until(environment(tmp_path, 4, "refuse"), 3)
    shutil.copytree(tmp_path / "ck", tmp_path / "copy")
    environment(tmp_path, 4, "refuse").execute()
    assert written(tmp_path) == Counter(NUMBERS)
    shutil.rmtree(tmp_path / "ck")
    shutil.copytree(tmp_path / "copy", tmp_path / "ck")
    return last


def test_an_older_copy_of_the_checkpoint_directory(tmp_path: Path, restored: int) -> None:
    # refused, and not tried again by the restart strategy
    with pytest.raises(OtherHistoryError) as caught:
        environment(tmp_path, 5, "refuse").execute()
    text = str(caught.value)
    assert "The sink 'FileSink: Writer' (uid 'out', " in text
    assert f"{__file__}:" in text
    assert f"the checkpoint in {tmp_path / 'ck'} stands at number {restored}" in text
    assert "scurry.sink.on-other-history" in text
    assert written(tmp_path) == Counter(NUMBERS)
    # truncated: exactly once, also when the parallelism is another one from now on
    environment(tmp_path, 5, "truncate", parallelism=3).execute()
    assert written(tmp_path) == Counter(NUMBERS)
    # the new history is the job's own, and the old one is refused as well now
    environment(tmp_path, 5, "refuse", parallelism=3).execute()
    assert written(tmp_path) == Counter(NUMBERS)


def test_what_is_beyond_the_copy_may_stay(tmp_path: Path, restored: int) -> None:
    environment(tmp_path, 5, "append").execute()
    found = written(tmp_path)
    doubled = {number for number, count in found.items() if count == 2}
    assert set(found) == set(NUMBERS)
    assert doubled == set(NUMBERS[4 * (restored + 1) :])
    assert set(found.values()) <= {1, 2}


def test_a_new_checkpoint_directory_is_another_job(tmp_path: Path) -> None:
    environment(tmp_path, 30, "refuse").execute()
    shutil.rmtree(tmp_path / "ck")
    environment(tmp_path, 30, "refuse").execute()
    assert written(tmp_path) == Counter(NUMBERS + NUMBERS)


def test_one_sink_object_in_two_jobs() -> None:
    sink = ListSink()
    for _ in range(2):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
        env.from_collection([1, 2]).sink_to(sink)
        env.execute()
    assert sorted(sink.values) == [1, 1, 2, 2]
