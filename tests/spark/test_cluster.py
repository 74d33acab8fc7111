"""On several executors: slots, state and restarts across processes, not only threads of one JVM."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

SCRIPT = """
import json, os, sys
from pyspark.sql import SparkSession
from scurry.engine.spark.class_archive import java_options
options = " ".join(["-XX:TieredStopAtLevel=1", *java_options()])
session = (
    SparkSession.builder.master("local-cluster[2,1,1024]")
    .config("spark.ui.enabled", "false").config("spark.log.level", "FATAL")
    .config("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"])
    .config("spark.driver.extraJavaOptions", options)
    .config("spark.executor.extraJavaOptions", options)
    .config("spark.driver.host", "127.0.0.1").getOrCreate()
)
from scurry.common import Configuration
from scurry.datastream import BroadcastProcessFunction, KeyedProcessFunction
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.state import MapStateDescriptor, ValueStateDescriptor

class Count(KeyedProcessFunction):
    def open(self, ctx):
        self.count = ctx.get_state(ValueStateDescriptor("count"))
    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value(), os.environ.get("SPARK_EXECUTOR_DIRS", "") and os.getppid()

for engine in ("micro-batch", "live"):
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.of({"scurry.batch.max-records": "25", "execution.engine": engine})
    )
    env.set_parallelism(2)
    stream = env.from_collection([i * 7 % 10 for i in range(100)])
    rows = list(stream.key_by(lambda e: e).process(Count()).uid("count").execute_and_collect())
    print("RESULT" + json.dumps(rows))

class Match(BroadcastProcessFunction):
    def open(self, ctx):
        self.place = ctx.get_index_of_this_subtask()
    def process_element(self, value, ctx):
        yield value, self.place, list(ctx.get_broadcast_state(RULES).keys())
    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value, True)

RULES = MapStateDescriptor("rules")
env = StreamExecutionEnvironment.get_execution_environment(
    Configuration.of({"scurry.batch.max-records": "15"})
)
env.set_parallelism(2)
source = env.from_collection([i if i % 10 else f"r{i:02}" for i in range(60)])
events = source.filter(lambda e: isinstance(e, int))
rules = source.filter(lambda e: isinstance(e, str))
matched = events.connect(rules.broadcast(RULES)).process(Match())
print("RULES" + json.dumps(list(matched.execute_and_collect())))

import time
from scurry.connectors.number_seq import NumberSequenceSource
from scurry.engine.status import status_of
from scurry.queryable import QueryableStateClient, QueryFailed

class Seen(KeyedProcessFunction):
    def open(self, ctx):
        seen = ValueStateDescriptor("seen")
        seen.set_queryable("seen")
        self.seen = ctx.get_state(seen)
    def process_element(self, value, ctx):
        count, _ = self.seen.value() or (0, 0)
        self.seen.update((count + 1, os.getppid()))
        yield value

env = StreamExecutionEnvironment.get_execution_environment(Configuration.of({
    "scurry.batch.max-records": "50",
    "execution.checkpointing.dir": sys.argv[1] + "/checkpoint",
    "queryable-state.enable": "true",
    "queryable-state.server.ports": "0",
    "scurry.queryable-state.dir": sys.argv[1],
}))
env.set_parallelism(2)
numbers = env.from_source(NumberSequenceSource(0, 10**9), None, "numbers").uid("numbers")
numbers.key_by(lambda n: n % 10).process(Seen()).uid("seen").print()
job = env.execute_async("seen")
while not (status := status_of(sys.argv[1] + "/checkpoint")) or not status.queries:
    time.sleep(0.1)
client = QueryableStateClient(status.queries, "seen")
found = {}
while len(found) < 10:
    time.sleep(0.1)
    try:
        found = client.get_many("seen", range(10))
    except QueryFailed:
        pass
counts = [(key, *answer.value, answer.batch) for key, answer in found.items()]
job.cancel().result()
print("QUERIES" + json.dumps(counts))
session.stop()
"""

# Has every process take the others for processes on other machines, so that they meet over TCP.
EACH_A_MACHINE = """
import os
from scurry.engine.live import doors
doors.this_machine = lambda: str(os.getpid())
"""


@pytest.mark.cluster
@pytest.mark.micro_batch("counts micro-batches")
def test_a_job_on_two_executors(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(SCRIPT)
    (tmp_path / "sitecustomize.py").write_text(EACH_A_MACHINE)
    path = os.pathsep.join([str(tmp_path), str(REPOSITORY / "src")])
    environment = {**os.environ, "PYTHONPATH": path}
    environment["PYSPARK_PYTHON"] = sys.executable
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    found = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    assert len(found) == 2, done.stdout + done.stderr
    for line in found:
        rows = json.loads(line.removeprefix("RESULT"))
        counts = Counter((key, count) for key, count, _ in rows)
        assert counts == Counter((key, n) for key in range(10) for n in range(1, 11))
        parents = {parent for *_, parent in rows}
        assert len(parents) == 2, "both executors' workers must have taken part"
    (matching,) = (line for line in done.stdout.splitlines() if line.startswith("RULES"))
    matched = json.loads(matching.removeprefix("RULES"))
    known = {event: [f"r{i:02}" for i in range(0, event, 10)] for event in range(60)}
    assert {event: rules for event, _, rules in matched} == {
        event: rules for event, rules in known.items() if event % 10
    }
    assert {place for _, place, _ in matched} == {0, 1}
    (found,) = (line for line in done.stdout.splitlines() if line.startswith("QUERIES"))
    answers = json.loads(found.removeprefix("QUERIES"))
    # all answers are of one micro-batch, which has read 50 numbers like all before it
    (batch,) = {batch for *_, batch in answers}
    assert sum(count for _, count, _, _ in answers) == 50 * (batch + 1)
    assert len({parent for _, _, parent, _ in answers}) == 2, "states of both executors"
