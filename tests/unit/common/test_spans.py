from __future__ import annotations

import pickle

from scurry.common.spans import NOWHERE, SourceText, Span, located


def at(text: str, word: str, name: str = "") -> Span:
    start = text.index(word)
    return Span(SourceText(text, name), start, start + len(word))


def test_line_and_column_count_from_one() -> None:
    span = at("SELECT a\nFROM orders", "orders")
    assert (span.line, span.column, span.text) == (2, 6, "orders")


def test_the_excerpt_has_carets_below_the_words() -> None:
    assert at("SELECT a\nFROM orders o", "orders").excerpt() == "  FROM orders o\n       ^^^^^^"


def test_the_end_of_the_text_gets_one_caret() -> None:
    assert Span(SourceText("SELECT"), 6, 6).excerpt() == "  SELECT\n        ^"


def test_tabs_before_the_words_stay_tabs() -> None:
    assert at("\tSELECT a", "a").excerpt() == "  \tSELECT a\n  \t       ^"


def test_a_span_over_several_lines_is_marked_on_the_first() -> None:
    assert at("SELECT\nFROM", "SELECT\nFROM").excerpt() == "  SELECT\n  ^^^^^^"


def test_of_a_long_line_a_part_is_shown() -> None:
    shown, carets = at("x" * 500 + "BAD" + "y" * 500, "BAD").excerpt().split("\n")
    assert len(shown) < 110
    assert shown[carets.index("^") :].startswith("BAD")
    assert carets.strip() == "^^^"


def test_a_message_says_what_where_and_what_to_do() -> None:
    span = at("SELECT a", "a", "view v")
    assert located("No a", span, "Write b.") == (
        "No a (view v, line 1, column 8)\n  SELECT a\n         ^\nWrite b."
    )


def test_a_place_in_a_python_program_has_no_excerpt() -> None:
    assert located("No a", Span(SourceText("", "app.py:3"), 0, 0)) == "No a (app.py:3)"
    assert located("No a", NOWHERE) == "No a"


def test_spans_can_be_pickled_and_joined() -> None:
    span = pickle.loads(pickle.dumps(at("a + b", "a")))
    assert (span.text, span.to(Span(span.source, 4, 5)).text) == ("a", "a + b")
