"""Texts on columns: kernels of Arrow's where there are any, else Python per distinct text."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_plus, unquote_plus, urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from scurry.functions.expressions import Call
from scurry.runtime.expressions.frames import Datum, Frame, as_array
from scurry.runtime.expressions.kernels import Evaluate, constant, direct, kernel
from scurry.runtime.expressions.lists import element_at
from scurry.runtime.expressions.python_values import apply, per_value

direct("CHAR_LENGTH", pc.utf8_length)


def _case(name: str, ascii_only: Callable[..., Any], python: Callable[[str], str]) -> None:
    """UPPER and LOWER; one letter can become several, which Arrow's kernels do not do."""

    def build(call: Call) -> Evaluate:
        def evaluate(rows: Frame, text: Datum) -> Datum:
            column = as_array(text, rows.count)
            if pc.all(pc.string_is_ascii(column)).as_py() is not False:
                return ascii_only(column)
            return apply(python, (column,), rows, pa.string())

        return evaluate

    kernel(name)(build)


_case("UPPER", pc.ascii_upper, str.upper)
_case("LOWER", pc.ascii_lower, str.lower)
direct("REVERSE", pc.utf8_reverse)


def _join(*values: Datum) -> Datum:
    separator = pa.scalar("" if values[0].type == pa.string() else b"", values[0].type)
    return pc.binary_join_element_wise(*values, separator)


direct("||", _join)
direct("CONCAT", _join)


@kernel("CONCAT_WS")
def _concat_ws(call: Call) -> Evaluate:
    def evaluate(rows: Frame, separator: Datum, first: Datum, *rest: Datum) -> Datum:
        column = as_array(first, rows.count)
        nothing = pc.is_null(column)
        for value in rest:
            nothing = pc.and_(nothing, pc.is_null(value))
        # Arrow's kernel leaves out rows that have no value at all
        column = pc.if_else(nothing, "", column)
        return pc.binary_join_element_wise(column, *rest, separator, null_handling="skip")

    return evaluate


@kernel("SUBSTRING")
def _substring_call(call: Call) -> Evaluate:
    kind = call.type.arrow_type()
    start, length = constant(call.operands[1]), None
    if len(call.operands) == 3:
        length = constant(call.operands[2])
    plain = start is not None and start >= 1 and (len(call.operands) == 2 or (length or -1) >= 0)
    if not plain:
        return lambda rows, *values: apply(_substring, values, rows, kind)
    stop = None if length is None else start - 1 + length
    return lambda rows, text, *rest: pc.utf8_slice_codeunits(text, start - 1, stop)


def _substring(text: str, start: int, length: int | None = None) -> str | None:
    if length is not None and length < 0:
        return None
    first = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    if first < 0:
        return ""
    return text[first:] if length is None else text[first : first + length]


@per_value("LEFT")
def _left(text: str, count: int) -> str:
    return text[: max(count, 0)]


@per_value("RIGHT")
def _right(text: str, count: int) -> str:
    return text[len(text) - count :] if 0 < count < len(text) else text if count > 0 else ""


@per_value("TRIM")
def _trim(where: str, characters: str, text: str) -> str:
    if where == "LEADING":
        return text.lstrip(characters)
    return text.rstrip(characters) if where == "TRAILING" else text.strip(characters)


@per_value("LTRIM")
def _ltrim(text: str, characters: str = " ") -> str:
    return text.lstrip(characters)


@per_value("RTRIM")
def _rtrim(text: str, characters: str = " ") -> str:
    return text.rstrip(characters)


@per_value("BTRIM")
def _btrim(text: str, characters: str = " ") -> str:
    return text.strip(characters)


@per_value("SPLIT")
def _split(text: str, separator: str) -> list[str]:
    if not text:
        return []
    return text.split(separator) if separator else list(text)


@kernel("SPLIT_INDEX")
def _split_index_call(call: Call) -> Evaluate:
    kind = call.type.arrow_type()
    mark, index = constant(call.operands[1]), constant(call.operands[2])
    if not isinstance(mark, str) or not mark or index is None or index < 0:
        return lambda rows, *values: apply(_split_index, values, rows, kind)

    def evaluate(rows: Frame, text: Datum, *rest: Datum) -> Datum:
        column = as_array(text, rows.count)
        parts = pc.split_pattern(column, mark, max_splits=index + 1)
        found = element_at(parts, index + 1)
        return pc.if_else(pc.equal(pc.binary_length(column), 0), pa.scalar(None, kind), found)

    return evaluate


