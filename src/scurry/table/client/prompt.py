"""The prompt: reads statements over several lines, with completion, history and colours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.lexers import Lexer

from scurry.common.errors import ScurryError
from scurry.common.options import tables
from scurry.functions.builtin import BUILT_INS
from scurry.sql.keywords import RESERVED
from scurry.table.client.live import show_changelog, show_live
from scurry.table.client.session import ClientSession, is_complete
from scurry.table.table_environment import TableEnvironment
from scurry.table.table_result import TableResult

__all__ = ["SqlColours", "SqlCompleter", "run_prompt"]

HISTORY = Path.home() / ".scurry_sql_history"
_FUNCTIONS = frozenset(entry.name for entry in BUILT_INS if entry.name.isidentifier())


class SqlCompleter(Completer):
    """Completes keywords, functions, tables, and the columns of tables that were named already."""

    def __init__(self, environment: TableEnvironment) -> None:
        self._environment = environment

    def get_completions(self, document: Document, complete_event: Any) -> Iterable[Completion]:
        """What the word before the cursor can become."""
        word = document.get_word_before_cursor(WORD=False)
        if not word.strip():
            return
        for name in self.candidates(document.text, word):
            yield Completion(name, start_position=-len(word))

    def candidates(self, text: str, word: str) -> list[str]:
        """Names that begin with ``word``: columns first, then tables, functions, keywords."""
        tables_there = self._environment.list_tables()
        named = [name for name in tables_there if name in text]
        found = [column for name in named for column in self._columns(name)]
        found += [*tables_there, *self._environment.list_user_defined_functions()]
        found += [*sorted(_FUNCTIONS), *sorted(RESERVED)]
        start = word.lower()
        return list(dict.fromkeys(name for name in found if name.lower().startswith(start)))

    def _columns(self, table: str) -> list[str]:
        try:
            return self._environment.from_path(f"`{table}`").get_schema().get_field_names()
        except ScurryError:
            return []


class SqlColours(Lexer):
    """Colours keywords, functions, texts, numbers and comments of each line."""

    def lex_document(self, document: Document) -> Callable[[int], Any]:
        lines = document.lines

        def line(number: int) -> list[tuple[str, str]]:
            return coloured(lines[number]) if number < len(lines) else []

        return line


def coloured(line: str) -> list[tuple[str, str]]:
    """A line in pieces, each with its style."""
    pieces = re.findall(r"--.*|'(?:[^']|'')*'?|`[^`]*`?|\d+(?:\.\d+)?|\w+|\s+|.", line)
    return [(_style(piece), piece) for piece in pieces]


def _style(piece: str) -> str:
    if piece.startswith("--"):
        return "ansibrightblack"
    if piece.startswith("'"):
        return "ansigreen"
    if piece[:1].isdigit():
        return "ansicyan"
    if piece.upper() in RESERVED:
        return "ansiblue bold"
    return "ansimagenta" if piece.upper() in _FUNCTIONS else ""


def run_prompt(session: ClientSession, write: Callable[[str], None]) -> None:
    """Read and execute until somebody leaves."""
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: Any) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    prompt: PromptSession[str] = PromptSession(
        history=FileHistory(str(HISTORY)),
        completer=SqlCompleter(session.environment),
        lexer=SqlColours(),
        multiline=True,
        key_bindings=keys,
        prompt_continuation="     > ",
    )
    write("Scurry SQL. HELP; tells what there is, QUIT; leaves.")
    while not session.ended:
        try:
            session.run_input(prompt.prompt("scurry> "))
        except KeyboardInterrupt:
            continue
        except EOFError:
            break


def viewer(session: Callable[[], ClientSession], write: Callable[[str], None]) -> Any:
    """Shows results of queries as the session's settings say."""

    def view(result: TableResult) -> None:
        current = session()
        if current.result_mode() == "TABLE":
            configuration = current.environment.get_config().get_configuration()
            write(show_live(result, tables.MAX_TABLE_ROWS.read(configuration)))
        else:
            show_changelog(result, write)

    return view
