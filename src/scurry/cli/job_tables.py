"""What ``scurry status`` prints: one job with its operators, or a list of jobs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import click
import msgspec
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from scurry.cli.shown import plain, size_in_words, span_in_words
from scurry.common.job_metrics import OperatorMetrics
from scurry.common.options.execution import MICRO_BATCH
from scurry.engine.status import RunningStatus, listed_jobs, status_of
from scurry.runtime.batch import MAX_WATERMARK

_NOBODY = (
    "No job of yours is running on this machine. Give the checkpoint directory of a job to see how "
    "it was doing last: scurry status DIRECTORY"
)


_COLUMNS = (
    *("stage", "operator", "in", "out", "in/s", "out/s", "watermark", "lag", "busy", "idle"),
    *("waiting", "state", "notes"),
)
#: what is left out of the table of operators first, second, ... where there is no room
_DISPENSABLE = ("idle", "waiting", "out/s", "lag", "in/s", "watermark", "busy", "state", "notes")
#: how wide the table may be where it goes to a file, and how narrow a name may become
_WIDE, _NAME = 200, 16


def show_jobs(job: str | None, as_json: bool) -> None:
    """Print the jobs that ``job`` names, or all there are."""
    found = find_jobs(job)
    if as_json:
        shown = [{**msgspec.to_builtins(each), "signs": each.signs} for each in found]
        click.echo(msgspec.json.format(msgspec.json.encode(shown)).decode())
        return
    console = Console(highlight=False, markup=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(highlight=False, markup=False, width=_WIDE)
    if not found:
        console.print(_NOBODY)
    elif len(found) == 1:
        _show_job(console, found[0])
    else:
        _show_list(console, found)


def find_jobs(job: str | None) -> list[RunningStatus]:
    """The jobs that ``job`` names: a directory, an id or a part of a name; all there are if it is
    None. Raises if it names none."""
    listed = listed_jobs()
    if job is None:
        return listed
    in_directory = status_of(job)
    if in_directory is not None:
        return [in_directory]
    named = [each for each in listed if each.metrics.job_id.startswith(job)]
    named = named or [each for each in listed if job.lower() in each.metrics.name.lower()]
    if not named:
        raise click.ClickException(
            f"{job!r} is neither a directory in which a job has left its status, nor the id or a "
            "part of the name of a job of yours on this machine. `scurry status` lists those; "
            "`scurry checkpoint show DIRECTORY` says what a checkpoint holds."
        )
    return named


def _show_list(console: Console, found: Sequence[RunningStatus]) -> None:
    titles = ["job", "id", "state", "up", "batch", "in/s", "lag", "restarts", "state bytes"]
    rows = [(*_summary(each), plain(each.directory)) for each in found]
    ends = max(cell_len(directory) for *_, directory in rows) + 2
    beside = ends + sum(_room(title, [row[at] for row in rows]) for at, title in enumerate(titles))
    fits = beside + 2 * (len(titles) - 1) <= console.width
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in [*titles, *(["directory"] if fits else [])]:
        right = title not in ("job", "id", "state", "directory")
        table.add_column(title, justify="right" if right else "left", no_wrap=title != "job")
    for row in rows:
        table.add_row(*(row if fits else row[:-1]))
    console.print(table)
    if not fits:
        for _, job_id, *_, directory in rows:
            console.print(f"{job_id} is in {directory}", soft_wrap=True)


def _summary(status: RunningStatus) -> Iterable[str]:
    metrics = status.metrics
    read = sum(o.num_records_in_per_second for o in metrics.operators if o.kind == "source")
    yield from (plain(metrics.name), metrics.job_id[:8], status.signs, _up(status))
    yield from (str(metrics.last_completed_checkpoint_id), f"{read:,.0f}", _worst_lag(status))
    yield str(metrics.num_restarts)
    yield size_in_words(sum(o.state_bytes for o in metrics.operators))


def _show_job(console: Console, status: RunningStatus) -> None:
    metrics = status.metrics
    console.print(f"{plain(metrics.name)}  ({metrics.job_id[:8]})  {status.signs}", style="bold")
    for line in _facts(status):
        console.print(line, soft_wrap=True)
    rows = [dict(zip(_COLUMNS, _row(operator), strict=True)) for operator in metrics.operators]
    columns, left_out = fitting(rows, console.width)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in columns:
        left = title in ("operator", "notes")
        table.add_column(title, justify="left" if left else "right", no_wrap=title != "operator")
    for row in rows:
        table.add_row(*(row[title] for title in columns))
    console.print(table)
    if left_out:
        console.print(
            f"The terminal is too narrow for {', '.join(left_out)}; --json has everything.",
            soft_wrap=True,
        )


def fitting(rows: Sequence[Mapping[str, str]], width: int) -> tuple[list[str], list[str]]:
    """Which columns fit into ``width`` without a number being cut, and which are left out for that.
    Those without any content are left out in any case."""
    room = {
        title: _room(title, [row[title] for row in rows])
        for title in _COLUMNS
        if title not in _DISPENSABLE or any(row[title] for row in rows)
    }
    room["operator"] = min(room["operator"], _NAME)
    left_out = []
    for title in _DISPENSABLE:
        # two spaces between columns
        if sum(room.values()) + 2 * (len(room) - 1) <= width:
            break
        if room.pop(title, None) is not None:
            left_out.append(title)
    return list(room), left_out


def _room(title: str, texts: Iterable[str]) -> int:
    """How wide a column is."""
    return max(map(cell_len, [title, *texts]))


def _facts(status: RunningStatus) -> Iterable[str]:
    metrics = status.metrics
    yield (
        f"process {status.pid} on {plain(status.host)}, up {_up(status)}, parallelism "
        f"{metrics.parallelism}, {metrics.engine or MICRO_BATCH} engine, "
        f"seen {span_in_words(time.time() - status.written)} ago"
    )
    parts = ", ".join(f"{name} {ms:.0f}" for name, ms in metrics.checkpoint_parts.items())
    yield (
        f"micro-batch {metrics.last_completed_checkpoint_id} took "
        f"{metrics.last_micro_batch_duration:,.0f} ms; its checkpoint "
        f"{metrics.last_checkpoint_duration:,.0f} ms ({parts}), "
        f"{size_in_words(metrics.last_checkpoint_size)} written"
    )
    if metrics.num_rounds:
        held_up = metrics.back_pressured_time_ms_per_second / 10
        yield (
            f"{metrics.num_rounds:,} rounds, of at most {metrics.records_per_round_limit:,} "
            f"records of a source now; sources had to wait {held_up:.0f} % of the time"
        )
    if metrics.num_restarts:
        failure = plain(metrics.last_failure).splitlines() or [""]
        yield f"restarted {metrics.num_restarts} times, the last time after: {failure[0]}"
    yield from (plain(str(wait)) for wait in metrics.waiting)
    if status.prometheus:
        yield f"Prometheus: {plain(status.prometheus)}"
    if status.queries:
        yield f"queries: {plain(status.queries)}"
    yield f"directory: {plain(status.directory)}"


def _row(operator: OperatorMetrics) -> Iterable[str]:
    yield str(operator.stage)
    yield plain(operator.name)
    yield f"{operator.num_records_in:,}"
    yield f"{operator.num_records_out:,}"
    yield f"{operator.num_records_in_per_second:,.0f}"
    yield f"{operator.num_records_out_per_second:,.0f}"
    yield _moment(operator.current_output_watermark)
    yield _lag(operator.watermark_lag, operator.current_output_watermark)
    yield f"{operator.busy_time_ms_per_second / 10:.1f} %"
    yield f"{operator.idle_time_ms_per_second / 10:.1f} %"
    yield f"{operator.waiting_time_ms_per_second / 10:.1f} %"
    size = size_in_words(operator.state_bytes)
    yield f"{operator.state_entries:,} / {size}" if operator.state_entries else ""
    yield ", ".join(_notes(operator))


def _notes(operator: OperatorMetrics) -> Iterable[str]:
    if operator.pending_records is not None:
        yield f"{operator.pending_records:,} to read"
    if operator.pending_files is not None:
        yield f"{operator.pending_files:,} files to read"
    if operator.num_late_records_dropped:
        yield f"{operator.num_late_records_dropped:,} late, dropped"
    if operator.num_dead_letters:
        yield f"{operator.num_dead_letters:,} dead letters"


def _worst_lag(status: RunningStatus) -> str:
    lags = [o.watermark_lag for o in status.metrics.operators if o.watermark_lag is not None]
    return span_in_words(max(lags) / 1000) if lags else ""


def _lag(milliseconds: int | None, watermark: int | None) -> str:
    if milliseconds is None or watermark == MAX_WATERMARK:
        return ""
    return span_in_words(milliseconds / 1000)


def _moment(watermark: int | None) -> str:
    if watermark is None:
        return ""
    if watermark == MAX_WATERMARK:
        return "end"
    try:
        return f"{datetime.fromtimestamp(watermark / 1000, UTC):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, OSError, ValueError):
        return str(watermark)


def _up(status: RunningStatus) -> str:
    return span_in_words(status.metrics.uptime / 1000)
