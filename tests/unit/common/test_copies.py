"""Copies of values: equal, of the same shape, and with nothing in common that can change."""

from __future__ import annotations

import array
import collections
import copy
import datetime as dt
import decimal
import enum
import io
import threading
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.common.copies import all_fixed, own, own_all, take
from scurry.common.errors import TypeMismatchError
from scurry.common.types import Row, RowKind
from scurry.functions.output_tag import OutputTag


@dataclass
class Account:
    name: str
    balance: int = 0
    tags: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Price:
    amount: Any
    currency: str = "EUR"


@dataclass(slots=True)
class Slotted:
    a: int
    b: Any


@dataclass(slots=True, frozen=True)
class FrozenSlotted:
    a: int
    b: Any


class Struct(msgspec.Struct):
    a: int
    b: Any


class FrozenStruct(msgspec.Struct, frozen=True):
    a: int
    b: Any


class Pair(NamedTuple):
    left: Any
    right: Any


class Colour(enum.Enum):
    RED = 1


class Plain:
    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and self.__dict__ == other.__dict__

    __hash__ = object.__hash__


class Base:
    __slots__ = ("__hidden", "x")

    def __init__(self, x: Any, hidden: Any) -> None:
        self.x = x
        self.__hidden = hidden

    def hidden(self) -> Any:
        return self.__hidden


class Derived(Base):
    __slots__ = ("y",)


class Guarded:
    """Its attributes are set through a property."""

    def __init__(self, n: int) -> None:
        self.__dict__["n"] = n

    @property
    def n(self) -> int:
        raise AssertionError("not to be asked")


class WholeNumber(int):
    pass


class Numbers(list[int]):
    pass


FIXED_VALUES = [
    *(1, 2.5, "x", b"x", None, True, 1j, range(3), ...),
    *(decimal.Decimal("1.5"), dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.date(2024, 1, 1)),
    *(
        dt.timedelta(1),
        Colour.RED,
        RowKind.DELETE,
        np.int64(3),
        np.float32(1),
        np.datetime64("now"),
    ),
    *((), ("a", 1), ("a", (1, (2, 3))), frozenset({1}), frozenset({(1, 2)})),
    *(Price(1), Price((1, 2)), FrozenSlotted(1, 2), FrozenStruct(1, "x"), Pair(1, Pair(2, "x"))),
    *(int, Account, len, lambda: 1, pa.array([1]), pa.table({"a": [1]})),
]


def _name(value: object) -> str:
    """The same in every process."""
    return type(value).__name__


@pytest.mark.parametrize("value", FIXED_VALUES, ids=_name)
def test_what_cannot_change_is_not_copied(value: Any) -> None:
    assert own(value) is value


CHANGEABLE = [
    *([1, 2], [], {"a": 1}, {(1, 2): 3}, {1, 2}, {(1, 2)}, bytearray(b"ab"), {}),
    *([[1], [2]], {"a": {"b": [1]}}, [{"a": 1}, {"b": 2}], ([1], [2]), ("a", [1]), [(1, 2)]),
    *(
        collections.deque([1], maxlen=3),
        collections.OrderedDict(b=1, a=2),
        collections.Counter("ab"),
    ),
    *(collections.defaultdict(list, {"a": [1]}), array.array("i", [1, 2])),
    *(Account("ann", 1), Account("ann", 1, [1]), Account("ann", 1, [[1], Account("bob")])),
    *(Slotted(1, 2), Slotted(1, [2]), FrozenSlotted(1, [2]), Price([1]), Price(Account("a"))),
    *(Struct(1, 2), Struct(1, [2]), FrozenStruct(1, [2]), Pair([1], 2), Pair([1], [[2]])),
    *(Plain(a=1), Plain(a=[1]), Plain(**{"not a name": 1}), Plain(a=1, b=Plain(c={1})), Plain()),
    *(Row(1, "a"), Row(id=1, tags=[1, 2]), Row.of_kind(RowKind.DELETE, 1), Row(Row(1), [Row(2)])),
    *(Numbers([1]), np.void(b"ab"), ValueError("x", [1])),
]


def _parts(value: Any) -> list[Any]:
    """All objects in a value that could change."""
    found, waiting, seen = [], [value], set()
    while waiting:
        one = waiting.pop()
        if id(one) not in seen and own(one) is not one:
            seen.add(id(one))
            found.append(one)
            waiting.extend(_within(one))
    return found


def _within(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, (list, tuple, set, collections.deque, Row)):
        return list(value)
    names = getattr(value, "__struct_fields__", ()) or getattr(type(value), "__slots__", ())
    held = [getattr(value, name) for name in names if hasattr(value, name)]
    return [*held, *getattr(value, "__dict__", {}).values()]


@pytest.mark.parametrize("value", CHANGEABLE, ids=_name)
def test_what_can_change_is_copied_whole(value: Any) -> None:
    made = own(value)
    assert made is not value
    assert type(made) is type(value)
    assert repr(made) == repr(copy.deepcopy(value)) or made == value
    assert not {id(part) for part in _parts(made)} & {id(part) for part in _parts(value)}


def test_an_array_is_copied() -> None:
    value = np.arange(3)
    made = own(value)
    value[0] = 9
    assert made.tolist() == [0, 1, 2]
    objects = np.array([[1], [2], None], dtype=object)
    made = own(objects)
    objects[0].append(9)
    assert made[0] == [1]


def test_attributes_that_only_one_instance_has_are_copied_too() -> None:
    own(Account("ann"))
    odd = Account("bob")
    odd.note = "new here"  # type: ignore[attr-defined]
    assert own(odd).note == "new here"
    swapped = Plain(a=1, b=2)
    own(swapped)
    assert own(Plain(a=1, c=3)).__dict__ == {"a": 1, "c": 3}


