"""Types of state change between two starts of a program: what fits is read, the rest refused."""

from __future__ import annotations

import dataclasses
import datetime as dt
import pickle
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.contract._slots import ClockedSlot

from scurry.common import Types
from scurry.common.errors import ProgramError, StateError
from scurry.state import (
    AggregatingStateDescriptor,
    BagStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    SetStateDescriptor,
    ValueStateDescriptor,
)
from scurry.state.codecs.pickles import dumps


def account(*fields: Any, **options: Any) -> Any:
    """A new version of the program's class Account, put where pickle finds it."""
    made = dataclasses.make_dataclass("Account", fields, **options)
    made.__module__, made.__qualname__ = __name__, "Account"
    sys.modules[__name__].Account = made  # type: ignore[attr-defined]
    return made


def field(name: str, kind: Any, **default: Any) -> Any:
    return (name, kind, dataclasses.field(**default))


@pytest.fixture
def slot(tmp_path: Path) -> ClockedSlot:
    return ClockedSlot(tmp_path / "s")


def rewrite(slot: ClockedSlot, getter: str, descriptor: Any, write: Any) -> None:
    """The program of the first start."""
    write(slot.open(getter, descriptor))
    slot.commit()
    slot.restart()


DECLARED = pytest.mark.parametrize("declared", [True, False], ids=["declared", "undeclared"])


@DECLARED
@pytest.mark.parametrize("options", [{}, {"slots": True}, {"frozen": True}], ids=repr)
def test_a_dataclass_may_gain_lose_and_widen_fields(
    slot: ClockedSlot, declared: bool, options: Any
) -> None:
    old = account(("owner", str), ("balance", int), ("branch", str), **options)
    rewrite(
        slot,
        "get_state",
        ValueStateDescriptor("s", old if declared else None),
        lambda state: state.update(old("ann", 5, "north")),
    )
    new = account(
        ("owner", str),
        ("balance", float),
        field("notes", list[str], default_factory=list),
        field("limit", int, default=100),
        **options,
    )
    state = slot.open("get_state", ValueStateDescriptor("s", new if declared else None))
    found = state.value()
    assert found == new("ann", 5.0, [], 100)
    assert type(found.balance) is float
    slot.commit()
    slot.restart()
    state = slot.open("get_state", ValueStateDescriptor("s", new if declared else None))
    assert state.value() == new("ann", 5.0, [], 100)


@DECLARED
@pytest.mark.parametrize(
    ("getter", "describe", "write", "read"),
    [
        ("get_list_state", ListStateDescriptor, lambda s, v: s.add(v), lambda s: next(iter(s))),
        ("get_bag_state", BagStateDescriptor, lambda s, v: s.add(v), lambda s: next(iter(s))),
        (
            "get_map_state",
            lambda name, kind: MapStateDescriptor(name, str, kind),
            lambda s, v: s.put("x", v),
            lambda s: s["x"],
        ),
        (
            "get_reducing_state",
            lambda name, kind: ReducingStateDescriptor(name, lambda a, b: a, kind),
            lambda s, v: s.add(v),
            lambda s: s.get(),
        ),
    ],
    ids=["list", "bag", "map", "reducing"],
)
def test_every_kind_of_state_follows(
    slot: ClockedSlot, declared: bool, getter: str, describe: Any, write: Any, read: Any
) -> None:
    old = account(("owner", str))
    first = describe("s", old if declared else None)
    rewrite(slot, getter, first, lambda state: write(state, old("ann")))
    new = account(("owner", str), field("limit", int, default=1))
    state = slot.open(getter, describe("s", new if declared else None))
    assert read(state) == new("ann", 1)


