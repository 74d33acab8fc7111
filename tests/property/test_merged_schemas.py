"""Where channels of different schemas meet, records come in their order, and each input keeps its
columns, whatever the channels, their schemas and the cut into batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.common import Row, RowKind
from scurry.runtime.batch import Batch
from scurry.runtime.blobs import decode_batch, encode_batch
from scurry.runtime.columns import ElementCodec
from scurry.runtime.concat import concat
from scurry.runtime.input_gate import Arrival, InputGate

KINDS = tuple(RowKind)


class Record:
    """One record as the test knows it: its place, its input, its form, what it should be."""

    def __init__(self, number: int, channel: int, port: int, form: str, place: tuple[int, int]):
        self.channel, self.port, self.form, self.place = channel, port, form, place
        self.kind = KINDS[number % 4] if form == "changes" else RowKind.INSERT
        self.key = number % 3
        self.value: Any = {
            "pairs": lambda: Row(number=number, text=f"t{number}"),
            "changes": lambda: Row.of_kind(self.kind, other=number / 2),
            "objects": lambda: (number, "object"),
        }[form]()


@st.composite
def inputs(draw: st.DrawFn) -> list[Record]:
    """Records of up to four channels, each channel's in order and on one port."""
    made: list[Record] = []
    forms = st.sampled_from(["pairs", "changes", "objects"])
    for channel in range(draw(st.integers(1, 4))):
        port = draw(st.integers(0, 1))
        stable = draw(st.none() | forms)
        places = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=12))
        for pos, tick in sorted(places):
            form = stable or draw(forms)
            made.append(Record(len(made), channel, port, form, (pos, tick * 10 + channel)))
    return made


def batch_of(records: list[Record]) -> Batch:
    """Records of one form as the batch that would arrive."""
    longs = {
        "pos": np.array([record.place[0] for record in records]),
        "tick": np.array([record.place[1] for record in records]),
        "key_column": np.array([record.key for record in records]),
    }
    values = [record.value for record in records]
    if records[0].form == "objects":
        return Batch(values, **longs)
    columns = pa.RecordBatch.from_pylist([value.as_dict() for value in values])
    kinds = np.array([record.kind.value for record in records], dtype=np.int8)
    codec = ElementCodec.of_schema(columns.schema)
    return Batch(None, columns=columns, codec=codec, kinds=kinds if kinds.any() else None, **longs)


def arrivals_of(records: list[Record], most: int) -> list[Arrival]:
    """Records in batches of one channel and form, in the order of the channel."""
    found: list[list[Record]] = []
    for record in records:
        last = found[-1] if found else None
        alike = last and (last[0].channel, last[0].form) == (record.channel, record.form)
        if last and alike and len(last) < most:
            last.append(record)
        else:
            found.append([record])
    return [
        (f"sender{group[0].channel}@0", number, group[0].port, decode_batch(encode_batch(made)))
        for number, group in enumerate(found)
        for made in [batch_of(group)]
    ]


@given(inputs(), st.integers(1, 5), st.integers(1, 7))
def test_records_come_in_order_and_inputs_keep_their_columns(
    records: list[Record], most: int, chunk: int
) -> None:
    whole, ports = InputGate().merge(arrivals_of(records, most), {})
    if not records:
        assert whole is None
        return
    assert whole is not None
    expected = sorted(records, key=lambda record: record.place)
    assert [row for part in whole.slices(chunk) for row in part.rows] == [
        record.value for record in expected
    ]
    assert whole.rows == [record.value for record in expected]
    assert whole.keys == [record.key for record in expected]
    kinds = [0] * whole.size if whole.kinds is None else whole.kinds.tolist()
    assert kinds == [record.kind.value for record in expected]
    where = np.zeros(whole.size, dtype=np.int64) if ports is None else ports
    for port in (0, 1):
        mine = [(at, record) for at, record in enumerate(expected) if record.port == port]
        part, places = whole.of_port(where, port)
        assert places.tolist() == [at for at, _ in mine]
        assert part.rows == [record.value for _, record in mine]
        assert part.keys == [record.key for _, record in mine]
        forms = {record.form for _, record in mine}
        if len(forms) == 1 and forms != {"objects"}:
            assert part.columns is not None
            assert part.tick.tolist() == [record.place[1] for _, record in mine]


def test_rows_of_a_small_part_do_not_cost_rows_of_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []
    to_rows = ElementCodec.to_rows

    def counting(self: ElementCodec, columns: pa.RecordBatch) -> list[Any]:
        made.append(columns.num_rows)
        return to_rows(self, columns)

    monkeypatch.setattr(ElementCodec, "to_rows", counting)
    left = Batch(None, columns=pa.record_batch({"a": list(range(100))}), codec=_codec("a"))
    right = Batch(None, columns=pa.record_batch({"b": list(range(100))}), codec=_codec("b"))
    whole = concat([left, right])
    parts = [part.rows for part in whole.slices(10)]
    assert sum(made) == 200
    assert [row[0] for part in parts for row in part] == [*range(100), *range(100)]


def _codec(name: str) -> ElementCodec:
    return ElementCodec.of_schema(pa.schema([(name, pa.int64())]))


def test_a_batch_for_somebody_else_is_his_own() -> None:
    whole = concat(
        [
            Batch(None, columns=pa.record_batch({"a": [1]}), codec=_codec("a")),
            Batch(None, columns=pa.record_batch({"b": [2]}), codec=_codec("b")),
        ]
    )
    mine = whole.apart()
    mine.rows[0]["a"] = 5
    assert whole.rows == [Row(a=1), Row(b=2)]
    assert mine.take(np.array([0])).rows == [Row(a=5)]
