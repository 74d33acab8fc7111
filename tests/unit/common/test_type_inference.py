"""Annotations say what PyFlink makes people spell out."""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, Optional, TypeVar, Union

import pytest

from scurry.common import Instant, Row, TypeInformation, Types
from scurry.common.errors import TypeMismatchError
from scurry.common.type_inference import return_type_of, yield_type_of

T = TypeVar("T")
UserId = NewType("UserId", int)
Untyped = namedtuple("Untyped", ["a"])


class Pair(NamedTuple):
    left: int
    right: list[str]


@dataclass
class Reading:
    sensor: str
    values: list[float]
    pair: Pair | None


@dataclass
class Node:
    value: int
    next: Node | None


@dataclass
class Box(Generic[T]):
    content: T


LONG, STRING, PICKLED = Types.LONG(), Types.STRING(), Types.PICKLED_BYTE_ARRAY()


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (int, LONG),
        (float, Types.DOUBLE()),
        (str, STRING),
        (bool, Types.BOOLEAN()),
        (bytes, Types.PRIMITIVE_ARRAY(Types.BYTE())),
        (date, Types.SQL_DATE()),
        (time, Types.SQL_TIME()),
        (datetime, Types.SQL_TIMESTAMP()),
        (Decimal, Types.BIG_DEC()),
        (Instant, Types.INSTANT()),
        (list[int], Types.LIST(LONG)),
        (dict[str, list[int]], Types.MAP(STRING, Types.LIST(LONG))),
        (tuple[int, str], Types.TUPLE([LONG, STRING])),
        (Optional[int], LONG),  # noqa: UP045
        (int | None, LONG),
        (UserId, LONG),
        (Annotated[int, "unit"], LONG),
        (Literal["a", "b"], STRING),
        (Literal["a", None], STRING),
        (Types.BYTE(), Types.BYTE()),
        (Reading, Types.DATACLASS(Reading)),
        (Any, PICKLED),
        (None, PICKLED),
        (object, PICKLED),
        (Row, PICKLED),
        (timedelta, PICKLED),
        (T, PICKLED),
        (list, PICKLED),
        (dict, PICKLED),
        (tuple, PICKLED),
        (set[int], PICKLED),
        (tuple[int, ...], PICKLED),
        (int | str, PICKLED),
        (Union[int, str, None], PICKLED),  # noqa: UP007
        (Literal["a", 1], PICKLED),
        (Iterable[int], PICKLED),
        ("int", PICKLED),
    ],
)
def test_annotations(annotation: Any, expected: TypeInformation) -> None:
    assert Types.of(annotation) == expected


def test_dataclasses_and_named_tuples_are_typed_by_their_hints() -> None:
    reading = Types.DATACLASS(Reading)
    assert reading.field_names() == ("sensor", "values", "pair")
    assert reading.field_types() == (STRING, Types.LIST(Types.DOUBLE()), Types.of(Pair))
    assert reading.arrow_type() is not None
    assert Types.of(Pair).element_class is Pair
    assert Types.of(Untyped).arrow_type() is None
    assert Types.of(Box[int]).element_class is Box


def test_a_class_within_itself_is_pickled() -> None:
    assert Types.DATACLASS(Node).field_types() == (LONG, PICKLED)


def test_annotations_out_of_sight() -> None:
    class Hidden:
        pass

    @dataclass
    class Holder:
        hidden: Hidden

    assert Types.of(Holder) == PICKLED
    with pytest.raises(TypeMismatchError, match=r"cannot read the annotations of .*Holder: name"):
        Types.DATACLASS(Holder)

    def make() -> Hidden:
        return Hidden()

    assert return_type_of(make) is None


class Parser:
    def parse(self, line: str) -> int:
        return int(line)

    def __call__(self, line: str) -> float:
        return float(line)


def parse(line: str, base: int = 10) -> int:
    return int(line, base)


def unannotated(line):  # type: ignore[no-untyped-def]
    return line


@functools.wraps(parse)
def wrapped(*args: Any) -> Any:
    return parse(*args)


async def fetch(key: str) -> str:
    return key


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (parse, LONG),
        (functools.partial(parse, base=2), LONG),
        (wrapped, LONG),
        (Parser().parse, LONG),
        (Parser(), Types.DOUBLE()),
        (fetch, STRING),
        (int, LONG),
        (Pair, Types.of(Pair)),
        (unannotated, None),
        (lambda x: x, None),
        (len, None),
    ],
)
def test_return_types(fn: Callable[..., Any], expected: TypeInformation | None) -> None:
    assert return_type_of(fn) == expected


def generator() -> Generator[int, None, None]:
    yield 1


def iterator() -> Iterator[tuple[str, int]]:
    yield "a", 1


def iterable() -> Iterable[Pair]:
    return []


def perhaps() -> list[str] | None:
    return None


def many() -> tuple[int, ...]:
    return ()


async def stream() -> AsyncIterator[int]:
    yield 1


def bare() -> Iterable:  # type: ignore[type-arg]
    return []


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (generator, LONG),
        (iterator, Types.TUPLE([STRING, LONG])),
        (iterable, Types.of(Pair)),
        (perhaps, STRING),
        (many, LONG),
        (stream, LONG),
        (bare, None),
        (parse, None),
        (unannotated, None),
    ],
)
def test_yield_types(fn: Callable[..., Any], expected: TypeInformation | None) -> None:
    assert yield_type_of(fn) == expected
