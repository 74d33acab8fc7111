"""Regular joins: the changes that are sent amount to the join of the tables, at every moment,
however the input is cut, lost, run again and rescaled."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.common.changelog import ChangelogMode
from scurry.plan.relational import RegularJoin
from scurry.testing.relations import Change, changes_of, keyed, relation, table_of

LEFT = pa.schema([("k", pa.string()), ("a", pa.int64())])
RIGHT = pa.schema([("b", pa.int64()), ("k", pa.string())])
KINDS = ["inner", "left", "right", "full", "semi", "anti"]


def less(columns: Any, context: Any) -> Any:
    """left.a < right.b"""
    return pc.less(columns.column(1), columns.column(2))


def node(
    left: list[Change], right: list[Change], kind: str, condition: Any = None, **options: Any
) -> RegularJoin:
    columns = LEFT if kind in ("semi", "anti") else pa.schema([*LEFT, *RIGHT])
    return RegularJoin(
        name="join",
        uid="join",
        inputs=(
            keyed(relation(LEFT, left, "left"), 0),
            keyed(relation(RIGHT, right, "right"), 1),
        ),
        columns=columns,
        mode=ChangelogMode.RETRACT,
        kind=kind,
        condition=condition,
        **options,
    )


def joined(left: Counter[Any], right: Counter[Any], kind: str, conditional: bool) -> Counter[Any]:
    """The join of two tables, by definition."""

    def match(one: Any, other: Any) -> bool:
        equal = one[0] is not None and one[0] == other[1]
        known = None not in (one[1], other[0])
        return equal and (not conditional or (known and one[1] < other[0]))

    made: Counter[Any] = Counter()
    for one, times in left.items():
        found = {other: n for other, n in right.items() if match(one, other)}
        if kind in ("semi", "anti"):
            if bool(found) == (kind == "semi"):
                made[one] += times
            continue
        for other, n in found.items():
            made[one + other] += times * n
        if not found and kind in ("left", "full"):
            made[(*one, None, None)] += times
    if kind in ("right", "full"):
        for other, n in right.items():
            if not any(match(one, other) for one in left):
                made[(None, None, *other)] += n
    return made


@st.composite
def changelogs(draw: Any, rows: Any) -> list[Change]:
    held: list[Any] = []
    made: list[Change] = []
    for _ in range(draw(st.integers(1, 12))):
        if held and draw(st.integers(0, 2)) == 0:
            gone = held.pop(draw(st.integers(0, len(held) - 1)))
            made.append((draw(st.sampled_from(["-D", "-U"])), *gone))
        else:
            held.append(draw(rows))
            made.append((draw(st.sampled_from(["+I", "+U"])), *held[-1]))
    return made


names = st.sampled_from(["x", "y", None])
numbers = st.none() | st.integers(0, 2)
lefts = changelogs(st.tuples(names, numbers))
rights = changelogs(st.tuples(numbers, names))
cuts = st.lists(st.integers(1, 5), min_size=1, max_size=4)
troubles = st.lists(st.integers(0, 6), max_size=2)


def check(sent: list[Change], left: list[Change], right: list[Change], *how: Any) -> None:
    assert table_of(sent) == joined(table_of(left), table_of(right), *how)
    so_far: Counter[Any] = Counter()
    for kind, *row in sent:
        so_far[tuple(row)] += 1 if kind in ("+I", "+U") else -1
        assert so_far[tuple(row)] >= 0, f"{row} is taken back before it was sent"


@pytest.mark.parametrize("kind", KINDS)
@given(lefts, rights, st.booleans(), cuts, troubles, troubles)
def test_changes_amount_to_the_join(
    kind: str,
    left: list[Change],
    right: list[Change],
    conditional: bool,
    cut: list[int],
    crash: list[int],
    restart: list[int],
) -> None:
    join = node(left, right, kind, less if conditional else None)
    check(changes_of(join, cut, crash, restart), left, right, kind, conditional)


@given(
    st.sampled_from(KINDS),
    lefts,
    rights,
    cuts,
    st.dictionaries(st.integers(1, 4), st.integers(1, 3), max_size=2),
)
def test_another_parallelism_changes_nothing(
    kind: str, left: list[Change], right: list[Change], cut: list[int], rescale: dict[int, int]
) -> None:
    sent = changes_of(node(left, right, kind), cut, rescale=rescale, parallelism=2)
    check(sent, left, right, kind, False)


def sequence(kind: str) -> list[Change]:
    """What a left row, a matching right row, and the end of the right row give, one by one."""
    left = [("+I", "x", 1)]
    right = [("+I", 5, "x"), ("-U", 5, "x"), ("+U", 6, "x"), ("-D", 6, "x")]
    return changes_of(node(left, right, kind), 1)


def test_the_changes_of_joins_are_those_of_flink() -> None:
    assert sequence("inner") == [
        ("+I", "x", 1, 5, "x"),
        ("-U", "x", 1, 5, "x"),
        ("+U", "x", 1, 6, "x"),
        ("-D", "x", 1, 6, "x"),
    ]
    assert sequence("left") == [
        ("+I", "x", 1, None, None),
        ("-D", "x", 1, None, None),
        ("+I", "x", 1, 5, "x"),
        ("-U", "x", 1, 5, "x"),
        ("+I", "x", 1, None, None),
        ("-D", "x", 1, None, None),
        ("+I", "x", 1, 6, "x"),
        ("-D", "x", 1, 6, "x"),
        ("+I", "x", 1, None, None),
    ]
    assert sequence("semi") == [("+I", "x", 1), ("-U", "x", 1), ("+U", "x", 1), ("-D", "x", 1)]
    assert sequence("anti") == [
        ("+I", "x", 1),
        ("-D", "x", 1),
        ("+I", "x", 1),
        ("-D", "x", 1),
        ("+I", "x", 1),
    ]


def test_nulls_are_equal_where_the_condition_says_so() -> None:
    left, right = [("+I", None, 1)], [("+I", 5, None)]
    assert changes_of(node(left, right, "inner")) == []
    found = changes_of(node(left, right, "inner", null_equal=(True,)))
    assert found == [("+I", None, 1, 5, None)]


inserted = st.lists(st.tuples(names, numbers), min_size=1, max_size=25)


def grown(left: list[Any], right: list[Any], condition: Any = None) -> RegularJoin:
    return node(
        [("+I", *row) for row in left], [("+I", *row[::-1]) for row in right], "inner", condition
    )


@given(
    inserted,
    inserted,
    st.booleans(),
    cuts,
    troubles,
    troubles,
    st.dictionaries(st.integers(1, 4), st.integers(1, 3), max_size=2),
)
def test_streams_that_only_grow(
    left: list[Any],
    right: list[Any],
    conditional: bool,
    cut: list[int],
    crash: list[int],
    restart: list[int],
    rescale: dict[int, int],
) -> None:
    join = grown(left, right, less if conditional else None)
    sent = changes_of(join, cut, crash, restart, rescale, 2)
    assert {kind for kind, *_ in sent} <= {"+I"}
    tables = Counter(left), Counter(row[::-1] for row in right)
    assert table_of(sent) == joined(*tables, "inner", conditional)


@given(st.lists(names, min_size=1, max_size=30), st.integers(1, 3))
def test_partners_come_in_the_order_in_which_they_came(keys: list[Any], cut: int) -> None:
    left = list(zip(keys, range(len(keys)), strict=True))
    sent = changes_of(grown(left, [("x", 0)]), cut)
    mine = [a for _, _, a, _, _ in sent]
    assert mine == [a for key, a in left if key == "x"]


KEYS = pa.schema([("i", pa.int32()), ("j", pa.string()), ("v", pa.int64())])


@given(st.lists(st.tuples(st.none() | st.integers(0, 2), names, st.integers(0, 9)), max_size=20))
def test_keys_of_several_columns(rows: list[Any]) -> None:
    changes = [("+I", *row) for row in rows]
    join = RegularJoin(
        name="join",
        inputs=(
            keyed(relation(KEYS, changes, "left"), 0, 1),
            keyed(relation(KEYS, changes, "right"), 0, 1),
        ),
        columns=pa.schema([*KEYS, *KEYS]),
        kind="inner",
        null_equal=(False, True),
    )
    expected = Counter(
        (*one, *other)
        for one in rows
        for other in rows
        if one[0] is not None and one[:2] == other[:2]
    )
    assert Counter(tuple(row) for _, *row in changes_of(join, 7)) == expected
