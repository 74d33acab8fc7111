"""Regular joins: the very changes that are sent, one by one, beside a loop over single records.

The loop is Flink's rule for a record that comes or goes. Both sides stem from one source, so that
there is one order of records, and what is sent must not depend on anything but that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scurry.common.changelog import ChangelogMode
from scurry.common.errors import StateError
from scurry.compile.job import CompiledJob, Settings, compile_job
from scurry.plan.graph import Graph
from scurry.plan.nodes import Sink
from scurry.plan.relational import Calc, RegularJoin
from scurry.runtime.columnar import row_shards
from scurry.runtime.relational.join import JoinOperator
from scurry.state.backends import StateSettings
from scurry.testing.local import LocalJob
from scurry.testing.relations import Change, changes_of, keyed, relation
from scurry.testing.sinks import ListSink

BOTH = pa.schema([("side", pa.string()), ("k", pa.string()), ("n", pa.int64())])
ROWS = pa.schema([("k", pa.string()), ("n", pa.int64())])
KINDS = ["inner", "left", "right", "full", "semi", "anti"]
COMES = ("+I", "+U")


def less(columns: Any, context: Any) -> Any:
    """left.n < right.n"""
    return pc.less(columns.column(1), columns.column(3))


def side_of(source: Any, side: str) -> Calc:
    """The records of one side."""
    return Calc(
        name=side,
        uid=side,
        inputs=(source,),
        columns=ROWS,
        mode=ChangelogMode.RETRACT,
        condition=lambda columns, context: pc.equal(columns.column(0), side),
        projections=(lambda c, context: c.column(1), lambda c, context: c.column(2)),
    )


def node(changes: list[Change], kind: str, condition: Any = None, **options: Any) -> RegularJoin:
    source = relation(BOTH, changes, "both")
    return RegularJoin(
        name="join",
        uid="join",
        inputs=(keyed(side_of(source, "l"), 0), keyed(side_of(source, "r"), 0)),
        columns=ROWS if kind in ("semi", "anti") else pa.schema([*ROWS, *ROWS]),
        mode=ChangelogMode.RETRACT,
        kind=kind,
        condition=condition,
        **options,
    )


class Held:
    """A row of a side."""

    def __init__(self, row: Any, partners: int, written: int) -> None:
        self.row, self.partners, self.written = row, partners, written


class Loop:
    """A join of single records; rows of a side that were not written for its retention, if it has
    one, are gone."""

    def __init__(self, kind: str, conditional: bool, retentions: tuple[int, int] = (0, 0)) -> None:
        self.padded = kind in ("left", "full"), kind in ("right", "full")
        self.kind = kind
        self.conditional = conditional
        self.retentions = retentions
        self.held: tuple[list[Held], list[Held]] = ([], [])
        self.sent: list[Change] = []

    def match(self, left: Any, right: Any) -> bool:
        if left[0] is None or left[0] != right[0]:
            return False
        return not self.conditional or bool(None not in (left[1], right[1]) and left[1] < right[1])

    def take(self, kind: str, side: str, *row: Any, now: int = 0) -> None:
        port = "lr".index(side)
        for rows, retention in zip(self.held, self.retentions, strict=True):
            if retention:
                rows[:] = [one for one in rows if one.written + retention > now]
        partners = [
            one
            for one in self.held[1 - port]
            if self.match(*((one.row, row) if port else (row, one.row)))
        ]
        comes = kind in COMES
        one_sided = self.kind in ("semi", "anti")
        (self.exist if one_sided else self.join)(port, kind, row, partners, comes, now)
        if comes:
            self.held[port].append(Held(row, len(partners), now))
        else:
            self.held[port].remove(next(one for one in self.held[port] if one.row == row))

    def turned(self, partners: list[Held], comes: bool, now: int) -> list[Held]:
        turned = [one for one in partners if one.partners == (0 if comes else 1)]
        for one in partners:
            one.partners += 1 if comes else -1
            one.written = now
        return turned

    def send(self, kind: str, port: int, row: Any, other: Any = (None, None)) -> None:
        self.sent.append((kind, *other, *row) if port else (kind, *row, *other))

    def join(
        self, port: int, kind: str, row: Any, partners: list[Held], comes: bool, now: int
    ) -> None:
        plain = "+I" if comes else "-D"
        if self.padded[port] and not partners:
            self.send(plain, port, row)
        turned = self.turned(partners, comes, now) if self.padded[1 - port] else []
        shown = plain if self.padded[port] or (comes and self.padded[1 - port]) else kind
        for one in partners:
            if one in turned and comes:
                self.send("-D", 1 - port, one.row)
            self.send(shown, port, row, one.row)
            if one in turned and not comes:
                self.send("+I", 1 - port, one.row)

    def exist(
        self, port: int, kind: str, row: Any, partners: list[Held], comes: bool, now: int
    ) -> None:
        anti = self.kind == "anti"
        if port == 0:
            if (not partners) == anti:
                self.sent.append((kind, *row))
            return
        shown = kind if not anti else "-D" if comes else "+I"
        self.sent.extend((shown, *one.row) for one in self.turned(partners, comes, now))


def expected(changes: list[Change], *how: Any) -> list[Change]:
    loop = Loop(*how)
    for change in changes:
        loop.take(*change)
    return loop.sent


@st.composite
def changelogs(draw: Any, distinct: bool = False, most: int = 24) -> list[Change]:
    held: list[Any] = []
    made: list[Change] = []
    for number in range(draw(st.integers(1, most))):
        if held and draw(st.integers(0, 2)) == 0:
            gone = held.pop(draw(st.integers(0, len(held) - 1)))
            made.append((draw(st.sampled_from(["-D", "-U"])), *gone))
        else:
            value = number if distinct else draw(st.none() | st.integers(0, 2))
            row = draw(st.sampled_from("lr")), draw(st.sampled_from(["x", "y", None])), value
            held.append(row)
            made.append((draw(st.sampled_from(COMES)), *row))
    return made


cuts = st.lists(st.integers(1, 9), min_size=1, max_size=4)
troubles = st.lists(st.integers(0, 6), max_size=2)


@given(st.sampled_from(KINDS), changelogs(), st.booleans(), cuts, troubles)
def test_changes_are_those_of_single_records(
    kind: str, changes: list[Change], conditional: bool, cut: list[int], crash: list[int]
) -> None:
    join = node(changes, kind, less if conditional else None)
    assert changes_of(join, cut, crash) == expected(changes, kind, conditional)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Shards are cut in two early, and keys share their hashes."""
    real = JoinOperator._hashes

    def few(self: Any, part: Any, port: int) -> Any:
        found: Any = real(self, part, port) >> np.uint64(62) << np.uint64(62)
        return found

    monkeypatch.setattr(row_shards, "LARGE", 4)
    monkeypatch.setattr(row_shards, "_LIKE", 2)
    return lambda: monkeypatch.setattr(JoinOperator, "_hashes", few)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("kind", ["inner", "full", "anti"])
