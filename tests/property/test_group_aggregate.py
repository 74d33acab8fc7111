"""GROUP BY: what is sent is what the definition gives, change by change, however the input is cut,
lost, run again and rescaled."""

from __future__ import annotations

from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.common.changelog import ChangelogMode
from scurry.common.errors import FunctionError
from scurry.functions.aggregate_calls import AggregateCall
from scurry.functions.transforms import Function
from scurry.plan.relational import GroupAggregate
from scurry.testing.relations import Change, changes_of, keyed, relation, table_of

SCHEMA = pa.schema(
    [
        ("k", pa.string()),
        ("n", pa.int64()),
        ("d", pa.decimal128(10, 2)),
        ("s", pa.string()),
        ("f", pa.bool_()),
    ]
)
SUM_TYPE, AVG_TYPE = pa.decimal128(38, 2), pa.decimal128(38, 6)


class Product(Function):
    """An aggregate of a user's: the product of whole numbers."""

    def create_accumulator(self) -> list[int]:
        return [1]

    def accumulate(self, held: list[int], value: int | None) -> None:
        held[0] *= value or 1

    def retract(self, held: list[int], value: int | None) -> None:
        held[0] //= value or 1

    def get_value(self, held: list[int]) -> int:
        return held[0]


CALLS: dict[str, AggregateCall] = {
    "rows": AggregateCall("COUNT"),
    "count": AggregateCall("COUNT", (1,)),
    "filtered": AggregateCall("COUNT", filter=4),
    "sum": AggregateCall("SUM", (1,)),
    "sum0": AggregateCall("SUM0", (1,), filter=4),
    "avg": AggregateCall("AVG", (1,)),
    "decimals": AggregateCall("SUM", (2,), SUM_TYPE),
    "mean": AggregateCall("AVG", (2,), AVG_TYPE),
    "min": AggregateCall("MIN", (1,)),
    "max": AggregateCall("MAX", (2,), pa.decimal128(10, 2)),
    "least": AggregateCall("MIN", (3,), pa.string()),
    "greatest": AggregateCall("MAX", (3,), pa.string(), filter=4),
    "highest": AggregateCall("MAX", (1,), filter=4),
    "distinct": AggregateCall("COUNT", (3,), distinct=True),
    "sums": AggregateCall("SUM", (1,), distinct=True, filter=4),
    "product": AggregateCall(Product(), (1,)),
    "bag": AggregateCall("COLLECT", (3,), pa.map_(pa.string(), pa.int32())),
}


def values(rows: list[Any], index: int, filtered: bool = False) -> list[Any]:
    chosen = [row for row in rows if not filtered or row[4]]
    return [row[index] for row in chosen if row[index] is not None]


def mean(found: list[Decimal]) -> Decimal | None:
    if not found:
        return None
    exact = sum(found) / len(found)
    return Decimal(exact).quantize(Decimal("0.000001"), ROUND_HALF_UP)


