"""Naming and sizing steps: accepted, kept and refused as in PyFlink."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from scurry.common import notes
from scurry.common.configuration import Configuration
from scurry.common.errors import NotSupportedError, ProgramError
from scurry.common.options import kept
from scurry.common.typeinfo import Types
from scurry.common.watermark_strategy import WatermarkStrategy
from scurry.connectors.number_seq import NumberSequenceSource
from scurry.datastream import DataStream, DataStreamSink, StreamExecutionEnvironment
from scurry.datastream.connectors.base import StreamTransformer, SupportsPreprocessing
from scurry.testing.local import run_local
from scurry.testing.sinks import ListSink

HASH = "0123456789abcdefABCDEF0123456789"
SETTERS: dict[str, tuple[Any, ...]] = {
    "name": ("n",),
    "uid": ("u",),
    "set_uid_hash": (HASH,),
    "set_parallelism": (2,),
    "set_max_parallelism": (2,),
    "set_description": ("d",),
    "set_buffer_timeout": (5,),
    "slot_sharing_group": ("g",),
    "force_non_parallel": (),
    "start_new_chain": (),
    "disable_chaining": (),
}


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment(Configuration())


def mapped(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1, 2, 3], Types.INT()).map(lambda x: x, Types.INT())


@pytest.mark.parametrize("method", SETTERS)
def test_an_operator_takes_every_setter(env: StreamExecutionEnvironment, method: str) -> None:
    stream = mapped(env)
    assert getattr(stream, method)(*SETTERS[method]) is stream


@pytest.mark.parametrize(
    "method", sorted(SETTERS.keys() & {name for name in dir(DataStreamSink) if name[0] != "_"})
)
def test_a_sink_takes_its_setters(env: StreamExecutionEnvironment, method: str) -> None:
    sink = mapped(env).print()
    assert getattr(sink, method)(*SETTERS[method]) is sink


@pytest.mark.parametrize("method", SETTERS)
@pytest.mark.parametrize(
    ("kind", "arrange"),
    [
        ("Key By", lambda stream: stream.key_by(lambda x: x)),
        ("Shuffle", lambda stream: stream.shuffle()),
        ("Rebalance", lambda stream: stream.rebalance()),
        ("Union", lambda stream: stream.union(stream)),
    ],
)
def test_what_arranges_records_is_no_operator(
    env: StreamExecutionEnvironment,
    kind: str,
    arrange: Callable[[DataStream], DataStream],
    method: str,
) -> None:
    with pytest.raises(NotSupportedError) as refused:
        getattr(arrange(mapped(env)), method)(*SETTERS[method])
    assert str(refused.value).startswith(f"{method}() of '{kind}' (")
    assert str(refused.value).endswith(f"Call {method}() on the operator before or after it.")


@pytest.mark.parametrize("method", SETTERS)
def test_a_cached_stream_is_settled(env: StreamExecutionEnvironment, method: str) -> None:
    with pytest.raises(
        NotSupportedError, match=rf"{method}\(\) of a cached stream .* before cache"
    ):
        getattr(mapped(env).cache(), method)(*SETTERS[method])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.name(5), "5 cannot be the name of 'Map' .* a name is a text"),
        (lambda s: s.set_description(None), "set_description.None. at .* a description is a text"),
        (lambda s: s.set_uid_hash("abc"), "'abc' cannot be the uid hash .* 32 hexadecimal digits"),
        (lambda s: s.set_uid_hash(None), "None cannot be the uid hash"),
        (lambda s: s.set_uid_hash(HASH[:-1] + "g"), "cannot be the uid hash"),
        (lambda s: s.set_parallelism(0), "0 cannot be the parallelism .* from 1 to 32768"),
        (lambda s: s.set_parallelism("2"), "'2' cannot be the parallelism"),
        (lambda s: s.set_max_parallelism(0), "0 cannot be the max parallelism"),
        (lambda s: s.set_max_parallelism(40000), "40000 cannot be the max .* from 1 to 32768"),
        (lambda s: s.set_buffer_timeout(-2), "milliseconds from 0 on, or -1"),
        (lambda s: s.set_buffer_timeout("5"), "milliseconds from 0 on, or -1"),
        (lambda s: s.slot_sharing_group(5), "name of a group or a SlotSharingGroup"),
        (lambda s: s.slot_sharing_group(None), "name of a group or a SlotSharingGroup"),
        (lambda s: s.force_non_parallel().set_parallelism(2), "which is not parallel"),
        (lambda s: s.force_non_parallel().set_max_parallelism(2), "which is not parallel"),
    ],
)
def test_values_that_pyflink_refuses(
    env: StreamExecutionEnvironment, call: Any, message: str
) -> None:
    with pytest.raises(ProgramError, match=message):
        call(mapped(env))


def test_values_that_pyflink_takes(env: StreamExecutionEnvironment) -> None:
    stream = mapped(env)
    assert stream.name(None).get_name() == "Map"  # type: ignore[arg-type]
    stream.set_parallelism(3).set_parallelism(-1).set_buffer_timeout(-1).set_max_parallelism(32768)
    stream.force_non_parallel().set_parallelism(1)
    stream.set_max_parallelism(1)


def test_a_collection_is_not_parallel(env: StreamExecutionEnvironment) -> None:
    source = env.from_collection([1])
    assert source.set_parallelism(1).get_name() == "Collection Source"
    with pytest.raises(ProgramError, match="which is not parallel: it has one instance"):
        source.set_parallelism(2)


def test_a_default_parallelism_takes_a_former_one_back(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(2)
    mapped(env).set_parallelism(3).set_parallelism(-1).print()
    nodes = json.loads(env.describe_plan())["nodes"]
    assert 3 not in {node["parallelism"] for node in nodes}


def test_no_more_instances_than_the_operator_may_have(env: StreamExecutionEnvironment) -> None:
    mapped(env).set_parallelism(4).set_max_parallelism(2).print()
    with pytest.raises(ProgramError, match=r"'Map' .* parallelism 4, more than its own max .* 2"):
        env.get_execution_plan()


def test_a_uid_hash_is_the_uid_of_an_operator_without_one(env: StreamExecutionEnvironment) -> None:
    mapped(env).set_uid_hash(HASH).map(lambda x: x).uid("m").set_uid_hash(HASH).print()
    uids = [node["id"] for node in json.loads(env.describe_plan())["nodes"]]
    assert HASH in uids
    assert "m" in uids


def test_without_automatic_uids_every_operator_needs_one(env: StreamExecutionEnvironment) -> None:
    env.get_config().disable_auto_generated_uids()
    source = env.from_collection([1]).uid("s")
    sink = source.map(lambda x: x).print().uid("p")
    with pytest.raises(
        ProgramError, match=r"'Map' .* has no uid, and pipeline\.auto-generate-uids"
    ):
        env.get_execution_plan()
    env.remove_sink(sink._transformation)
    source.map(lambda x: x).set_uid_hash(HASH).print().uid("p")
    env.get_execution_plan()


def test_from_source_takes_what_pyflink_takes(env: StreamExecutionEnvironment) -> None:
    source, strategy = NumberSequenceSource(1, 3), WatermarkStrategy.no_watermarks()
    assert env.from_source(source, strategy, "numbers").get_name() == "numbers"
    monotonous = WatermarkStrategy.for_monotonous_timestamps()
    assert env.from_source(source, monotonous, "numbers").get_name() == "numbers"
    assert env.from_source(source, monotonous, "numbers").name("n").get_name() == "n"
    for wrong, message in [
        ((None, strategy, "n"), "needs a Source, got None"),
        ((source, "x", "n"), "needs a WatermarkStrategy, got 'x'"),
        ((source, strategy, 5), "name of a source is a text, got 5"),
    ]:
        with pytest.raises(ProgramError, match=message):
            env.from_source(*wrong)  # type: ignore[arg-type]


def test_what_has_no_effect_is_said_once(
    env: StreamExecutionEnvironment,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(notes, "_said", set())
    for _ in range(2):
        stream = mapped(env).slot_sharing_group("a").set_buffer_timeout(5)
        stream.set_max_parallelism(4).uid("u").set_uid_hash(HASH).print().slot_sharing_group("b")
    assert [record.getMessage().split(" ")[0] for record in caplog.records] == [
        "slot_sharing_group",
        "set_buffer_timeout",
        "set_max_parallelism",
        "set_uid_hash",
    ]


def test_java_archives_are_accepted_with_a_note(
    env: StreamExecutionEnvironment,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(notes, "_said", set())
    env.add_jars("file:///lib/kafka.jar")
    env.add_jars("file:///lib/a.jar", "file:///lib/b.jar")
    env.add_classpaths("file:///classes")
    env.register_cached_file("/data/x", "x")
    env.register_cached_file("/data/y", "y", True)
    configuration = env.get_configuration()
    assert kept.JARS.read(configuration) == tuple(
        f"file:///lib/{name}.jar" for name in ("kafka", "a", "b")
    )
    assert kept.CLASSPATHS.read(configuration) == ("file:///classes",)
    assert kept.CACHED_FILES.read(configuration) == (
        "name:x,path:/data/x;name:y,path:/data/y,executable:true"
    )
    assert env.get_default_savepoint_directory() is None
    assert env.set_default_savepoint_directory("/s").get_default_savepoint_directory() == "/s"
    mapped(env).print()
    env.get_execution_plan()
    env.get_execution_plan()
    assert [record.getMessage().split(" ")[0] for record in caplog.records] == [
        "pipeline.cached-files",
        "pipeline.classpaths",
        "pipeline.jars",
    ]


def test_lists_that_pyflink_writes_are_read() -> None:
    text = "['file:///a.jar', 'file:///b.jar']"
    configuration = Configuration.of({"pipeline.jars": text})
    assert kept.JARS.read(configuration) == ("file:///a.jar", "file:///b.jar")


class Doubling(StreamTransformer):
    def apply(self, ds: DataStream) -> DataStream:
        return ds.map(lambda x: 2 * x)


class DoublingSink(ListSink, SupportsPreprocessing):
    def get_transformer(self) -> StreamTransformer | None:
        return Doubling()


class LostSink(DoublingSink):
    def get_transformer(self) -> StreamTransformer | None:
        return Losing()


class Losing(StreamTransformer):
    def apply(self, ds: DataStream) -> None:
        """Returns nothing."""


def test_a_transformer_has_to_return_a_stream(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(ProgramError, match="transformer of LostSink returned None; it must return"):
        mapped(env).sink_to(LostSink())


def test_a_sink_may_prepare_its_stream(env: StreamExecutionEnvironment) -> None:
    sink = DoublingSink()
    mapped(env).sink_to(sink)
    run_local(env)
    assert sink.values == [2, 4, 6]
