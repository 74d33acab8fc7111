"""The prompt: reads statements over several lines, with completion, history and colours."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.patch_stdout import patch_stdout

from scurry.common.options import tables
from scurry.table.client.colours import SqlColours
from scurry.table.client.completion import SqlCompleter
from scurry.table.client.live_rows import LiveChanges, LiveRows, LiveTable, counted
from scurry.table.client.live_view import LiveView
from scurry.table.client.session import ClientSession, cancel, is_complete
from scurry.table.table_result import TableResult

__all__ = ["interact"]

WELCOME = "Scurry SQL. HELP; tells what there is, QUIT; leaves."
PROMPT = "scurry> "


def interact(batch: bool = False) -> None:
    """Read and execute statements until somebody leaves; then end what still runs."""
    session = ClientSession(sys.stdout, show, batch=batch, patient=True)
    prompt = make_prompt(session)
    session.say(WELCOME)
    while not session.ended:
        session.tell_of_failures()
        try:
            # what jobs print in the meantime goes above the prompt
            with patch_stdout(raw=True):
                text = prompt.prompt(PROMPT)
        except KeyboardInterrupt:
            continue
        except EOFError:
            break
        session.run_input(text)
    session.stop_jobs()


def make_prompt(session: ClientSession) -> PromptSession[str]:
    """What reads statements: Enter ends one that is complete, and otherwise begins a line."""
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: Any) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return PromptSession(
        history=history(),
        completer=SqlCompleter(session.environment),
        complete_in_thread=True,
        auto_suggest=AutoSuggestFromHistory(),
        lexer=SqlColours(),
        multiline=True,
        key_bindings=keys,
        prompt_continuation="> ".rjust(len(PROMPT)),
    )


def history() -> History:
    """What was typed before, kept in the user's directory if that can be written to."""
    path = Path.home() / ".scurry_sql_history"
    try:
        path.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))


def show(session: ClientSession, result: TableResult, text: str) -> None:
    """Show the result of a query as the session's settings say."""
    if session.result_mode() == "TABLEAU":
        session.print_result(result)
        return
    rows = live_rows(session, result)
    view = LiveView(text, rows)
    view.run(result)
    if view.failure is not None:
        raise view.failure
    if not view.complete:
        session.say("Ending the query.")
        cancel(result)
    session.say(f"{counted(len(rows), 'row')} after {counted(rows.changes, 'change')}.")


def live_rows(session: ClientSession, result: TableResult) -> LiveRows:
    """The rows of a result that a view shows, by the session's settings."""
    config = session.environment.get_config()
    configuration, schema = config.get_configuration(), result.get_resolved_schema()
    kind = LiveChanges if session.result_mode() == "CHANGELOG" else LiveTable
    return kind(
        schema.get_column_names(),
        schema.get_column_data_types(),
        most=tables.MAX_TABLE_ROWS.read(configuration),
        widest=tables.MAX_COLUMN_WIDTH.read(configuration),
        zone=config.get_local_timezone(),
    )
