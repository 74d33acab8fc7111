"""Transactions of tasks, committed by the driver: through crashes, timeouts and second drivers."""

from __future__ import annotations

import pickle
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.kafka.conftest import Topics
from tests.kafka.test_sink import EXACTLY, serializer, staged

from scurry.common.errors import (
    ConfigurationError,
    JobError,
    LostPromiseError,
    OtherHistoryError,
    ProgramError,
)
from scurry.compile.job import CompiledJob
from scurry.connectors.kafka import promises, transactions, who_writes
from scurry.connectors.kafka.client import ClientSettings
from scurry.connectors.kafka.coordinators import Coordinators
from scurry.connectors.kafka.promises import PromisedTransactions, tickets_of
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.connectors.kafka import KafkaSink
from scurry.engine import protocol, rounds
from scurry.functions.sink import CommitterContext, WriterContext
from scurry.testing import LocalJob
from scurry.testing.local_rounds import LocalRounds

ROWS = [str(n) for n in range(60)]
ALL = Counter(row.encode() for row in ROWS)

POINTS = ["before-sinks", "promised", "kafka-between-transactions", "after-sinks"]


def sink(
    topics: Topics,
    topic: str,
    writers: str = "tasks",
    bears_loss: bool = False,
    **properties: str,
) -> KafkaSink:
    builder = KafkaSink.builder().set_bootstrap_servers(topics.servers)
    builder.set_record_serializer(serializer(topic)).set_delivery_guarantee(EXACTLY)
    for key, value in properties.items():
        builder.set_property(key.replace("_", "."), value)
    builder.set_fail_on_data_loss(not bears_loss)
    return builder.set_transactional_id_prefix(topic).set_transaction_writers(writers).build()


def started(topics: Topics, topic: str, **properties: str) -> KafkaSink:
    """A sink as a driver has it, whose tasks write."""
    made = sink(topics, topic, **properties)
    made.take_room(Path())
    made.start(CommitterContext("s", "checkpoint"))
    made.committed_mark()
    made.recover(0)
    return made


def program(target: KafkaSink, parallelism: int = 2) -> CompiledJob:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    rows = env.from_collection(ROWS).uid("rows").rebalance().map(lambda row: row).uid("map")
    rows.sink_to(target).uid("s")
    return env._compile(None)


@pytest.fixture
def coordinators(topics: Topics) -> Coordinators:
    return Coordinators(ClientSettings({"bootstrap.servers": topics.servers}), "test")


class Crash(Exception):
    """The driver dies."""


def die_at(point: str, patch: pytest.MonkeyPatch, times: int = 1) -> None:
    left = [times]

    def strike(name: str) -> None:
        left[0] -= name == point
        if not left[0]:
            raise Crash

    for module in (protocol, rounds, promises, transactions):
        patch.setattr(module, "fault_point", strike)


@pytest.mark.parametrize("driver", ["same", "next"])
@pytest.mark.parametrize("point", POINTS)
def test_a_driver_that_dies(topics: Topics, point: str, driver: str) -> None:
    topic = topics.create(partitions=2)
    first, second = sink(topics, topic), sink(topics, topic)
    job = dead = LocalJob(program(first))
    job.step(20)
    with pytest.MonkeyPatch.context() as patch:
        die_at(point, patch)
        with pytest.raises(Crash):
            job.step(20)
    if driver == "same":
        job.recover()
    else:
        job = LocalJob(program(second), after=job)
    due = 20 if point == "before-sinks" else 40
    assert sum(Counter(topics.values(topic)).values()) == due, "before anything is run again"
    while job.step(20):
        pass
    for each in {dead, job}:
        each.close()
    assert Counter(topics.values(topic)) == ALL


LIVE = [
    *(("tasks", point) for point in ("before-epoch", "after-epoch", "kafka-between-transactions")),
    *(("driver", point) for point in ("before-epoch", "after-epoch", "kafka-transaction")),
]


