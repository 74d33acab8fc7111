"""Slot hosts: what a slot does with the envelopes of a micro-batch, and what it remembers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from scurry.common.watermark_strategy import WatermarkStrategy
from scurry.functions.process import KeyedProcessFunction
from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, Batch, Longs
from scurry.runtime.blobs import decode_batch, encode_batch
from scurry.runtime.envelope import (
    COMBINED,
    COMMIT,
    DATA,
    DRIVER,
    REPORT,
    TICK,
    WATERMARK,
    Envelope,
)
from scurry.runtime.event_time import Mark, TimestampsOperator
from scurry.runtime.host import SlotHost
from scurry.runtime.keyed import KeyedProcessOperator
from scurry.runtime.operator import Operator
from scurry.runtime.partitioners import Global
from scurry.runtime.report import Tick, decode_report, decode_tick, encode_report
from scurry.runtime.router import mark_of
from scurry.runtime.specs import JobSpec, OperatorSpec, Wire
from scurry.runtime.task_context import TaskContext
from scurry.state.journal import MemoryJournal
from scurry.state.local.memory import MemoryStore
from scurry.state.slot_store import SlotStore


class Recorder(Operator):
    """Notes each call in ``calls``, which all instances of a test share, and hands records on."""

    def __init__(self, spec: OperatorSpec, calls: list[tuple[Any, ...]]) -> None:
        super().__init__(spec)
        self.calls = calls

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self.calls.append(("open", context.place.index))

    def begin(self, watermark: int) -> None:
        self.calls.append(("begin", watermark))

    def process(self, batch: Batch, port: int = 0) -> None:
        watermarks = None if batch.wm is None else batch.wm.tolist()
        self.calls.append(("process", batch.rows, watermarks))
        self.emit(batch)

    def process_combined(self, blobs: Any) -> int:
        self.calls.append(("combined", sorted(blobs)))
        return 10

    def advance(self, watermark: int) -> None:
        self.calls.append(("advance", watermark))

    def close(self) -> None:
        self.calls.append(("close",))


class TwoInputs(Recorder):
    two_inputs = True

    def process_ports(self, batch: Batch, ports: Longs) -> None:
        self.calls.append(("process", batch.rows, ports.tolist()))


class Setting:
    """A job of two stages; "head" runs in stage 1, "last" in stage 2."""

    def __init__(self, kind: type[Recorder] = Recorder, degree: int = 2, stage: int = 1) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.stage = stage
        wires = (Wire("last", 0, Global()),)
        make = partial(kind, calls=self.calls)
        self.operators = {
            "head": OperatorSpec("head", "head", make, parallelism=degree, outputs=wires),
            "last": OperatorSpec("last", "last", partial(Recorder, calls=self.calls)),
        }
        self.journal = MemoryJournal()

    def host(self, slot: int = 0) -> SlotHost:
        """A new worker."""
        job = JobSpec("job", "", 2, 128, (), self.operators, (("head",), ("last",)))
        return SlotHost(job, self.stage, slot, SlotStore(MemoryStore(), 128))

    def run(self, host: SlotHost, *envelopes: Envelope) -> list[Envelope]:
        """A micro-batch; the calls of operators in it are in ``calls``."""
        self.calls.clear()
        return list(host.run(envelopes, self.journal))


def data(channel: str, seq: int, rows: list[Any], port: int = 0, **times: list[int]) -> Envelope:
    columns: dict[str, Any] = {name: np.array(column) for name, column in times.items()}
    payload = encode_batch(Batch(rows, **columns))
    return Envelope(0, 1, "head", port, channel, seq, DATA, 0, payload)


def mark(channel: str, watermark: int, idle: bool = False, dest: str = "head") -> Envelope:
    payload = b"idle" if idle else b""
    return Envelope(0, 1, dest, 0, channel, 9, WATERMARK, watermark, payload)


def tick(stage: int = 1, **content: Any) -> Envelope:
    return Envelope(0, stage, "", 0, "", 0, TICK, 0, encode_report(Tick(**content)))


def of_kind(envelopes: Iterable[Envelope], kind: int) -> list[Envelope]:
    return [envelope for envelope in envelopes if envelope.kind == kind]


def report_of(envelopes: Iterable[Envelope]) -> dict[str, Any]:
    (found,) = of_kind(envelopes, REPORT)
    content: dict[str, Any] = decode_report(found.payload)
    return content


def marks_sent(envelopes: Iterable[Envelope]) -> set[tuple[str, Mark]]:
    return {(e.dest, mark_of(e)) for e in of_kind(envelopes, WATERMARK)}


# --- what is not for this stage


def test_envelopes_for_later_stages_and_the_driver_pass_through_untouched() -> None:
    setting = Setting()
    later = Envelope(0, 2, "last", 0, "elsewhere>:0@1", 5, DATA, 0, b"not even decoded")
    message = Envelope(0, DRIVER, "sink", 0, "", 0, COMMIT, 0, b"message")
    out = setting.run(setting.host(), later, tick(), message)
    assert later in out
    assert message in out
    assert all(call[0] != "process" for call in setting.calls)


# --- records


def test_records_of_all_channels_are_merged_by_place() -> None:
    setting = Setting()
    setting.run(
        setting.host(),
        data("b@0", 1, ["b1", "b5"], pos=[1, 5], tick=[0, 1], wm=[0, 4]),
        data("a@0", 1, ["a2", "a3"], pos=[2, 3], tick=[2, 3], wm=[1, 2]),
        mark("a@0", 9),
        mark("b@0", 9),
    )
    (processed,) = [call[1] for call in setting.calls if call[0] == "process"]
    assert processed == ["b1", "a2", "a3", "b5"]


def test_batches_of_a_channel_come_in_the_order_of_their_numbers() -> None:
    setting = Setting()
    out = [data("a@0", seq, [seq]) for seq in (3, 1, 2)]
    setting.run(setting.host(), *out, mark("a@0", MIN_WATERMARK))
    assert [call[1] for call in setting.calls if call[0] == "process"] == [[1, 2, 3]]


def test_records_of_two_inputs_come_with_their_ports() -> None:
    setting = Setting(TwoInputs)
    setting.run(
        setting.host(),
        data("l@0", 1, ["left"], pos=[2], tick=[2]),
        data("r@0", 1, ["right"], port=1, pos=[1], tick=[1]),
        mark("l@0", 0),
        mark("r@0", 0),
    )
    assert ("process", ["right", "left"], [1, 0]) in setting.calls


def test_an_operator_of_two_inputs_gets_ports_also_if_only_the_first_has_records() -> None:
    setting = Setting(TwoInputs)
    setting.run(setting.host(), data("l@0", 1, ["x", "y"]), mark("l@0", 0))
    assert ("process", ["x", "y"], [0, 0]) in setting.calls


def test_what_was_combined_comes_first_and_counts_as_records() -> None:
    setting = Setting()
    combined = Envelope(0, 1, "head", 0, "a@0", 2, COMBINED, 0, b"partials")
    out = setting.run(setting.host(), data("a@0", 1, ["x"]), combined, mark("a@0", 0))
    kinds = [call[0] for call in setting.calls if call[0] in ("begin", "combined", "process")]
    assert kinds == ["begin", "combined", "process"]
    assert report_of(out)["counters"]["in:head"] == 11


def test_results_travel_to_the_next_stage_in_the_channel_of_this_slot() -> None:
    setting = Setting()
    out = setting.run(setting.host(slot=1), data("a@0", 1, ["x"]), mark("a@0", 7))
    (sent,) = of_kind(out, DATA)
    assert (sent.stage, sent.dest, sent.channel) == (2, "last", "head>:0@1")
    assert decode_batch(sent.payload).rows == ["x"]


def test_an_operator_of_lower_parallelism_has_no_instance_in_the_slots_beyond() -> None:
    setting = Setting(degree=1)
    out = setting.run(setting.host(slot=1), tick(now=5))
    assert setting.calls == []
    assert {envelope.kind for envelope in out} == {TICK, REPORT}


# --- watermarks


def test_the_least_watermark_of_the_channels_counts_and_is_handed_on() -> None:
    setting = Setting()
    out = setting.run(setting.host(), mark("a@0", 50), mark("b@0", 30))
    assert setting.calls == [("open", 0), ("begin", MIN_WATERMARK), ("advance", 30)]
    assert marks_sent(out) == {("last", Mark(30))}
    assert report_of(out)["watermarks"] == {"head": 30}


def test_a_record_meets_the_watermark_of_what_is_still_to_come_in_other_channels() -> None:
    setting = Setting()
    setting.run(
        setting.host(),
        data("a@0", 1, ["a10", "a30"], pos=[10, 30], tick=[0, 1], wm=[10, 30]),
        data("b@0", 1, ["b20"], pos=[20], tick=[2], wm=[20]),
        mark("a@0", 40),
        mark("b@0", 25),
    )
    # before a30 channel b has had its last record, and stands at its mark
    assert ("process", ["a10", "b20", "a30"], [10, 20, 25]) in setting.calls
    assert setting.calls[-1] == ("advance", 25)


def test_idle_channels_do_not_hold_others_back_and_idleness_is_handed_on() -> None:
    setting = Setting()
    host = setting.host()
    out = setting.run(host, mark("a@0", 50), mark("b@0", 30, idle=True))
    assert marks_sent(out) == {("last", Mark(50))}
    out = setting.run(host, mark("a@0", 50, idle=True), mark("b@0", 30, idle=True))
    assert marks_sent(out) == {("last", Mark(50, idle=True))}


def test_the_end_of_input_reaches_the_next_stage() -> None:
    setting = Setting()
    out = setting.run(setting.host(), mark("a@0", MAX_WATERMARK))
    assert marks_sent(out) == {("last", Mark(MAX_WATERMARK))}


# --- ticks


def test_a_tick_is_handed_on_to_every_slot_of_the_next_stage() -> None:
    setting = Setting()
    out = setting.run(setting.host(), tick(now=1234, batch=7))
    ticks = of_kind(out, TICK)
    assert [(e.slot, e.stage) for e in ticks] == [(0, 2), (1, 2)]
    assert [decode_tick(e.payload) for e in ticks] == [Tick(1234, 7)] * 2


def test_the_last_stage_hands_no_tick_on() -> None:
    setting = Setting(stage=2)
    assert of_kind(setting.run(setting.host(), tick(stage=2)), TICK) == []


def test_operators_are_opened_once_and_closed_by_the_final_tick() -> None:
    setting = Setting()
    host = setting.host()
    setting.run(host, tick(), mark("a@0", 1))
    assert [call[0] for call in setting.calls] == ["open", "begin", "advance"]
    setting.run(host, tick(final=True), mark("a@0", 2))
    assert [call[0] for call in setting.calls] == ["begin", "advance", "close"]


# --- what survives


def test_notes_bring_watermarks_back_in_another_worker() -> None:
    setting = Setting()
    setting.run(setting.host(), mark("a@0", 50), mark("b@0", 30))
    setting.run(setting.host(), mark("a@0", 50), mark("b@0", 40))
    assert setting.calls == [("open", 0), ("begin", 30), ("advance", 40)]


def test_a_watermark_does_not_go_back_whatever_a_channel_says() -> None:
    setting = Setting()
    setting.run(setting.host(), mark("a@0", 50))
    setting.run(setting.host(), mark("a@0", 20))
    assert setting.calls[1:] == [("begin", 50), ("advance", 50)]


def test_a_channel_that_is_gone_holds_nobody_back_and_time_stays() -> None:
    setting = Setting()
    setting.run(setting.host(), mark("a@0", 50), mark("gone@0", 30))
    setting.run(setting.host(), mark("a@0", 60))
    assert setting.calls[1:] == [("begin", 30), ("advance", 60)]


def test_notes_of_an_operator_that_is_gone_are_left_out() -> None:
    setting = Setting()
    setting.run(setting.host(), mark("a@0", 50))
    setting.operators = {
        "head": setting.operators["last"],
        "last": setting.operators["last"],
    }
    setting.stage = 2
    setting.run(setting.host(), tick(stage=2))
    assert ("begin", MIN_WATERMARK) in setting.calls


def test_cells_of_a_strategy_inside_the_stage_survive() -> None:
    setting = Setting()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: value
    )
    out = (Wire("last", 0, Global()),)
    setting.operators["ts"] = OperatorSpec(
        "ts", "ts", partial(TimestampsOperator, strategy=strategy), outputs=out
    )
    setting.operators["head"] = OperatorSpec(
        "head", "head", partial(Recorder, calls=setting.calls), outputs=(Wire("ts"),)
    )
    first = setting.run(setting.host(), data("a@0", 1, [100]), mark("a@0", MIN_WATERMARK))
    assert marks_sent(first) == {("last", Mark(99))}
    second = setting.run(setting.host(), data("a@0", 1, [70]), mark("a@0", MIN_WATERMARK))
    (sent,) = of_kind(second, DATA)
    watermarks = decode_batch(sent.payload).wm
    assert watermarks is not None
    assert watermarks.tolist() == [99], "70 comes after 100, and is late"


def test_a_batch_that_was_not_committed_leaves_nothing() -> None:
    setting = Setting()
    setting.run(setting.host(), mark("a@0", 50))
    committed = setting.journal.head()
    assert committed is not None
    host = setting.host()
    setting.run(host, mark("a@0", 80))
    setting.journal.put_head(committed)
    setting.run(host, mark("a@0", 60))
    assert setting.calls == [("begin", 50), ("advance", 60)]


class Alarm(KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(value)


def test_the_next_timer_in_processing_time_is_a_wish_of_the_slot() -> None:
    setting = Setting()
    setting.operators["head"] = OperatorSpec(
        "head", "head", partial(KeyedProcessOperator, function=Alarm()), parallelism=2
    )
    batch = encode_batch(Batch([500, 300], keys=["k", "k"]))
    arrived = Envelope(0, 1, "head", 0, "a@0", 1, DATA, 0, batch)
    out = setting.run(setting.host(), tick(now=100), arrived, mark("a@0", MIN_WATERMARK))
    assert report_of(out)["wake"] == 300
    out = setting.run(setting.host(), tick(now=300, batch=1), mark("a@0", MIN_WATERMARK))
    assert report_of(out)["wake"] == 500, "another worker, and the first timer has fired"
