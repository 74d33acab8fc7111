"""Routers: which envelopes the records of a task become, for whom, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from scurry.common.errors import FunctionError
from scurry.common.keys import KeySlots
from scurry.functions.window_aggregates import count
from scurry.runtime import router as routers
from scurry.runtime.batch import Batch
from scurry.runtime.blobs import decode_batch
from scurry.runtime.columnar.combiner import SliceCombiner, unpack_slices
from scurry.runtime.columnar.measures import Measures
from scurry.runtime.columns import ElementCodec
from scurry.runtime.combining import Combiner
from scurry.runtime.envelope import COMBINED, DATA, WATERMARK, Envelope
from scurry.runtime.event_time import Mark
from scurry.runtime.operator import Operator
from scurry.runtime.partitioners import Broadcast, ByKey, Forward, Partitioning, Rebalance
from scurry.runtime.router import Router, mark_of
from scurry.runtime.selectors import picked_key
from scurry.runtime.specs import JobSpec, OperatorSpec, Wire
from scurry.runtime.task_context import TaskContext, TaskPlace

SLOTS, GROUPS = 3, 128


def router_of(
    partitioning: Partitioning, *, slots: int = SLOTS, combiner: Combiner | None = None
) -> Router:
    """From the side output "late" of the operator "from" to input 1 of "to", in stage 2."""
    sender = OperatorSpec("from", "from", Operator)
    target = OperatorSpec("to", "to", Operator, parallelism=slots)
    job = JobSpec(
        *("job", "", SLOTS, GROUPS, ()), {"from": sender, "to": target}, (("from",), ("to",))
    )
    wire = Wire("to", 1, partitioning, combiner)
    return Router(sender, wire, job, TaskContext(TaskPlace(0, GROUPS)), "late")


def by_first_field() -> ByKey:
    """A selector that only picks a field, which can be done on columns."""

    def select(row: Any) -> Any:
        return row[0]

    return ByKey(select, picked_key(select))


def by_number() -> ByKey:
    return ByKey(lambda number: number)


def sent(envelopes: Iterable[Envelope]) -> dict[int, list[Any]]:
    """The records in DATA envelopes, by slot."""
    found: dict[int, list[Any]] = {}
    for envelope in envelopes:
        if envelope.kind == DATA:
            found.setdefault(envelope.slot, []).extend(decode_batch(envelope.payload).rows)
    return found


def test_an_envelope_says_where_it_goes_and_where_it_comes_from() -> None:
    router = router_of(Forward())
    router.start("4")
    router.send(Batch(["x"]))
    envelope = next(iter(router.finish(Mark(7))))
    assert envelope.kind == DATA
    assert (envelope.slot, envelope.stage, envelope.dest, envelope.port) == (0, 2, "to", 1)
    assert envelope.channel == "from>late:1@4", "the exit, and the slot that the records leave"


def test_records_go_to_the_slot_that_owns_their_key_and_stay_in_order() -> None:
    router = router_of(by_number())
    router.start("0")
    numbers = [n % 20 for n in range(100)]
    router.send(Batch(numbers[:50]))
    router.send(Batch(numbers[50:]))
    owner = KeySlots(SLOTS, GROUPS)
    expected = {slot: [n for n in numbers if owner[n] == slot] for slot in range(SLOTS)}
    assert sent(router.finish(Mark(0))) == {s: rows for s, rows in expected.items() if rows}


def test_keys_and_times_travel_with_their_records() -> None:
    router = router_of(by_number(), slots=1)
    router.start("0")
    router.send(Batch([5, 6], ts=np.array([50, 60]), wm=np.array([1, 2]), tick=np.array([8, 9])))
    batch = decode_batch(next(iter(router.finish(Mark(0)))).payload)
    assert batch.keys == [5, 6]
    times = (batch.ts, batch.wm, batch.tick)
    assert [column.tolist() for column in times if column is not None] == [[50, 60], [1, 2], [8, 9]]


def test_a_channel_is_finished_with_its_mark_in_every_slot() -> None:
    router = router_of(by_number())
    router.start("0")
    router.send(Batch([1]))
    *data, first, second, third = router.finish(Mark(42))
    assert [envelope.kind for envelope in data] == [DATA]
    marks = [first, second, third]
    assert [(e.kind, e.slot, mark_of(e)) for e in marks] == [
        (WATERMARK, slot, Mark(42)) for slot in range(SLOTS)
    ]


def test_a_channel_without_records_is_finished_all_the_same_and_may_be_idle() -> None:
    router = router_of(Broadcast())
    router.start("0")
    marks = [mark_of(envelope) for envelope in router.finish(Mark(5, idle=True))]
    assert marks == [Mark(5, idle=True)] * SLOTS


def test_envelopes_of_a_channel_are_numbered_from_one() -> None:
    router = router_of(Broadcast(), slots=2)
    for place in ("0", "1"):
        router.start(place)
        router.send(Batch(["x"]))
        assert [e.seq for e in router.finish(Mark(0))] == [1, 2, 3, 4]


def test_a_channel_that_is_taken_up_again_goes_on_counting() -> None:
    router = router_of(Forward())
    found: list[Envelope] = []
    for place, value in [("a", 1), ("b", 2), ("a", 3), ("b", 4)]:
        router.start(place)
        router.send(Batch([value]))
        found += router.drain()
    router.start("a")
    found += router.finish(Mark(0))
    router.start("b")
    found += router.finish(Mark(0))
    data = [e for e in found if e.kind == DATA]
    by_channel: dict[str, list[tuple[int, Any]]] = {}
    for envelope in data:
        (row,) = decode_batch(envelope.payload).rows
        by_channel.setdefault(envelope.channel[-1], []).append((envelope.seq, row))
    assert by_channel == {"a": [(1, 1), (2, 3)], "b": [(1, 2), (2, 4)]}


def test_records_gather_until_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routers, "BLOB_ROWS", 4)
    router = router_of(Forward())
    router.start("0")
    router.send(Batch([1, 2, 3]))
    assert list(router.drain()) == []
    router.send(Batch([4, 5]))
    ready = list(router.drain())
    assert [decode_batch(e.payload).rows for e in ready] == [[1, 2, 3, 4, 5]], "one blob"
    assert list(router.drain()) == [], "an envelope leaves once"
    router.send(Batch([6]))
    assert sent(router.finish(Mark(0))) == {0: [6]}


def test_each_slot_fills_a_blob_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routers, "BLOB_ROWS", 2)
    router = router_of(Rebalance(), slots=2)
    router.start("0")
    router.send(Batch([0, 1], tick=np.array([0, 1])))
    router.send(Batch([2], tick=np.array([2])))
    assert sent(router.drain()) == {0: [0, 2]}
    assert sent(router.finish(Mark(0))) == {1: [1]}


def test_columns_stay_columns() -> None:
    router = router_of(by_first_field(), slots=1)
    columns = pa.RecordBatch.from_pydict({"key": [1, 2], "value": ["a", "b"]})
    codec = ElementCodec.of_form("tuples", columns.schema)
    router.start("0")
    router.send(Batch(None, columns=columns, codec=codec))
    batch = decode_batch(next(iter(router.finish(Mark(0)))).payload)
    assert batch.columns is not None
    assert batch.rows == [(1, "a"), (2, "b")]
    assert batch.keys == [1, 2]


def combining() -> Combiner:
    """For tumbling windows of 100 ms that count their elements."""
    return SliceCombiner(100, 100, 0, Measures([count()]))


def timed(keys: list[int], times: list[int], watermark: int = -(1 << 63)) -> Batch:
    columns = pa.RecordBatch.from_pydict({"key": keys})
    codec = ElementCodec.of_form("tuples", columns.schema)
    marks = np.full(len(keys), watermark, dtype=np.int64)
    return Batch(None, columns=columns, codec=codec, ts=np.array(times), wm=marks)


def test_records_of_a_key_and_slice_travel_as_one_row() -> None:
    router = router_of(by_first_field(), combiner=combining())
    keys, times = [n % 4 for n in range(1000)], [n % 200 for n in range(1000)]
    router.start("0")
    router.send(timed(keys, times))
    envelopes = [e for e in router.finish(Mark(0)) if e.kind != WATERMARK]
    assert {e.kind for e in envelopes} == {COMBINED}
    owner = KeySlots(SLOTS, GROUPS)
    found: Counter[tuple[int, int]] = Counter()
    for envelope in envelopes:
        part = unpack_slices([envelope.payload])
        counts = part.columns["n"].tolist()
        for key, start, number in zip(part.keys, part.starts.tolist(), counts, strict=True):
            assert owner[int(key)] == envelope.slot
            found[int(key), start] += number
    assert found == Counter((key, time // 100 * 100) for key, time in zip(keys, times, strict=True))


def test_records_behind_their_watermark_travel_as_they_are() -> None:
    router = router_of(by_first_field(), slots=1, combiner=combining())
    keys, times = [1] * 600, [50] * 300 + [150] * 300
    router.start("0")
    router.send(timed(keys, times, watermark=99))
    envelopes = list(router.finish(Mark(99)))
    (combined,) = [e for e in envelopes if e.kind == COMBINED]
    assert unpack_slices([combined.payload]).columns["n"].tolist() == [300]
    assert sent(envelopes) == {0: [(1,)] * 300}


def test_few_records_are_not_worth_combining() -> None:
    router = router_of(by_first_field(), slots=1, combiner=combining())
    router.start("0")
    router.send(timed([1, 1], [50, 51]))
    assert {e.kind for e in router.finish(Mark(0))} == {DATA, WATERMARK}


def test_a_selector_that_fails_names_the_target_and_the_record() -> None:
    router = router_of(ByKey(lambda row: 1 // row))
    router.start("0")
    with pytest.raises(FunctionError, match="hash partitioning into to") as caught:
        router.send(Batch([1, 0]))
    assert "ZeroDivisionError" in str(caught.value)


def test_a_record_that_cannot_travel_names_the_sender() -> None:
    router = router_of(Forward())
    router.start("0")
    router.send(Batch([1, lambda: 0, (n for n in ())]))
    with pytest.raises(FunctionError, match="cannot travel between operators") as caught:
        list(router.finish(Mark(0)))
    assert "'from'" in str(caught.value)
    assert "a function that yields its results is one for flat_map" in str(caught.value)
