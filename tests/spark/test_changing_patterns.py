"""Patterns on Spark, in a job that is killed and rescaled, find what they find without all
that: expressions, patterns that change while the job runs, and MATCH_RECOGNIZE."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.spark.test_recovery import environment
from tests.spark.test_rescaling import REPOSITORY, Numbered
from tests.unit.cep.test_dynamic_patterns import EVENT, STORY, told

from scurry.cep import CEP, Pattern
from scurry.common import Row, WatermarkStrategy
from scurry.common.fault_points import VARIABLE
from scurry.table import Schema, StreamTableEnvironment
from scurry.testing import ListSink, run_local

pytestmark = pytest.mark.spark

RISEN = """
    SELECT * FROM events MATCH_RECOGNIZE (
        PARTITION BY `user` ORDER BY rowtime
        MEASURES FIRST(A.n) AS low, COUNT(A.n) AS counted, B.n AS high
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A+ B) WITHIN INTERVAL '1' SECOND
        DEFINE A AS A.n < 10, B AS B.n > 2 * LAST(A.n)
    )
"""


def add_job(env: Any, sink: Any) -> None:
    """The same events looked at in three ways."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda item, _: item[0]
    )
    timed = [(10 * at, item) for at, item in enumerate(STORY)]
    source = env.from_collection(timed).assign_timestamps_and_watermarks(strategy)
    documents = source.filter(lambda item: not isinstance(item[1], Row)).map(lambda item: item[1])
    events = source.filter(lambda item: isinstance(item[1], Row)).map(lambda item: item[1], EVENT)
    keyed = events.key_by(lambda row: row.user)
    changing = CEP.dynamic_patterns(keyed, documents).select(lambda match: repr(told(match)))
    pattern = Pattern.begin("low").where("n < 5").followed_by("high").where("n > LAST(low.n) * 9")
    risen = CEP.pattern(keyed, pattern).select(
        lambda match: repr({name: [row.n for row in rows] for name, rows in match.items()})
    )
    t_env = StreamTableEnvironment.create(env)
    schema = (
        Schema.new_builder()
        .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
        .watermark("rowtime", "SOURCE_WATERMARK()")
        .build()
    )
    t_env.create_temporary_view("events", t_env.from_data_stream(events, schema))
    rows = t_env.to_data_stream(t_env.sql_query(RISEN)).map(lambda row: repr(tuple(row)))
    changing.union(risen, rows).sink_to(sink)


def expected() -> Counter[str]:
    """What one uninterrupted run without Spark gives."""
    env, sink = environment(Path("unused"), 1000, 1), ListSink()
    add_job(env, sink)
    run_local(env)
    assert len(sink.values) == 19
    return Counter(sink.values)


def run(root: Path, parallelism: int, strike: bool = False) -> None:
    """Run the job to its end, or until it is struck in its second micro-batch, when that has
    reached the sink and not the checkpoint."""
    env = environment(root / "ck", 9, parallelism)
    add_job(env, Numbered(root / "out"))
    if strike:
        env.on_progress(lambda progress: (root / "after-sinks").write_text("SIGKILL"))
    env.execute()


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from tests.spark.test_changing_patterns import run
run(Path({root!r}), 1, strike=True)
"""


def test_a_job_that_is_killed_and_rescaled(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    script = tmp_path / "job.py"
    script.write_text(SCRIPT.format(tests=str(REPOSITORY), root=str(tmp_path)))
    surroundings = {VARIABLE: str(tmp_path), "PYTHONPATH": str(REPOSITORY / "src")}
    subprocess.run(
        [sys.executable, str(script)],
        check=False,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **surroundings, "SCURRY_MASTER": "local[2]"},
    )
    assert (tmp_path / "after-sinks.struck").exists()
    run(tmp_path, 2)
    assert Counter(Numbered(tmp_path / "out").results()) == expected()
