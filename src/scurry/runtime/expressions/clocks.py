"""The current time, and times in formats: DATE_FORMAT, TO_TIMESTAMP, UNIX_TIMESTAMP, ..."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from scurry.common.data_types import CharacterStringType
from scurry.functions.expressions import Call
from scurry.runtime.expressions.errors import EvaluationError
from scurry.runtime.expressions.frames import Datum, Frame
from scurry.runtime.expressions.java_formats import Moment, java_format, nanos_of
from scurry.runtime.expressions.kernels import Evaluate, constant, kernel
from scurry.runtime.expressions.moments import local_column
from scurry.runtime.expressions.python_values import apply, per_value
from scurry.runtime.expressions.texts_of_values import stamp_texts, usual_years
from scurry.runtime.expressions.time_texts import read_date, read_time, read_timestamp
from scurry.runtime.expressions.times import floored, per_second
from scurry.runtime.expressions.zones import to_local, zone_info

_DEFAULT = "yyyy-MM-dd HH:mm:ss"
_UTC = pa.timestamp("ms", "UTC")
_LEAST = -(1 << 63)


def _instant(rows: Frame) -> pa.Scalar:
    return pa.scalar(rows.context.current, pa.int64()).cast(_UTC)


def _local(rows: Frame) -> pa.Scalar:
    """The wall-clock time now."""
    return to_local(pa.array([rows.context.current], pa.int64()).cast(_UTC), rows.context.zone)[0]


def _local_time(rows: Frame) -> pa.Scalar:
    millis = _local(rows).cast(pa.int64()).as_py() % 86_400_000
    return pa.scalar(millis, pa.int32()).cast(pa.time32("ms"))


def _clock(name: str, compute: Callable[[Frame], pa.Scalar]) -> None:
    kernel(name)(lambda call: compute)


_clock("CURRENT_TIMESTAMP", _instant)
_clock("LOCALTIMESTAMP", _local)
_clock("CURRENT_DATE", lambda rows: _local(rows).cast(pa.date32()))
_clock("LOCALTIME", _local_time)
_clock("CURRENT_ROW_TIMESTAMP", lambda rows: pa.scalar(rows.context.now, pa.int64()).cast(_UTC))
_clock("PROCTIME", lambda rows: pa.scalar(rows.context.now, pa.int64()).cast(_UTC))
_clock("UNIX_TIMESTAMP()", lambda rows: pa.scalar(rows.context.now // 1000, pa.int64()))
_clock("CURRENT_DATABASE", lambda rows: pa.scalar(rows.context.database))


@kernel("CURRENT_WATERMARK")
def _watermark(call: Call) -> Evaluate:
    kind = call.type.arrow_type()
    return lambda rows, rowtime: rows.watermarks().cast(kind)


@kernel("DATE_FORMAT")
def _date_format(call: Call) -> Evaluate:
    if isinstance(call.operands[0].type, CharacterStringType):
        return lambda rows, text, pattern: apply(_reformat, (text, pattern), rows, pa.string())
    given = constant(call.operands[1])
    step = java_format(given).seconds if isinstance(given, str) else None
    slices = java_format(given).slices if isinstance(given, str) else None

    def evaluate(rows: Frame, value: Datum, pattern: Datum) -> Datum:
        column = local_column(value, rows)
        if slices and usual_years(column):
            return _composed(stamp_texts(column, 0), slices)
        if step is not None:
            column = floored(column, step)
        nanos = 10**9 // per_second(column.type)

        def write(stamp: int, text: str) -> str:
            return java_format(text).write(Moment.of_nanos(stamp * nanos))

        return apply(write, (column, pattern), rows, pa.string())

    return evaluate


def _composed(stamps: pa.Array, slices: Sequence[tuple[int, int] | str]) -> pa.Array:
    """Texts that are made of parts of ``2020-01-31 10:20:30`` and of other texts."""
    parts = [
        pa.scalar(part) if isinstance(part, str) else pc.utf8_slice_codeunits(stamps, *part)
        for part in slices
    ]
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, "")


def _reformat(text: str, pattern: str) -> str | None:
    millis = _read_millis(text, None) if ":" in text else None
    return None if millis is None else java_format(pattern).write(Moment.of_nanos(millis * 10**6))


@per_value("CONVERT_TZ")
def _convert(text: str, source: str, target: str) -> str | None:
    found = java_format(_DEFAULT).read(text)
    if found is None:
        return None
    there = found.second.replace(tzinfo=zone_info(source)).astimezone(zone_info(target))
    return there.strftime("%Y-%m-%d %H:%M:%S").zfill(19)


def _offset_at(seconds: float, zone: str) -> int:
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=seconds)
    offset = moment.astimezone(zone_info(zone)).utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0


@kernel("FROM_UNIXTIME")
def _from_unixtime(call: Call) -> Evaluate:
    def evaluate(rows: Frame, seconds: Datum, pattern: Datum | None = None) -> Datum:
        zone = rows.context.zone

        def write(value: int, text: str) -> str:
            offset = _offset_at(value, zone)
            return java_format(text).write(Moment.of_nanos((value + offset) * 10**9, offset, zone))

        given = pa.scalar(_DEFAULT) if pattern is None else pattern
        return apply(write, (seconds, given), rows, pa.string())

    return evaluate


def _epoch_seconds(moment: Moment, zone: str) -> float:
    if moment.zone:
        return nanos_of(moment) / 1e9 - moment.offset
    return moment.second.replace(tzinfo=zone_info(zone)).timestamp() + moment.nanos / 1e9


@kernel("UNIX_TIMESTAMP")
def _unix_timestamp(call: Call) -> Evaluate:
    def evaluate(rows: Frame, text: Datum, pattern: Datum | None = None) -> Datum:
        zone = rows.context.zone

        def read(value: str, form: str) -> int:
            found = java_format(form).read(value, whole=False)
            return _LEAST if found is None else int(_epoch_seconds(found, zone))

        given = pa.scalar(_DEFAULT) if pattern is None else pattern
        return apply(read, (text, given), rows, pa.int64())

    return evaluate


@per_value("TO_DATE")
def _to_date(text: str, pattern: str | None = None) -> int | None:
    if pattern is None:
        try:
            return read_date(text)
        except EvaluationError:
            return None
    found = java_format(pattern).read(text)
    return None if found is None else nanos_of(found) // (86400 * 10**9)


def _read_millis(text: str, pattern: str | None) -> int | None:
    """Milliseconds on the wall clock; without a pattern, in one of the forms that CAST reads."""
    if pattern is None or pattern == _DEFAULT:
        try:
            return read_timestamp(text) // 10**6
        except EvaluationError:
            return None
    found = java_format(pattern).read(text)
    if found is None:
        return _read_millis(text, None) if ":" in text else None
    return nanos_of(found) // 10**6


@per_value("TO_TIMESTAMP")
def _to_timestamp(text: str, pattern: str | None = None) -> int | None:
    return _read_millis(text, pattern)


@kernel("TO_TIMESTAMP_LTZ")
def _to_timestamp_ltz(call: Call) -> Evaluate:
    kind = call.type.arrow_type()
    if isinstance(call.operands[0].type, CharacterStringType):
        return lambda rows, *values: apply(_ltz_of_text, values, rows, kind)
    unit = per_second(kind)

    def of_number(number: Any, precision: int = 3) -> int:
        if not 0 <= precision <= 9:
            raise EvaluationError(f"the precision of TO_TIMESTAMP_LTZ is 0 to 9, not {precision}")
        return int(number) * unit // int(10**precision)

    return lambda rows, *values: apply(of_number, values, rows, kind)


def _ltz_of_text(text: str, pattern: str | None = None, zone: str = "UTC") -> int:
    millis = _read_millis(text, pattern)
    if millis is None:
        raise EvaluationError(f"{text!r} is no timestamp")
    wall = dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=millis)  # noqa: DTZ001
    moment = wall.replace(tzinfo=zone_info(zone))
    return (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(milliseconds=1)


for _name, _read in (("DATE", read_date), ("TIME", read_time)):
    per_value(_name)(_read)
per_value("TIMESTAMP")(lambda text: read_timestamp(text) // 10**6)
