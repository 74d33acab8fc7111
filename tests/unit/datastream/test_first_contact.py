"""Small wrong programs, and what their authors are told: what is wrong, where, and what to do."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scurry.common import Time, Types
from scurry.common.errors import FunctionError, MissingMethodError, NotSupportedError
from scurry.datastream import (
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.window import TumblingEventTimeWindows
from scurry.testing.local import collect_local, run_local
from scurry.testing.sinks import ListSink

HERE = Path(__file__).name


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def test_a_window_without_keys() -> None:
    stream: Any = environment().from_collection([1]).name("numbers")
    with pytest.raises(MissingMethodError) as caught:
        stream.window(TumblingEventTimeWindows.of(Time.seconds(5)))
    text = str(caught.value)
    assert text.startswith("window(...) at ")
    assert f"{HERE}:" in text
    assert "'numbers'" in text
    assert "stream.key_by(...).window(...)" in text
    assert "window_all(...)" in text


@pytest.mark.parametrize("method", ["reduce", "sum", "min_by"])
def test_what_only_keyed_streams_have(method: str) -> None:
    stream: Any = environment().from_collection([1])
    with pytest.raises(MissingMethodError) as caught:
        getattr(stream, method)
    text = str(caught.value)
    assert f"stream.key_by(...).{method}(...)" in text
    assert "key_by(lambda element: 0)" in text


def test_a_name_out_of_java() -> None:
    stream: Any = environment().from_collection([1])
    with pytest.raises(MissingMethodError, match=r"has no method 'keyBy' .*Did you mean key_by"):
        stream.keyBy(lambda e: e)
    assert not hasattr(stream, "window")
    with pytest.raises(AttributeError, match="no attribute '_nothing'"):
        stream._nothing  # noqa: B018


def test_connectors_that_are_planned_can_be_imported_and_say_what_to_do() -> None:
    from scurry.datastream import connectors
    from scurry.datastream.connectors.cassandra import ConsistencyLevel
    from scurry.datastream.connectors.elasticsearch import Elasticsearch7SinkBuilder
    from scurry.datastream.connectors.kinesis import KinesisStreamsSink
    from scurry.datastream.connectors.pulsar import PulsarSource, RangeGenerator

    assert connectors.PulsarSource is PulsarSource
    with pytest.raises(NotSupportedError, match=r"PulsarSource: .*Pulsar is planned.*KafkaSource"):
        PulsarSource.builder()
    with pytest.raises(NotSupportedError, match=r"KinesisStreamsSink: .*boto3"):
        KinesisStreamsSink.builder()
    with pytest.raises(NotSupportedError, match=r"Elasticsearch7SinkBuilder: .*WebhookSink"):
        Elasticsearch7SinkBuilder()
    with pytest.raises(NotSupportedError, match=r"ConsistencyLevel: .*Cassandra.*Postgres"):
        _ = ConsistencyLevel.ANY
    with pytest.raises(NotSupportedError, match="RangeGenerator"):

        class Mine(RangeGenerator):
            pass


def test_a_branch_without_a_sink(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = environment()
    monkeypatch.setattr(env, "start", lambda name: name)
    numbers = env.from_collection([1, 2])
    numbers.map(lambda n: n + 1).filter(lambda n: n > 1).name("forgotten")
    numbers.map(lambda n: n - 1).print()
    with caplog.at_level(logging.WARNING, "scurry.program"):
        env.execute_async()
        env.execute_async()
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("'forgotten' (")
    assert f"{HERE}:" in caplog.messages[0]
    assert "leads to no sink, so it is not run: end it with sink_to(...)" in caplog.messages[0]


def test_several_results_of_one_environment_are_no_branches_without_a_sink(
    caplog: pytest.LogCaptureFixture,
) -> None:
    env = environment()
    numbers = env.from_collection([1, 2])
    one, two = numbers.map(lambda n: n + 1), numbers.map(lambda n: n - 1)
    with caplog.at_level(logging.WARNING, "scurry.program"):
        assert collect_local(one) == [2, 3]
        assert collect_local(two) == [0, 1]
    assert caplog.messages == []


SCRIPT = """
from scurry.datastream import StreamExecutionEnvironment

def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1, 2]).print()
    {more}

main()
"""


def run_script(tmp_path: Path, more: str) -> str:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(more=more))
    path = os.pathsep.join(sys.path)
    ran = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    return ran.stderr


def test_a_forgotten_execute(tmp_path: Path) -> None:
    said = run_script(tmp_path, "pass")
    assert "'Print to Std. Out' (" in said
    assert "script.py:6) was built and never started" in said
    assert "Call env.execute()" in said


@pytest.mark.parametrize("more", ["env.explain()", "env.close()"])
def test_a_program_that_is_only_looked_at(tmp_path: Path, more: str) -> None:
    assert run_script(tmp_path, more) == ""


def test_a_program_that_fails_before_it_is_executed(tmp_path: Path) -> None:
    said = run_script(tmp_path, "raise ValueError('no good')")
    assert "no good" in said
    assert "never started" not in said


LATE = OutputTag("late", Types.INT())


class Split(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        if value > 1:
            yield LATE, value
        else:
            yield value


@pytest.mark.parametrize("keyed", [False, True])
def test_a_misspelt_output_tag(keyed: bool) -> None:
    class SplitKeyed(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield from Split().process_element(value, ctx)

    env = environment()
    numbers = env.from_collection([1, 2, 3])
    main = numbers.key_by(lambda n: n).process(SplitKeyed()) if keyed else numbers.process(Split())
    main.name("split").sink_to(ListSink())
    main.get_side_output(OutputTag("lte", Types.INT())).sink_to(ListSink())
    with pytest.warns(RuntimeWarning) as caught:
        run_local(env, cuts=1)
    assert len(caught) == 1
    text = str(caught[0].message)
    assert text.startswith("'split' (")
    assert f"{HERE}:" in text
    assert "side output 'late', which nothing reads, so they are dropped" in text
    assert "reads 'lte' instead" in text
    assert "get_side_output" in text


def test_a_side_output_that_is_left_aside_on_purpose() -> None:
    env = environment()
    main = env.from_collection([1, 2, 3]).process(Split())
    main.sink_to(ListSink())
    main.get_side_output(OutputTag("alarms", Types.INT())).sink_to(ListSink())
    run_local(env)


class ReturnsNumber(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return value + 1


class ReturnsNumberPlain(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return value + 1


def test_process_that_returns_a_number() -> None:
    must = "it must yield its results, or return a list of them, or None for nothing"
    numbers = environment().from_collection([7])
    with pytest.raises(FunctionError) as caught:
        collect_local(numbers.key_by(lambda n: n).process(ReturnsNumber()).name("add"))
    assert f"ReturnsNumber returned 8 (int); {must}" in str(caught.value)
    assert "in operator 'add'" in str(caught.value)
    assert f"{HERE}:" in str(caught.value)
    with pytest.raises(FunctionError) as caught:
        collect_local(numbers.process(ReturnsNumberPlain()))
    assert f"process_element returned 8 (int); {must}" in str(caught.value)
