"""LIKE, SIMILAR TO and the REGEXP functions on columns."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from scurry.functions.expressions import Call
from scurry.runtime.expressions.arrow_regex import GROUP, arrow_regex
from scurry.runtime.expressions.frames import Datum, Frame
from scurry.runtime.expressions.java_regex import java_regex, like_regex, similar_regex
from scurry.runtime.expressions.kernels import Evaluate, constant, kernel
from scurry.runtime.expressions.python_values import apply, per_value


@kernel("LIKE")
def _like(call: Call) -> Evaluate:
    pattern = constant(call.operands[1])
    escape = constant(call.operands[2]) if len(call.operands) > 2 else None
    plain = len(call.operands) == 2 or isinstance(escape, str)
    fast = _simple(pattern, escape) if isinstance(pattern, str) and plain else None
    if fast is not None:
        return lambda rows, text, *rest: fast(text)

    def matches(text: str, form: str, mark: str | None = None) -> bool:
        return like_regex(form, mark).fullmatch(text) is not None

    return lambda rows, *values: apply(matches, values, rows, pa.bool_())


def _simple(pattern: str, escape: str | None) -> Callable[[Datum], Datum] | None:
    """A kernel of Arrow's for a pattern that is a text with % at its ends only."""
    body = pattern.strip("%")
    if "%" in body or "_" in body or not body or (escape is not None and escape in pattern):
        return None
    starts, ends = pattern.startswith("%"), pattern.endswith("%")
    if starts and ends:
        return lambda text: pc.match_substring(text, body)
    if ends:
        return lambda text: pc.starts_with(text, body)
    if starts:
        return lambda text: pc.ends_with(text, body)
    return lambda text: pc.equal(text, body)


@per_value("SIMILAR TO")
def _similar(text: str, pattern: str, escape: str | None = None) -> bool:
    return similar_regex(pattern, escape).fullmatch(text) is not None


def _found(text: str, pattern: str) -> re.Match[str] | None:
    """The first match; a pattern that is none matches nothing."""
    try:
        return java_regex(pattern).search(text)
    except (re.error, ValueError):
        return None


def _regexp(text: str, pattern: str) -> bool:
    return bool(pattern) and _found(text, pattern) is not None


@kernel("REGEXP")
def _regexps(call: Call) -> Evaluate:
    pattern = constant(call.operands[1])
    known = arrow_regex(pattern) if isinstance(pattern, str) else None

    def matches(rows: Frame, text: Datum, *rest: Datum) -> Datum:
        if known is None or not isinstance(text, pa.StringArray):
            return apply(_regexp, (text, *rest), rows, pa.bool_())
        return pc.match_substring_regex(text, known)

    return matches


@per_value("REGEXP_REPLACE")
def _replace(text: str, pattern: str, new: str) -> str | None:
    try:
        return java_regex(pattern).sub(lambda match: new, text)
    except (re.error, ValueError):
        return None


def _extract(text: str, pattern: str, group: int = 0) -> str | None:
    found = _found(text, pattern)
    if found is None or not 0 <= group <= (found.re.groups):
        return None
    return found[group]


@kernel("REGEXP_EXTRACT")
def _extracts(call: Call) -> Evaluate:
    pattern = constant(call.operands[1])
    group = constant(call.operands[2]) if len(call.operands) > 2 else 0
    plain = isinstance(pattern, str) and isinstance(group, int)
    known = arrow_regex(pattern, group) if plain else None

    def extract(rows: Frame, text: Datum, *rest: Datum) -> Datum:
        if known is None or not isinstance(text, pa.StringArray):
            return apply(_extract, (text, *rest), rows, call.type.arrow_type())
        return pc.struct_field(pc.extract_regex(text, known), GROUP)

    return extract


@per_value("REGEXP_EXTRACT_ALL")
def _extract_all(text: str, pattern: str, group: int = 1) -> list[str | None] | None:
    try:
        regex = java_regex(pattern)
    except (re.error, ValueError):
        return None
    if not 0 <= group <= regex.groups:
        return None
    return [found[group] for found in regex.finditer(text)]


@per_value("REGEXP_COUNT")
def _count(text: str, pattern: str) -> int | None:
    try:
        return sum(1 for _ in java_regex(pattern).finditer(text))
    except (re.error, ValueError):
        return None


@per_value("REGEXP_INSTR")
def _instr(text: str, pattern: str) -> int | None:
    try:
        found = java_regex(pattern).search(text)
    except (re.error, ValueError):
        return None
    return 0 if found is None else found.start() + 1


@per_value("REGEXP_SUBSTR")
def _substr(text: str, pattern: str) -> str | None:
    found = _found(text, pattern)
    return None if found is None else found[0]
