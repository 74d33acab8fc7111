"""What the word before the cursor can become."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.document import Document

from scurry.common.errors import ScurryError
from scurry.common.options import SUBJECTS, defined_in
from scurry.sql.keywords import RESERVED
from scurry.table.client.colours import FUNCTIONS, WORDS, pieces_of, unfinished
from scurry.table.table_environment import TableEnvironment

__all__ = ["SqlCompleter"]

#: a word, perhaps with the name of a table and a dot in front
_WORD = re.compile(r"(?:(?P<of>\w+|`[^`]+`)\.)?(?P<word>\w*)\Z")
_BEFORE_TABLE = re.compile(r"\b(?:FROM|JOIN|INTO|TABLE|DESCRIBE|DESC)\s+`?\w*\Z", re.IGNORECASE)
_SETTING = re.compile(r"\s*(?:RE)?SET\s+'(?P<word>[\w.-]*)\Z", re.IGNORECASE)
#: of so many tables columns are completed before a table is named
_MOST_TABLES = 50
_KEYS = sorted(option.key for _, module in SUBJECTS for option in defined_in(module))


class SqlCompleter(Completer):
    """Completes columns of the tables that a statement names, tables, functions and keywords; after
    ``alias.`` columns of that table only, and after ``SET '`` the keys of options."""

    def __init__(self, environment: TableEnvironment) -> None:
        self._environment = environment

    def get_completions(self, document: Document, complete_event: Any) -> Iterable[Completion]:
        """Called while somebody types, in a thread of its own."""
        before = document.text_before_cursor
        setting = _SETTING.match(before)
        if setting is not None:
            word, names = setting["word"], _KEYS
        elif unfinished(before):
            return
        else:
            word, names = self._names(before, document.text)
        for name in dict.fromkeys(names):
            if name.lower().startswith(word.lower()) and name != word:
                yield Completion(name, start_position=-len(word))

    def _names(self, before: str, text: str) -> tuple[str, list[str]]:
        found = _WORD.search(before)
        assert found is not None
        word, named = found["word"], self._named(text)
        if found["of"]:
            table = named.get(found["of"].strip("`").lower())
            return word, [] if table is None else self._columns(table)
        if not word:
            return word, []
        there = self._environment.list_tables()
        # a SELECT is written before its FROM: until a table is named it may be any
        chosen = dict.fromkeys(named.values()) or there[:_MOST_TABLES]
        columns = [name for table in chosen for name in self._columns(table)]
        tables = [_quoted(name) for name in there]
        own = self._environment.list_user_defined_functions()
        words = sorted(FUNCTIONS) + sorted(WORDS - FUNCTIONS)
        if word.islower():
            words = [name.lower() for name in words]
        if _BEFORE_TABLE.search(before):
            return word, [*tables, *words]
        return word, [*columns, *tables, *own, *words]

    def _named(self, text: str) -> dict[str, str]:
        """The tables that a statement names, by their names and aliases in small letters."""
        tables = {name.lower(): name for name in self._environment.list_tables()}
        found: dict[str, str] = {}
        words = list(_words(text))
        for at, name in enumerate(words):
            table = tables.get(name.lower())
            if table is None:
                continue
            found[name.lower()] = table
            alias = next((one for one in words[at + 1 : at + 3] if one.upper() != "AS"), "")
            if alias.isidentifier() and alias.upper() not in WORDS:
                found[alias.lower()] = table
        return found

    def _columns(self, table: str) -> list[str]:
        try:
            names = self._environment.from_path(f"`{table}`").get_schema().get_field_names()
        except ScurryError:
            return []
        return [_quoted(name) for name in names]


def _words(text: str) -> Iterator[str]:
    for piece in pieces_of(text):
        if not piece.isspace():
            yield piece.strip("`")


def _quoted(name: str) -> str:
    """A name as it is written in SQL."""
    plain = name.isidentifier() and name.upper() not in RESERVED
    return name if plain else f"`{name}`"
