"""PRINTF: Java's Formatter for values of SQL.

Supported are ``%s %d %x %X %o %f %e %E %g %c %b %n %%`` with flags, width, precision and argument
numbers (``%2$s``). A format that does not fit its values gives NULL, as in Flink.
"""

from __future__ import annotations

import decimal
import re
from typing import Any

from scurry.runtime.expressions.python_values import per_value
from scurry.runtime.expressions.texts_of_values import java_double

_SPEC = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")


class _Misfit(Exception):
    pass


@per_value("PRINTF", null_in_null_out=False)
def _printf(form: str | None, *values: Any) -> str | None:
    if form is None:
        return None
    try:
        return _formatted(form, values)
    except (_Misfit, ValueError, IndexError):
        return None


def _formatted(form: str, values: tuple[Any, ...]) -> str:
    if "%" in _SPEC.sub("", form):
        raise _Misfit
    used = iter(values)

    def one(found: re.Match[str]) -> str:
        index, flags, width, precision, kind = found.groups()
        if kind in "n%":
            return "\n" if kind == "n" else "%"
        value = values[int(index) - 1] if index else next(used, _Misfit)
        if value is _Misfit:
            raise _Misfit
        text = _text(value, kind, flags, int(precision) if precision else None)
        return _padded(text, flags, int(width or 0), kind)

    return _SPEC.sub(one, form)


def _padded(text: str, flags: str, width: int, kind: str) -> str:
    if "-" in flags:
        return text.ljust(width)
    if "0" in flags and kind in "dxXofeE":
        sign = text[:1] if text[:1] in "+-" else ""
        return sign + text[len(sign) :].rjust(width - len(sign), "0")
    return text.rjust(width)


def _text(value: Any, kind: str, flags: str, precision: int | None) -> str:
    if kind in "sS":
        made = _plain(value)
        made = made if precision is None else made[:precision]
        return made.upper() if kind == "S" else made
    if kind in "bB":
        return str(value is not None and value is not False).lower()
    if value is None:
        return "null"
    if kind == "c" and isinstance(value, str) and len(value) == 1:
        return value
    if kind in "dxXo" and isinstance(value, int) and not isinstance(value, bool):
        return _integer(value, kind, flags)
    if kind in "feEgG" and isinstance(value, float):
        return _fraction(value, kind, flags, 6 if precision is None else precision)
    raise _Misfit


def _integer(value: int, kind: str, flags: str) -> str:
    if kind == "d":
        made = format(value, "," if "," in flags else "d")
        return "+" + made if "+" in flags and value >= 0 else made
    return format(value & ((1 << 64) - 1) if value < 0 else value, kind)


def _fraction(value: float, kind: str, flags: str, digits: int) -> str:
    exact = decimal.Decimal(repr(value))
    if kind == "f":
        made = exact.quantize(decimal.Decimal(1).scaleb(-digits), decimal.ROUND_HALF_UP)
        text = format(made, ",f" if "," in flags else "f")
    else:
        text = format(exact, f".{digits}{kind}")
        text = re.sub(r"([eE][+-])(\d)$", r"\g<1>0\2", text)
    return "+" + text if "+" in flags and exact >= 0 else text


def _plain(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return java_double(value) if isinstance(value, float) else str(value)
