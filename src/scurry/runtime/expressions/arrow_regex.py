"""Patterns for the regular expressions of Arrow, where these mean the same as Java's.

Arrow's kernels match a whole column without a call of Python for each value, by RE2. RE2 has no
backtracking, so it lacks some of what Java has, and gives other groups where a group is repeated.
:func:`arrow_regex` therefore takes a small part of the language only, in which a match and its
groups are the same in both: characters, classes, ``.``, ``^``, groups that are not repeated,
alternatives, and repeated single characters. For all other patterns it gives None, and each
distinct value is matched by :mod:`scurry.runtime.expressions.java_regex`.

A group is null in Java where it has no part in the match, and empty in RE2. So a pattern is also
left alone if the group that is asked for is in one of several alternatives.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

__all__ = ["GROUP", "arrow_regex"]

#: The name of the group that is asked for.
GROUP = "g"
#: All but the characters that end lines in Java.
_ANY = r"[^\n\r\x{85}\x{2028}\x{2029}]"
_SPACE = r" \t\n\x0B\f\r"
_ESCAPES = {"d": "0-9", "w": "0-9A-Za-z_", "s": _SPACE, "t": r"\t", "n": r"\n", "r": r"\r",
            "f": r"\f"}  # fmt: skip
_NOT = {"D": "0-9", "W": "0-9A-Za-z_", "S": _SPACE}
_REPEAT = re.compile(r"(?:[*+?]|\{(\d{1,3})(?:,(\d{0,3}))?\})\??")
#: What is more than a character, outside of classes.
_SPECIAL = frozenset("\\^$.|?*+()[]{}")


@lru_cache(maxsize=1000)
def arrow_regex(pattern: str, group: int = 0) -> str | None:
    """The pattern for Arrow, in which the ``group`` that is asked for has the name :data:`GROUP`;
    None if only Java's meaning will do, or if there is no such group."""
    try:
        found = _Pattern(pattern, group)
    except _OnlyJava:
        return None
    if not group:
        return f"(?P<{GROUP}>{found.text})"
    return found.text if found.certain else None


class _OnlyJava(Exception):
    """Something that the two do not have in common."""


class _Group(NamedTuple):
    """A group that has not been closed: where in the text it begins, and whether it is the one
    that is asked for."""

    wanted: bool
    #: whether it has several alternatives
    choice: list[bool]


class _Pattern:
    """A pattern on its way."""

    def __init__(self, pattern: str, group: int) -> None:
        self.certain = False
        self._pattern = pattern
        self._at = 0
        self._group = group
        self._count = 0
        self._open = [_Group(False, [False])]
        #: the groups around the one that is asked for
        self._around: list[_Group] = []
        if not pattern:
            raise _OnlyJava
        made = []
        while self._at < len(pattern):
            made.append(self._next())
        if len(self._open) > 1:
            raise _OnlyJava
        self.certain = bool(self._around) and not any(one.choice[0] for one in self._around)
        self.text = "".join(made)

    def _take(self) -> str:
        if self._at >= len(self._pattern):
            raise _OnlyJava
        self._at += 1
        return self._pattern[self._at - 1]

    def _next(self) -> str:
        char = self._take()
        if char == "(":
            return self._opened()
        if char == ")":
            return self._closed()
        if char == "|":
            self._open[-1].choice[0] = True
            return char
        if char == "^":
            return self._unrepeated(char)
        return self._atom(char) + self._repeated()

    def _opened(self) -> str:
        if self._pattern.startswith("?:", self._at):
            self._at += 2
            self._open.append(_Group(False, [False]))
            return "(?:"
        if self._pattern.startswith("?", self._at):
            raise _OnlyJava
        self._count += 1
        wanted = self._count == self._group
        if wanted:
            self._around = list(self._open)
        self._open.append(_Group(wanted, [False]))
        return f"(?P<{GROUP}>" if wanted else "(?:"

    def _closed(self) -> str:
        if len(self._open) == 1:
            raise _OnlyJava
        self._open.pop()
        return self._unrepeated(")")

    def _unrepeated(self, made: str) -> str:
        if self._pattern[self._at : self._at + 1] in ("*", "+", "?", "{"):
            raise _OnlyJava
        return made

    def _repeated(self) -> str:
        """How often the character before may come, if that is said."""
        found = _REPEAT.match(self._pattern, self._at)
        if found is None:
            return self._unrepeated("")
        least, most = found.groups()
        if most and int(least) > int(most):
            raise _OnlyJava
        self._at = found.end()
        # one more sign would be possessive, or an error
        return self._unrepeated(found[0])

    def _atom(self, char: str) -> str:
        if char == ".":
            return _ANY
        if char == "[":
            return self._class()
        if char == "\\":
            letter = self._take()
            if letter in _NOT:
                return f"[^{_NOT[letter]}]"
            return f"[{self._escaped(letter)}]"
        return self._literal(char, _SPECIAL)

    def _escaped(self, letter: str) -> str:
        """What ``\\`` and this letter are in a class."""
        if letter in _ESCAPES:
            return _ESCAPES[letter]
        if not letter.isascii() or not letter.isprintable() or letter.isalnum() or letter == " ":
            raise _OnlyJava
        return f"\\{letter}" if letter != "_" else letter

    def _literal(self, char: str, special: frozenset[str]) -> str:
        if char in special or not char.isprintable():
            raise _OnlyJava
        return f"\\{char}" if char in _SPECIAL or char == "-" else char

    def _class(self) -> str:
        """A class, after its bracket; ranges of plain characters, no classes within."""
        negated = self._pattern.startswith("^", self._at)
        self._at += negated
        if self._pattern.startswith("]", self._at):
            raise _OnlyJava
        made = []
        while (char := self._take()) != "]":
            made.append(self._member(char))
        return f"[{'^' if negated else ''}{''.join(made)}]"

    def _member(self, char: str) -> str:
        if char == "\\":
            return self._escaped(self._take())
        one = self._literal(char, frozenset("[^"))
        follows = self._pattern[self._at : self._at + 2]
        if char == "&" and follows[:1] == "&":
            raise _OnlyJava
        if char == "-" and follows[:1] != "]":
            raise _OnlyJava
        if follows[:1] != "-" or follows[1:] in ("", "]"):
            return one
        last = follows[1]
        if not (char.isalnum() and last.isalnum() and char <= last):
            raise _OnlyJava
        self._at += 2
        return f"{one}-{last}"
