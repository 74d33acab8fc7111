"""Dates and times. Where a wall-clock time and a point in time meet, the zone is that of
``table.local-time-zone``."""

from __future__ import annotations

from collections.abc import Sequence

from scurry.common.data_types import (
    DataType,
    DataTypes,
    DateType,
    DayTimeIntervalType,
    LocalZonedTimestampType,
    TimestampKind,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
)
from scurry.functions.builtin.entry import BuiltIn
from scurry.functions.builtin.signatures import (
    Signature,
    any_nullable,
    cast_to,
    fixed,
    nullable,
    signature,
)
from scurry.functions.expressions import Expression, Literal

__all__ = ["EXTRACT_UNITS", "ROUND_UNITS", "TEMPORAL"]

_STRING = DataTypes.STRING()
_BIGINT = DataTypes.BIGINT()
_LTZ = DataTypes.TIMESTAMP_LTZ(3, False)
_TIMESTAMP = DataTypes.TIMESTAMP(3)
EXTRACT_UNITS = (
    "MILLENNIUM", "CENTURY", "DECADE", "YEAR", "ISOYEAR", "QUARTER", "MONTH", "WEEK", "DOY", "DAY",
    "DOW", "ISODOW", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND",
    "EPOCH",
)  # fmt: skip
ROUND_UNITS = (
    "MILLENNIUM", "CENTURY", "DECADE", "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE",
    "SECOND", "MILLISECOND",
)  # fmt: skip
_DIFF_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
_ADD_UNITS = (*_DIFF_UNITS, "MILLISECOND")
_POINTS = (DateType, TimeType, TimestampType, LocalZonedTimestampType)
Answer = tuple[Sequence[Expression], DataType] | str


def _unit(operand: Expression, units: Sequence[str]) -> str | None:
    """Why the operand is none of the units, or None if it is one."""
    if isinstance(operand, Literal) and operand.value in units:
        return None
    return f"the unit must be one of {', '.join(units)}, not {operand}"


def _extract(operands: Sequence[Expression]) -> Answer:
    if len(operands) != 2:
        return "it has a unit and a time"
    wrong = _unit(operands[0], EXTRACT_UNITS)
    kinds = (*_POINTS, DayTimeIntervalType, YearMonthIntervalType)
    if wrong or not isinstance(operands[1].type, kinds):
        return wrong or "only times and intervals have units"
    return operands, DataTypes.BIGINT(operands[1].type.is_nullable)


def _round_to(operands: Sequence[Expression]) -> Answer:
    if len(operands) != 2:
        return "it has a time and a unit"
    wrong = _unit(operands[1], ROUND_UNITS)
    if wrong or not isinstance(operands[0].type, _POINTS):
        return wrong or "only times can be rounded to a unit"
    return operands, operands[0].type


def _add(operands: Sequence[Expression]) -> Answer:
    if len(operands) != 3:
        return "it has a unit, a number and a time"
    wrong = _unit(operands[0], _ADD_UNITS)
    if wrong or not isinstance(operands[2].type, _POINTS):
        return wrong or "only to a time units can be added"
    kept = any_nullable(operands[1:])
    count = cast_to(operands[1], DataTypes.BIGINT())
    result = operands[2].type
    unit = str(operands[0]).strip("'")
    if isinstance(result, DateType) and unit in ("HOUR", "MINUTE", "SECOND", "MILLISECOND"):
        result = DataTypes.TIMESTAMP(6)
        return (operands[0], count, cast_to(operands[2], result)), result.with_nullability(kept)
    return (operands[0], count, operands[2]), result.with_nullability(kept)


def _difference(operands: Sequence[Expression]) -> Answer:
    if len(operands) != 3:
        return "it has a unit and two times"
    wrong = _unit(operands[0], _DIFF_UNITS)
    times = operands[1:]
    if wrong or not all(isinstance(o.type, _POINTS) for o in times):
        return wrong or "it is the distance of two times"
    return operands, DataTypes.INT(any_nullable(times))