def test_state_that_does_not_fit_into_memory(
    kind: str, shared: bool, small: Callable[[], None]
) -> None:
    chance = np.random.default_rng(5)
    held: list[Any] = []
    changes: list[Change] = []
    for number in range(150):
        if held and chance.random() < 0.35:
            changes.append(("-D", *held.pop(int(chance.integers(len(held))))))
        else:
            held.append(("lr"[int(chance.integers(2))], str(chance.integers(9)), number))
            changes.append(("+I", *held[-1]))
    if shared:
        small()
    for conditional in (False, True):
        join = node(changes, kind, less if conditional else None)
        tiny = StateSettings(cache_entries=0)
        sent = changes_of(join, 20, crash=[3], restart=[5, 9], state=tiny)
        assert sent == expected(changes, kind, conditional)


def test_rows_that_outlive_many_others_of_their_key() -> None:
    changes: list[Change] = [("+I", "r", "x", 1), ("+I", "l", "x", 0)]
    for number in range(200):
        changes += [("+I", "l", "x", 10 + number), ("+I", "r", "x", 1000 + number)]
        changes += [("-D", "l", "x", 10 + number), ("-D", "r", "x", 1000 + number)]
    changes += [("-D", "r", "x", 1), ("-D", "l", "x", 0)]
    for cut in (None, 7):
        assert changes_of(node(changes, "full"), cut) == expected(changes, "full", False)


@settings(max_examples=40)
@given(
    st.sampled_from(KINDS),
    changelogs(distinct=True, most=12),
    st.booleans(),
    st.lists(st.integers(0, 30), min_size=12),
    st.sampled_from([(40, 40), (40, 0), (0, 40), (20, 60)]),
)
def test_rows_expire_that_are_not_written(
    kind: str,
    changes: list[Change],
    conditional: bool,
    waits: list[int],
    kept: tuple[int, int],
) -> None:
    changes = [change for change in changes if change[0] in COMES]
    condition = less if conditional else None
    join = node(changes, kind, condition, retention_ms=max(kept), retentions=kept)
    sink, loop = ListSink(), Loop(kind, conditional, kept)
    graph = Graph.of("test", [Sink(name="sink", inputs=(join,), sink=sink)])
    with LocalJob(compile_job(graph, Settings(1))) as job:
        for change, wait in zip(changes, waits, strict=False):
            job.clock += wait
            job.step(1)
            loop.take(*change, now=job.clock)
    assert [(str(row.get_row_kind()), *row) for row in sink.values] == loop.sent


def test_a_time_to_live_can_come_later_and_go_again() -> None:
    changes: list[Change] = [("+I", "l", "x", number) for number in range(3)]
    changes += [
        ("+I", "r", "x", 10),
        ("+I", "r", "x", 11),
        ("+I", "l", "x", 3),
        ("+I", "r", "x", 12),
    ]

    def program(kept: int) -> CompiledJob:
        join = node(changes, "inner", retention_ms=kept, retentions=(kept, kept))
        graph = Graph.of("test", [Sink(name="sink", uid="sink", inputs=(join,), sink=sink)])
        return compile_job(graph, Settings(1))

    def pairs_at(clock: int, records: int) -> set[tuple[int, int]]:
        before = len(sink.values)
        job.clock = clock
        job.step(records)
        return {(row[1], row[3]) for row in sink.values[before:]}

    sink = ListSink()
    with LocalJob(program(0)) as job:
        assert pairs_at(0, 2) == set()
        job.continue_as(program(100))
        # the rows that are there count as written now, as the one that comes is
        assert pairs_at(50, 1) == set()
        assert pairs_at(149, 1) == {(0, 10), (1, 10), (2, 10)}
        assert pairs_at(151, 1) == set()
        assert pairs_at(160, 1) == {(3, 10), (3, 11)}
        job.continue_as(program(0))
        assert (3, 12) in pairs_at(10_000, 1)


def test_a_time_to_live_for_an_outer_join_cannot_come_later() -> None:
    def program(kept: int) -> CompiledJob:
        join = node([("+I", "l", "x", 1)], "left", retention_ms=kept, retentions=(kept, 0))
        graph = Graph.of("test", [Sink(name="sink", uid="sink", inputs=(join,), sink=ListSink())])
        return compile_job(graph, Settings(1))

    with LocalJob(program(0)) as job:
        job.step()
        with pytest.raises(StateError, match="counted"):
            job.continue_as(program(100))
