"""A snapshot of a job's metrics, made of what its tasks have reported so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from scurry.common.job_metrics import (
    Definition,
    JobMetrics,
    Kind,
    Measures,
    OperatorMetrics,
    SlotMetrics,
    TaskMetrics,
    definitions,
)
from scurry.engine.job import Job
from scurry.engine.operator_totals import Rates, SlotTotals
from scurry.engine.progress import Progress
from scurry.functions.source import FILES_LEFT, LAG
from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK
from scurry.runtime.specs import OperatorSpec, SourceSpec

_TOGETHER: dict[str, Callable[[list[Any]], Any]] = {"sum": sum, "min": min, "max": max}
_MEASURES: tuple[Definition, ...] = tuple(definitions(Measures))


def take_snapshot(progress: Progress, job: Job, state: str = "RUNNING") -> JobMetrics:
    """The metrics of ``job`` as of now."""
    with progress.lock:
        return _snapshot(progress, job, state)


def _snapshot(progress: Progress, job: Job, state: str) -> JobMetrics:
    spec = job.spec
    parts = _checkpoint_parts(progress.phases)
    now = time.time()
    made = _Snapshot(progress, job)
    return JobMetrics(
        job_id=spec.run_id,
        name=spec.name,
        state=state,
        started=progress.started,
        taken=now,
        parallelism=spec.parallelism,
        engine=spec.engine,
        uptime=int((now - progress.started) * 1000),
        num_restarts=progress.restarts,
        last_failure=progress.last_failure,
        last_completed_checkpoint_id=progress.batch,
        number_of_completed_checkpoints=progress.batches,
        last_checkpoint_duration=round(sum(parts.values()), 3),
        last_checkpoint_size=progress.last.get("state_bytes", 0),
        last_micro_batch_duration=round(progress.last_seconds * 1000, 3),
        num_rounds=progress.rounds.total,
        records_per_round_limit=progress.rounds.limit,
        back_pressured_time_ms_per_second=round(progress.rounds.held_up * 1000, 3),
        checkpoint_parts=parts,
        phases=_milliseconds(progress.phases),
        waiting=tuple(progress.waiting),
        tasks=tuple(made.tasks()),
        operators=tuple(made.operators()),
    )


def _checkpoint_parts(phases: Mapping[str, float]) -> dict[str, float]:
    """How long state, sinks and epoch took to become durable; stages follow one another."""
    state = sum(seconds for name, seconds in phases.items() if name.startswith("state "))
    parts = {"state": state, "sinks": phases.get("commit", 0.0), "epoch": phases.get("epoch", 0.0)}
    return _milliseconds(parts)


def _milliseconds(seconds: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value * 1000, 3) for name, value in seconds.items()}


class _Snapshot:
    """What all operators of one snapshot have in common."""

    def __init__(self, progress: Progress, job: Job) -> None:
        self._progress = progress
        self._spec = job.spec
        self._sinks = {sink.uid for sink in job.sinks}
        self._totals = progress.operators
        self._rates, self._idle = self._totals.rates(progress.watch.so_far("wait"))
        self._user = progress.metrics.by_uid()

    def tasks(self) -> Iterable[TaskMetrics]:
        """One after the other, by stage and slot."""
        for stage, slot in sorted(self._totals.tasks):
            rate = self._rates.get((stage, slot), Rates())
            yield TaskMetrics(stage=stage, slot=slot, **self._shares(rate))

    def operators(self) -> Iterable[OperatorMetrics]:
        """Sources first, then all operators in the order of the program."""
        for source in self._spec.sources:
            yield self._operator(source, 0, "source")
        hosted = self._spec.hosted
        for uid, spec in self._spec.operators.items():
            kind: Kind = "sink" if uid in self._sinks else "operator"
            yield self._operator(spec, hosted.get(uid, 0), kind)

    def _operator(self, spec: OperatorSpec | SourceSpec, stage: int, kind: Kind) -> OperatorMetrics:
        uid, gauges = spec.uid, self._progress.gauges
        places = sorted(slot for each, slot in self._totals.operators if each == uid)
        slots = tuple(self._slot(uid, stage, slot) for slot in places)
        return OperatorMetrics(
            uid=uid,
            name=spec.name,
            stage=stage,
            kind=kind,
            pending_records=gauges.get(f"{LAG}:{uid}"),
            pending_files=gauges.get(f"{FILES_LEFT}:{uid}"),
            user=self._user.get(uid, {}),
            slots=slots,
            **{each.field: _together(each, slots) for each in _MEASURES if slots},
        )

    def _slot(self, uid: str, stage: int, slot: int) -> SlotMetrics:
        totals: SlotTotals = self._totals.operators[uid, slot]
        rate = self._rates.get((uid, slot), Rates())
        entries, size = self._totals.state_of(uid, stage, slot)
        return SlotMetrics(
            slot=slot,
            num_records_in=totals.records_in,
            num_records_out=totals.records_out,
            num_records_in_per_second=round(rate.records_in, 3),
            num_records_out_per_second=round(rate.records_out, 3),
            num_bytes_in=totals.bytes_in,
            num_late_records_dropped=totals.late_dropped,
            num_dead_letters=totals.dead_letters,
            current_input_watermark=_watermark(totals.input_watermark),
            current_output_watermark=_watermark(totals.output_watermark),
            watermark_lag=_lag(totals.output_watermark),
            state_entries=entries,
            state_bytes=size,
            **self._shares(rate),
        )

    def _shares(self, rate: Rates) -> dict[str, float]:
        busy = min(1.0, rate.busy)
        idle = min(self._idle, 1.0 - busy)
        shares = {"busy": busy, "idle": idle, "waiting": max(0.0, 1.0 - busy - idle)}
        return {f"{name}_time_ms_per_second": round(1000 * s, 3) for name, s in shares.items()}


def _together(metric: Definition, slots: Iterable[SlotMetrics]) -> Any:
    """One metric of all slots, as its definition says; slots that have none are left out."""
    values = [value for s in slots if (value := getattr(s, metric.field)) is not None]
    if not values:
        return None
    if metric.over == "mean":
        return round(sum(values) / len(values), 3)
    return _TOGETHER[metric.over](values)


def _watermark(watermark: int) -> int | None:
    return None if watermark == MIN_WATERMARK else watermark


def _lag(watermark: int) -> int | None:
    if watermark == MIN_WATERMARK:
        return None
    return 0 if watermark == MAX_WATERMARK else int(time.time() * 1000) - watermark
