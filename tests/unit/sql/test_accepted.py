from __future__ import annotations

import pytest
from tests.unit.sql.corpus import accepted

from scurry.sql.ast.expressions import Word
from scurry.sql.ast.node import walk
from scurry.sql.parser import parse_script, parse_statement
from scurry.sql.unparse import unparse


@pytest.mark.parametrize("text", accepted())
def test_statements_that_flink_accepts_are_parsed_and_written_again(text: str) -> None:
    tree = parse_statement(text)
    again = parse_statement(unparse(tree))
    assert again == tree
    assert unparse(again) == unparse(tree)


def test_every_node_has_a_span_within_that_of_the_statement() -> None:
    for text in accepted():
        tree = parse_statement(text)
        assert (tree.span.start, tree.span.end) == (0, len(text.rstrip()))
        for node in walk(tree):
            assert node.span.source.text == text
            assert 0 <= node.span.start <= node.span.end <= len(text), node
            assert node.span.text or isinstance(node, Word)  # BOTH of TRIM may be left out


def test_all_of_them_are_a_script() -> None:
    together = ";\n".join(s for s in accepted() if s not in ("END", "BEGIN STATEMENT SET"))
    assert len(parse_script(together)) == len(accepted()) - 2


def test_a_statement_set_may_be_written_in_two_ways() -> None:
    first = parse_statement("BEGIN STATEMENT SET; INSERT INTO t SELECT 1; END")
    assert first == parse_statement("EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT 1; END;")


def test_a_script_may_have_empty_statements_and_comments() -> None:
    assert len(parse_script(";; SELECT 1; -- one\n; /* two */ SELECT 2;;")) == 2
    assert parse_script("  -- nothing\n") == ()
