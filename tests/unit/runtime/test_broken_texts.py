"""Keys with half of a surrogate pair: dead letters where those are on, otherwise a clear error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from scurry.common import Configuration
from scurry.common.errors import FunctionError
from scurry.common.types import Row
from scurry.datastream import StreamExecutionEnvironment
from scurry.testing import ListSink
from scurry.testing.local import run_local

TEXTS = ["a", "\ud800", "\U0001f600 \u00e9", "x\udfff", "\ud83d\ude00"]
BROKEN = ["\ud800", "x\udfff", "\ud83d\ude00"]


@dataclass(frozen=True)
class Key:
    text: str


SELECTORS: dict[str, Callable[[str], Any]] = {
    "text": lambda text: text,
    "tuple": lambda text: (1, text),
    "nested": lambda text: (1, ("a", text)),
    "dataclass": Key,
    "row": lambda text: Row(text=text),
    "frozenset": lambda text: frozenset([text]),
}


def run(select: Callable[[str], Any], on_error: str = "fail") -> tuple[list[Any], list[Any]]:
    """The records that have a key, and the dead letters."""
    configuration = Configuration.of({"scurry.on-error": on_error})
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    results, letters = ListSink(), ListSink()
    keyed = env.from_collection(TEXTS).key_by(select)
    keyed.reduce(lambda one, other: one).sink_to(results)
    if on_error == "dead-letter":
        env.dead_letters().sink_to(letters)
    run_local(env, 2)
    return results.values, letters.values


@pytest.mark.parametrize("name", SELECTORS)
def test_they_become_dead_letters(name: str) -> None:
    results, letters = run(SELECTORS[name], "dead-letter")
    assert sorted(results) == sorted(text for text in TEXTS if text not in BROKEN)
    assert [letter.element for letter in letters] == BROKEN
    assert all("half of a surrogate pair" in letter.error for letter in letters)


@pytest.mark.parametrize("name", SELECTORS)
def test_without_dead_letters_the_error_names_the_record(name: str) -> None:
    with pytest.raises(FunctionError, match="half of a surrogate pair") as told:
        run(SELECTORS[name])
    assert r"'\ud800' cannot be a key" in str(told.value)
    assert "replace what is broken with" in str(told.value)
    str(told.value).encode()  # the message itself can be shown


def test_bytes_that_look_like_it_are_keys() -> None:
    results, _ = run(lambda text: text.encode("utf-8", "surrogatepass"))
    assert len(results) == len(TEXTS)
