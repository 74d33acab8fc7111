"""Paths into JSON: ``$.a.b[0]``, ``$['a b'][*]``, ``$..c``, ``$.a[?(@.x > 1)]``.

A path is definite if it leads to one place at most; then its value is what is there. Otherwise its
value is the list of all that it leads to. ``lax`` or ``strict`` may stand before a path: strict,
the default as in Flink, a path that leads nowhere is an error; lax, it is empty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

__all__ = ["JsonPath", "json_path"]

_MODE = re.compile(r"\s*(strict|lax)\s+(.+)", re.IGNORECASE | re.DOTALL)
_NAME = re.compile(r"[^.\[\]\s()'\"*?]+")
_QUOTED = re.compile(r"\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\s*")
_TEST = re.compile(r"\s*@((?:\.\w+|\[[^\]]*\])*)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?))?\s*")

#: from one place to the places that a step leads to
Step = Callable[[Any], Iterator[Any]]


class JsonPath:
    """A parsed path."""

    def __init__(self, text: str) -> None:
        found = _MODE.fullmatch(text)
        self.lax = found is not None and found[1].lower() == "lax"
        self.definite = True
        self._steps: list[Step] = []
        self._parse((found[2] if found else text).strip(), text)

    def _parse(self, path: str, text: str) -> None:
        if not path.startswith("$"):
            raise ValueError(f"the JSON path {text!r} does not start with $")
        at = 1
        while at < len(path):
            at = self._step(path, at, text)

    def _step(self, path: str, at: int, text: str) -> int:
        if path.startswith("..", at):
            self.definite = False
            self._steps.append(_everywhere)
            at += 2
            if path[at : at + 1] == "[":
                return at
        elif path[at] == ".":
            at += 1
        if path[at : at + 1] == "[":
            return self._brackets(path, at, text)
        if path[at : at + 1] == "*":
            self.definite = False
            self._steps.append(_all)
            return at + 1
        found = _NAME.match(path, at)
        if found is None:
            raise ValueError(f"the JSON path {text!r} cannot be read from position {at + 1} on")
        self._steps.append(_member(found[0]))
        return found.end()

    def _brackets(self, path: str, at: int, text: str) -> int:
        end = _closing(path, at, text)
        inside = path[at + 1 : end].strip()
        if inside == "*":
            self.definite = False
            self._steps.append(_all)
        elif inside.startswith("?"):
            self.definite = False
            self._steps.append(_filter(inside[1:].strip().removeprefix("(").removesuffix(")")))
        elif ":" in inside and inside[0] not in "'\"":
            self.definite = False
            bounds = [int(part) if part.strip() else None for part in inside.split(":")]
            self._steps.append(_slice(slice(*bounds)))
        else:
            self._choices(inside, text)
        return end + 1

    def _choices(self, inside: str, text: str) -> None:
        choices: list[Step] = []
        while inside:
            quoted = _QUOTED.match(inside)
            if quoted:
                choices.append(_member(re.sub(r"\\(.)", r"\1", quoted[1] or quoted[2] or "")))
                inside = inside[quoted.end() :].removeprefix(",")
                continue
            number, _, inside = inside.partition(",")
            choices.append(_element(int(number)))
        if len(choices) == 1:
            self._steps.append(choices[0])
        else:
            self.definite = False
            self._steps.append(lambda place: (v for one in choices for v in one(place)))

    def find(self, document: Any) -> list[Any]:
        """What the path leads to."""
        places = [document]
        for step in self._steps:
            places = [found for place in places for found in step(place)]
        return places


def _closing(path: str, at: int, text: str) -> int:
    depth, quote = 0, ""
    for place in range(at, len(path)):
        char = path[place]
        if quote:
            quote = "" if char == quote and path[place - 1] != "\\" else quote
        elif char in "'\"":
            quote = char
        elif char in "[]":
            depth += 1 if char == "[" else -1
            if depth == 0:
                return place
    raise ValueError(f"a bracket of the JSON path {text!r} is not closed")


def _member(name: str) -> Step:
    return lambda place: iter([place[name]] if isinstance(place, dict) and name in place else [])


def _element(index: int) -> Step:
    def step(place: Any) -> Iterator[Any]:
        if isinstance(place, list) and -len(place) <= index < len(place):
            yield place[index]

    return step


def _slice(bounds: slice) -> Step:
    return lambda place: iter(place[bounds] if isinstance(place, list) else [])


def _all(place: Any) -> Iterator[Any]:
    if isinstance(place, dict):
        yield from place.values()
    elif isinstance(place, list):
        yield from place


def _everywhere(place: Any) -> Iterator[Any]:
    yield place
    for inner in _all(place):
        yield from _everywhere(inner)


def _filter(test: str) -> Step:
    holds = _condition(test)
    return lambda place: (one for one in _all(place) if holds(one))


def _condition(test: str) -> Callable[[Any], bool]:
    for word, combine in (("||", any), ("&&", all)):
        if word in test:
            parts = [_condition(part) for part in test.split(word)]
            return lambda place: combine([part(place) for part in parts])
    found = _TEST.fullmatch(test)
    if found is None:
        raise ValueError(f"the filter {test!r} of a JSON path cannot be read")
    path, operator, literal = JsonPath("$" + found[1]), found[2], found[3]
    if operator is None:
        return lambda place: bool(path.find(place))
    value = json.loads(literal.replace("'", '"'))
    compare = _COMPARE[operator]
    return lambda place: any(
        _same_kind(one, value) and compare(one, value) for one in path.find(place)
    )


def _same_kind(one: Any, two: Any) -> bool:
    numbers = isinstance(one, str) == isinstance(two, str)
    return numbers and not isinstance(one, dict | list)


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
}


@lru_cache(maxsize=1000)
def json_path(text: str) -> JsonPath:
    """The parsed path."""
    return JsonPath(text)
