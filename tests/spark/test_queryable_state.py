"""State queried over HTTP while a job runs on Spark, through crashes, restarts and new drivers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from scurry.cli.main import main
from scurry.common import Configuration, Time, Types, WatermarkStrategy
from scurry.common.errors import ConfigurationError
from scurry.connectors.number_seq import NumberSequenceSource
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.state import ListStateDescriptor, ValueStateDescriptor
from scurry.datastream.window import TumblingEventTimeWindows
from scurry.engine.status import status_of
from scurry.queryable import Answer, QueryableStateClient, QueryFailed
from scurry.testing import ListSink

KEYS, BATCH = 7, 50
REPOSITORY = Path(__file__).parents[2]


class Summing(KeyedProcessFunction):
    """Keeps the count and the last numbers of each key; notes in which processes it runs."""

    def __init__(self, processes: Path | None = None) -> None:
        self.processes = processes

    def open(self, runtime_context: Any) -> None:
        if self.processes is not None:
            (self.processes / str(os.getpid())).touch()
        count = ValueStateDescriptor("count", Types.LONG())
        count.set_queryable("counts")
        seen = ListStateDescriptor("seen", Types.LONG())
        seen.set_queryable("seen")
        self.count = runtime_context.get_state(count)
        self.seen = runtime_context.get_list_state(seen)

    def process_element(self, number: int, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        self.seen.add(number)
        yield number


class FailingSink(ListSink):
    """Stops in the commit of one micro-batch until it is told to fail there."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at
        self.reached, self.fail = threading.Event(), threading.Event()

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        if batch_id == self.at and not self.fail.is_set():
            self.reached.set()
            self.fail.wait(60)
            raise OSError("the target is gone")
        super().commit(batch_id, messages)


def program(
    root: Path | str,
    sink: ListSink,
    parallelism: int = 2,
    processes: Path | None = None,
    **more: Any,
) -> Any:
    conf = Configuration()
    conf.set_string("execution.checkpointing.dir", str(root))
    conf.set_integer("scurry.batch.max-records", BATCH)
    conf.set_string("queryable-state.enable", "true")
    conf.set_string("queryable-state.server.ports", "0")
    if isinstance(root, Path):
        conf.set_string("scurry.queryable-state.dir", str(root.parent))
    for name, value in more.items():
        conf.set_string(name, value)
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    env.set_parallelism(parallelism)
    numbers = env.from_source(NumberSequenceSource(0, 10**12), None, "numbers").uid("numbers")
    numbers.key_by(lambda n: n % KEYS).process(Summing(processes)).uid("summing").sink_to(sink).uid(
        "sink"
    )
    return env


def until(found: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            value = found()
        except QueryFailed:
            value = None
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError("nothing has come")


def client_of(root: Path | str, token: str = "") -> QueryableStateClient:
    status = until(lambda: (s := status_of(str(root))) and s.queries and s)
    return QueryableStateClient(status.queries, status.metrics.job_id, token)


def check(answer: Answer, seen: Answer) -> None:
    """An answer is what the input up to its micro-batch gives, whoever has read what of it."""
    assert len(seen.value) == answer.value or seen.batch != answer.batch
    assert all(number % KEYS == answer.key for number in seen.value)


@pytest.mark.micro_batch("in the live engine a checkpoint counts before sinks commit")
def test_a_query_never_sees_what_a_crash_takes_back(tmp_path: Path) -> None:
    sink = FailingSink(at=4)
    strategy = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "3",
        "restart-strategy.fixed-delay.delay": "1 s",
    }
    job = program(tmp_path / "ck", sink, **strategy).execute_async()
    client = client_of(tmp_path / "ck")
    assert sink.reached.wait(120)
    # micro-batch 4 is computed, and its state written; nothing of it is committed
    before = until(lambda: (a := client.get("counts", 3)).batch == 3 and a)
    assert not before.stale
    total = sum(client.get("counts", key).value for key in range(KEYS))
    assert total == len(sink.values)
    sink.fail.set()
    stale = until(lambda: (a := client.get("counts", 3)).stale and a)
    assert (stale.value, stale.batch) == (before.value, before.batch)
    after = until(lambda: (a := client.get("counts", 3)).batch >= 6 and a)
    assert not after.stale
    for _ in range(20):
        check(client.get("counts", 3), client.get("seen", 3))
    job.stop_with_savepoint(False, str(tmp_path / "sp")).result(120)
    job.get_job_execution_result().result(120)
    assert len(set(sink.values)) == len(sink.values)
    with pytest.raises(Exception, match="cannot be asked"):
        client.get("counts", 3)
    check_another_parallelism(tmp_path, sink.values)


def check_another_parallelism(tmp_path: Path, seen: list[int]) -> None:
    """The job goes on from its checkpoint with another parallelism, and is asked by a command."""
    sink = ListSink()
    job = program(tmp_path / "ck", sink, parallelism=3).execute_async()
    client = client_of(tmp_path / "ck")
    answers = until(
        lambda: (found := client.get_many("seen", range(KEYS))) and len(found) == KEYS and found
    )
    assert set(seen) <= {number for answer in answers.values() for number in answer.value}
    runner = CliRunner()
    asked = ["state", "get", str(tmp_path / "ck"), "counts", "3"]
    told = json.loads(runner.invoke(main, asked, catch_exceptions=False).stdout)
    assert (told["key"], told["stale"]) == (3, False)
    listed = runner.invoke(main, ["state", "list", str(tmp_path / "ck")]).stdout.splitlines()
    assert [json.loads(line)["name"] for line in listed] == ["counts", "seen"]
    asked = ["state", "scan", str(tmp_path / "ck"), "counts", "--from", "2", "--to", "5"]
    rows = [json.loads(line) for line in runner.invoke(main, asked).stdout.splitlines()]
    assert [row["key"] for row in rows] == [2, 3, 4]
    refused = runner.invoke(main, ["state", "get", str(tmp_path / "ck"), "nothing", "3"])
    assert "There is no queryable state 'nothing'" in refused.output
    job.cancel().result(120)


