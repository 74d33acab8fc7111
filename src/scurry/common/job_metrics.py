"""The metrics that every job has: what a snapshot of them holds, and what each of them means.

A :class:`JobMetrics` is what :meth:`scurry.common.JobClient.get_job_metrics` returns, what a
running job writes to its status file for ``scurry status``, and what the Prometheus endpoint shows.
Where Flink has a metric, the metric has Flink's name: in Python in snake_case
(``num_records_in``), in JSON and for Prometheus as Flink spells it (``numRecordsIn``).

The description of each metric is written once, beside its field. The reference page, the help texts
of the Prometheus endpoint and the way in which slots are put together all come from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from scurry.common.waiting import Wait

__all__ = ["JobMetrics", "OperatorMetrics", "SlotMetrics", "TaskMetrics"]

#: How the metrics of an operator's slots become that of the operator.
Over: TypeAlias = Literal["sum", "min", "max", "mean"]
Kind: TypeAlias = Literal["source", "operator", "sink"]


def _counter(text: str) -> Meta:
    return Meta(description=text, extra={"kind": "counter", "over": "sum"})


def _gauge(text: str, over: Over = "sum") -> Meta:
    return Meta(description=text, extra={"kind": "gauge", "over": over})


class Shares(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What time went into, over the last minute; the three come to 1000."""

    busy_time_ms_per_second: Annotated[
        float,
        _gauge("Milliseconds of each second in which it worked, without what it called.", "mean"),
    ] = 0.0
    idle_time_ms_per_second: Annotated[
        float,
        _gauge("Milliseconds of each second in which there was nothing to read.", "mean"),
    ] = 0.0
    waiting_time_ms_per_second: Annotated[
        float,
        _gauge(
            "The rest: milliseconds of each second in which it waited for other operators, other "
            "slots, Spark, commits or servers.",
            "mean",
        ),
    ] = 0.0


class Measures(Shares, frozen=True, kw_only=True, rename="camel"):
    """The metrics of an operator in one slot, or in all of them."""

    num_records_in: Annotated[int, _counter("Records received; of a source, records read.")] = 0
    num_records_out: Annotated[
        int, _counter("Records emitted to the main output and to side outputs; of a sink, written.")
    ] = 0
    num_records_in_per_second: Annotated[
        float, _gauge("Records received per second, over the last minute.")
    ] = 0.0
    num_records_out_per_second: Annotated[
        float, _gauge("Records emitted per second, over the last minute.")
    ] = 0.0
    num_bytes_in: Annotated[int, _counter("Bytes read, where a source counts them.")] = 0
    num_late_records_dropped: Annotated[
        int, _counter("Records that came too late, and for which there is no side output.")
    ] = 0
    num_dead_letters: Annotated[
        int, _counter("Records that user code, or the decoder of a source, has failed on.")
    ] = 0
    current_input_watermark: Annotated[
        int | None,
        _gauge(
            "The watermark before the operator, in milliseconds; none until there is one.", "min"
        ),
    ] = None
    current_output_watermark: Annotated[
        int | None,
        _gauge(
            "The watermark behind the operator, in milliseconds; none until there is one.", "min"
        ),
    ] = None
    watermark_lag: Annotated[
        int | None,
        _gauge("Milliseconds by which the output watermark is behind the clock.", "max"),
    ] = None
    state_entries: Annotated[int, _gauge("Records that the operator's state holds.")] = 0
    state_bytes: Annotated[
        int, _gauge("Bytes of them, keys included; an estimate from a sample of what is written.")
    ] = 0


class SlotMetrics(Measures, frozen=True, kw_only=True, rename="camel"):
    """An operator in one slot, which is Flink's subtask; for sources and what is chained to them, a
    task that reads."""

    slot: int


class OperatorMetrics(Measures, frozen=True, kw_only=True, rename="camel"):
    """An operator, source or sink: its slots put together, and each by itself."""

    uid: str
    name: str
    #: where the operator runs; 0 is the ingress, where sources are read
    stage: int
    kind: Kind
    pending_records: Annotated[
        int | None,
        _gauge(
            "Records that are there and that a source has still to read: of Kafka, end offsets "
            "minus positions; of a datagen with a rate, what is due by now; of Postgres, rows "
            "above the position; of RabbitMQ, messages ready or prefetched; of a push source, "
            "records accepted."
        ),
    ] = None
    pending_files: Annotated[
        int | None, _gauge("Files that a source has still to read, or to read to their end.")
    ] = None
    #: what functions count and measure themselves, by name
    user: dict[str, Any] = {}
    slots: tuple[SlotMetrics, ...] = ()


