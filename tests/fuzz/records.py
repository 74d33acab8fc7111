"""Records of random programs: a key, a time and a value, in many Python forms.

To the model a record is the tuple ``(key, time, value)`` of three whole numbers. In the program it
is a tuple, a list, a dictionary, an object, a row and so on, and functions read it by
:func:`fields`. Values stay whole numbers whatever is computed, so any step may follow any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from scurry.common import Row, Types

Fields = tuple[int, int, int]
#: Whole numbers are folded modulo this, so that they stay small.
MODULUS = 1_000_003
ROW_TYPE = Types.ROW_NAMED(["k", "t", "v"], [Types.LONG(), Types.LONG(), Types.LONG()])
TUPLE_TYPE = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])


class Named(NamedTuple):
    """A record with names, which cannot be changed."""

    k: int
    t: int
    v: int


@dataclass
class Thing:
    """A record that can be changed in place."""

    k: int
    t: int
    v: int


@dataclass(frozen=True)
class Frozen:
    """A record that cannot."""

    k: int
    t: int
    v: int


#: Forms that a function can change in place.
CHANGEABLE = ("list", "dict", "thing", "row")
SHAPES = ("tuple", "named", "frozen", "typed row", "typed tuple", *CHANGEABLE)


def shaped(shape: str, k: int, t: int, v: int) -> Any:
    """A record in one of the forms."""
    if shape == "list":
        return [k, t, v]
    if shape == "dict":
        return {"k": k, "t": t, "v": v}
    if shape == "thing":
        return Thing(k, t, v)
    if shape == "frozen":
        return Frozen(k, t, v)
    if shape == "named":
        return Named(k, t, v)
    if shape in ("row", "typed row"):
        return Row(k=k, t=t, v=v)
    return (k, t, v)


def declared(shape: str) -> Any:
    """The type that a program declares for a form, if it declares one."""
    return {"typed row": ROW_TYPE, "typed tuple": TUPLE_TYPE}.get(shape)


def fields(record: Any) -> Fields:
    """Key, time and value of a record, whatever its form."""
    if isinstance(record, dict):
        return record["k"], record["t"], record["v"]
    if isinstance(record, (tuple, list, Row)):
        return record[0], record[1], record[2]
    return record.k, record.t, record.v


def add_in_place(record: Any, amount: int) -> Any:
    """Change the value of a record itself, where its form allows that."""
    if isinstance(record, list):
        record[2] = (record[2] + amount) % MODULUS
    elif isinstance(record, dict):
        record["v"] = (record["v"] + amount) % MODULUS
    else:
        record.v = (record.v + amount) % MODULUS
    return record


#: How a key is made of a record's number, and the number found in it again.
KEYS = ("int", "str", "tuple", "none", "float")


def to_key(kind: str, number: int) -> Any:
    """The key that stands for ``number``."""
    if kind == "str":
        return f"k{number}"
    if kind == "tuple":
        return (number, "x")
    if kind == "none":
        return None if number == 0 else number
    return number + 0.5 if kind == "float" else number


def from_key(key: Any) -> int:
    """The number that a key stands for."""
    if key is None:
        return 0
    if isinstance(key, str):
        return int(key[1:])
    return int(key[0] if isinstance(key, tuple) else key)


def key_of(kind: str, shape: str = "") -> Callable[[Any], Any]:
    """A key selector. Where it only picks a field, keys can be computed on columns."""
    if kind == "int" and shape in ("tuple", "typed tuple"):
        return lambda record: record[0]
    if kind == "int" and shape == "typed row":
        return lambda record: record["k"]
    return lambda record: to_key(kind, fields(record)[0])


def fold(numbers: list[int]) -> int:
    """One number that tells apart sequences of numbers, order included."""
    folded = numbers[0]
    for number in numbers[1:]:
        folded = (folded * 31 + number) % MODULUS
    return folded
