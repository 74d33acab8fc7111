"""The changes that operators on relations send are those that Flink sends for the same query.

What Flink sends is in ``flink_changelogs.json``, which ``scripts/flink_changelogs.py`` makes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from scurry.common.changelog import ChangelogMode
from scurry.functions.aggregate_calls import AggregateCall, SortKey
from scurry.plan.relational import Calc, GroupAggregate, Rank, Relational
from scurry.testing.relations import changes_of, keyed, relation

MADE = json.loads(Path(__file__).with_name("flink_changelogs.json").read_text())
SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64()), ("x", pa.float64()), ("s", pa.string())])
DOUBLE, TEXT = pa.float64(), pa.string()
CALLS: dict[str, list[AggregateCall]] = {
    "counted": [
        AggregateCall("COUNT"),
        *(AggregateCall(name, (1,)) for name in ("COUNT", "SUM", "AVG", "MIN", "MAX")),
    ],
    "floats": [AggregateCall(name, (2,), DOUBLE) for name in ("SUM", "AVG", "MIN", "MAX")],
    "spread": [
        AggregateCall(name, (2,), DOUBLE)
        for name in ("VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP")
    ],
    "distinct": [
        AggregateCall("COUNT", (3,), distinct=True),
        AggregateCall("SUM", (1,), distinct=True),
    ],
    "filtered": [AggregateCall("COUNT", filter=4), AggregateCall("SUM", (1,), filter=5)],
    "unchanged": [AggregateCall("MAX", (1,))],
    "all": [AggregateCall("COUNT"), AggregateCall("SUM", (1,))],
    "once": [],
    "edges": [
        AggregateCall("FIRST_VALUE", (3,), TEXT),
        AggregateCall("LAST_VALUE", (3,), TEXT),
        AggregateCall("LISTAGG", (3,), TEXT),
    ],
}
KEYS = {"all": (), "once": (0, 3)}


def filtered(source: Any, mode: ChangelogMode) -> Calc:
    """The input with the conditions of FILTER as columns."""
    same = [lambda columns, context, at=at: columns.column(at) for at in range(4)]
    return Calc(
        name="filters",
        inputs=(source,),
        columns=pa.schema([*SCHEMA, ("n > 1", pa.bool_()), ("s = x", pa.bool_())]),
        mode=mode,
        projections=(
            *same,
            lambda columns, context: pc.greater(columns.column(1), 1),
            lambda columns, context: pc.equal(columns.column(3), "x"),
        ),
    )


def node(name: str, given: str) -> Relational:
    changes = [tuple(change) for change in MADE["inputs"][given]]
    mode = ChangelogMode.INSERT_ONLY if given == "inserts" else ChangelogMode.RETRACT
    source = filtered(relation(SCHEMA, changes), mode)
    if name in ("ranked", "numbered"):
        plain = relation(SCHEMA, changes)
        number = [("r", pa.int64())] if name == "numbered" else []
        order = SortKey(1, ascending=False, nulls_last=True) if name == "ranked" else SortKey(1)
        return Rank(
            name=name,
            inputs=(keyed(plain, 0),),
            columns=pa.schema([*SCHEMA, *number]),
            mode=ChangelogMode.RETRACT,
            order=(order,),
            first=1,
            last=2,
            number=name == "numbered",
            retracting=given == "changes",
        )
    keys, calls = KEYS.get(name, (0,)), CALLS[name]
    columns = [SCHEMA.field(index) for index in keys]
    columns += [pa.field(f"c{n}", call.type) for n, call in enumerate(calls)]
    return GroupAggregate(
        name=name,
        inputs=(keyed(source, *keys),),
        columns=pa.schema(columns),
        mode=ChangelogMode.RETRACT,
        calls=tuple(calls),
        retracting=given == "changes",
    )


def rounded(change: Any) -> tuple[Any, ...]:
    """A change without the last bits of its floats, in which orders of adding differ."""
    return tuple(round(value, 12) if isinstance(value, float) else value for value in change)


@pytest.mark.parametrize("cut", [1, 4, 100])
@pytest.mark.parametrize("case", sorted(MADE["sent"]))
def test_the_changes_are_those_of_flink(case: str, cut: int) -> None:
    name, _, given = case.partition(" of ")
    sent = [rounded(change) for change in changes_of(node(name, given), cut)]
    assert sent == [rounded(change) for change in MADE["sent"][case]]
