"""What a KafkaSource reads, from a real broker, however the input is cut into micro-batches."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.kafka.conftest import Topics

from scurry.common import Row, SimpleStringSchema, Types, WatermarkStrategy
from scurry.common.errors import ConfigurationError, FunctionError, JobError
from scurry.common.watermark_strategy import TimestampAssigner
from scurry.connectors.kafka import enumerator
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.connectors.kafka import (
    DEAD_LETTERS,
    KafkaDeadLetter,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from scurry.testing import ListSink, LocalJob, collect_local

LATEST, EARLIEST = KafkaOffsetsInitializer.latest(), KafkaOffsetsInitializer.earliest()


def builder(topics: Topics) -> KafkaSourceBuilder:
    return (
        KafkaSource.builder()
        .set_bootstrap_servers(topics.servers)
        .set_value_only_deserializer(SimpleStringSchema())
        .set_bounded(LATEST)
    )


def environment(parallelism: int = 2) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    return env


def collect(source: KafkaSource, cuts: Any = None, **how: Any) -> list[Any]:
    stream = environment().from_source(source, WatermarkStrategy.no_watermarks(), "kafka")
    return collect_local(stream, cuts, **how)


def numbers(count: int, start: int = 0) -> list[str]:
    return [str(number) for number in range(start, start + count)]


@pytest.mark.parametrize("cuts", [None, 7, 40])
def test_every_record_is_read_once_and_in_order(topics: Topics, cuts: int | None) -> None:
    topic = topics.create(partitions=3)
    for partition in range(3):
        topics.fill(topic, [f"{partition}:{n}" for n in range(50)], partition)
    found = collect(builder(topics).set_topics(topic).build(), cuts, crash=[1], restart=[2])
    assert len(found) == 150
    for partition in range(3):
        mine = [row for row in found if row.startswith(f"{partition}:")]
        assert mine == [f"{partition}:{n}" for n in range(50)]


def test_bounded_means_what_was_there_when_the_job_began(topics: Topics) -> None:
    topic = topics.create()
    topics.fill(topic, numbers(10))
    env = environment()
    sink = ListSink()
    env.from_source(
        builder(topics).set_topics(topic).build(), WatermarkStrategy.no_watermarks(), "kafka"
    ).sink_to(sink)
    with LocalJob(env._compile(None)) as job:
        assert job.step(4)
        topics.fill(topic, numbers(5, 10))
        while not job.done:
            job.step(4)
    assert sink.values == numbers(10)


def test_the_end_is_what_the_program_says_now(topics: Topics) -> None:
    """Unbounded, then bounded, then with a later end, then unbounded again; nothing is read twice
    and nothing is left out."""
    topic = topics.create(partitions=2)
    sink = ListSink()

    def reading(bound: KafkaOffsetsInitializer | None) -> Any:
        source = (
            KafkaSource.builder()
            .set_bootstrap_servers(topics.servers)
            .set_value_only_deserializer(SimpleStringSchema())
            .set_topics(topic)
        )
        if bound is not None:
            source.set_bounded(bound)
        env = environment()
        stream = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "kafka")
        stream.uid("kafka").sink_to(sink)
        return env._compile(None)

    def offsets(first: int, second: int) -> KafkaOffsetsInitializer:
        ends = {KafkaTopicPartition(topic, 0): first, KafkaTopicPartition(topic, 1): second}
        return KafkaOffsetsInitializer.offsets(ends)

    def run(job: LocalJob) -> list[str]:
        before = len(sink.values)
        while job.step(4):
            pass
        return sorted(sink.values[before:], key=int)

    topics.fill(topic, numbers(5), 0)
    with LocalJob(reading(None)) as job:
        assert run(job) == numbers(5)
        assert not job.done
        topics.fill(topic, numbers(5, 5), 0)
        topics.fill(topic, numbers(5, 10), 1)
        job.continue_as(reading(offsets(7, 2)))
        assert run(job) == ["5", "6", "10", "11"]
        assert job.done
        job.continue_as(reading(offsets(7, 2)))
        assert job.done
        job.continue_as(reading(offsets(9, 2)))
        assert run(job) == ["7", "8"]
        assert job.done
        job.continue_as(reading(None))
        assert run(job) == ["9", "12", "13", "14"]
        topics.fill(topic, numbers(2, 15), 1)
        assert run(job) == ["15", "16"]
        assert not job.done
        job.continue_as(reading(LATEST))
        assert run(job) == []
        assert job.done


def test_starting_and_stopping_offsets(topics: Topics) -> None:
    topic = topics.create(partitions=2)
    topics.fill(topic, numbers(10), 0)
    topics.fill(topic, numbers(10, 100), 1)
    first, second = KafkaTopicPartition(topic, 0), KafkaTopicPartition(topic, 1)
    source = builder(topics).set_topics(topic)
    source.set_starting_offsets(KafkaOffsetsInitializer.offsets({first: 8, second: 3}))
    source.set_bounded(KafkaOffsetsInitializer.offsets({first: 10, second: 5}))
    assert sorted(collect(source.build()), key=int) == ["8", "9", "103", "104"]
    only = builder(topics).set_partitions({second}).build()
    assert collect(only) == numbers(10, 100)


def test_latest_reads_only_what_comes_later(topics: Topics) -> None:
    topic = topics.create()
    topics.fill(topic, numbers(5))
    source = builder(topics).set_topics(topic).set_starting_offsets(LATEST)
    source.set_unbounded(KafkaOffsetsInitializer.offsets({KafkaTopicPartition(topic, 0): 8}))
    env = environment()
    sink = ListSink()
    env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "kafka").sink_to(sink)
    with LocalJob(env._compile(None)) as job:
        assert not job.step()
        topics.fill(topic, numbers(3, 5))
        assert job.step()
        assert job.done
    assert sink.values == numbers(3, 5)


def test_a_timestamp_begins_at_the_first_record_not_older(topics: Topics) -> None:
    topic = topics.create()
    for stamp in (1000, 2000, 3000):
        topics.fill(topic, [str(stamp)], timestamp=stamp)
    source = builder(topics).set_topics(topic)
    source.set_starting_offsets(KafkaOffsetsInitializer.timestamp(1500))
    assert collect(source.build()) == ["2000", "3000"]
    source = builder(topics).set_topics(topic)
    source.set_starting_offsets(KafkaOffsetsInitializer.timestamp(9000))
    assert collect(source.build()) == []


def test_the_group_shows_progress_and_another_job_can_go_on_from_it(topics: Topics) -> None:
    topic = topics.create(partitions=2)
    topics.fill(topic, numbers(10), 0)
    group = f"g-{topic}"
    committed = KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.EARLIEST)

    def job() -> list[Any]:
        source = builder(topics).set_topics(topic).set_group_id(group)
        return collect(source.set_starting_offsets(committed).build(), 3)

    assert job() == numbers(10)
    topics.fill(topic, numbers(4, 10), 1)
    deadline = time.monotonic() + 10
    while (found := job()) != numbers(4, 10) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert found == numbers(4, 10)


def test_without_committed_offsets_the_strategy_none_refuses(topics: Topics) -> None:
    topic = topics.create()
    source = builder(topics).set_topics(topic).set_group_id("nobody")
    source.set_starting_offsets(KafkaOffsetsInitializer.committed_offsets())
    with pytest.raises(Exception, match=f"no committed offset for {topic}-0 in the group 'nobody'"):
        collect(source.build())


def test_offsets_that_are_not_there_go_by_the_strategy(topics: Topics) -> None:
    topic = topics.create()
    topics.fill(topic, numbers(5))
    place = {KafkaTopicPartition(topic, 0): 90}

    def start(strategy: KafkaOffsetResetStrategy) -> list[Any]:
        source = builder(topics).set_topics(topic)
        return collect(
            source.set_starting_offsets(KafkaOffsetsInitializer.offsets(place, strategy)).build()
        )

    assert start(KafkaOffsetResetStrategy.EARLIEST) == numbers(5)
    assert start(KafkaOffsetResetStrategy.LATEST) == []
    with pytest.raises(ConfigurationError, match=f"{topic}-0 holds offsets 0 to 5, not 90"):
        start(KafkaOffsetResetStrategy.NONE)


def test_a_topic_that_was_made_anew_is_noticed(
    topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enumerator, "_SHRUNK_SECONDS", 0.0)
    topic = topics.create()
    topics.fill(topic, numbers(5))
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(topics.servers)
        .set_topics(topic)
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    planning = source.enumerator(1)
    position = planning.plan(planning.initial_position(), 100).position
    topics.admin.delete_topics([topic])[topic].result(10)
    time.sleep(0.5)
    topics.create(name=topic)

    def plan_until_it_is_noticed() -> None:
        for _ in range(100):
            planning.plan(position, 100)
            time.sleep(0.1)

    with pytest.raises(JobError, match=f"{topic}-0 ends at offset 0, but was read up to 5"):
        plan_until_it_is_noticed()


def test_open_and_aborted_transactions_are_not_read(topics: Topics) -> None:
    topic = topics.create()
    producer = topics.producer(transactional_id=f"x-{topic}")
    producer.init_transactions(10)
    for number, outcome in enumerate(["commit", "abort", "commit", "abort", "commit", "abort"]):
        producer.begin_transaction()
        for value in numbers(5, number * 5):
            producer.produce(topic, value)
        producer.flush(10)  # what has not left the client before an abort never does
        getattr(producer, f"{outcome}_transaction")(10)
    topics.await_transactions(topic)
    expected = numbers(5) + numbers(5, 10) + numbers(5, 20)
    for cuts in (None, 1, 2, 7):
        assert collect(builder(topics).set_topics(topic).build(), cuts) == expected
    producer.begin_transaction()
    producer.produce(topic, "open")
    producer.flush(10)
    topics.fill(topic, ["after"])
    assert collect(builder(topics).set_topics(topic).build(), 3) == expected
    producer.commit_transaction(10)
    topics.await_transactions(topic)
    assert collect(builder(topics).set_topics(topic).build(), 3) == [*expected, "open", "after"]
    dirty = builder(topics).set_topics(topic).set_property("isolation.level", "read_uncommitted")
    assert len(collect(dirty.build(), 3)) == 32


def test_a_compacted_topic_has_gaps(topics: Topics) -> None:
    topic = topics.create(
        cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.0",
        max_compaction_lag_ms="100", min_compaction_lag_ms="0", delete_retention_ms="0",
    )  # fmt: skip
    for round_number in range(4):
        for key in range(5):
            topics.fill(topic, [f"{key}:{round_number}"], key=f"k{key}")
        time.sleep(0.15)
    deadline = time.monotonic() + 40
    gaps = False
    while not gaps and time.monotonic() < deadline:
        topics.fill(topic, ["tick"], key="tick")
        time.sleep(0.3)
        offsets = [message.offset() for message in topics.read(topic)]
        gaps = offsets != list(range(len(offsets)))
    assert gaps, "the broker has not compacted the topic"
    time.sleep(2)
    expected = topics.values(topic)
    for cuts in (None, 3):
        found = collect(builder(topics).set_topics(topic).build(), cuts)
        assert [text.encode() for text in found] == expected


def test_timestamps_of_records_are_the_elements_own(topics: Topics) -> None:
    topic = topics.create()
    for stamp in (5000, 7000, 6000):
        topics.fill(topic, [str(stamp)], timestamp=stamp)

    class Check(TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            assert record_timestamp == int(value)
            return record_timestamp

    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Check())
    stream = environment().from_source(builder(topics).set_topics(topic).build(), strategy, "k")
    assert collect_local(stream) == ["5000", "7000", "6000"]


class Everything(KafkaRecordDeserializationSchema):
    def deserialize(self, record: KafkaRecord) -> Any:
        return None if record.value == b"skip" else tuple(record)


def test_a_record_deserializer_sees_the_whole_record(topics: Topics) -> None:
    topic = topics.create()
    topics.fill(topic, [b"v"], key=b"k", headers=[("h", b"1")], timestamp=77)
    topics.fill(topic, [b"skip"])
    topics.fill(topic, [None], key=b"gone", timestamp=78)
    source = builder(topics).set_topics(topic).set_deserializer(Everything()).build()
    assert collect(source) == [
        (topic, 0, 0, 77, b"k", b"v", (("h", b"1"),)),
        (topic, 0, 2, 78, b"gone", None, ()),
    ]
    assert collect(builder(topics).set_topics(topic).build()) == ["v", "skip"]


def test_a_bad_record_fails_the_job_and_is_named(topics: Topics) -> None:
    topic = topics.create()
    topics.fill(topic, [b"ok", b"\xff\xfe", b"ok"])
    with pytest.raises(FunctionError, match=f"at offset 1 of {topic}-0 cannot be decoded"):
        collect(builder(topics).set_topics(topic).build())


@pytest.mark.parametrize("strategy", [None, WatermarkStrategy.for_monotonous_timestamps()])
def test_bad_records_go_to_the_dead_letters(topics: Topics, strategy: Any) -> None:
    topic = topics.create()
    topics.fill(topic, [b"a", b"\xff", b"b"], timestamp=9, key=b"k")
    source = builder(topics).set_topics(topic).set_bad_records("dead-letter").build()
    env = environment()
    stream = env.from_source(source, strategy, "kafka")
    dead = ListSink()
    stream.get_side_output(DEAD_LETTERS).sink_to(dead)
    assert collect_local(stream, 1, crash=[1]) == ["a", "b"]
    [letter] = dead.values
    assert isinstance(letter, KafkaDeadLetter)
    assert (letter.topic, letter.partition, letter.offset) == (topic, 0, 1)
    assert (letter.key, letter.value, letter.timestamp) == (b"k", b"\xff", 9)
    assert letter.error.startswith("UnicodeDecodeError: ")
    skipping = builder(topics).set_topics(topic).set_bad_records("skip").build()
    assert collect(skipping) == ["a", "b"]


def test_new_partitions_and_topics_are_found(topics: Topics) -> None:
    name = topics.create()
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(topics.servers)
        .set_value_only_deserializer(SimpleStringSchema())
        .set_topic_pattern(f"{name}(-more)?")
        .set_starting_offsets(LATEST)
        .set_property("partition.discovery.interval.ms", "50")
        .build()
    )
    env = environment()
    sink = ListSink()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka").sink_to(sink)
    with LocalJob(env._compile(None)) as job:
        topics.fill(name, ["first"])
        assert job.step()
        topics.add_partitions(name, 2)
        topics.create(name=f"{name}-more")
        topics.create(name=f"{name}-other")
        for topic, partition in ((name, 1), (f"{name}-more", 0), (f"{name}-other", 0)):
            topics.fill(topic, [f"{topic}-{partition}"], partition)
        deadline = time.monotonic() + 20
        while len(sink.values) < 3 and time.monotonic() < deadline:
            job.step()
            time.sleep(0.05)
    assert sorted(sink.values) == sorted(["first", f"{name}-1", f"{name}-more-0"])


def test_a_micro_batch_keeps_to_its_limits(topics: Topics) -> None:
    topic = topics.create(partitions=2)
    for partition in range(2):
        topics.fill(topic, ["x" * 1000] * 200, partition)
    source = builder(topics).set_topics(topic).set_max_bytes_per_batch(50_000).build()
    env = environment()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka").name("kafka")
    sink = ListSink()
    stream.sink_to(sink)
    sizes = []
    with LocalJob(env._compile(None)) as job:
        while not job.done:
            before = len(sink.values)
            job.step()
            sizes.append(len(sink.values) - before)
            lag = next(v for k, v in job.planner.gauges().items() if k.startswith("lag:"))
            assert lag == 400 - len(sink.values)
            (kafka,) = [o for o in job.job_metrics.operators if o.kind == "source"]
            assert kafka.pending_records == lag
    assert sum(sizes) == 400
    assert max(sizes) <= 52
    limited = builder(topics).set_topics(topic).set_max_records_per_batch(10).build()
    env = environment()
    sink = ListSink()
    env.from_source(limited, WatermarkStrategy.no_watermarks(), "kafka").sink_to(sink)
    with LocalJob(env._compile(None)) as job:
        job.step()
    assert len(sink.values) == 10


def test_a_missing_topic_is_named(topics: Topics) -> None:
    with pytest.raises(JobError, match="has no topic 'nothing-here'"):
        collect(builder(topics).set_topics("nothing-here").build())


@pytest.mark.parametrize("fail", [True, False])
def test_records_that_retention_removed_are_missed(topics: Topics, fail: bool) -> None:
    from confluent_kafka import TopicPartition

    topic = topics.create()
    topics.fill(topic, numbers(10))
    source = builder(topics).set_topics(topic).set_fail_on_data_loss(fail).build()
    env = environment()
    sink = ListSink()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka").sink_to(sink)
    with LocalJob(env._compile(None)) as job:
        assert job.plan_step()
        gone = TopicPartition(topic, 0, 6)
        topics.admin.delete_records([gone])[gone].result(10)
        if fail:
            with pytest.raises(FunctionError, match=f"of {topic}-0 from offset 0 on are gone"):
                job.step()
        else:
            job.step()
            assert sink.values == numbers(4, 6)


def test_rows_of_a_declared_type(topics: Topics) -> None:
    topic = topics.create()
    topics.fill(topic, [b"a", b"b"])
    stream = environment().from_source(
        builder(topics).set_topics(topic).build(), WatermarkStrategy.no_watermarks(), "k"
    )
    rows = stream.map(lambda text: Row(text), output_type=Types.ROW([Types.STRING()]))
    assert collect_local(rows) == [Row(f0="a"), Row(f0="b")]