def _overlaps(operands: Sequence[Expression]) -> Answer:
    if len(operands) != 4:
        return "it has two starts, each with an end or a length"
    return operands, DataTypes.BOOLEAN(any_nullable(operands))


def _watermark(operands: Sequence[Expression]) -> Answer:
    given = operands[0].type if len(operands) == 1 else None
    if isinstance(given, TimestampType) and given.is_time_attribute:
        return operands, TimestampType(3)
    if isinstance(given, LocalZonedTimestampType) and given.is_time_attribute:
        return operands, LocalZonedTimestampType(3)
    return "it takes a column that is an event-time attribute"


def _point(operands: Sequence[Expression]) -> DataType:
    """TO_TIMESTAMP_LTZ of a number has the digits that its precision says, at least three."""
    second = operands[1] if len(operands) == 2 else None
    given = second.value if isinstance(second, Literal) else None
    return DataTypes.TIMESTAMP_LTZ(max(3, min(int(given), 9)) if given is not None else 3)


def _literal_cast(target: DataType) -> Signature:
    return signature("string", fixed(target))


def _time(
    name: str, syntax: str, says: str, *ways: Signature, also: str = "", fails: bool = False
) -> BuiltIn:
    aliases = tuple(also.split())
    return BuiltIn(name, "temporal", syntax, says, tuple(ways), aliases=aliases, fails=fails)


def _now(name: str, syntax: str, says: str, result: DataType, also: str = "") -> BuiltIn:
    return BuiltIn(
        name,
        "temporal",
        syntax,
        says,
        (signature("", lambda operands: result),),
        deterministic=False,
        aliases=tuple(also.split()),
    )


def _field(name: str, unit: str) -> BuiltIn:
    """A function that is short for EXTRACT."""
    return BuiltIn(
        name,
        "temporal",
        f"{name}(a)",
        f"EXTRACT({unit} FROM a)",
        (signature("temporal", _BIGINT),),
    )


_CURRENT = "; in batch mode, when the query started"

