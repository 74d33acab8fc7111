"""State on Spark: a class that changes between two starts of a script, backends, expiry."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scurry.common import Time
from scurry.datastream import KeyedProcessFunction
from scurry.datastream.state import (
    BagStateDescriptor,
    SetStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from scurry.testing.spark import collect_on_spark

REPOSITORY = Path(__file__).parents[2]

SCRIPT = """
from dataclasses import dataclass, field
from scurry.common import Configuration
from scurry.common.errors import ScurryError
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.connectors.number_seq import NumberSequenceSource
from scurry.datastream.state import ValueStateDescriptor


@dataclass
class Account:
    total: int
    branch: str = "north"


class Add(KeyedProcessFunction):
    def __init__(self, refused, declared):
        self.refused, self.declared = refused, declared

    def open(self, runtime_context):
        kind = Account if self.declared else None
        self.held = runtime_context.get_state(ValueStateDescriptor("account", kind))

    def process_element(self, number, ctx):
        if number == self.refused:
            raise ValueError("stop here")
        held = self.held.value()
        if held is None:
            held = Account(0)
        held.total += number
        self.held.update(held)
        yield str(held)


def run(directory, refused, declared):
    conf = Configuration()
    conf.set_string("execution.checkpointing.dir", directory)
    conf.set_integer("scurry.batch.max-records", 2)
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    env.set_parallelism(1)
    numbers = env.from_source(NumberSequenceSource(1, 6), None, "numbers").uid("numbers")
    numbers.key_by(lambda n: 0).process(Add(refused, declared)).uid("add").print().uid("out")
    try:
        env.execute()
    except ScurryError as failure:
        print("failed:", failure)


for declared in (True, False):
    run(f"{ROOT}/{declared}", 4, declared)


@dataclass
class Account:
    total: float
    notes: list[str] = field(default_factory=list)


for declared in (True, False):
    run(f"{ROOT}/{declared}", 6, declared)


@dataclass
class Account:
    total: str


for declared in (True, False):
    run(f"{ROOT}/{declared}", None, declared)
"""


@pytest.mark.micro_batch("counts micro-batches")
def test_a_class_of_a_script_may_change_between_two_starts(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(f"ROOT = {str(tmp_path)!r}\n{SCRIPT}")
    finished = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "src"), "SCURRY_MASTER": "local[2]"},
    )
    assert finished.returncode == 0, finished.stderr
    shown = finished.stdout
    old, new = "Account(total={}, branch='north')", "Account(total={}, notes=[])"
    for line in (old.format(1), old.format(3), new.format(6.0), new.format(10.0)):
        assert shown.splitlines().count(line) == 2, shown
    assert shown.count("State 'account' of operator 'add' cannot be read by this program") == 2
    # the oldest type of which there may still be records is named
    assert "field 'total' of Account: LONG became STRING" in shown


class Distinct(KeyedProcessFunction):
    """How many distinct values a key has had, and how many in all."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_set_state(SetStateDescriptor("seen"))
        self.all = runtime_context.get_bag_state(BagStateDescriptor("all"))
        last = ValueStateDescriptor("last", int)
        last.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        self.last = runtime_context.get_state(last)

    def process_element(self, value: int, ctx: Any) -> Any:
        self.seen.add(value % 7)
        self.all.add(value)
        before = self.last.value()
        self.last.update(value)
        yield ctx.get_current_key(), len(list(self.seen)), len(list(self.all)), before


@pytest.mark.parametrize(
    "settings",
    [
        {"state.backend": "disk"},
        {"state.backend": "memory"},
        {"state.backend": "disk", "scurry.state.runs-above": "0"},
    ],
    ids=["disk", "memory", "runs"],
)
def test_every_backend_gives_the_same(settings: dict[str, str]) -> None:
    values = list(range(0, 120, 3))
    expected, held = [], dict[int, list[int]]()
    for value in values:
        mine = held.setdefault(value % 2, [])
        before = mine[-1] if mine else None
        mine.append(value)
        expected.append((value % 2, len({v % 7 for v in mine}), len(mine), before))
    found = collect_on_spark(
        lambda env: env.from_collection(values).key_by(lambda v: v % 2).process(Distinct()),
        max_records=7,
        **settings,
    )
    assert sorted(found, key=str) == sorted(expected, key=str)
