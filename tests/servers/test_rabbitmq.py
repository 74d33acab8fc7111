"""RabbitMQ as a source and a sink, with a real server."""

from __future__ import annotations

import logging
import pickle
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pika
import pytest

from scurry.common import SimpleStringSchema
from scurry.common.errors import JobError, ProgramError, TypeMismatchError
from scurry.connectors.rabbitmq import link, source
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.connectors.rabbitmq import RMQConnectionConfig, RMQSink, RMQSource
from scurry.functions.sink import CommitterContext, WriterContext
from scurry.functions.source import LAG, Json, SourceEnumerator
from scurry.runtime.batch import Batch
from scurry.testing.local import LocalJob
from scurry.testing.servers import RabbitMQServer, wait_until
from scurry.testing.sinks import ListSink


class Queue:
    """A queue with a name of its own, filled and emptied by hand."""

    def __init__(self, server: RabbitMQServer) -> None:
        self.name = f"q{uuid.uuid4().hex[:10]}"
        self._server = server
        self.config = RMQConnectionConfig.Builder().set_uri(server.uri).build()

    def _do(self, action: Callable[[Any], Any]) -> Any:
        with pika.BlockingConnection(pika.URLParameters(self._server.uri)) as connection:
            return action(connection.channel())

    def fill(self, *numbered: tuple[str, str | None]) -> None:
        def publish(channel: Any) -> None:
            channel.queue_declare(self.name, durable=True)
            channel.tx_select()
            for body, name in numbered:
                properties = pika.BasicProperties(correlation_id=name, delivery_mode=2)
                channel.basic_publish("", self.name, body.encode(), properties)
            channel.tx_commit()

        self._do(publish)

    def ready(self) -> int:
        """How many messages would be delivered to a new consumer."""
        declared = self._do(lambda channel: channel.queue_declare(self.name, passive=True))
        count: int = declared.method.message_count
        return count

    def drained(self) -> list[str]:
        def get(channel: Any) -> list[str]:
            return [
                body.decode()
                for _ in range(self.ready())
                for _, _, body in [channel.basic_get(self.name, auto_ack=True)]
            ]

        found: list[str] = self._do(get)
        return found

    def delete(self) -> None:
        self._do(lambda channel: channel.queue_delete(self.name))


@pytest.fixture
def queue(rabbitmq_server: RabbitMQServer) -> Iterator[Queue]:
    made = Queue(rabbitmq_server)
    yield made
    made.delete()


def reading(queue: Queue, with_ids: bool = True, schema: Any = None) -> RMQSource:
    return RMQSource(queue.config, queue.name, with_ids, schema or SimpleStringSchema())


def planned(
    enumerator: SourceEnumerator, source: RMQSource, position: Json, count: int, most: int = 1000
) -> tuple[list[str], Json]:
    """What a micro-batch of at most ``most`` reads once ``count`` messages have arrived."""
    wait_until(
        lambda: (
            not enumerator.plan(position, 0).ranges and enumerator.gauges()["prefetched"] >= count
        )
    )
    plan = enumerator.plan(position, most)
    reader = pickle.loads(pickle.dumps(source))
    rows = [row for each in plan.ranges for part in reader.read(each.what) for row in part.rows]
    return rows, plan.position


def test_messages_stay_in_the_queue_until_their_batch_is_durable(queue: Queue) -> None:
    queue.fill(("a", "1"), ("b", "2"), ("c", "3"))
    reads = reading(queue)
    first = reads.enumerator(1)
    rows, position = planned(first, reads, first.initial_position(), 3, most=2)
    assert rows == ["a", "b"]
    first.committed(position)
    rows, position = planned(first, reads, position, 1)
    assert (rows, position) == (["c"], {"ids": ["3"]})
    first.close()
    # "c" was planned and never committed
    assert queue.ready() == 1