def _split_index(text: str, separator: str | int, index: int) -> str | None:
    mark = chr(separator) if isinstance(separator, int) else separator
    parts = text.split(mark) if mark else [text]
    return parts[index] if text and 0 <= index < len(parts) else None


@per_value("ELT", null_in_null_out=False)
def _elt(index: int | None, *values: Any) -> Any:
    return values[index - 1] if index is not None and 1 <= index <= len(values) else None


@per_value("INITCAP")
def _initcap(text: str) -> str:
    """Words are made of the letters and digits of ASCII; other characters stay as they are."""
    made, inside = [], False
    for char in text:
        word = char.isascii() and char.isalnum()
        made.append(char if not word else char.lower() if inside else char.upper())
        inside = word
    return "".join(made)


@per_value("REPEAT")
def _repeat(text: str, count: int) -> str:
    return text * max(count, 0)


@per_value("REPLACE")
def _replace(text: str, old: str, new: str) -> str:
    return text.replace(old, new)


@per_value("TRANSLATE", null_in_null_out=False)
def _translate(text: str | None, old: str | None, new: str | None) -> str | None:
    if text is None or not old:
        return text
    table: dict[int, str | None] = {}
    for at, char in enumerate(old):
        table.setdefault(ord(char), new[at] if new and at < len(new) else None)
    return text.translate(table)


@per_value("OVERLAY")
def _overlay(text: str, other: str, start: int, length: int | None = None) -> str:
    if start <= 0 or start > len(text):
        return text
    width = len(other) if length is None else length
    rest = text[start - 1 + width :] if width > 0 and start + width <= len(text) else ""
    return text[: start - 1] + other + rest


