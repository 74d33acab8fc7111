"""Classes of scripts, of notebooks and inside functions: in workers, and after a restart."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scurry.common.errors import StateError
from scurry.common.pickling import dumps, dumps_program
from scurry.common.program_classes import PickledProgram, known_class

#: A script: it has instances of classes of all kinds, and has used msgspec with them.
SCRIPT = """
from __future__ import annotations

import enum, pickle, sys
from dataclasses import dataclass, field
from typing import ClassVar, Generic, NamedTuple, TypeVar

import msgspec

from scurry.common.pickling import dumps_program
from scurry.common.program_classes import PickledProgram

T = TypeVar("T")


class Plain:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return type(other) is type(self) and other.x == self.x


@dataclass
class Data:
    x: int
    tags: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Slotted:
    x: int


class Pair(NamedTuple):
    x: int
    y: str = "y"


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


class Broken(ValueError):
    def __eq__(self, other):
        return type(other) is type(self) and other.args == self.args


class Point(msgspec.Struct, frozen=True, order=True):
    x: int
    data: Data
    names: list[str] = []
    unit: str = "m"
    origin: ClassVar[int] = 0

    def shifted(self):
        return Point(self.x + self.origin, self.data)


class Named(msgspec.Struct, kw_only=True, rename="camel", tag="named", omit_defaults=True):
    first_name: str
    parent: Named | None = None

    def __post_init__(self):
        assert self.first_name


class Box(msgspec.Struct, Generic[T]):
    content: T


class Derived(Point, frozen=True):
    more: int = 5


class Outer:
    @dataclass
    class Inner:
        x: int


def local():
    @dataclass
    class Data:
        x: int

    class Pair(NamedTuple):
        x: int

    class Color(enum.Enum):
        RED = 1

    class Point(msgspec.Struct):
        x: int

    class Plain:
        def __init__(self, x):
            self.x = x

        def __eq__(self, other):
            return type(other) is type(self) and other.x == self.x

    return [Data(1), Pair(1), Color.RED, Point(1), Plain([Data(2)])]


values = [
    Plain(1), Data(1, ["a"]), Slotted(1), Pair(1), Color.RED, Level.HIGH, Broken("b"),
    Point(1, Data(2)), Named(first_name="n", parent=Named(first_name="p")), Box(content=3),
    Derived(1, Data(1)), Outer.Inner(1), *local(),
]
for value in values:
    try:
        msgspec.convert(msgspec.to_builtins(value), type(value))
    except (TypeError, msgspec.ValidationError, NameError):
        pass  # msgspec has no use for that one
with open(sys.argv[1], "wb") as file:
    pickle.dump(PickledProgram.of(*dumps_program(values)), file)
"""

#: A worker: it writes the values of the script, or reads what another one has written.
WORKER = """
import json, pickle, sys
from scurry.common.pickling import dumps
from scurry.engine.spark.script_classes import load_with_classes
from scurry.state.codecs import pickles

program, what, place = sys.argv[1:]
with open(program, "rb") as file:
    values = load_with_classes(pickle.load(file))
if what == "write":
    written = [[dumps(v).hex(), pickles.dumps(v, set()).hex()] for v in values]
    print(json.dumps(written))
else:
    written = json.load(open(place))
    for value, (record, state) in zip(values, written):
        for content in (record, state) if what == "read" else (state,):
            found = pickle.loads(bytes.fromhex(content))
            assert type(found) is type(value), (type(found), type(value))
            assert found == value, (found, value)
    assert values[7].shifted().x == 1
    try:
        type(values[8])(first_name="")
    except AssertionError:
        print("ok")
"""


def python(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two starts of one script, and what a worker of the first has written."""
    found = tmp_path_factory.mktemp("scripts")
    (found / "script.py").write_text(SCRIPT)
    for start in ("first", "second"):
        python(found / "script.py", found / start)
    written = python("-c", WORKER, found / "first", "write", "")
    (found / "written").write_text(written)
    return found


def test_another_worker_reads_records_and_state(place: Path) -> None:
    assert python("-c", WORKER, place / "first", "read", place / "written") == "ok"


def test_the_next_start_reads_the_state_of_the_last(place: Path) -> None:
    assert python("-c", WORKER, place / "second", "restore", place / "written") == "ok"


def test_instances_of_local_classes_name_their_class(place: Path) -> None:
    written = json.loads((place / "written").read_text())
    longest = max(len(bytes.fromhex(content)) for pair in written for content in pair)
    assert longest < 300, "no class travels with its instances"


def local_class() -> type:
    class C:
        pass

    return C


def test_two_classes_of_one_name_are_not_mixed_up() -> None:
    first, second = local_class(), local_class()
    values, _ = PickledProgram.of(*dumps_program([first(), second()])).load()
    assert [type(value) for value in values] == [first, second]
    assert dumps(first()) != dumps(second())


def test_a_class_that_the_program_lost_is_named() -> None:
    with pytest.raises(StateError, match=r"no longer has the class f\.<locals>\.Order of shop"):
        known_class("shop", "f.<locals>.Order")
