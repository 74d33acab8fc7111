"""``scurry diff``: what a changed program would do with what a checkpoint holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from scurry.checkpoint.layout import Layout
from scurry.checkpoint.manifest import Writer
from scurry.checkpoint.savepoint_manifest import SavepointManifest
from scurry.checkpoint.stored import (
    CheckpointContents,
    StoredOperator,
    StoredSource,
    StoredState,
)
from scurry.cli.main import main
from scurry.datastream.previews import first_job

PROGRAM = """
import sys
from scurry.common import Time, Types, WatermarkStrategy
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.state import ValueStateDescriptor
from scurry.datastream.window import CountEvictor, TumblingEventTimeWindows
from scurry.testing import ListSink

class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor({state}))
    def process_element(self, value, ctx):
        yield value

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism({parallelism})
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda e, _: e[1])
events = env.from_collection([("a", 1)]).uid({source!r}).assign_timestamps_and_watermarks(strategy)
keyed = events.key_by(lambda e: e[0])
keyed.process(Count()).uid({count!r}).sink_to(ListSink()).uid("counts")
windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds({size})))
windows{evictor}.reduce(lambda a, b: a).uid("sums").sink_to(ListSink()).uid("windows")
try:
    env.execute("orders")
except Exception:
    print("a program may go on when its job fails")
print("after the job")
"""
USUAL = {
    "parallelism": 1,
    "source": "events",
    "count": "count",
    "size": 10,
    "evictor": "",
    "state": '"count"',
}


def written(path: Path, **changes: Any) -> Path:
    path.write_text(PROGRAM.format(**{**USUAL, **changes}))
    return path


def savepoint(place: Path, program: Path) -> Path:
    """A savepoint of ``program`` in which each of its operators has state."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    job = first_job(lambda: exec(compile(program.read_text(), str(program), "exec"), namespace))
    assert job is not None
    spec = job.spec
    states = {
        "count": [StoredState(name="count", kind="ValueState", type="INT", schema="INT")],
        "sums": [StoredState(name="windows", kind="")],
    }
    contents = CheckpointContents(
        directory="elsewhere",
        checkpoint_id="c",
        job="orders",
        format=5,
        writer=Writer(),
        parallelism=spec.parallelism,
        max_parallelism=spec.max_parallelism,
        stages=len(spec.stages),
        generation=1,
        batch=3,
        now=0,
        pending=None,
        sources=[
            StoredSource(uid="events", name="events", position=1, finished=False, partitions={})
        ],
        operators=[
            StoredOperator(
                uid=uid,
                name=spec.inventory[uid].name,
                location="",
                uid_is_automatic=False,
                layout=spec.inventory[uid].layout,
                parallelism=1,
                stages=[spec.runs_in(uid)],
                states=held,
            )
            for uid, held in states.items()
        ],
        sinks=[],
        branches=[],
        lease=None,
        holder=None,
        held=False,
        disk={},
    )
    place.mkdir()
    manifest = SavepointManifest(savepoint_id="s", taken=0, contents=contents)
    Layout(place).savepoint.write_bytes(msgspec.json.encode(manifest))
    return place


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return savepoint(tmp_path / "sp", written(tmp_path / "before.py"))


def compared(before: Path, *options: str, **changes: Any) -> Result:
    after = written(before.parent / "after.py", **changes)
    return CliRunner().invoke(main, ["diff", *options, str(before), str(after)])


def outcomes(result: Result) -> dict[tuple[str, str], tuple[str, str]]:
    found = [json.loads(line) for line in result.stdout.splitlines()]
    return {(row["uid"], row["state"]): (row["outcome"], row["how"]) for row in found}


def test_the_same_program_keeps_everything_and_does_not_run(before: Path) -> None:
    result = compared(before, "--json")
    assert result.exit_code == 0, result.output
    assert outcomes(result) == {
        ("events", "position"): ("kept", ""),
        ("count", "count"): ("kept", ""),
        ("sums", "windows"): ("kept", ""),
    }


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ('"count", Types.INT()', ("kept", "")),
        ('"count", Types.DOUBLE()', ("migrated", "INT -> DOUBLE")),
        ('"count", Types.STRING()', ("refused", "INT became STRING")),
        ('"another", Types.INT()', ("kept", "the function does not ask for it")),
    ],
)
def test_types_of_states_are_compared(before: Path, state: str, expected: tuple[str, str]) -> None:
    result = compared(before, "--json", state=state)
    assert result.exit_code == (expected[0] == "refused"), result.output
    found = outcomes(result)
    assert found["count", "count"] == expected
    if "another" in state:
        assert found["count", "another"] == ("new", "ValueState INT")


def test_functions_that_cannot_be_opened_here(before: Path) -> None:
    result = compared(before, state='open("/nowhere")')
    assert "What states count asks for is not known" in result.stdout


def test_what_has_another_uid_is_dropped_and_new(before: Path) -> None:
    result = compared(before, "--json", count="counter", source="orders")
    assert result.exit_code == 1
    found = outcomes(result)
    assert found["count", "count"] == ("dropped", "no operator of the program has this uid")
    assert found["events", "position"] == ("dropped", "no source of the program has this uid")
    assert found["sums", "windows"] == ("kept", "")
    assert found["counter", "count"][0] == "new"
    assert found["orders", ""] == ("new", "")


def test_it_says_how_to_start_nevertheless(before: Path) -> None:
    result = compared(before, count="counter", parallelism=3)
    assert "State is dealt out anew: parallelism 1 -> 3." in result.stdout
    assert "scurry run --allow-dropped count ..." in result.stdout
    assert "after the job" not in result.stdout
    assert "may go on" not in result.stdout


def test_windows_that_cannot_be_read_are_dropped(before: Path) -> None:
    """Windows that share slices cannot change their size."""
    result = compared(before, "--json", size=20)
    assert result.exit_code == 1
    assert outcomes(result)["sums", "windows"] == (
        "dropped",
        "the operator cannot read it: size 10 -> 20, slide 10 -> 20",
    )


def test_windows_that_are_stored_with_their_ends_are_migrated(tmp_path: Path) -> None:
    evictor = ".evictor(CountEvictor.of(5))"
    before = savepoint(tmp_path / "sp", written(tmp_path / "before.py", evictor=evictor))
    result = compared(before, "--json", evictor=evictor, size=20)
    assert result.exit_code == 0, result.output
    outcome, how = outcomes(result)["sums", "windows"]
    assert outcome == "migrated"
    assert "size 10 -> 20" in how


def test_a_program_that_starts_no_job(before: Path) -> None:
    empty = before.parent / "empty.py"
    empty.write_text("pass")
    result = CliRunner().invoke(main, ["diff", str(before), str(empty)])
    assert result.exit_code == 1
    assert "Error: " in result.output
    assert "empty.py ends without having started a job." in result.output
    assert "Traceback" not in result.output