@DECLARED
def test_three_versions_lie_side_by_side(slot: ClockedSlot, declared: bool) -> None:
    def descriptor() -> Any:
        return ValueStateDescriptor("s", kind if declared else None)

    kind = account(("a", int))
    slot.open("get_state", descriptor(), "first").update(kind(1))
    slot.commit()
    slot.restart()
    kind = account(("a", int), field("b", int, default=7))
    slot.open("get_state", descriptor(), "second").update(kind(2, 2))
    slot.commit()
    slot.restart()
    kind = account(("a", float), field("b", int, default=7))
    assert slot.open("get_state", descriptor(), "first").value() == kind(1.0, 7)
    assert slot.open("get_state", descriptor(), "second").value() == kind(2.0, 2)
    slot.restart()
    kind = account(("b", int))
    with pytest.raises(StateError, match="field 'b' of Account is new and has no default"):
        slot.open("get_state", descriptor())


@DECLARED
def test_what_cannot_be_read_is_refused_at_the_start(slot: ClockedSlot, declared: bool) -> None:
    old = account(("owner", str), ("balance", float))
    rewrite(
        slot,
        "get_state",
        ValueStateDescriptor("money", old if declared else None),
        lambda state: state.update(old("ann", 5.0)),
    )
    new = account(("owner", str), ("balance", int))
    with pytest.raises(StateError) as caught:
        slot.open("get_state", ValueStateDescriptor("money", new if declared else None))
    text = str(caught.value)
    assert "State 'money' of operator 'op' cannot be read by this program" in text
    assert "field 'balance' of Account: DOUBLE became LONG" in text
    assert "migrate_with" in text
    if declared:
        assert "in the checkpoint: Account(owner: STRING, balance: DOUBLE)" in text
        assert "in the program:    Account(owner: STRING, balance: LONG)" in text


@DECLARED
def test_a_function_can_convert(slot: ClockedSlot, declared: bool) -> None:
    old = account(("owner", str), ("balance", float))
    rewrite(
        slot,
        "get_state",
        ValueStateDescriptor("s", old if declared else None),
        lambda state: state.update(old("ann", 5.25)),
    )
    new = account(("owner", str), ("cents", int))

    def descriptor() -> Any:
        made = ValueStateDescriptor("s", new if declared else None)
        return made.migrate_with(lambda was: new(was["owner"], round(was["balance"] * 100)))

    assert slot.open("get_state", descriptor()).value() == new("ann", 525)
    slot.commit()
    slot.restart()
    assert slot.open("get_state", descriptor()).value() == new("ann", 525), "converted once"
    slot.open("get_state", descriptor(), "fresh").update(new("bob", 1))
    slot.commit()
    slot.restart()
    assert slot.open("get_state", descriptor(), "fresh").value() == new("bob", 1)


def test_a_function_converts_scalars_and_list_elements(slot: ClockedSlot) -> None:
    slot.open("get_state", ValueStateDescriptor("v", Types.LONG())).update(5)
    slot.open("get_list_state", ListStateDescriptor("l", int)).add_all([1, 2])
    slot.open("get_map_state", MapStateDescriptor("m", str, int)).put("x", 3)
    slot.commit()
    slot.restart()
    for name, describe in (
        ("get_state", ValueStateDescriptor("v", str)),
        ("get_list_state", ListStateDescriptor("l", str)),
        ("get_map_state", MapStateDescriptor("m", str, str)),
    ):
        with pytest.raises(StateError, match="LONG became STRING"):
            slot.open(name, describe)
    value = slot.open("get_state", ValueStateDescriptor("v", str).migrate_with(str))
    listed = slot.open("get_list_state", ListStateDescriptor("l", str).migrate_with(str))
    mapped = slot.open("get_map_state", MapStateDescriptor("m", str, str).migrate_with(str))
    assert (value.value(), listed.get(), mapped.items()) == ("5", ["1", "2"], [("x", "3")])
    value.update("6")
    listed.add("3")
    slot.commit()
    slot.restart()
    value = slot.open("get_state", ValueStateDescriptor("v", str).migrate_with(lambda old: "!"))
    assert value.value() == "6"
    listed = slot.open("get_list_state", ListStateDescriptor("l", str).migrate_with(str))
    assert listed.get() == ["1", "2", "3"]


