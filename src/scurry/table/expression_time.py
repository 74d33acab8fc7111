"""Times and intervals in the Table API's expressions."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from scurry.common.errors import ProgramError
from scurry.sql import ast
from scurry.table.expression_core import ExpressionCore, here, name_of
from scurry.table.expression_summaries import Printed

if TYPE_CHECKING:
    from scurry.table.expression import Expression

__all__ = ["TimeIntervalUnit", "TimeMethods", "TimePointUnit"]

#: What the properties of a window are called until a table puts its window in their place.
WINDOW_PROPERTIES = {
    "start": "$WINDOW_START",
    "end": "$WINDOW_END",
    "rowtime": "$WINDOW_ROWTIME",
    "proctime": "$WINDOW_PROCTIME",
}

#: How many months or milliseconds, which Flink counts intervals in, a unit has.
_SIZES = {
    "YEAR": 12,
    "MONTH": 1,
    "DAY": 86_400_000,
    "HOUR": 3_600_000,
    "MINUTE": 60_000,
    "SECOND": 1000,
    "MILLISECOND": 1,
}


class TimeIntervalUnit(Enum):
    """Units of intervals."""

    YEAR = 0
    YEAR_TO_MONTH = 1
    QUARTER = 2
    MONTH = 3
    WEEK = 4
    DAY = 5
    DAY_TO_HOUR = 6
    DAY_TO_MINUTE = 7
    DAY_TO_SECOND = 8
    HOUR = 9
    SECOND = 10
    HOUR_TO_MINUTE = 11
    HOUR_TO_SECOND = 12
    MINUTE = 13
    MINUTE_TO_SECOND = 14


class TimePointUnit(Enum):
    """Units between points in time."""

    YEAR = 0
    MONTH = 1
    DAY = 2
    HOUR = 3
    MINUTE = 4
    SECOND = 5
    QUARTER = 6
    WEEK = 7
    MILLISECOND = 8
    MICROSECOND = 9


class TimeMethods(ExpressionCore):
    """Functions of times, numbers as intervals, and the properties of windows."""

    @property
    def to_date(self) -> Expression:
        """The date of a text ``yyyy-MM-dd``."""
        return self._cast_to("DATE")

    @property
    def to_time(self) -> Expression:
        """The time of a text ``HH:mm:ss``."""
        return self._cast_to("TIME", 0)

    @property
    def to_timestamp(self) -> Expression:
        """The timestamp of a text ``yyyy-MM-dd HH:mm:ss[.SSS]``."""
        return self._cast_to("TIMESTAMP", 3)

    def _cast_to(self, name: str, *parameters: int) -> Expression:
        target = ast.NamedType(name=name, parameters=parameters, span=here())
        shown = f"{name}({parameters[0]})" if parameters else name
        node = ast.Cast(self._node, target, span=here())
        return self._made(node, "cast", self, Printed(shown))

    def extract(self, time_interval_unit: TimeIntervalUnit) -> Expression:
        """A part of a time, as a number."""
        unit = _unit("extract", time_interval_unit)
        call = ast.FunctionCall(name_of("EXTRACT"), (unit, self._node), span=here())
        return self._made(call, "extract", time_interval_unit, self)

    def floor(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression:
        """Rounded down to a whole number, or a time to a whole unit."""
        return self._rounded("FLOOR", time_interval_unit)

    def ceil(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression:
        """Rounded up to a whole number, or a time to a whole unit."""
        return self._rounded("CEIL", time_interval_unit)

    def _rounded(self, function: str, unit: TimeIntervalUnit | None) -> Expression:
        if unit is None:
            return self._made(self._call(function).node, function.lower(), self)
        arguments = (self._node, _unit(function.lower(), unit))
        call = ast.FunctionCall(name_of(function), arguments, span=here())
        return self._made(call, function.lower(), self, unit)

    @property
    def rowtime(self) -> Expression:
        """The event time of a window: its last millisecond; or a column as event time."""
        return self._call(WINDOW_PROPERTIES["rowtime"])

    @property
    def proctime(self) -> Expression:
        """The processing time of a window; or a column of processing time."""
        return self._call(WINDOW_PROPERTIES["proctime"])

    @property
    def start(self) -> Expression:
        """When a window begins."""
        return self._call(WINDOW_PROPERTIES["start"])

    @property
    def end(self) -> Expression:
        """When a window ends, which is the first moment after it."""
        return self._call(WINDOW_PROPERTIES["end"])

    def _interval(self, unit: str, times: int = 1) -> Expression:
        """So many units; a number that the program knows becomes a literal."""
        node = self._node
        if isinstance(node, ast.Constant) and type(node.value) is int:
            number = node.value * times
            return self._make(_interval_of(number, unit), Printed(str(number * _SIZES[unit])))
        one = _interval_of(times, unit)
        product = ast.Binary("*", node, one, span=here())
        return self._made(product, "times", self, times * _SIZES[unit])

    @property
    def year(self) -> Expression:
        """So many years."""
        return self._interval("YEAR")

    @property
    def years(self) -> Expression:
        """So many years."""
        return self._interval("YEAR")

    @property
    def quarter(self) -> Expression:
        """So many quarters of a year."""
        return self._interval("MONTH", 3)

    @property
    def quarters(self) -> Expression:
        """So many quarters of a year."""
        return self._interval("MONTH", 3)

    @property
    def month(self) -> Expression:
        """So many months."""
        return self._interval("MONTH")

    @property
    def months(self) -> Expression:
        """So many months."""
        return self._interval("MONTH")

    @property
    def week(self) -> Expression:
        """So many weeks."""
        return self._interval("DAY", 7)

    @property
    def weeks(self) -> Expression:
        """So many weeks."""
        return self._interval("DAY", 7)

    @property
    def day(self) -> Expression:
        """So many days."""
        return self._interval("DAY")

    @property
    def days(self) -> Expression:
        """So many days."""
        return self._interval("DAY")

    @property
    def hour(self) -> Expression:
        """So many hours."""
        return self._interval("HOUR")

    @property
    def hours(self) -> Expression:
        """So many hours."""
        return self._interval("HOUR")

    @property
    def minute(self) -> Expression:
        """So many minutes."""
        return self._interval("MINUTE")

    @property
    def minutes(self) -> Expression:
        """So many minutes."""
        return self._interval("MINUTE")

    @property
    def second(self) -> Expression:
        """So many seconds."""
        return self._interval("SECOND")

    @property
    def seconds(self) -> Expression:
        """So many seconds."""
        return self._interval("SECOND")

    @property
    def milli(self) -> Expression:
        """So many milliseconds."""
        return self._interval("MILLISECOND")

    @property
    def millis(self) -> Expression:
        """So many milliseconds."""
        return self._interval("MILLISECOND")


def _interval_of(number: int, unit: str) -> ast.IntervalLiteral:
    span = here()
    digits = max(2, len(str(abs(number))))
    text = str(abs(number))
    qualifier = ast.IntervalQualifier(unit, digits, span=span)
    if unit == "MILLISECOND":
        seconds, rest = divmod(abs(number), 1000)
        text = f"{seconds}.{rest:03d}"
        qualifier = ast.IntervalQualifier("SECOND", digits, fraction=3, span=span)
    return ast.IntervalLiteral(text, qualifier, number < 0, span=span)


def _unit(method: str, unit: TimeIntervalUnit) -> ast.Word:
    if not isinstance(unit, TimeIntervalUnit):
        raise ProgramError(f"{method} takes a TimeIntervalUnit, got {unit!r}.")
    return ast.Word(unit.name, span=here())