def _pad(text: str, length: int, pad: str, left: bool) -> str | None:
    if length < 0 or not pad:
        return None
    if length <= len(text):
        return text[:length]
    filling = (pad * (length // len(pad) + 1))[: length - len(text)]
    return filling + text if left else text + filling


per_value("LPAD")(lambda text, length, pad: _pad(text, length, pad, True))
per_value("RPAD")(lambda text, length, pad: _pad(text, length, pad, False))


@per_value("ASCII")
def _ascii(text: str) -> int:
    """The first byte, which is signed in Java."""
    first = text.encode()[0] if text else 0
    return first - 256 if first > 127 else first


@per_value("POSITION")
def _position(part: str, text: str) -> int:
    return text.find(part) + 1


@per_value("LOCATE")
def _locate(part: str, text: str, start: int = 1) -> int:
    return text.find(part, max(start, 1) - 1) + 1 if part else 1


@per_value("INSTR")
def _instr(text: str, part: str, start: int = 1, nth: int = 1) -> int:
    if nth < 1:
        raise ValueError(f"INSTR counts from 1, got the number {nth}")
    if start == 0:
        return 0
    if start < 0:
        return _instr_backwards(text, part, len(text) + start + 1, nth)
    at = start - 2
    for _ in range(nth):
        at = text.find(part, at + 1)
        if at < 0:
            return 0
    return at + 1


def _instr_backwards(text: str, part: str, last: int, nth: int) -> int:
    at = last
    for _ in range(nth):
        at = text.rfind(part, 0, max(at, 0) - 1 + len(part)) if at > 0 else -1
        if at < 0:
            return 0
    return at + 1


@kernel("STARTSWITH")
def _startswith(call: Call) -> Evaluate:
    prefix = constant(call.operands[1])
    if isinstance(prefix, str):
        return lambda rows, text, part: pc.starts_with(text, prefix)
    return lambda rows, *values: apply(lambda v, p: v.startswith(p), values, rows, pa.bool_())


@kernel("ENDSWITH")
def _endswith(call: Call) -> Evaluate:
    suffix = constant(call.operands[1])
    if isinstance(suffix, str):
        return lambda rows, text, part: pc.ends_with(text, suffix)
    return lambda rows, *values: apply(lambda v, p: v.endswith(p), values, rows, pa.bool_())


@per_value("CHR")
def _chr(number: int) -> str:
    return "" if number < 0 else chr(number & 0xFF)


@per_value("TO_BASE64")
def _to_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@per_value("FROM_BASE64")
def _from_base64(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode(errors="replace")
    except binascii.Error:
        raise ValueError(f"{text!r} is not in base 64") from None


_CHARSETS = {"UTF-16": "utf-16-be", "US-ASCII": "ascii"}
_KNOWN = ("US-ASCII", "ISO-8859-1", "UTF-8", "UTF-16BE", "UTF-16LE", "UTF-16")


def _charset(name: str) -> str:
    if name.upper() not in _KNOWN:
        raise ValueError(f"there is no character set {name!r}; there are {', '.join(_KNOWN)}")
    return _CHARSETS.get(name.upper(), name)


@per_value("ENCODE")
def _encode(text: str, charset: str) -> bytes:
    mark = b"\xfe\xff" if charset.upper() == "UTF-16" else b""
    return mark + text.encode(_charset(charset), errors="replace")


@per_value("DECODE")
def _decode(data: bytes, charset: str) -> str:
    if charset.upper() == "UTF-16" and data[:2] in (b"\xfe\xff", b"\xff\xfe"):
        return data.decode("utf-16", errors="replace")
    return data.decode(_charset(charset), errors="replace")


@per_value("URL_ENCODE")
def _url_encode(text: str) -> str:
    return quote_plus(text, safe="*").replace("~", "%7E")


@per_value("URL_DECODE")
def _url_decode(text: str) -> str | None:
    for at, char in enumerate(text):
        if char == "%":
            digits = text[at + 1 : at + 3]
            if len(digits) < 2 or any(d not in "0123456789abcdefABCDEF" for d in digits):
                return None
    return unquote_plus(text, errors="replace")


@per_value("INET_ATON")
def _inet_aton(text: str) -> int | None:
    """One to four bytes; the last of them is the lowest, and those that are left out are 0."""
    parts = text.split(".")
    if not 1 <= len(parts) <= 4 or not all(p.isascii() and p.isdigit() for p in parts):
        return None
    numbers = [int(part) for part in parts]
    if any(number > 255 for number in numbers):
        return None
    return sum(n << (24 - 8 * at) for at, n in enumerate(numbers[:-1])) + numbers[-1]


@per_value("INET_NTOA")
def _inet_ntoa(number: int) -> str | None:
    if not 0 <= number < 1 << 32:
        return None
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))


@per_value("PARSE_URL")
def _parse_url(url: str, part: str, key: str | None = None) -> str | None:
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return None
    if not parts.scheme:
        return None
    if key is not None:
        return _query_value(parts.query, key) if part == "QUERY" else None
    user = parts.netloc.rpartition("@")[0]
    found = {
        "HOST": host or "",
        "PATH": parts.path,
        "QUERY": parts.query or None,
        "REF": parts.fragment or None,
        "PROTOCOL": parts.scheme,
        "AUTHORITY": parts.netloc or None,
        "FILE": parts.path + (f"?{parts.query}" if parts.query else ""),
        "USERINFO": user or None,
    }
    return found.get(part)


def _query_value(query: str, key: str) -> str | None:
    for pair in query.split("&"):
        name, equals, value = pair.partition("=")
        if name == key and equals:
            return value
    return None


@per_value("IS_ALPHA", null_in_null_out=False)
def _is_alpha(text: str | None) -> bool:
    return bool(text) and all(char.isalpha() for char in text or "")


@per_value("IS_DIGIT", null_in_null_out=False)
def _is_digit(text: str | None) -> bool:
    return bool(text) and all(char.isdigit() for char in text or "")


@per_value("IS_DECIMAL", null_in_null_out=False)
def _is_decimal(text: str | None) -> bool:
    """Whether Java's Double.valueOf reads it."""
    word = (text or "").strip().rstrip("dDfF")
    if word.lstrip("+-") in ("NaN", "Infinity"):
        return True
    try:
        float(word)
    except ValueError:
        return False
    return all(char in "0123456789+-.eE" for char in word)