@pytest.mark.parametrize("driver", ["same", "next"])
@pytest.mark.parametrize(("writers", "point"), LIVE)
def test_a_live_driver_that_dies(topics: Topics, writers: str, point: str, driver: str) -> None:
    topic = topics.create(partitions=2)
    job = dead = LocalRounds(program(sink(topics, topic, writers)))
    job.step(6)
    size = len(topics.values(topic))
    with pytest.MonkeyPatch.context() as patch:
        die_at(point, patch)
        with pytest.raises(Crash):
            job.step(6)
        # as an attempt does that fails
        job._protocol.abort()
    if driver == "same":
        job.recover()
    else:
        job = LocalRounds(program(sink(topics, topic, writers)), after=job)
    due = size if point == "before-epoch" else 2 * size
    assert len(topics.values(topic)) == due, "before anything is run again"
    while job.step(6):
        pass
    for each in {dead, job}:
        each.close()
    assert Counter(topics.values(topic)) == ALL


def test_a_live_job_says_what_it_has_lost(
    topics: Topics, coordinators: Coordinators, caplog: pytest.LogCaptureFixture
) -> None:
    topic = topics.create(partitions=2)
    job = LocalRounds(program(sink(topics, topic, transaction_timeout_ms="1000")))
    with pytest.MonkeyPatch.context() as patch:
        die_at("kafka-between-transactions", patch)
        with pytest.raises(Crash):
            job.step(6)
    tickets = tickets_of(map(pickle.loads, job.checkpoint.promises(0)["s"]))
    await_abort(coordinators, [ticket.transactional_id for ticket in tickets])
    with pytest.raises(LostPromiseError, match="1 of the 2 transactions of micro-batch 0"):
        job.recover()
    kept = Counter(topics.values(topic))
    dead, job = job, LocalRounds(program(sink(topics, topic, bears_loss=True)), after=job)
    assert "The job goes on without them" in caplog.text
    while job.step(6):
        pass
    for each in (dead, job):
        each.close()
    found = Counter(topics.values(topic))
    missing = ALL - found
    assert sum(missing.values()) == int(re.search(r"(\d+) records of the topic", caplog.text)[1])
    assert 0 < sum(missing.values()) < 20
    assert found - kept == ALL - kept - missing, "everything else is there once"


def test_timeouts_that_do_not_last_from_checkpoint_to_checkpoint(topics: Topics) -> None:
    def build(interval: str, **more: Any) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.get_configuration().set_string("execution.engine", "live")
        env.get_configuration().set_string("execution.checkpointing.interval", interval)
        env.from_collection(ROWS).sink_to(sink(topics, "t", **more)).uid("s").name("out")
        env._compile(None)

    build("14 min")
    build("30 s", writers="driver", transaction_timeout_ms="1000")
    with pytest.raises(ConfigurationError, match=r"may stay open for 900 s .* 960 s apart") as no:
        build("16 min")
    assert "in the sink 'out'" in str(no.value)
    with pytest.raises(ConfigurationError, match="Make checkpoints more often"):
        build("5 s", transaction_timeout_ms="5000")
    with pytest.raises(ConfigurationError, match="is a number of milliseconds, got 'soon'"):
        build("5 s", transaction_timeout_ms="soon")


def test_producers_are_used_again(topics: Topics) -> None:
    topic = topics.create(partitions=2)
    driver = started(topics, topic)
    writer = driver.create_writer(WriterContext("s", 0, 1))
    found = []
    for batch in range(4):
        writer.write([f"{batch} {n}" for n in range(100)])
        message = writer.prepare()
        assert (message["records"], message["topic"], message["task"]) == (100, topic, 0)
        assert topics_size(topics, topic) == 100 * batch, "not visible before it is committed"
        driver.commit(batch, [message])
        driver.commit(batch, [message])
        found.append(message["transactional_id"])
    assert len(topics.values(topic)) == 400
    assert len(set(found)) == 1
    writer.write([])
    assert writer.prepare() is None
    writer.close()
    driver.close()