def test_a_token_and_large_changes(tmp_path: Path) -> None:
    """Changes that do not fit into a message are files, which do not stay; windows are asked for
    before they fire; a wrong setting stops the job before it starts."""
    conf = {"scurry.queryable-state.token": "secret", "scurry.batch.max-records": "40000"}
    env = program(tmp_path / "ck", ListSink(), **conf)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda number, _: number
    )
    numbers = env.from_source(NumberSequenceSource(0, 10**9), strategy, "more").uid("more")
    windows = numbers.key_by(lambda n: n % 30_000).window(TumblingEventTimeWindows.of(Time.days(1)))
    windows.set_queryable("days").reduce(lambda one, other: one + other).uid("days").sink_to(
        ListSink()
    ).uid("other sink")
    job = env.execute_async()
    client = client_of(tmp_path / "ck", "secret")
    answer = until(lambda: (a := client.get("days", 77)).batch >= 2 and a)
    # the second of two partitions begins in the middle, and has windows of its own
    pane, _ = answer.value
    assert pane["window"] == {"start": 0, "end": 86_400_000}
    assert pane["value"] == sum(range(77, 20_000 * (answer.batch + 1), 30_000))
    with pytest.raises(QueryFailed, match="A token is needed"):
        client_of(tmp_path / "ck").get("days", 77)
    until(lambda: client.get("counts", 3).batch >= 4)
    job.cancel().result(120)
    assert not any((tmp_path / "ck").glob("**/feeds/*"))
    with pytest.raises(ConfigurationError, match="which other machines can reach"):
        program(
            tmp_path / "other", ListSink(), **{"scurry.queryable-state.host": "0.0.0.0"}
        ).execute_async()


def test_a_live_job_answers_from_its_checkpoints(tmp_path: Path) -> None:
    """A worker is killed meanwhile: no answer goes back behind an earlier one, and each is what the
    sink was given up to some checkpoint."""
    sink, processes = ListSink(), tmp_path / "processes"
    processes.mkdir()
    live = {
        "execution.engine": "live",
        "execution.checkpointing.interval": "100 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "3",
        "restart-strategy.fixed-delay.delay": "500 ms",
    }
    job = program(tmp_path / "ck", sink, processes=processes, **live).execute_async()
    client = client_of(tmp_path / "ck")
    answers = [until(lambda: (a := client.get("counts", 3)).batch >= 2 and a)]
    os.kill(int(next(processes.iterdir()).name), signal.SIGKILL)
    stale = until(lambda: answers.append(client.get("counts", 3)) or answers[-1].stale)
    assert stale
    until(
        lambda: (
            answers.append(client.get("counts", 3))
            or (not answers[-1].stale and answers[-1].batch > answers[0].batch + 5)
        )
    )
    for _ in range(20):
        check(client.get("counts", 3), client.get("seen", 3))
    moments = [(answer.batch, answer.value) for answer in answers]
    assert moments == sorted(moments)
    assert len(set(moments)) == len({batch for batch, _ in moments})
    job.stop_with_savepoint(False, str(tmp_path / "sp")).result(120)
    job.get_job_execution_result().result(120)
    assert len(set(sink.values)) == len(sink.values)
    assert sum(number % KEYS == 3 for number in sink.values) >= moments[-1][1]


DRIVER = """
import sys
from pathlib import Path
from tests.spark.test_queryable_state import program
from scurry.connectors.memory import DriverSink
from scurry.testing import ListSink
program(Path(sys.argv[1]), ListSink(), **{"queryable-state.server.ports": sys.argv[2]}).execute()
"""


def test_answers_go_on_when_the_driver_is_killed(tmp_path: Path) -> None:
    root = tmp_path / "ck"
    environment = {**os.environ, "PYTHONPATH": f"{REPOSITORY / 'src'}:{REPOSITORY}"}
    command = [sys.executable, "-c", DRIVER, str(root), "19167-19267"]

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)

    driver = start()
    try:
        client = client_of(root)
        first = until(lambda: (a := client.get("counts", 3)).batch >= 2 and a)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        stale = until(lambda: (a := client.get("counts", 3)).stale and a)
        assert stale.value >= first.value
        last = stale.batch
        driver = start()
        # the same process goes on to answer, and follows the new driver
        told = until(lambda: client_of(root)._job != client._job)
        assert told
        again = client_of(root)
        assert again._parts == client._parts
        fresh = until(lambda: (a := again.get("counts", 3)).batch > last and not a.stale and a)
        assert fresh.value > stale.value
        for _ in range(20):
            check(again.get("counts", 3), again.get("seen", 3))
    finally:
        driver.kill()
        driver.wait()
        for note in tmp_path.glob("scurry-*/views/*/server.json"):
            os.kill(json.loads(note.read_text())["pid"], signal.SIGTERM)