def whole(found: list[int]) -> int | None:
    total = sum(found)
    return (abs(total) // len(found) * (1 if total >= 0 else -1)) if found else None


def product(rows: list[Any]) -> int:
    made = 1
    for value in values(rows, 1):
        made *= value or 1
    return made


def bag(rows: list[Any]) -> dict[str, int]:
    return {text: values(rows, 3).count(text) for text in sorted(set(values(rows, 3)))}


DEFINED: dict[str, Any] = {
    "rows": len,
    "count": lambda rows: len(values(rows, 1)),
    "filtered": lambda rows: sum(1 for row in rows if row[4]),
    "sum": lambda rows: sum(values(rows, 1)) if values(rows, 1) else None,
    "sum0": lambda rows: sum(values(rows, 1, True)),
    "avg": lambda rows: whole(values(rows, 1)),
    "decimals": lambda rows: sum(values(rows, 2)) if values(rows, 2) else None,
    "mean": lambda rows: mean(values(rows, 2)),
    "min": lambda rows: min(values(rows, 1), default=None),
    "max": lambda rows: max(values(rows, 2), default=None),
    "least": lambda rows: min(values(rows, 3), default=None),
    "greatest": lambda rows: max(values(rows, 3, True), default=None),
    "highest": lambda rows: max(values(rows, 1, True), default=None),
    "distinct": lambda rows: len(set(values(rows, 3))),
    "sums": lambda rows: sum(set(values(rows, 1, True))) if values(rows, 1, True) else None,
    "product": product,
    "bag": bag,
}


def shown(result: Any) -> Any:
    return dict(sorted(result)) if isinstance(result, list) else result


def expected(changes: list[Change], names: list[str]) -> dict[Any, list[Change]]:
    """The changes of each group, by definition."""
    rows: dict[Any, list[Any]] = defaultdict(list)
    sent: dict[Any, list[Change]] = defaultdict(list)
    for kind, *row in changes:
        held = rows[row[0]]
        before = [DEFINED[name](held) for name in names] if held else None
        if kind in ("+I", "+U"):
            held.append(row)
        elif row in held:
            held.remove(row)
        else:
            continue
        after = [DEFINED[name](held) for name in names]
        if before is None:
            sent[row[0]].append(("+I", row[0], *after))
        elif not held:
            sent[row[0]].append(("-D", row[0], *before))
        elif before != after:
            sent[row[0]] += [("-U", row[0], *before), ("+U", row[0], *after)]
    return sent


def by_key(changes: list[Change]) -> dict[Any, list[Change]]:
    found: dict[Any, list[Change]] = defaultdict(list)
    for kind, key, *results in changes:
        found[key].append((kind, key, *map(shown, results)))
    return found


rows = st.tuples(
    st.sampled_from(["a", "b", "cc", None]),
    st.none() | st.integers(-3, 3),
    st.none() | st.integers(-999, 999).map(lambda n: Decimal(n) / 100),
    st.none() | st.sampled_from(["x", "yy", "z", ""]),
    st.none() | st.booleans(),
)


@st.composite
def changelogs(draw: Any) -> list[Change]:
    """Rows that come and go, and go only if they are there."""
    held: list[Any] = []
    made: list[Change] = []
    for _ in range(draw(st.integers(1, 30))):
        if held and draw(st.booleans()):
            gone = held.pop(draw(st.integers(0, len(held) - 1)))
            made.append((draw(st.sampled_from(["-D", "-U"])), *gone))
        else:
            row = draw(rows)
            held.append(row)
            made.append((draw(st.sampled_from(["+I", "+U"])), *row))
    return made


def node(changes: list[Change], names: list[str], **options: Any) -> GroupAggregate:
    calls = tuple(CALLS[name] for name in names)
    types = [(name, call.type) for name, call in zip(names, calls, strict=True)]
    return GroupAggregate(
        name="group",
        uid="group",
        inputs=(keyed(relation(SCHEMA, changes), 0),),
        columns=pa.schema([("k", pa.string()), *types]),
        mode=ChangelogMode.RETRACT,
        calls=calls,
        retracting=any(kind != "+I" for kind, *_ in changes),
        **options,
    )


cuts = st.lists(st.integers(1, 9), min_size=1, max_size=4)
troubles = st.lists(st.integers(0, 6), max_size=3)
chosen = st.lists(st.sampled_from(sorted(CALLS)), max_size=4, unique=True)


@given(changelogs(), chosen, cuts, troubles, troubles)
def test_every_change_is_that_of_the_definition(
    changes: list[Change], names: list[str], cut: list[int], crash: list[int], restart: list[int]
) -> None:
    sent = changes_of(node(changes, names), cut, crash, restart)
    assert by_key(sent) == expected(changes, names)


@given(
    st.lists(rows.map(lambda row: ("+I", *row)), min_size=1, max_size=30), chosen, cuts, troubles
)
def test_groups_that_only_grow(
    changes: list[Change], names: list[str], cut: list[int], crash: list[int]
) -> None:
    sent = changes_of(node(changes, names), cut, crash)
    assert by_key(sent) == expected(changes, names)


@given(
    changelogs(), chosen, cuts, st.dictionaries(st.integers(1, 5), st.integers(1, 4), max_size=2)
)
def test_another_parallelism_changes_nothing(
    changes: list[Change], names: list[str], cut: list[int], rescale: dict[int, int]
) -> None:
    sent = changes_of(node(changes, names), cut, rescale=rescale, parallelism=2)
    assert by_key(sent) == expected(changes, names)


@given(changelogs(), chosen, cuts)
def test_net_changes_amount_to_the_same_table(
    changes: list[Change], names: list[str], cut: list[int]
) -> None:
    sent = changes_of(node(changes, names, mini_batch=True), cut)
    wanted = [change for group in expected(changes, names).values() for change in group]
    net = [change for group in by_key(sent).values() for change in group]
    assert table_of(net) == table_of(wanted)
    assert all(count > 0 for count in table_of(net).values())


def test_without_old_rows_an_update_is_the_new_row_alone() -> None:
    changes = [("+I", "a", 1, None, None, None), ("+I", "a", 2, None, None, None)]
    found = changes_of(node(changes, ["sum"], update_before=False))
    assert found == [("+I", "a", 1), ("+U", "a", 3)]


def test_a_row_taken_back_that_was_never_there_is_ignored() -> None:
    changes = [
        ("-D", "a", 5, None, None, None),
        ("+I", "a", 1, None, None, None),
        ("-D", "a", 1, None, None, None),
        ("-D", "a", 1, None, None, None),
        ("+I", "a", 7, None, None, None),
    ]
    assert changes_of(node(changes, ["sum"])) == [("+I", "a", 1), ("-D", "a", 1), ("+I", "a", 7)]


@pytest.mark.parametrize("cut", [1, 2, 100])
def test_first_and_last_values_and_lists(cut: int) -> None:
    texts = ["x", None, "y", "z"]
    calls = (
        AggregateCall("FIRST_VALUE", (3,), pa.string()),
        AggregateCall("LAST_VALUE", (3,), pa.string()),
        AggregateCall("LISTAGG", (3,), pa.string(), constants=("-",)),
        AggregateCall("ARRAY_AGG", (3,), pa.list_(pa.string())),
    )
    changes = [("+I", "a", None, None, text, None) for text in texts]
    made = GroupAggregate(
        name="group",
        inputs=(keyed(relation(SCHEMA, changes), 0),),
        columns=pa.schema([("k", pa.string()), *((f"c{n}", c.type) for n, c in enumerate(calls))]),
        mode=ChangelogMode.RETRACT,
        calls=calls,
        update_before=False,
    )
    assert changes_of(made, cut) == [
        ("+I", "a", "x", "x", "x", ["x"]),
        ("+U", "a", "x", "x", "x", ["x", None]),
        ("+U", "a", "x", "y", "x-y", ["x", None, "y"]),
        ("+U", "a", "x", "z", "x-y-z", ["x", None, "y", "z"]),
    ]


def test_first_and_last_values_that_can_go() -> None:
    calls = (
        AggregateCall("FIRST_VALUE", (3,), pa.string()),
        AggregateCall("LAST_VALUE", (3,), pa.string()),
    )
    changes = [
        *(("+I", "a", None, None, text, None) for text in "xyz"),
        *(("-D", "a", None, None, text, None) for text in "xz"),
    ]
    made = GroupAggregate(
        name="group",
        inputs=(keyed(relation(SCHEMA, changes), 0),),
        columns=pa.schema([("k", pa.string()), ("f", pa.string()), ("l", pa.string())]),
        mode=ChangelogMode.RETRACT,
        calls=calls,
        retracting=True,
        update_before=False,
    )
    assert [change[2:] for change in changes_of(made, 2)] == [
        ("x", "x"),
        ("x", "y"),
        ("x", "z"),
        ("y", "z"),
        ("y", "y"),
    ]


def test_a_group_of_no_columns_is_one_group() -> None:
    changes = [("+I", "a", 1, None, None, None), ("+I", "b", 2, None, None, None)]
    made = GroupAggregate(
        name="group",
        inputs=(keyed(relation(SCHEMA, changes)),),
        columns=pa.schema([("n", pa.int64())]),
        mode=ChangelogMode.RETRACT,
        calls=(CALLS["sum"],),
    )
    assert changes_of(made, 1, parallelism=2) == [("+I", 1), ("-U", 1), ("+U", 3)]


def aggregated(calls: tuple[AggregateCall, ...], changes: list[Change]) -> list[Any]:
    """What the calls come to after each change, for the only group."""
    made = GroupAggregate(
        name="group",
        inputs=(keyed(relation(SCHEMA, changes), 0),),
        columns=pa.schema([("k", pa.string()), *((f"c{n}", c.type) for n, c in enumerate(calls))]),
        mode=ChangelogMode.RETRACT,
        calls=calls,
        retracting=any(kind != "+I" for kind, *_ in changes),
        update_before=False,
    )
    return [change[2:] for change in changes_of(made, 2)]


def test_a_single_value_is_that_of_the_only_row() -> None:
    call = (AggregateCall("SINGLE_VALUE", (1,)),)
    row = ("a", 1, None, None, None)
    other = ("a", 2, None, None, None)
    assert aggregated(call, [("+I", *row), ("-U", *row), ("+U", *other)]) == [(1,), (1,), (2,)]
    with pytest.raises(FunctionError, match=r"(?s)more than one row.*LIMIT 1.*group"):
        aggregated(call, [("+I", *row), ("+I", *other)])


def test_json_of_groups() -> None:
    calls = (
        AggregateCall("JSON_ARRAYAGG", (2,), pa.string()),
        AggregateCall("JSON_OBJECTAGG", (3, 1), pa.string()),
    )
    changes = [
        ("+I", "a", 1, Decimal("1.50"), "x", None),
        ("+I", "a", None, None, 'y"', None),
        ("-D", "a", 1, Decimal("1.50"), "x", None),
    ]
    assert aggregated(calls, changes) == [
        ("[1.50]", '{"x":1}'),
        ("[1.50]", '{"x":1,"y\\"":null}'),
        ("[]", '{"y\\"":null}'),
    ]


def test_variances_of_whole_numbers_and_decimals() -> None:
    """As Flink has them: of whole numbers a whole number, rounded towards zero."""
    names = ("VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP")
    calls = (
        *(AggregateCall(name, (1,)) for name in names),
        *(AggregateCall(name, (2,), AVG_TYPE) for name in names),
    )
    numbers = (10, 11, 13, 20, 7, 8)
    changes = [("+I", "a", n, Decimal(n), None, None) for n in numbers]
    texts = ("18.250000", "21.900000", "4.272002", "4.679744")
    assert aggregated(calls, changes)[-1] == (18, 21, 4, 4, *map(Decimal, texts))
    assert aggregated(calls, changes[:1]) == [(0, None, 0, None, 0, None, 0, None)]


def test_numbers_beyond_all_bounds() -> None:
    """Floats become infinite, decimals of more than 38 digits null."""
    schema = pa.schema([("k", pa.string()), ("x", pa.float64()), ("d", pa.decimal128(38, 0))])
    large = Decimal(10) ** 37 * 6
    made = GroupAggregate(
        name="group",
        inputs=(keyed(relation(schema, [("+I", "a", 1e308, large)] * 2), 0),),
        columns=pa.schema([("k", pa.string()), ("x", pa.float64()), ("d", pa.decimal128(38, 0))]),
        mode=ChangelogMode.RETRACT,
        calls=(
            AggregateCall("SUM", (1,), pa.float64()),
            AggregateCall("SUM", (2,), pa.decimal128(38, 0)),
        ),
        update_before=False,
    )
    for cut in (1, 2):
        assert changes_of(made, cut) == [("+I", "a", 1e308, large), ("+U", "a", float("inf"), None)]
