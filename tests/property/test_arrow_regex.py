"""Patterns that Arrow matches give what Python's ``re`` gives for each text, groups included."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.runtime.expressions.arrow_regex import GROUP, arrow_regex
from scurry.runtime.expressions.java_regex import java_regex

_ATOM = st.sampled_from(
    ["a", "b", "&", "=", "-", "é", "_", r"\d", r"\W", r"\s", r"\S", r"\.", r"\-", r"\t", "[ab]",
     "[^a]", "[a-c-]", r"[\d_]", r"[^\s&]", "[^&]", "[.$|]", "^"]
)  # fmt: skip
_REPEAT = st.sampled_from(["", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{1,}?"])
_PIECE = st.tuples(_ATOM, _REPEAT).map("".join)
_PATTERNS = st.recursive(
    st.lists(_PIECE, min_size=1, max_size=4).map("".join),
    lambda inner: st.lists(
        st.one_of(inner, inner.map("({})".format), inner.map("(?:{})".format)), min_size=1,
        max_size=3,
    ).flatmap(lambda parts: st.sampled_from(["".join(parts), "|".join(parts)])),
    max_leaves=6,
)  # fmt: skip
_TEXTS = st.lists(
    st.one_of(st.none(), st.text("ab&=-é_1 .\n\t$|c", max_size=8)), min_size=1, max_size=6
)


@given(_PATTERNS, st.integers(0, 2), _TEXTS)
def test_arrow_and_python_agree(pattern: str, group: int, texts: list[str | None]) -> None:
    known = arrow_regex(pattern, group)
    if known is None:
        return
    regex = java_regex(pattern)
    matches = [None if text is None else regex.search(text) for text in texts]
    wanted = [None if match is None else match[group] for match in matches]
    found = pc.extract_regex(pa.array(texts, pa.string()), known)
    assert pc.struct_field(found, GROUP).to_pylist() == wanted


@pytest.mark.parametrize(
    "pattern",
    ["", "a$", "(a)+", "(a|b)*", r"\bx", "a*+", "a**", "a{3,2}", "{", "[]a]", "[a&&b]", "[a[b]]",
     "(?i)a", "(?=a)", "(a", "a)", r"(a)\1", "[a", "\\", r"\Qa\E", r"\p{Alpha}", "[+--]"],
)  # fmt: skip
def test_what_is_left_to_python(pattern: str) -> None:
    assert arrow_regex(pattern) is None


def test_a_group_that_may_have_no_part_in_the_match_is_left_to_python() -> None:
    assert arrow_regex("a|(b)", 1) is None
    assert arrow_regex("((a)|b)", 2) is None
    assert arrow_regex("(a|b)", 2) is None
    assert arrow_regex("(a|b)", 1) is not None
    assert arrow_regex("(&|^)channel_id=([^&]*)", 2) is not None


def test_a_point_is_no_end_of_a_line() -> None:
    known = arrow_regex("a.*")
    texts = pa.array(["ab\nc", "ab\rc", "ab\x85c", "ab\u2028c", "ab\u2029c", "abéc"])
    found = pc.struct_field(pc.extract_regex(texts, known), GROUP)
    assert found.to_pylist() == ["ab", "ab", "ab", "ab", "ab", "abéc"]
