"""Places in a view: no two keys share one, none is the beginning of another, and they are in the
order of the keys."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scurry.common.keys import form_of, freeze
from scurry.engine.queryable.ordered import (
    key_place,
    length_of,
    many_place,
    ordered,
    placed,
    single_place,
    text_beginning,
)
from scurry.state.tables.table import addresses, prefix_of

GROUPS = 128
keys = st.one_of(
    st.integers(-(2**66), 2**66),
    st.text(max_size=600),
    st.none(),
    st.floats(allow_nan=False),
    st.binary(max_size=600),
    st.tuples(st.text(max_size=5), st.integers()),
)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_numbers_are_in_order(one: int, other: int) -> None:
    assert (key_place(one, GROUPS, False) < key_place(other, GROUPS, False)) == (one < other)


@given(st.text(max_size=50), st.text(max_size=50))
def test_texts_are_in_order(one: str, other: str) -> None:
    places = key_place(one, GROUPS, True), key_place(other, GROUPS, True)
    assert (places[0] < places[1]) == (one.encode() < other.encode())


@given(st.text(max_size=20), st.text(max_size=20))
def test_a_prefix_finds_what_begins_with_it(prefix: str, text: str) -> None:
    place = key_place(text, GROUPS, False)
    assert place.startswith(text_beginning(prefix.encode())) == text.startswith(prefix)


@given(keys, keys, st.booleans())
def test_no_place_is_the_beginning_of_another(one: Any, other: Any, many: bool) -> None:
    one, other = freeze(one), freeze(other)
    first, second = key_place(one, GROUPS, many), key_place(other, GROUPS, many)
    if form_of(one) == form_of(other):
        assert first == second
    else:
        assert not first.startswith(second)
        assert not second.startswith(first)
    assert len(first) <= 450


@given(keys, st.binary(max_size=20))
def test_the_form_of_a_key_can_be_cut_off(key: Any, rest: bytes) -> None:
    place = key_place(freeze(key), GROUPS, True)
    assert length_of(place + rest) == len(place)
    assert ordered(b"i5") == key_place(5, GROUPS, False)


@given(
    st.one_of(
        st.sets(st.integers(-(2**63), 2**63 - 1)),
        st.sets(st.integers(-(2**64), 2**64)),
        st.sets(st.one_of(st.integers(), st.text(max_size=3))),
    )
)
def test_many_keys_have_the_places_that_they_have_one_by_one(some: set[Any]) -> None:
    # so many that they are handled as columns, if they are numbers
    chosen = list({*some, *range(100)})
    records = [repr(key).encode() for key in chosen]
    for form, stored in (
        (single_place, addresses(chosen, GROUPS)),
        (many_place, [prefix_of(key, GROUPS) for key in chosen]),
    ):
        found = dict(placed(b"\x00\x01", form, stored, records))
        expected = {key_place(key, GROUPS, form is many_place): key for key in chosen}
        assert found == {b"\x00\x01" + place: repr(key).encode() for place, key in expected.items()}