def test_messages_that_wait_are_told(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the server keeps back count as well as those that have arrived."""
    monkeypatch.setattr(source, "_COUNT_SECONDS", 0.0)
    uri = queue.config.get_uri()
    assert uri is not None
    queue.config = RMQConnectionConfig.Builder().set_uri(uri).set_prefetch_count(2).build()
    queue.fill(*((str(n), str(n)) for n in range(5)))
    reads = reading(queue)
    first = reads.enumerator(1)
    rows, position = planned(first, reads, first.initial_position(), 2, most=1)
    assert (rows, first.gauges()[LAG]) == (["0"], 4)
    first.committed(position)
    rows, position = planned(first, reads, position, 2, most=2)
    assert (rows, first.gauges()[LAG]) == (["1", "2"], 2)
    first.committed(position)
    rows, _ = planned(first, reads, position, 2)
    assert (rows, first.gauges()[LAG]) == (["3", "4"], 0)
    first.close()


def test_a_message_that_comes_again_is_known_by_its_id(queue: Queue) -> None:
    queue.fill(("a", "1"), ("b", "2"))
    reads = reading(queue)
    first = reads.enumerator(1)
    rows, position = planned(first, reads, first.initial_position(), 2)
    assert rows == ["a", "b"]
    first.close()  # the batch is durable, but the server was never told
    second = reads.enumerator(1)
    assert planned(second, reads, position, 2) == ([], position)
    second.close()
    assert queue.ready() == 0
    queue.fill(("c", "3"), ("c", "3"))
    third = reads.enumerator(1)
    # whether "1" and "2" will come again is not known here
    assert planned(third, reads, position, 2) == (["c"], {"ids": ["1", "2", "3"]})
    third.close()


def test_ids_that_never_came_again_are_forgotten(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_REMEMBER_SECONDS", 0.0)
    queue.fill(("a", "1"))
    reads = reading(queue)
    enumerator = reads.enumerator(1)
    assert planned(enumerator, reads, {"ids": ["0"]}, 1) == (["a"], {"ids": ["1"]})
    enumerator.close()


def test_without_ids_it_is_at_least_once(queue: Queue) -> None:
    queue.fill(("a", None), ("b", None))
    reads = reading(queue, with_ids=False)
    first = reads.enumerator(1)
    rows, position = planned(first, reads, first.initial_position(), 2)
    first.close()
    second = reads.enumerator(1)
    assert planned(second, reads, position, 2) == (rows, {"ids": []})
    second.committed(position)
    second.close()
    assert queue.ready() == 0


def test_a_message_without_an_id_ends_the_job(queue: Queue) -> None:
    queue.fill(("a", None))
    reads = reading(queue)
    enumerator = reads.enumerator(1)
    with pytest.raises(JobError, match="has no correlation id"):
        planned(enumerator, reads, enumerator.initial_position(), 1)
    enumerator.close()


class Numbers(SimpleStringSchema):
    def deserialize(self, message: bytes) -> Any:
        return None if message == b"none" else int(message)


def test_messages_are_decoded_by_the_schema(queue: Queue) -> None:
    queue.fill(("1", None), ("none", None), ("2", None))
    reads = reading(queue, False, Numbers())
    enumerator = reads.enumerator(1)
    assert planned(enumerator, reads, enumerator.initial_position(), 3)[0] == [1, 2]
    queue.fill(("x", None))
    with pytest.raises(TypeMismatchError, match=r"queue 'q.*cannot be decoded: ValueError.*b'x'"):
        planned(enumerator, reads, enumerator.initial_position(), 1)
    enumerator.close()


def test_no_more_is_fetched_than_was_asked_for(queue: Queue) -> None:
    queue.fill(*((str(n), None) for n in range(10)))
    uri = queue.config.get_uri()
    assert uri is not None
    config = RMQConnectionConfig.Builder().set_uri(uri).set_prefetch_count(4).build()
    made = link.Link(config, queue.name)
    wait_until(lambda: made.arrived == 4)
    first = made.take(100)
    assert made.acknowledge(first[-1].tag)
    wait_until(lambda: made.arrived == 4)
    made.close()
    assert queue.ready() == 6


def started(sink: RMQSink) -> RMQSink:
    sink.start(CommitterContext("sink", "job"))
    sink.recover(0)
    return sink


def written(sink: RMQSink, *rows: Any) -> Any:
    writer = pickle.loads(pickle.dumps(sink)).create_writer(WriterContext("sink", 0, 1))
    writer.write_records(Batch(list(rows)), 0)
    return writer.prepare()


def test_elements_become_messages(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = started(RMQSink(queue.config, queue.name, SimpleStringSchema()))
    assert sink.guarantee == "at-least-once"
    monkeypatch.setattr("scurry.connectors.rabbitmq.sink._MOST_MESSAGES", 2)
    sink.commit(0, [written(sink, *"abcde")])
    assert queue.drained() == list("abcde")
    monkeypatch.setattr("scurry.connectors.rabbitmq.sink._TRUST_SECONDS", 0.0)
    sink.commit(1, [written(sink, "f")])
    assert queue.drained() == ["f"]
    sink.close()


def test_a_queue_that_was_deleted_is_made_anew(queue: Queue) -> None:
    sink = started(RMQSink(queue.config, queue.name, SimpleStringSchema()))
    sink.commit(0, [written(sink, "a")])
    queue.delete()
    sink.commit(1, [written(sink, "b")])
    sink.close()
    reads = reading(queue, with_ids=False)
    enumerator = reads.enumerator(1)
    assert planned(enumerator, reads, enumerator.initial_position(), 1)[0] == ["b"]
    queue.delete()
    queue.fill(("c", None))
    assert planned(enumerator, reads, enumerator.initial_position(), 1)[0] == ["c"]
    enumerator.close()


def test_a_program_from_queue_to_queue(queue: Queue, rabbitmq_server: RabbitMQServer) -> None:
    target = Queue(rabbitmq_server)
    queue.fill(*((str(n), str(n)) for n in range(30)))
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    stream = env.add_source(reading(queue)).map(int)
    seen = ListSink()
    stream.key_by(lambda n: n % 3).map(lambda n: n * 10).sink_to(seen)
    stream.add_sink(RMQSink(target.config, target.name, SimpleStringSchema()))
    with LocalJob(env._compile(None)) as job:
        wait_until(lambda: job.crash_step(7))
        wait_until(lambda: not job.step(7) and len(seen.values) >= 30)
    env.close()
    assert sorted(seen.values) == [n * 10 for n in range(30)]
    assert queue.ready() == 0
    # a crash before the sinks' commit doubles nothing
    assert sorted(map(int, target.drained())) == list(range(30))
    target.delete()


def test_a_server_that_is_away_is_waited_for(
    queue: Queue, rabbitmq_server: RabbitMQServer, caplog: pytest.LogCaptureFixture
) -> None:
    queue.fill(("a", "1"), ("b", "2"))
    reads = reading(queue)
    enumerator = reads.enumerator(1)
    _, position = planned(enumerator, reads, enumerator.initial_position(), 2)
    target = Queue(rabbitmq_server)
    sink = started(RMQSink(target.config, target.name, SimpleStringSchema()))
    sink.commit(0, [written(sink, "x")])
    rabbitmq_server.stop()
    enumerator.committed(position)  # nobody hears it
    both = [
        threading.Thread(target=lambda: (time.sleep(2.5), rabbitmq_server.start())),
        threading.Thread(target=lambda: sink.commit(1, [written(sink, "y")])),
    ]
    with caplog.at_level(logging.WARNING, "scurry"):
        for thread in both:
            thread.start()
        assert planned(enumerator, reads, position, 2) == ([], position)
        for thread in both:
            thread.join()
    sink.close()
    where = f"waiting for RabbitMQ at 127.0.0.1:{rabbitmq_server.port}"
    assert f"{where} to read the queue {queue.name}" in caplog.text
    assert f"{where}, for up to 300 s more" in caplog.text
    assert target.drained() == ["x", "y"]
    target.delete()
    queue.fill(("c", "3"))
    assert planned(enumerator, reads, position, 1) == (["c"], {"ids": ["3"]})
    enumerator.close()


def test_faults_of_reaching_it_are_said(
    queue: Queue, rabbitmq_server: RabbitMQServer, caplog: pytest.LogCaptureFixture
) -> None:
    def config(port: int, password: str) -> RMQConnectionConfig.Builder:
        builder = RMQConnectionConfig.Builder().set_host("127.0.0.1").set_port(port)
        return builder.set_virtual_host("/").set_user_name("guest").set_password(password)

    wrong = config(rabbitmq_server.port, "hunter2").build()
    enumerator = RMQSource(wrong, "q", False, SimpleStringSchema()).enumerator(1)
    with pytest.raises(JobError, match=r"refuses: .*ACCESS_REFUSED") as caught:
        enumerator.plan(enumerator.initial_position(), 1)
    assert "hunter2" not in str(caught.value)
    sink = RMQSink(wrong, "q", SimpleStringSchema())
    with pytest.raises(JobError, match=r"refuses: .*ACCESS_REFUSED"):
        started(sink).commit(0, [((0, 1), [b"x"])])
    assert b"hunter2" not in pickle.dumps(sink)
    assert "hunter2" not in repr(wrong)

    away = config(1, "x").set_automatic_recovery(False).set_connection_timeout(500).build()
    enumerator = RMQSource(away, "q", False, SimpleStringSchema()).enumerator(1)
    with pytest.raises(JobError, match=r"127\.0\.0\.1:1 cannot be reached: .*refused"):
        enumerator.plan(enumerator.initial_position(), 1)
    with pytest.raises(JobError, match=r"127\.0\.0\.1:1 could not be reached .*refused"):
        started(RMQSink(away, "q", SimpleStringSchema())).commit(0, [((0, 1), [b"x"])])


def test_the_configuration_knows_what_it_was_told() -> None:
    builder = (
        RMQConnectionConfig.Builder()
        .set_host("h")
        .set_port(5)
        .set_virtual_host("/v")
        .set_user_name("u")
        .set_password("p")
        .set_automatic_recovery(True)
        .set_topology_recovery_enabled(False)
        .set_network_recovery_interval(1)
        .set_connection_timeout(2)
        .set_requested_channel_max(3)
        .set_requested_frame_max(4)
        .set_requested_heartbeat(6)
        .set_prefetch_count(7)
    )
    config = builder.build()
    assert (config.get_host(), config.get_port(), config.get_virtual_host()) == ("h", 5, "/v")
    assert (config.get_user_name(), config.get_password(), config.get_uri()) == ("u", "p", None)
    assert (config.is_automatic_recovery(), config.is_topology_recovery()) == (True, False)
    assert config.get_network_recovery_interval() == 1
    assert config.get_connection_timeout() == 2
    assert config.get_requested_channel_max() == 3
    assert config.get_requested_frame_max() == 4
    assert (config.get_requested_heartbeat(), config.get_prefetch_count()) == (6, 7)


def test_mistakes_are_found_when_the_program_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = RMQConnectionConfig.Builder()
    with pytest.raises(ProgramError, match="does not say the virtual host: call set_virtual_host"):
        builder.set_host("h").set_port(1).build()
    with pytest.raises(ProgramError, match="begins with 'http'") as caught:
        builder.set_uri("http://u:hunter2@h").build()
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ProgramError, match="takes 1 to 65535, got 0"):
        builder.set_prefetch_count(0)
    config = builder.set_uri("amqps://u:p@h/v").build()
    assert repr(config) == "RMQConnectionConfig(RabbitMQ at h:5671)"
    with pytest.raises(ProgramError, match="RMQSource takes an RMQConnectionConfig, got"):
        RMQSource("amqp://h", "q", True, SimpleStringSchema())  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="RMQSink takes the name of a queue, got ''"):
        RMQSink(config, "", SimpleStringSchema())
    with pytest.raises(ProgramError, match="takes a DeserializationSchema, got"):
        RMQSource(config, "q", True, str)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="takes a SerializationSchema, got"):
        RMQSink(config, "q", str)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "pika", None)
    with pytest.raises(ProgramError, match=r"pip install 'scurry\[rabbitmq\]'"):
        RMQSource(config, "q", True, SimpleStringSchema())


_START = """
import sys
from scurry.testing.servers import RabbitMQServer
server = RabbitMQServer()
server.port = int(sys.argv[1])
server.start()
"""


@pytest.mark.usefixtures("rabbitmq_installed")
def test_a_server_that_cannot_start_says_why_and_leaves_nothing_behind() -> None:
    with socket.socket() as other:
        # not listening: nothing answers there, and the server cannot have the port
        other.bind(("127.0.0.1", 0))
        port = str(other.getsockname()[1])
        # a process left behind would hold the output open, and this would not return
        ended = subprocess.run(
            [sys.executable, "-c", _START, port], capture_output=True, text=True, timeout=200
        )
    assert ended.returncode == 1
    assert "RabbitMQServer did not start" in ended.stderr
    assert "eaddrinuse" in ended.stderr