TEMPORAL: tuple[BuiltIn, ...] = (
    _time("DATE", "DATE '2020-01-31'", "a date", _literal_cast(DataTypes.DATE()), fails=True),
    _time("TIME", "TIME '10:20:30'", "a time", _literal_cast(DataTypes.TIME()), fails=True),
    _time(
        "TIMESTAMP",
        "TIMESTAMP '2020-01-31 10:20:30'",
        "a wall-clock time",
        _literal_cast(_TIMESTAMP),
        fails=True,
    ),
    _time(
        "INTERVAL",
        "INTERVAL '1 02:03:04' DAY TO SECOND",
        "a length of time, in milliseconds or in months",
        _literal_cast(DayTimeIntervalType()),
        fails=True,
    ),
    _now("CURRENT_DATE", "CURRENT_DATE", "today" + _CURRENT, DataTypes.DATE(False)),
    _now(
        "LOCALTIME",
        "LOCALTIME",
        "the time of day" + _CURRENT,
        DataTypes.TIME(0, False),
        "CURRENT_TIME",
    ),
    _now(
        "LOCALTIMESTAMP",
        "LOCALTIMESTAMP",
        "the wall-clock time" + _CURRENT,
        DataTypes.TIMESTAMP(3, False),
    ),
    _now("CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP", "the point in time" + _CURRENT, _LTZ, "NOW"),
    _now(
        "CURRENT_ROW_TIMESTAMP",
        "CURRENT_ROW_TIMESTAMP()",
        "the point in time at which the row is processed, in batch mode too",
        _LTZ,
    ),
    _now(
        "PROCTIME",
        "PROCTIME()",
        "the time attribute of processing time",
        LocalZonedTimestampType(3, False, TimestampKind.PROCTIME),
    ),
    BuiltIn(
        "CURRENT_WATERMARK",
        "temporal",
        "CURRENT_WATERMARK(rowtime)",
        "the watermark at this row; NULL before the first",
        resolver=_watermark,
        deterministic=False,
    ),
    BuiltIn(
        "EXTRACT",
        "temporal",
        "EXTRACT(unit FROM a)",
        "a unit of a time or an interval, as a number",
        resolver=_extract,
    ),
    _field("YEAR", "YEAR"),
    _field("QUARTER", "QUARTER"),
    _field("MONTH", "MONTH"),
    _field("WEEK", "WEEK"),
    _field("DAYOFYEAR", "DOY"),
    _field("DAYOFMONTH", "DAY"),
    _field("DAYOFWEEK", "DOW"),
    _field("HOUR", "HOUR"),
    _field("MINUTE", "MINUTE"),
    _field("SECOND", "SECOND"),
    BuiltIn(
        "FLOOR TO", "temporal", "FLOOR(a TO unit)", "a rounded down to a unit", resolver=_round_to
    ),
    BuiltIn("CEIL TO", "temporal", "CEIL(a TO unit)", "a rounded up to a unit", resolver=_round_to),
    BuiltIn(
        "OVERLAPS",
        "temporal",
        "(a, b) OVERLAPS (c, d)",
        "whether two stretches of time have a moment in common; b and d are ends or lengths",
        resolver=_overlaps,
    ),
    _time(
        "DATE_FORMAT",
        "DATE_FORMAT(a, format)",
        "the time a as a text in a format of Java's DateTimeFormatter",
        signature("stamp, string", nullable(_STRING)),
        signature("string, string", nullable(_STRING)),
        fails=True,
    ),
    BuiltIn(
        "TIMESTAMPADD",
        "temporal",
        "TIMESTAMPADD(unit, count, a)",
        "the time that is so many units after a",
        resolver=_add,
    ),
    BuiltIn(
        "TIMESTAMPDIFF",
        "temporal",
        "TIMESTAMPDIFF(unit, a, b)",
        "how many whole units b is after a",
        resolver=_difference,
    ),
    _time(
        "CONVERT_TZ",
        "CONVERT_TZ(a, zone1, zone2)",
        "what clocks in zone2 show when they show a in zone1; NULL if a is no time",
        signature("string, string, string", nullable(_STRING)),
        fails=True,
    ),
    _time(
        "FROM_UNIXTIME",
        "FROM_UNIXTIME(seconds [, format])",
        "the point in time, given in seconds since 1970, as a text in the local zone",
        signature("bigint [, string]", nullable(_STRING)),
        fails=True,
    ),
    BuiltIn(
        "UNIX_TIMESTAMP()",
        "temporal",
        "UNIX_TIMESTAMP()",
        "now, in seconds since 1970",
        (signature("", DataTypes.BIGINT(False)),),
        deterministic=False,
    ),
    _time(
        "UNIX_TIMESTAMP",
        "UNIX_TIMESTAMP(a [, format])",
        "the time a, read in the local zone, in seconds since 1970; the least BIGINT if it "
        "cannot be read",
        signature("string [, string]", _BIGINT),
        fails=True,
    ),
    _time(
        "TO_DATE",
        "TO_DATE(a [, format])",
        "the date that a text says; NULL if it says none",
        signature("string [, string]", nullable(DataTypes.DATE())),
        fails=True,
    ),
    _time(
        "TO_TIMESTAMP",
        "TO_TIMESTAMP(a [, format])",
        "the wall-clock time that a text says; NULL if it says none",
        signature("string [, string]", nullable(_TIMESTAMP)),
        fails=True,
    ),
    _time(
        "TO_TIMESTAMP_LTZ",
        "TO_TIMESTAMP_LTZ(a [, precision]) or TO_TIMESTAMP_LTZ(text [, format [, zone]])",
        "the point in time, given in units of a precision (0 to 9, 3 if left out) since 1970, or "
        "as a text in a zone, UTC if left out",
        signature("numeric [, int]", _point),
        signature("string [, string [, string]]", nullable(_LTZ)),
        fails=True,
    ),
)
