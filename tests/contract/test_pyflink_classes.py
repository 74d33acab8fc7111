"""Classes and calls are what PyFlink's are, as far as `inspect` can tell.

`pyflink_classes.json` is recorded from PyFlink; what differs on purpose is in
`pyflink_differences.toml`, each with its reason.
"""

from __future__ import annotations

import enum
import json

import pytest
from scripts import pyflink_classes as classes

RECORDED = json.loads(classes.RECORD.read_text(encoding="utf-8"))
FOUND = classes.differences(RECORDED)


def test_every_difference_is_explained() -> None:
    known = classes.explained()
    unexplained = {what: text for what, text in FOUND.items() if what not in known}
    assert not unexplained


def test_every_explained_difference_is_there() -> None:
    assert not classes.explained().keys() - FOUND.keys()


def test_the_record_covers_every_package() -> None:
    assert {path.partition(".")[0] for path in RECORDED} == set(classes.PACKAGES)
    assert len(RECORDED) > 800


class Shape:
    """What PyFlink might have."""

    def __len__(self) -> int:
        return 0

    def grow(self, by: int = 1) -> int:
        return by

    @property
    def area(self) -> int:
        return 1


class Colour(enum.Enum):
    """An enumeration."""

    RED = 1


@pytest.mark.parametrize(
    ("facts", "value", "expected"),
    [
        ({"defaults": {"by": "1"}}, Shape.grow, []),
        ({"defaults": {"by": "2"}}, Shape.grow, [("default by", "is 1 instead of 2")]),
        ({"settable": True}, Shape.area, [("settable", "cannot be set")]),
        ({"settable": False}, Shape.area, []),
    ],
)
def test_calls_and_properties_are_compared(
    facts: classes.Facts, value: object, expected: list[tuple[str, str]]
) -> None:
    assert list(classes.compare(facts, value, "scurry")) == expected


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, []),
        ({"protocols": ["__len__", "__iter__"]}, [("protocols", "lacks __iter__")]),
        ({"extends": ["ValueError"]}, [("extends ValueError", "does not")]),
        ({"extends": ["common.types.Row"]}, [("extends common.types.Row", "does not")]),
    ],
)
def test_classes_are_compared(changed: classes.Facts, expected: list[tuple[str, str]]) -> None:
    facts = {"extends": [], "protocols": ["__len__"], "hashable": True, "abstract": [], **changed}
    assert list(classes.compare(facts, Shape, "scurry")) == expected


def test_members_of_enumerations_are_compared() -> None:
    facts = classes.facts_of_class(Colour, "tests")
    facts["enumeration"] = {"RED": "2", "BLUE": "3"}
    assert list(classes.compare(facts, Colour, "tests")) == [
        ("member RED", "is 1 instead of 2"),
        ("member BLUE", "is missing"),
    ]