def topics_size(topics: Topics, topic: str) -> int:
    """Records that a consumer of committed ones sees while transactions are open."""
    from confluent_kafka import IsolationLevel, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    wanted = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(2)}
    level = IsolationLevel.READ_COMMITTED
    found = topics.admin.list_offsets(wanted, isolation_level=level, request_timeout=10)
    # every committed transaction has left a marker in each partition that it wrote to
    ends = sum(found[place].result().offset for place in wanted)
    return ends - ends % 100


def test_a_writer_does_not_wait_for_the_driver(topics: Topics) -> None:
    topic = topics.create()
    driver = started(topics, topic)
    writer = driver.create_writer(WriterContext("s", 0, 1))
    messages = []
    for number in range(3):
        writer.write([str(number)])
        messages.append(writer.prepare())
    assert len({message["transactional_id"] for message in messages}) == 3
    for batch, message in enumerate(messages):
        driver.commit(batch, [message])
    assert topics.values(topic) == [b"0", b"1", b"2"]
    writer.write(["3"])
    again = writer.prepare()
    assert again["transactional_id"] in {message["transactional_id"] for message in messages}
    driver.commit(3, [again])
    assert topics.values(topic) == [b"0", b"1", b"2", b"3"]
    driver.close()


WRITER = """
import json, os, signal, sys
from pathlib import Path
from scurry.functions.sink import WriterContext
from tests.kafka.conftest import Topics
from tests.kafka.test_task_transactions import sink
target = sink(Topics(sys.argv[1]), sys.argv[2])
target.take_room(Path())
writer = target.create_writer(WriterContext("s", 0, 1))
writer.write([str(n) for n in range(1000)])
print(json.dumps(writer.prepare()), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_writer_that_is_killed(topics: Topics) -> None:
    topic = topics.create(partitions=2)
    killed = subprocess.run(
        [sys.executable, "-c", WRITER, topics.servers, topic],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    message = msgspec.json.decode(killed.stdout)
    driver = started_without_sweep(topics, topic)
    driver.commit(0, [message])
    driver.recover(1)
    assert len(topics.values(topic)) == 1000
    driver.commit(0, [message])
    assert len(topics.values(topic)) == 1000
    driver.close()


def started_without_sweep(topics: Topics, topic: str) -> KafkaSink:
    made = sink(topics, topic)
    made.take_room(Path())
    made.start(CommitterContext("s", "checkpoint"))
    made.committed_mark()
    return made


def test_what_nobody_promised_is_aborted(topics: Topics) -> None:
    topic = topics.create()
    driver = started(topics, topic)
    writer = driver.create_writer(WriterContext("s", 0, 2))
    writer.write(["void"])
    writer.prepare()
    # neither of these is the sink's
    others = [topics.producer(transactional_id=name) for name in (f"{topic}-s/0/x", f"{topic}-t")]
    for other in others:
        other.init_transactions(10)
        other.begin_transaction()
        other.produce(topic, "other")
        other.flush(10)
    started(topics, topic).close()
    for other in others:
        other.commit_transaction(10)
    assert topics.values(topic) == [b"other", b"other"]
    # the writer does not know yet, and goes on
    writer.write(["kept"])
    driver.commit(0, [writer.prepare()])
    assert topics.values(topic) == [b"other", b"other", b"kept"]
    driver.close()


def test_of_two_attempts_at_a_task_one_counts(topics: Topics) -> None:
    topic = topics.create()
    driver = started(topics, topic)
    slow, fast = (driver.create_writer(WriterContext("s", 0, 1)) for _ in range(2))
    slow.write(["0"])
    first = slow.prepare()
    driver.commit(0, [first])
    for writer in (slow, fast):
        writer.write(["1"])
    forgotten, counted = slow.prepare(), fast.prepare()
    driver.commit(1, [counted])
    # the driver has noticed that another writer is in charge: nothing stays open
    assert topics.values(topic) == [b"0", b"1"]
    with pytest.raises(LostPromiseError):
        PromisedTransactions(
            ClientSettings({"bootstrap.servers": topics.servers}), f"{topic}-s"
        ).commit(1, tickets_of([forgotten]))
    slow.write(["2"])
    driver.commit(2, [slow.prepare()])
    assert topics.values(topic) == [b"0", b"1", b"2"]
    driver.close()


def test_a_driver_that_was_taken_for_dead(topics: Topics) -> None:
    topic = topics.create(partitions=2)
    zombie = LocalJob(program(sink(topics, topic)))
    zombie.step(20)
    zombie.plan_step(20)
    envelopes = list(zombie._execute())
    # its tasks have written, its driver sleeps; the next one takes over
    job = LocalJob(program(sink(topics, topic)), after=zombie)
    with pytest.MonkeyPatch.context() as patch:
        # it wakes after its last look at the lease
        patch.setattr(zombie.lease, "check", lambda: None)
        with pytest.raises(FileNotFoundError):
            zombie._protocol.finish_batch(zombie.batch, envelopes)
    while job.step(20):
        pass
    job.close()
    zombie.close()
    assert Counter(topics.values(topic)) == ALL


def await_abort(coordinators: Coordinators, names: list[str]) -> None:
    deadline = time.monotonic() + 20
    while any(state.name == "Ongoing" for state in coordinators.describe(names).values()):
        assert time.monotonic() < deadline, "the brokers do not abort"
        time.sleep(0.1)


def test_a_promised_transaction_that_timed_out_is_written_again(
    topics: Topics, coordinators: Coordinators, caplog: pytest.LogCaptureFixture
) -> None:
    topic = topics.create(partitions=2)
    job = LocalJob(program(sink(topics, topic, transaction_timeout_ms="1000")))
    job.step(20)
    with pytest.MonkeyPatch.context() as patch:
        die_at("kafka-between-transactions", patch)
        with pytest.raises(Crash):
            job.step(20)
    held = [each["transactional_id"] for each in job.checkpoint.pledge_of(1)["s"]]
    assert len(held) == 2
    await_abort(coordinators, held)
    job.recover()
    assert "has aborted 1 of the 2 transactions of micro-batch 1" in caplog.text
    assert f"10 records of the topic {topic!r} are missing" in caplog.text
    assert "written again" in caplog.text
    while job.step(20):
        pass
    job.close()
    assert Counter(topics.values(topic)) == ALL


def test_what_a_rescaled_job_cannot_write_again_stops_it(
    topics: Topics, coordinators: Coordinators
) -> None:
    topic = topics.create(partitions=2)
    target = sink(topics, topic, transaction_timeout_ms="1000")
    job = LocalJob(program(target))
    with pytest.MonkeyPatch.context() as patch:
        die_at("kafka-between-transactions", patch)
        with pytest.raises(Crash):
            job.step(20)
    held = [each["transactional_id"] for each in job.checkpoint.pledge_of(0)["s"]]
    await_abort(coordinators, held)
    job.checkpoint.roll_back()
    job.rescale(program(target, 3))
    with pytest.raises(LostPromiseError, match="with a parallelism of 2 for this sink"):
        job.step(20)
    job.close()


def test_a_timeout_before_the_promise_is_named(topics: Topics, coordinators: Coordinators) -> None:
    topic = topics.create()
    driver = started(topics, topic, transaction_timeout_ms="1000")
    writer: Any = driver.create_writer(WriterContext("s", 0, 1))
    writer.write(["slow"])
    writer._open.sender.producer.flush(10)
    await_abort(coordinators, [writer._open.name])
    with pytest.raises(JobError, match=r"has ended the transaction .* transaction.timeout.ms"):
        writer.prepare()
    driver.close()


def test_a_timeout_longer_than_brokers_allow_is_named(topics: Topics) -> None:
    target = sink(topics, topics.create(), transaction_timeout_ms="90000000")
    target.take_room(Path())
    with pytest.raises(JobError, match=r"larger than the maximum value allowed"):
        target.create_writer(WriterContext("s", 0, 1)).write(["x"])
    target.start(CommitterContext("s", "checkpoint"))
    with pytest.raises(JobError, match=r"larger than the maximum value allowed"):
        target.committed_mark()


def test_from_the_driver_to_the_tasks_and_back(topics: Topics) -> None:
    """The micro-batch after which the change is made may be in Kafka already."""
    topic = topics.create(partitions=2)
    writers = ["driver", "tasks", "driver"]
    job = LocalJob(program(sink(topics, topic, writers[0])))
    for following in writers[1:]:
        with pytest.MonkeyPatch.context() as patch:
            die_at("after-sinks", patch)
            with pytest.raises(Crash):
                job.step(20)
        before, job = job, LocalJob(program(sink(topics, topic, following)), after=job)
        before.close()
        job.step(20)
    while job.step(20):
        pass
    job.close()
    assert Counter(topics.values(topic)) == ALL


def test_a_copy_made_before_the_promise_is_refused_while_it_is_kept(topics: Topics) -> None:
    topic = topics.create(partitions=2)
    job = LocalJob(program(sink(topics, topic)))
    job.step(20)
    job.plan_step(20)
    copy = job.copy_checkpoint()
    with pytest.MonkeyPatch.context() as patch:
        die_at("kafka-between-transactions", patch)
        with pytest.raises(Crash):
            job.step(20)
    with pytest.raises(OtherHistoryError, match="does not promise it"):
        job.go_back(copy)
    job.close()


def test_who_writes(topics: Topics, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "scurry.kafka")
    topic = topics.create()
    assert "each task in transactions of its own, where the brokers allow that" in explained(
        sink(topics, topic, "auto")
    )
    assert "the driver in one transaction" in explained(sink(topics, topic, "driver"))
    target = sink(topics, topic, "auto")
    target.take_room(Path())
    assert target.promises
    assert "each task writes in transactions of its own" in caplog.text
    # librdkafka can do Kerberos; we cannot
    kerberos = sink(topics, topic, "auto", security_protocol="SASL_PLAINTEXT")
    kerberos.take_room(Path())
    assert not kerberos.promises
    assert "the driver writes all records" in caplog.text
    assert "the SASL mechanism is GSSAPI" in caplog.text
    kerberos = sink(topics, topic, "tasks", security_protocol="SASL_PLAINTEXT")
    with pytest.raises(ConfigurationError, match="the SASL mechanism is GSSAPI"):
        kerberos.take_room(Path())


def test_brokers_that_do_not_answer(
    topics: Topics, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(who_writes, "_START_SECONDS", 0.0)
    settings = ClientSettings({"bootstrap.servers": "127.0.0.1:1"})
    assert not who_writes.tasks_can_write(settings, "auto")
    assert "no broker answers (127.0.0.1:1: " in caplog.text


def test_brokers_that_are_away_do_not_keep_a_job_from_ending(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(promises, "_PATIENCE_SECONDS", 0.1)
    settings = ClientSettings({"bootstrap.servers": "127.0.0.1:1"})
    PromisedTransactions(settings, "t-s").sweep()
    assert "left open at Kafka at 127.0.0.1:1 are not aborted now" in caplog.text


def explained(target: KafkaSink) -> str:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    env.from_collection(["x"]).sink_to(target)
    return env.explain()


def test_writers_are_tasks_driver_or_auto(topics: Topics) -> None:
    with pytest.raises(ProgramError, match="'auto', 'tasks' or 'driver', got 'both'"):
        sink(topics, "t", "both")


def test_tickets_and_records_are_told_apart(topics: Topics) -> None:
    topic = topics.create()
    driver = sink(topics, topic, "driver")
    driver.take_room(Path())
    assert not driver.promises
    assert tickets_of([staged(driver, 0, ["a"])]) == []
