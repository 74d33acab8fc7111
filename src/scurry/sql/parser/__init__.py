"""The parser of Flink's SQL: recursive descent, written by hand.

Each part of the grammar is a class in a file of its own, and each builds on the one before:
cursor, data types, literals, calls, JSON functions, predicates, expressions, MATCH_RECOGNIZE,
relations, queries, tables, objects, alterations, session, statements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from scurry.common.spans import SourceText
from scurry.sql.ast.data_types import TypeNode
from scurry.sql.ast.node import Expression, Name, Node, Statement
from scurry.sql.ast.queries import Query
from scurry.sql.parser.statements import StatementParser

__all__ = [
    "parse_expression",
    "parse_name",
    "parse_query",
    "parse_script",
    "parse_statement",
    "parse_type",
]

T = TypeVar("T", bound=Node)


def parse_statement(text: str, name: str = "") -> Statement:
    """The one statement that ``text`` is; a semicolon may follow it. ``name`` says in messages
    where the text comes from."""
    return _whole(text, name, StatementParser.statement, semicolon=True)


def parse_script(text: str, name: str = "") -> tuple[Statement, ...]:
    """The statements of a text with semicolons between them."""
    parser = StatementParser(SourceText(text, name))
    found = parser.script()
    for statement in found:
        parser.bounded(statement)
    return found


def parse_query(text: str, name: str = "") -> Query:
    """The query that ``text`` is; a semicolon may follow it."""
    return _whole(text, name, StatementParser.query, semicolon=True)


def parse_expression(text: str, name: str = "") -> Expression:
    """The expression that ``text`` is."""
    return _whole(text, name, StatementParser.expression)


def parse_type(text: str, name: str = "") -> TypeNode:
    """The data type that ``text`` is."""
    return _whole(text, name, StatementParser.data_type)


def parse_name(text: str, name: str = "") -> Name:
    """The name of a table, a function or the like that ``text`` is. Nothing but a name can stand
    there, so reserved words are names as well, as in Flink."""
    return _whole(text, name, _only_name)


def _only_name(parser: StatementParser) -> Name:
    parser.only_names = True
    return parser.name()


def _whole(
    text: str, name: str, parse: Callable[[StatementParser], T], semicolon: bool = False
) -> T:
    parser = StatementParser(SourceText(text, name))
    found = parse(parser)
    while semicolon and parser.accept_symbol(";"):
        pass
    if not parser.at_end():
        raise parser.unexpected()
    parser.bounded(found)
    return found