def test_a_function_that_fails_is_named(slot: ClockedSlot) -> None:
    rewrite(slot, "get_state", ValueStateDescriptor("s", str), lambda state: state.update("x"))
    state = slot.open("get_state", ValueStateDescriptor("s", int).migrate_with(int))
    with pytest.raises(StateError, match=r"state 's': the function given to migrate_with failed"):
        state.value()


def test_a_class_that_is_gone_is_refused_at_the_start(slot: ClockedSlot) -> None:
    old = account(("owner", str))
    rewrite(slot, "get_state", ValueStateDescriptor("s"), lambda s: s.update([old("ann")]))
    del sys.modules[__name__].Account  # type: ignore[attr-defined]
    with pytest.raises(StateError, match=f"the program has no {__name__}.Account any more"):
        slot.open("get_state", ValueStateDescriptor("s"))
    migrating = ValueStateDescriptor("s").migrate_with(lambda was: [w["owner"] for w in was])
    assert slot.open("get_state", migrating).value() == ["ann"]


def test_an_empty_state_may_become_anything(slot: ClockedSlot) -> None:
    rewrite(slot, "get_state", ValueStateDescriptor("s", int), lambda state: state.update(1))
    slot.open("get_state", ValueStateDescriptor("s", int)).clear()
    slot.commit()
    slot.restart()
    slot.open("get_map_state", MapStateDescriptor("s", str, str)).put("a", "b")
    slot.commit()


def test_another_kind_of_state_is_refused(slot: ClockedSlot) -> None:
    rewrite(slot, "get_state", ValueStateDescriptor("s"), lambda state: state.update(1))
    with pytest.raises(StateError, match="ValueState became ListState") as caught:
        slot.open("get_list_state", ListStateDescriptor("s"))
    assert "Give the new state a name of its own" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "value", "expected"),
    [
        (Types.INT(), Types.LONG(), 5, 5),
        (Types.LONG(), Types.DOUBLE(), 5, 5.0),
        (Types.FLOAT(), Types.DOUBLE(), 0.5, 0.5),
        (Types.LONG(), None, 5, 5),
        (None, Types.LONG(), 5, 5),
        (None, float, 5, 5.0),
        (None, list[int], [1], [1]),
        (list[int], list[float], [1, 2], [1.0, 2.0]),
        (list[int], None, [1], [1]),
        (tuple[int, str], tuple[float, str], (1, "a"), (1.0, "a")),
        (dict[str, int], dict[str, float], {"a": 1}, {"a": 1.0}),
        (Types.CHAR(), Types.STRING(), "c", "c"),
    ],
)
def test_types_that_fit(slot: ClockedSlot, old: Any, new: Any, value: Any, expected: Any) -> None:
    rewrite(slot, "get_state", ValueStateDescriptor("s", old), lambda state: state.update(value))
    found = slot.open("get_state", ValueStateDescriptor("s", new)).value()
    assert found == expected
    assert repr(found) == repr(expected)


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [
        (Types.LONG(), Types.INT(), 5),
        (float, int, 0.5),
        (int, str, 5),
        (None, str, 5),
        (list[int], list[str], [1]),
        (list[int], int, [1]),
        (tuple[int, int], tuple[int], (1, 2)),
        (dict[str, int], dict[int, int], {"a": 1}),
    ],
)
def test_types_that_do_not_fit(slot: ClockedSlot, old: Any, new: Any, value: Any) -> None:
    rewrite(slot, "get_state", ValueStateDescriptor("s", old), lambda state: state.update(value))
    with pytest.raises(StateError, match=r"State 's' of operator 'op' cannot be read"):
        slot.open("get_state", ValueStateDescriptor("s", new))


