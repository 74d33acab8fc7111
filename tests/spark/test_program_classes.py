"""Classes of a script and inside functions as records, keys and state, in two starts on Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
#: Counts in state, for keys of several kinds, how often each record came, and keeps the record.
PROGRAM = """
import enum, sys
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from scurry.common import Configuration, Types
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.connectors.number_seq import NumberSequenceSource
from scurry.datastream.state import ValueStateDescriptor


class Color(enum.Enum):
    RED = 0
    BLUE = 1


@dataclass(frozen=True)
class Order:
    number: int
    color: Color


class Point(msgspec.Struct, frozen=True):
    x: int


class Refused(ValueError):
    pass


def main(checkpoint, fails_at):
    class Pair(NamedTuple):
        number: int
        text: str

    @dataclass
    class Total:
        count: int
        seen: list

    class Mark(enum.Enum):
        EVEN = 0
        ODD = 1

    msgspec.json.encode([Order(1, Color.RED), Total(1, []), Point(1)])  # leaves its caches

    class Count(KeyedProcessFunction):
        def open(self, context):
            self.plain = context.get_state(ValueStateDescriptor("plain"))
            declared = ValueStateDescriptor("declared", Types.DATACLASS(Total))
            self.declared = context.get_state(declared)

        def process_element(self, value, ctx):
            assert isinstance(value, (Order, Pair, Point, Refused)), type(value)
            total = self.plain.value() or Total(0, [])
            assert type(total) is Total, type(total)
            kept = [each for each in total.seen if type(each) not in (Order, Pair, Point, Refused)]
            assert not kept, kept
            self.plain.update(Total(total.count + 1, [*total.seen, value]))
            other = self.declared.value() or Total(0, [])
            assert type(other) is Total, type(other)
            self.declared.update(Total(other.count + 1, []))
            key = ctx.get_current_key()
            assert type(key) in (Color, Mark, Order, Pair), key
            yield f"{key} {total.count + 1} {other.count + 1}"

    def record(n):
        if n == fails_at:
            raise Refused("as told")
        return [Order(n, Color(n % 2)), Pair(n, "t"), Point(n), Refused(n)][n % 4]

    def key(value):
        if isinstance(value, Order):
            return value.color
        if isinstance(value, Pair):
            return Pair(0, "k")
        return Mark(value.x % 2) if isinstance(value, Point) else Order(0, Color.RED)

    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.of(
            {
                "execution.checkpointing.dir": checkpoint,
                "scurry.batch.max-records": "8",
                "spark.master": "local[2]",
            }
        )
    )
    env.set_parallelism(2)
    numbers = env.from_source(NumberSequenceSource(0, 31), None, "numbers").uid("numbers")
    keyed = numbers.map(record).rebalance().map(lambda r: r).key_by(key)
    lines = keyed.process(Count()).uid("count").key_by(lambda line: line).map(lambda line: line)
    lines.print()
    env.execute("classes")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
"""


def lines_of(tmp_path: Path, fails_at: int) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(tmp_path / "job.py"), str(tmp_path / "checkpoint"), str(fails_at)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == (fails_at < 0), done.stderr
    assert ("Refused: as told" in done.stderr) == (fails_at >= 0), done.stderr
    return sorted(line.partition("> ")[2] for line in done.stdout.splitlines())


def expected(numbers: range) -> list[str]:
    """The keys of the program by the kind of a number, and how often each has come."""
    keys = ["Color.RED", "Pair(number=0, text='k')", "Mark.EVEN"]
    keys.append("Order(number=0, color=<Color.RED: 0>)")
    return sorted(f"{keys[n % 4]} {n // 4 + 1} {n // 4 + 1}" for n in numbers)


def test_two_starts_of_a_script(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(PROGRAM)
    before = lines_of(tmp_path, 14)
    after = lines_of(tmp_path, -1)
    assert before, "the second start finds state of the first"
    assert sorted(before + after) == expected(range(32))