def test_slots_of_all_base_classes_are_copied() -> None:
    value = Derived([1], [2])
    value.y = 3
    made = own(value)
    assert (made.x, made.hidden(), made.y) == ([1], [2], 3)
    assert made.x is not value.x
    unset = Derived(1, 2)
    assert own(unset).hidden() == 2
    assert not hasattr(own(unset), "y")


def test_a_property_over_an_attribute_is_not_called() -> None:
    assert own(Guarded(4)).__dict__ == {"n": 4}


def test_a_number_with_attributes_is_one_still() -> None:
    value = WholeNumber(4)
    value.note = []  # type: ignore[attr-defined]
    made = own(value)
    assert made == 4
    assert made.note is not value.note  # type: ignore[attr-defined]


def test_what_is_one_object_within_a_value_stays_one() -> None:
    part = [1]
    for value in ((part, part), [part, part], {"a": part, "b": part}, Plain(a=part, b=part)):
        made = own(value)
        parts = list(made.__dict__.values() if isinstance(made, Plain) else made)
        parts = [made[key] for key in parts] if isinstance(made, dict) else parts
        assert parts[0] is parts[1]
        assert parts[0] is not part
    inner = {"list": part}
    made = own((inner, part))
    assert made[0]["list"] is made[1]


def test_values_that_contain_themselves() -> None:
    ring: list[Any] = []
    ring.append(ring)
    made = own(ring)
    assert made[0] is made
    assert made is not ring
    node = Plain()
    node.me = (node,)
    copied = own(node)
    assert copied.me[0] is copied
    assert copied is not node


def test_a_class_that_no_module_offers_is_copied() -> None:
    @dataclass
    class Local:
        parts: list[Any]

    value = Local([[Local([])], {"a": Local([1])}])
    made = own(value)
    assert made == value
    assert made.parts[0][0] is not value.parts[0][0]


def test_a_class_may_say_how_it_is_copied() -> None:
    class Careful:
        def __init__(self) -> None:
            self.lock, self.n = threading.local(), 1

        def __deepcopy__(self, memo: Any) -> Careful:
            made = Careful()
            made.n = self.n
            return made

    value = Careful()
    assert own(value) is not value
    assert own(value).n == 1


def test_a_class_that_says_how_it_is_pickled_is_asked() -> None:
    value = Cached([1])
    assert value.double == [1, 1]
    assert own(value).__dict__ == {"parts": [1]}


class Cached:
    def __init__(self, parts: list[int]) -> None:
        self.parts = parts

    @cached_property
    def double(self) -> list[int]:
        return self.parts * 2

    def __getstate__(self) -> dict[str, Any]:
        return {"parts": self.parts}


def test_what_has_no_value_is_handed_on(tmp_path: Any) -> None:
    handles = [(n for n in ()), threading.Lock(), io.StringIO(), memoryview(b"x")]
    with open(tmp_path / "x", "w") as file:
        handles.append(file)
        for handle in handles[:2] + handles[3:]:
            assert own(handle) is handle
            assert own((1, handle))[1] is handle


def test_what_cannot_be_copied_is_refused() -> None:
    class Connection:
        def __init__(self) -> None:
            self.local = threading.local()

    for value, kind in ((Connection(), "Connection"), ({"a": [Connection()]}, "dict")):
        with pytest.raises(TypeMismatchError) as caught:
            own(value)
        told = str(caught.value)
        assert f"of type {kind} cannot be copied: cannot pickle '_thread._local' object." in told
        assert "Emit plain data" in told
        assert "enable_object_reuse()" in told


def test_many_values_that_look_alike_are_not_even_listed_anew() -> None:
    for values in ([1, 2.5, "x"], [("a", 1), ("b", 2)], [], [None]):
        assert all_fixed(values)
        assert own_all(values) is values
    loose = [("a", [1]), 2, (3,)]
    made = own_all(loose)
    assert made == loose
    assert made[0] is not loose[0]
    assert made[2] is loose[2]


def test_results_are_taken_as_they_come() -> None:
    def counting() -> Any:
        held, pair = {"n": 0}, ("k", [0])
        for n in (1, 2):
            held["n"] = n
            pair[1][0] = n
            yield held
            yield pair
        yield "k", 3

    values: list[Any] = [0]
    take(values, counting())
    assert values == [0, {"n": 1}, ("k", [1]), {"n": 2}, ("k", [2]), ("k", 3)]


def test_a_tag_is_handed_on_with_a_copy_of_the_value() -> None:
    tag, value = OutputTag("late"), [1]
    made = own((tag, value))
    assert made[0] is tag
    assert made[1] is not value


_leaves = st.one_of(
    st.integers(), st.text(max_size=3), st.none(), st.builds(lambda: bytearray(b"x")), st.floats()
)
_values = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
        st.tuples(inner, inner),
        st.builds(Price, inner),
        st.builds(Slotted, st.integers(), inner),
        st.builds(Struct, st.integers(), inner),
        st.builds(Pair, inner, inner),
        st.builds(lambda a, b: Plain(a=a, b=b), inner, inner),
        st.builds(lambda part: [part, part, {"again": part}], inner),
        st.builds(Row, inner, inner),
    ),
    max_leaves=8,
)


@given(_values)
def test_any_value_has_a_copy_like_that_of_deepcopy(value: Any) -> None:
    made = own(value)
    assert repr(made).split(" at 0x")[0] == repr(copy.deepcopy(value)).split(" at 0x")[0]
    shared = {id(part) for part in _parts(value)} & {id(part) for part in _parts(made)}
    assert not shared
    assert len(_parts(made)) == len(_parts(value))