@dataclasses.dataclass
class Everything:
    """All that msgspec writes."""

    whole: int
    real: float
    text: str
    raw: bytes
    flag: bool
    exact: Decimal
    day: dt.date
    moment: dt.datetime
    pair: tuple[int, str]
    many: list[float]
    named: dict[str, int]
    maybe: int | None = None


def test_values_come_back_as_they_were(slot: ClockedSlot) -> None:
    value = Everything(
        whole=1 << 60,
        real=0.1,
        text="ü",
        raw=b"\x00",
        flag=True,
        exact=Decimal("1.10"),
        day=dt.date(2024, 2, 29),
        moment=dt.datetime(2024, 2, 29, 1, 2, 3, 4),  # noqa: DTZ001
        pair=(1, "a"),
        many=[1.5],
        named={"a": 1},
    )
    rewrite(
        slot, "get_state", ValueStateDescriptor("s", Everything), lambda state: state.update(value)
    )
    state = slot.open("get_state", ValueStateDescriptor("s", Everything))
    assert repr(state.value()) == repr(value)
    record = next(record for _, record in slot.local.scan("op\x1fs"))
    assert len(record) < len(dumps(value, set())), "declared types take less room than a pickle"


@pytest.mark.parametrize(
    ("declared", "value", "message"),
    [
        (Types.LONG(), "abc", r"expected LONG, got 'abc' \(str\)"),
        (Types.LONG(), 1 << 70, "does not fit into 64 bits"),
        (list[int], ["a"], r"item 0: expected LONG, got 'a' \(str\)"),
        (Everything, {"whole": 1}, "expected Everything"),
        (str, 5, r"expected STRING, got 5 \(int\)"),
    ],
)
def test_a_value_of_another_type_is_refused_when_it_is_written(
    slot: ClockedSlot, declared: Any, value: Any, message: str
) -> None:
    state = slot.open("get_state", ValueStateDescriptor("s", declared), "some key")
    with pytest.raises(StateError, match=message) as caught:
        state.update(value)
    assert "In operator 'op', state 's': key 'some key' was given" in str(caught.value)


def test_a_declared_float_takes_whole_numbers(slot: ClockedSlot) -> None:
    rewrite(slot, "get_state", ValueStateDescriptor("s", float), lambda state: state.update(3))
    found = slot.open("get_state", ValueStateDescriptor("s", float)).value()
    assert repr(found) == "3.0"


def test_a_class_defined_in_a_function_is_kept(slot: ClockedSlot) -> None:
    @dataclasses.dataclass
    class Local:
        x: int

    rewrite(slot, "get_state", ValueStateDescriptor("s"), lambda state: state.update(Local(1)))
    assert slot.open("get_state", ValueStateDescriptor("s")).value() == Local(1)
    slot.restart()
    slot.open("get_state", ValueStateDescriptor("t", Local)).update(Local(2))
    slot.commit()
    slot.restart()
    assert slot.open("get_state", ValueStateDescriptor("t", Local)).value() == Local(2)


def test_elements_of_sets_keep_their_type(slot: ClockedSlot) -> None:
    rewrite(slot, "get_set_state", SetStateDescriptor("s", int), lambda state: state.add(1))
    with pytest.raises(StateError, match="set keys of type LONG became STRING"):
        slot.open("get_set_state", SetStateDescriptor("s", str))


def test_what_is_no_type_is_refused() -> None:
    with pytest.raises(ProgramError, match="The type of state 's' must be one of Types"):
        ValueStateDescriptor("s", "long")
    with pytest.raises(ProgramError, match="The state 's' needs an AggregateFunction, got None"):
        AggregatingStateDescriptor("s", None)


def test_a_stored_class_that_is_no_dataclass_any_more_is_named() -> None:
    stored = dumps(account(("owner", str))("eve"), set())
    sys.modules[__name__].Account = type(  # type: ignore[attr-defined]
        "Account", (), {"__module__": __name__}
    )
    with pytest.raises(StateError, match=r"Account .*no dataclass any more.*Change it back"):
        pickle.loads(stored)