class TaskMetrics(Shares, frozen=True, kw_only=True, rename="camel"):
    """All operators that run in one slot of one stage, and the work around them: decoding, merging,
    encoding, committing state."""

    stage: int
    slot: int


class JobMetrics(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A job as of its last micro-batch."""

    job_id: str
    name: str
    #: one of RUNNING, FINISHED, FAILED, CANCELED, as ``JobStatus`` has them
    state: str = "RUNNING"
    #: when the job was started, and this snapshot made, in seconds since 1970
    started: float = 0.0
    taken: float = 0.0
    parallelism: int = 1
    #: what executes the job, as ``execution.engine`` names it
    engine: str = ""
    uptime: Annotated[int, _gauge("Milliseconds since the job was started.")] = 0
    num_restarts: Annotated[int, _counter("How often the job failed and started again.")] = 0
    last_failure: str = ""
    last_completed_checkpoint_id: Annotated[
        int, _gauge("The number of the last micro-batch, with each of which a checkpoint ends.")
    ] = -1
    number_of_completed_checkpoints: Annotated[
        int, _counter("Micro-batches finished since the job was started.")
    ] = 0
    last_checkpoint_duration: Annotated[
        float,
        _gauge("Milliseconds that the last checkpoint took: state, then sinks, then the epoch."),
    ] = 0.0
    last_checkpoint_size: Annotated[
        int, _gauge("Bytes by which the last micro-batch's state made the checkpoint grow.")
    ] = 0
    last_micro_batch_duration: Annotated[
        float, _gauge("Milliseconds from the plan of the last micro-batch to its end.")
    ] = 0.0
    num_rounds: Annotated[
        int, _counter("Rounds of the live engine that were finished since the job was started.")
    ] = 0
    records_per_round_limit: Annotated[
        int,
        _gauge(
            "In the live engine, the most records that a round may read from a source now: fewer "
            "if what they make would take too much memory."
        ),
    ] = 0
    back_pressured_time_ms_per_second: Annotated[
        float,
        _gauge(
            "In the live engine, milliseconds of each second in which sources had to wait because "
            "as many rounds were under way as may be, between the last two checkpoints."
        ),
    ] = 0.0
    #: the parts of the checkpoint's duration, in milliseconds: ``state``, ``sinks``, ``epoch``
    checkpoint_parts: dict[str, float] = {}
    #: what the last micro-batch's time went into, in milliseconds, by phase
    phases: dict[str, float] = {}
    waiting: tuple[Wait, ...] = ()
    tasks: tuple[TaskMetrics, ...] = ()
    operators: tuple[OperatorMetrics, ...] = ()

    def operator(self, name: str) -> OperatorMetrics:
        """The operator of that uid, or the only one of that name; raises :class:`KeyError`."""
        named = [each for each in self.operators if each.name == name]
        for each in self.operators:
            if each.uid == name or named == [each]:
                return each
        raise KeyError(f"{name!r} is not the uid, or the unique name, of an operator of this job")


@dataclass(frozen=True)
class Definition:
    """One metric, as the reference page shows it."""

    #: the field of the snapshot
    field: str
    #: in JSON and for Prometheus
    name: str
    kind: Literal["counter", "gauge"]
    #: how the slots of an operator are put together
    over: Over
    text: str


def definitions(of: type[msgspec.Struct]) -> Iterator[Definition]:
    """The metrics among the fields of ``of``, in their order."""
    hints = get_type_hints(of, include_extras=True)
    for field in msgspec.structs.fields(of):
        hint = hints[field.name]
        if get_origin(hint) is Annotated:
            meta = get_args(hint)[1]
            yield Definition(
                field.name,
                field.encode_name,
                meta.extra["kind"],
                meta.extra["over"],
                meta.description,
            )
