"""Top-N, deduplication, upserts, sets and limits: what the definition gives, however the input is
cut, lost, run again and rescaled."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.common.changelog import ChangelogMode
from scurry.compile.job import Settings, compile_job
from scurry.functions.aggregate_calls import AggregateCall, SortKey
from scurry.plan.graph import Graph
from scurry.plan.nodes import Sink
from scurry.plan.relational import (
    ChangelogNormalize,
    Deduplicate,
    FinalRows,
    GroupAggregate,
    Limit,
    Rank,
    SetOperation,
    SinkMaterialize,
)
from scurry.runtime.columnar import row_shards
from scurry.runtime.relational.keyed import KeyedRelationalOperator
from scurry.state.backends import StateSettings
from scurry.testing import ListSink
from scurry.testing.local import LocalJob
from scurry.testing.relations import Change, changes_of, keyed, relation, table_of

SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64()), ("s", pa.string())])
rows = st.tuples(
    st.sampled_from(["a", "b"]), st.none() | st.integers(0, 3), st.none() | st.sampled_from("xyz")
)
cuts = st.lists(st.integers(1, 9), min_size=1, max_size=4)
troubles = st.lists(st.integers(0, 6), max_size=2)
degrees = st.dictionaries(st.integers(1, 4), st.integers(1, 3), max_size=2)
inserts = st.lists(rows.map(lambda row: ("+I", *row)), min_size=1, max_size=25)


@st.composite
def changelogs(draw: Any) -> list[Change]:
    held: list[Any] = []
    made: list[Change] = []
    for _ in range(draw(st.integers(1, 25))):
        if held and draw(st.integers(0, 2)) == 0:
            made.append(("-D", *held.pop(draw(st.integers(0, len(held) - 1)))))
        else:
            held.append(draw(rows))
            made.append(("+I", *held[-1]))
    return made


def order_of(row: Any, descending: bool) -> Any:
    """n, ascending or descending with nulls first, then s with nulls last."""
    _, n, s = row
    value = 0 if n is None else -n if descending else n
    return n is not None, value, s is None, s or ""


def rank(changes: list[Change], descending: bool, first: int, last: int, **options: Any) -> Rank:
    columns = [*SCHEMA, ("rank", pa.int64())] if options.get("number") else [*SCHEMA]
    return Rank(
        name="rank",
        uid="rank",
        inputs=(keyed(relation(SCHEMA, changes), 0),),
        columns=pa.schema(columns),
        mode=ChangelogMode.RETRACT,
        order=(SortKey(1, not descending), SortKey(2, nulls_last=True)),
        first=first,
        last=last,
        retracting=any(kind != "+I" for kind, *_ in changes),
        **options,
    )


def top(changes: list[Change], descending: bool, first: int, last: int, number: bool) -> Any:
    made: Counter[Any] = Counter()
    by_key: dict[str, list[Any]] = defaultdict(list)
    for row, times in table_of(changes).items():
        by_key[row[0]] += [row] * times
    for found in by_key.values():
        found.sort(key=lambda row: order_of(row, descending))
        for at, row in enumerate(found[first - 1 : last], start=first):
            made[(*row, at) if number else row] += 1
    return made


@given(
    st.one_of(inserts, changelogs()),
    st.booleans(),
    st.integers(1, 3),
    st.integers(0, 3),
    st.booleans(),
    cuts,
    troubles,
    troubles,
    degrees,
)
def test_top_n(
    changes: list[Change],
    descending: bool,
    first: int,
    more: int,
    number: bool,
    cut: list[int],
    crash: list[int],
    restart: list[int],
    rescale: dict[int, int],
) -> None:
    node = rank(changes, descending, first, first + more, number=number)
    sent = changes_of(node, cut, crash, restart, rescale, 2)
    assert table_of(sent) == top(changes, descending, first, first + more, number)
    held: Counter[Any] = Counter()
    for kind, *row in sent:
        held[tuple(row)] += 1 if kind in ("+I", "+U") else -1
        assert held[tuple(row)] >= 0


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("first", "number"), [(1, False), (1, True), (2, False)])
def test_rows_of_many_keys_that_do_not_fit_into_memory(
    first: int, number: bool, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shared:
        real = KeyedRelationalOperator._hashes
        few: Any = lambda *given: real(*given) >> np.uint64(62) << np.uint64(62)  # noqa: E731
        monkeypatch.setattr(KeyedRelationalOperator, "_hashes", few)
        monkeypatch.setattr(row_shards, "LARGE", 4)
        monkeypatch.setattr(row_shards, "_LIKE", 2)
    chance = np.random.default_rng(7)
    changes: list[Change] = [
        ("+I", str(key), int(chance.integers(50)), "xyz"[key % 3])
        for key in chance.integers(0, 40, 600).tolist()
    ]
    node, tiny = rank(changes, False, first, 4, number=number), StateSettings(cache_entries=0)
    sent = changes_of(node, 150, crash=[2], restart=[1, 3], state=tiny)
    assert table_of(sent) == top(changes, False, first, 4, number)
    assert sent == changes_of(node, 7)
    last = Deduplicate(
        name="last", inputs=node.inputs, columns=SCHEMA, mode=ChangelogMode.RETRACT, time=1,
        keep_last=True,
    )  # fmt: skip
    sent = changes_of(last, 150, crash=[2], restart=[1, 3], state=tiny)
    assert sent == deduplicated(changes, True, 1)


def test_rows_of_top_n_expire() -> None:
    changes = [("+I", "a", n, "x") for n in (1, 5, 4, 3)]
    node, sink = rank(changes, False, 1, 2, number=True, retention_ms=40), ListSink()
    graph = Graph.of("test", [Sink(name="sink", inputs=(node,), sink=sink)])
    with LocalJob(compile_job(graph, Settings(1))) as job:
        for now in (0, 30, 50, 60):
            job.clock = now
            job.step(1)
    assert [(str(row.get_row_kind()), row[1], row[3]) for row in sink.values] == [
        ("+I", 1, 1),
        ("+I", 5, 2),
        # the first row has expired, so that those that are left are counted from 1
        ("-U", 5, 1),
        ("+U", 4, 1),
        ("+I", 5, 2),
        ("-U", 4, 1),
        ("+U", 3, 1),
        ("-U", 5, 2),
        ("+U", 4, 2),
    ]


def test_the_changes_of_top_n() -> None:
    changes = [("+I", "a", n, "x") for n in (3, 1, 2)]
    assert [(kind, n) for kind, _, n, _ in changes_of(rank(changes, False, 1, 2))] == [
        ("+I", 3),
        ("+I", 1),
        ("-D", 3),
        ("+I", 2),
    ]
    numbered = changes_of(rank(changes, False, 1, 2, number=True))
    assert [(kind, n, number) for kind, _, n, _, number in numbered] == [
        ("+I", 3, 1),
        ("-U", 3, 1),
        ("+U", 1, 1),
        ("+I", 3, 2),
        ("-U", 3, 2),
        ("+U", 2, 2),
    ]
    upserted = changes_of(rank(changes, False, 1, 2, number=True, update_before=False))
    assert [kind for kind, *_ in upserted] == ["+I", "+U", "+I", "+U"]


def test_a_row_that_goes_makes_room_for_the_next() -> None:
    changes = [("+I", "a", 1, "x"), ("+I", "a", 2, "x"), ("-D", "a", 1, "x"), ("-D", "a", 9, "x")]
    assert [(kind, n) for kind, _, n, _ in changes_of(rank(changes, False, 1, 1))] == [
        ("+I", 1),
        ("-D", 1),
        ("+I", 2),
    ]


def deduplicated(changes: list[Change], keep_last: bool, time: int | None) -> list[Change]:
    held: dict[str, Any] = {}
    made: list[Change] = []
    for _, *row in changes:
        old = held.get(row[0])
        if old is None:
            made.append(("+I", *row))
        else:
            if not (keep_last if time is None else row[time] >= old[time]):
                continue
            made += [("-U", *old), ("+U", *row)]
        held[row[0]] = row
    return made


@given(
    st.lists(
        st.tuples(st.just("+I"), st.sampled_from("ab"), st.integers(0, 4), st.sampled_from("xy")),
        min_size=1,
        max_size=20,
    ),
    st.booleans(),
    st.sampled_from([None, 1]),
    cuts,
    troubles,
)
def test_deduplication(
    changes: list[Change], keep_last: bool, time: int | None, cut: list[int], crash: list[int]
) -> None:
    node = Deduplicate(
        name="first",
        inputs=(keyed(relation(SCHEMA, changes), 0),),
        columns=SCHEMA,
        mode=ChangelogMode.RETRACT,
        keep_last=keep_last,
        time=time,
    )
    sent = changes_of(node, cut, crash)
    if time is None or keep_last:
        assert sent == deduplicated(changes, keep_last, time)
        return
    earliest: dict[str, Change] = {}
    for change in changes:
        key, at = change[1], change[1 + time]
        if key not in earliest or at < earliest[key][1 + time]:
            earliest[key] = change
    assert Counter(sent) == Counter(earliest.values())


updates = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 2)),
    min_size=1,
    max_size=25,
)


@given(updates, st.integers(1, 3), st.integers(0, 2), st.booleans(), cuts, troubles, degrees)
def test_top_n_of_rows_that_only_move_up(
    steps: list[tuple[str, str, int]],
    first: int,
    more: int,
    number: bool,
    cut: list[int],
    crash: list[int],
    rescale: dict[int, int],
) -> None:
    heights: dict[tuple[str, str], int] = {}
    changes: list[Change] = []
    for key, name, step in steps:
        old = heights.get((key, name))
        if old is not None:
            changes.append(("-U", key, old, name))
        heights[key, name] = (old or 0) + step
        changes.append(("+I" if old is None else "+U", key, heights[key, name], name))
    node = rank(changes, True, first, first + more, number=number, row_key=(0, 2))
    sent = changes_of(node, cut, crash, (), rescale, 2)
    # of rows at one height which is first is told by the names, as the order says
    assert table_of(sent) == top(changes, True, first, first + more, number)
    held: Counter[Any] = Counter()
    for kind, *row in sent:
        held[tuple(row)] += 1 if kind in ("+I", "+U") else -1
        assert held[tuple(row)] >= 0


upserts = st.lists(
    st.tuples(
        st.sampled_from(["+I", "+U", "-D"]), st.sampled_from("ab"), st.integers(0, 2), st.just("x")
    ),
    min_size=1,
    max_size=20,
)


@given(upserts, cuts, troubles, degrees)
def test_upserts_become_a_changelog(
    changes: list[Change], cut: list[int], crash: list[int], rescale: dict[int, int]
) -> None:
    expected: dict[str, list[Change]] = defaultdict(list)
    held: dict[str, Any] = {}
    for kind, *row in changes:
        old = held.get(row[0])
        if kind == "-D":
            if old is not None:
                expected[row[0]].append(("-D", *held.pop(row[0])))
        elif old is None:
            expected[row[0]].append(("+I", *row))
            held[row[0]] = row
        elif old != row:
            expected[row[0]] += [("-U", *old), ("+U", *row)]
            held[row[0]] = row
    node = ChangelogNormalize(
        name="normalize",
        uid="normalize",
        inputs=(keyed(relation(SCHEMA, changes, mode=ChangelogMode.UPSERT), 0),),
        columns=SCHEMA,
        mode=ChangelogMode.RETRACT,
    )
    sent: dict[str, list[Change]] = defaultdict(list)
    for change in changes_of(node, cut, crash, rescale=rescale, parallelism=2):
        sent[change[1]].append(change)
    assert sent == expected


@given(changelogs(), cuts, troubles)
def test_a_sink_holds_the_row_of_a_key_that_came_last(
    changes: list[Change], cut: list[int], crash: list[int]
) -> None:
    node = SinkMaterialize(
        name="materialize",
        inputs=(keyed(relation(SCHEMA, changes), 0),),
        columns=SCHEMA,
        mode=ChangelogMode.UPSERT,
    )
    sink: dict[str, Any] = {}
    for kind, *row in changes_of(node, cut, crash):
        assert (kind == "+I") == (row[0] not in sink)
        if kind == "-D":
            del sink[row[0]]
        else:
            sink[row[0]] = row
    held: dict[str, list[Any]] = defaultdict(list)
    for kind, *row in changes:
        if kind == "+I":
            held[row[0]].append(row)
        else:
            at = len(held[row[0]]) - 1 - held[row[0]][::-1].index(row)
            held[row[0]].pop(at)
    assert sink == {key: found[-1] for key, found in held.items() if found}


@pytest.mark.parametrize("kind", ["intersect", "except"])
@pytest.mark.parametrize("every", [False, True])
@given(changelogs(), changelogs(), cuts, troubles)
def test_sets(
    kind: str,
    every: bool,
    left: list[Change],
    right: list[Change],
    cut: list[int],
    crash: list[int],
) -> None:
    node = SetOperation(
        name="set",
        inputs=(
            keyed(relation(SCHEMA, left, "left"), 0, 1, 2),
            keyed(relation(SCHEMA, right, "right"), 0, 1, 2),
        ),
        columns=SCHEMA,
        mode=ChangelogMode.RETRACT,
        kind=kind,
        all=every,
    )
    one, other = table_of(left), table_of(right)
    if every:
        expected = one & other if kind == "intersect" else one - other
    else:
        chosen = set(one) & set(other) if kind == "intersect" else set(one) - set(other)
        expected = Counter(chosen)
    assert table_of(changes_of(node, cut, crash)) == expected


@given(inserts, st.integers(0, 5), st.none() | st.integers(0, 9), cuts, troubles)
def test_limits(
    changes: list[Change], offset: int, fetch: int | None, cut: list[int], crash: list[int]
) -> None:
    node = Limit(
        name="limit",
        inputs=(keyed(relation(SCHEMA, changes)),),
        columns=SCHEMA,
        offset=offset,
        fetch=fetch,
    )
    end = None if fetch is None else offset + fetch
    assert changes_of(node, cut, crash) == changes[offset:end]


@given(changelogs(), st.booleans(), cuts, troubles, degrees)
def test_the_end_of_a_changelog(
    changes: list[Change], ordered: bool, cut: list[int], crash: list[int], rescale: dict[int, int]
) -> None:
    node = FinalRows(
        name="final",
        uid="final",
        inputs=(keyed(relation(SCHEMA, changes), *(() if ordered else (0,))),),
        columns=SCHEMA,
        order=(SortKey(1), SortKey(2, nulls_last=True)) if ordered else (),
    )
    sent = changes_of(node, cut, crash, rescale=rescale, parallelism=2)
    assert {kind for kind, *_ in sent} <= {"+I"}
    assert table_of(sent) == table_of(changes)
    if ordered:
        found = [order_of(row, False) for _, *row in sent]
        assert found == sorted(found)


def test_state_that_expires() -> None:
    changes = [("+I", "a", n, "x") for n in (1, 1, 5, 1)]
    node = GroupAggregate(
        name="group",
        uid="group",
        inputs=(keyed(relation(SCHEMA, changes), 0),),
        columns=pa.schema([("k", pa.string()), ("n", pa.int64())]),
        mode=ChangelogMode.RETRACT,
        calls=(AggregateCall("MAX", (1,)),),
        update_before=False,
        retention_ms=100,
    )
    sink = ListSink()
    graph = Graph.of("test", [Sink(name="sink", inputs=(node,), sink=sink)])
    with LocalJob(compile_job(graph, Settings(1))) as job:
        for clock in (0, 60, 120, 220):
            job.clock = clock
            job.step(1)
    # a result that has not changed is sent too: it says that the group is alive
    found = [(str(row.get_row_kind()), *row) for row in sink.values]
    assert found == [("+I", "a", 1), ("+U", "a", 1), ("+U", "a", 5), ("+I", "a", 1)]
