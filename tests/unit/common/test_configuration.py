"""Settings are converted when read, and what does not fit is refused with its key."""

from __future__ import annotations

import copy
import pickle
from datetime import timedelta

import pytest

from scurry.common import ConfigOptions, Configuration, Duration
from scurry.common.errors import ConfigurationError


def filled() -> Configuration:
    return (
        Configuration()
        .set_string("s", "x")
        .set_integer("i", 5)
        .set_boolean("b", True)
        .set_float("f", 1.5)
        .set_bytearray("y", bytearray(b"ab"))
    )


def test_values_read_back_in_their_type() -> None:
    c = filled()
    assert c.get_string("s", "") == "x"
    assert c.get_integer("i", 0) == 5
    assert c.get_boolean("b", False) is True
    assert c.get_float("f", 0.0) == 1.5
    assert c.get_bytearray("y", None) == bytearray(b"ab")


def test_defaults_hold_for_missing_keys() -> None:
    c = Configuration()
    assert c.get_string("s", None) is None
    assert c.get_integer("i", 7) == 7
    assert c.get_boolean("b", True) is True
    assert c.get_float("f", 0.5) == 0.5


def test_text_form_reads_back_as_the_same_values() -> None:
    c = filled()
    text = c.to_dict()
    assert text == {"s": "x", "i": "5", "b": "true", "f": "1.5", "y": "base64:YWI="}
    again = Configuration.from_dict(text)
    assert again == c
    assert hash(again) == hash(c)
    assert again.get_bytearray("y", None) == bytearray(b"ab")
    assert again.get_boolean("b", False) is True
    assert again.get_float("i", 0.0) == 5.0
    assert again.get_string("i", "") == "5"


@pytest.mark.parametrize(
    ("getter", "value", "message"),
    [
        ("get_integer", "abc", "cannot read 'abc', the value of configuration key 'k', as integer"),
        ("get_integer", True, "cannot read True, the value of configuration key 'k', as integer"),
        ("get_integer", 1.5, "as integer: write a whole number such as 4"),
        ("get_boolean", "yes", "as boolean: write true or false"),
        ("get_float", "x", "as number: write for example 0.5"),
        ("get_float", [1], "as number"),
        ("get_duration", "soon", "as length of time: write for example '10 s'"),
        ("get_memory", "much", "as size of memory: write for example '64 mb'"),
        ("get_bytearray", "ab", "as bytes: write 'base64:'"),
        ("get_bytearray", "base64:?", "as bytes"),
    ],
)
def test_values_that_do_not_fit(getter: str, value: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        getattr(Configuration.of({"k": value}), getter)("k", None)


def test_setters_check_as_well() -> None:
    with pytest.raises(ConfigurationError, match="cannot read 'four'"):
        Configuration().set_integer("k", "four")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="a non-empty text, got ''"):
        Configuration().set_string("", "x")
    with pytest.raises(ConfigurationError, match="'k' got None: call remove_config"):
        Configuration().set_string("k", None)  # type: ignore[arg-type]


def test_durations_and_sizes() -> None:
    c = Configuration.of({"t": "10 s", "d": timedelta(seconds=2), "n": 3, "m": "64 mb"})
    assert [c.get_duration(key, 0) for key in "tdn"] == [10_000, 2000, 3]
    assert c.get_memory("m", 0) == 64 << 20
    assert Configuration.of({"d": Duration.of_seconds(1)}).to_dict() == {"d": "1000 ms"}


def test_keys() -> None:
    c = filled()
    assert c.contains_key("s")
    assert c.remove_config("s") is True
    assert c.remove_config("s") is False
    assert c.key_set() == {"i", "b", "f", "y"}


def test_adding_up() -> None:
    target: dict[str, object] = {}
    c = (
        Configuration()
        .add_all(Configuration.of({"a": 1}), "p.")
        .add_all(Configuration.of({"a": 2}))
    )
    c.add_all_to_dict(target)
    assert target == {"p.a": 1, "a": 2}


def test_copies_are_independent() -> None:
    c = Configuration.of({"a": 1})
    for other in (Configuration(c), copy.deepcopy(c), pickle.loads(pickle.dumps(c))):
        assert other == c
        other.set_integer("a", 2)
        assert c.get_integer("a", 0) == 1
    assert repr(c) == "Configuration.of({'a': 1})"


@pytest.mark.parametrize(
    ("text", "items"),
    [("a;b", ["a", "b"]), ("[a, 'b']", ["a", "b"]), ("a,b", ["a,b"]), ("", [])],
)
def test_lists(text: str, items: list[str]) -> None:
    assert Configuration.parse_list_value(text) == items


def test_declared_options() -> None:
    key = ConfigOptions.key
    c = Configuration.of({"n": "4", "t": "2 s", "m": "1 kb", "b": "true", "s": 1, "f": "2"})
    assert c.get(key("n").int_type().default_value(1)) == 4
    assert c.get(key("n").long_type().no_default_value()) == 4
    assert c.get(key("t").duration_type().no_default_value()) == 2000
    assert c.get(key("m").memory_type().no_default_value()) == 1024
    assert c.get(key("b").boolean_type().no_default_value()) is True
    assert c.get(key("s").string_type().no_default_value()) == "1"
    assert c.get(key("f").double_type().no_default_value()) == 2.0
    option = key("other").float_type().default_value(0.5)
    assert c.get(option) == 0.5
    assert c.set(option, 0.25).get(option) == 0.25
    with pytest.raises(ConfigurationError, match=r"cannot read 'x', the value of .* 'other'"):
        c.set(option, "x")  # type: ignore[misc]
    assert c.get(key("none").string_type().no_default_value()) is None
