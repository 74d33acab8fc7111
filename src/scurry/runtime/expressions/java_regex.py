"""Regular expressions with Java's meaning, by Python's ``re``.

The two agree on nearly everything that queries use. Where they differ, a pattern is translated:
possessive and atomic groups are Python's own from 3.11 on; ``\\p{Alpha}`` and its relatives become
classes; ``.``, ``\\h``, ``\\R``, ``\\z`` and ``\\Z`` are written out; inline flags such as
``(?i)`` in the middle of a pattern are put at the front. Not translated, and refused as wrong
patterns: ``&&`` in classes, ``\\p`` of scripts and blocks, ``\\G`` and ``\\Q...\\E`` inside of
classes. ``\\w``, ``\\d`` and ``\\s`` mean ASCII, as in Java.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["java_regex", "like_regex", "similar_regex"]

_CLASSES = {
    "Alpha": "a-zA-Z", "Digit": "0-9", "Alnum": "a-zA-Z0-9", "Upper": "A-Z", "Lower": "a-z",
    "Punct": r"!-/:-@\[-`{-~", "Space": r" \t\n\x0B\f\r", "Blank": r" \t", "XDigit": "0-9a-fA-F",
    "ASCII": r"\x00-\x7F", "Cntrl": r"\x00-\x1F\x7F", "Graph": "!-~", "Print": " -~",
}  # fmt: skip
_ESCAPES = {"h": r"[ \t\xA0]", "R": r"(?:\r\n|[\n\r])", "z": r"\Z", "Z": r"(?=\n?\Z)"}
#: All but the characters that end lines.
_ANY = r"[^\n\r\x85\u2028\u2029]"
_FLAGS = re.compile(r"\(\?([ismxu]+)\)")


@lru_cache(maxsize=1000)
def java_regex(pattern: str) -> re.Pattern[str]:
    """The compiled pattern; raises `re.error` if it is none."""
    flags = "".join(sorted(set("".join(_FLAGS.findall(pattern)))))
    body = _translated(_FLAGS.sub("", pattern), "." if "s" in flags else _ANY)
    return re.compile(f"(?a{flags.replace('u', '')}){body}")


def _translated(pattern: str, point: str) -> str:
    made: list[str] = []
    at, inside = 0, False
    while at < len(pattern):
        char = pattern[at]
        if char == "\\" and at + 1 < len(pattern):
            text, at = _escape(pattern, at + 1, inside)
            made.append(text)
            continue
        if inside and pattern.startswith("&&", at):
            raise re.error("intersections of classes (&&) are not known")
        if char == "[":
            made.append("\\[" if inside else "[")
            inside = True
        elif char == "]":
            inside = False
            made.append(char)
        elif char == "." and not inside:
            made.append(point)
        elif not inside and pattern.startswith("(?<", at) and pattern[at + 3 : at + 4] not in "=!":
            made.append("(?P<")
            at += 3
            continue
        else:
            made.append(char)
        at += 1
    return "".join(made)


def _escape(pattern: str, at: int, inside: bool) -> tuple[str, int]:
    letter = pattern[at]
    if letter == "Q":
        end = pattern.find("\\E", at)
        stop = len(pattern) if end < 0 else end
        return re.escape(pattern[at + 1 : stop]), stop + 2
    if letter in "pP" and pattern[at + 1 : at + 2] == "{":
        end = pattern.index("}", at)
        name = pattern[at + 2 : end]
        body = _CLASSES.get(name) or _CLASSES.get({"L": "Alpha", "N": "Digit"}.get(name, ""))
        if body is None:
            raise re.error(f"\\p{{{name}}} is not known")
        return (body if inside else f"[{'^' if letter == 'P' else ''}{body}]"), end + 1
    if letter in _ESCAPES and not inside:
        return _ESCAPES[letter], at + 1
    if letter == "k" and pattern[at + 1 : at + 2] == "<":
        end = pattern.index(">", at)
        return f"(?P={pattern[at + 2 : end]})", end + 1
    return "\\" + letter, at + 1


@lru_cache(maxsize=1000)
def like_regex(pattern: str, escape: str | None) -> re.Pattern[str]:
    """The regular expression of a LIKE pattern."""
    return re.compile(like_text(pattern, escape), re.DOTALL)


def like_text(pattern: str, escape: str | None) -> str:
    """A LIKE pattern as the text of a regular expression."""
    made: list[str] = []
    characters = iter(pattern)
    for char in characters:
        if char == escape:
            following = next(characters, None)
            if following is None or following not in ("%", "_", escape):
                raise ValueError(f"nothing to escape behind {escape!r} in the pattern {pattern!r}")
            made.append(re.escape(following))
        else:
            made.append(".*" if char == "%" else "." if char == "_" else re.escape(char))
    return "".join(made)


_POSIX = {
    "[:ALPHA:]": "a-zA-Z", "[:UPPER:]": "A-Z", "[:LOWER:]": "a-z", "[:DIGIT:]": "0-9",
    "[:SPACE:]": " ", "[:WHITESPACE:]": r"\s", "[:ALNUM:]": "a-zA-Z0-9",
}  # fmt: skip


@lru_cache(maxsize=1000)
def similar_regex(pattern: str, escape: str | None) -> re.Pattern[str]:
    """The regular expression of a SIMILAR TO pattern."""
    made: list[str] = []
    at, inside = 0, False
    while at < len(pattern):
        char = pattern[at]
        named = next((name for name in _POSIX if pattern.upper().startswith(name, at)), None)
        if char == escape and at + 1 < len(pattern):
            made.append(re.escape(pattern[at + 1]))
            at += 2
            continue
        if named and inside:
            made.append(_POSIX[named])
            at += len(named)
            continue
        if char in "[]":
            inside = char == "["
        made.append(char if inside else ".*" if char == "%" else "." if char == "_" else char)
        at += 1
    return re.compile("".join(made), re.DOTALL)
