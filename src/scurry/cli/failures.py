"""How a failing program is shown to the person who started it.

An error that Scurry raises on purpose says what is wrong and what to do, so its text is the whole
story: it is printed alone, with the line of the user's script that led to it. Any other error is
a surprise and keeps its traceback, without the frames of the launcher above the user's script.
"""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import click


@contextmanager
def readable_failures(script: Path | None = None, *, full: bool = False) -> Iterator[None]:
    """Run the body; on an exception print it to standard error and exit with code 1.

    ``script`` is the user's file, if there is one. With ``full`` a traceback is printed for
    Scurry's own errors too. ``SystemExit`` and what a command says about its arguments pass
    through; Ctrl-C ends the command with the exit code that shells know.
    """
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except Exception as error:
        from scurry.common.errors import ScurryError
        from scurry.datastream.unstarted import forget

        forget()
        if isinstance(error, click.ClickException):
            raise
        if isinstance(error, ScurryError) and not full:
            _print_panel(type(error).__name__, str(error), _location(error, script))
        else:
            _print_traceback(error, script)
        sys.exit(1)


def _location(error: BaseException, script: Path | None) -> str | None:
    """``file:line`` of the innermost frame that runs the user's script."""
    if script is None:
        return None
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(script)
    ]
    return f"{script}:{lines[-1]}" if lines else None


def _print_panel(title: str, message: str, location: str | None) -> None:
    text = message if location is None else f"{message}\n\nraised from {location}"
    if not sys.stderr.isatty():
        click.echo(f"{title}: {text}", err=True)
        return
    from rich.console import Console
    from rich.panel import Panel
    from rich.text import Text

    Console(stderr=True).print(
        Panel(Text(text), title=title, title_align="left", border_style="red", expand=False)
    )


def _print_traceback(error: Exception, script: Path | None) -> None:
    shown = _from_script_on(error.__traceback__, script)
    click.echo("".join(traceback.format_exception(type(error), error, shown)), err=True, nl=False)


def _from_script_on(trace: TracebackType | None, script: Path | None) -> TracebackType | None:
    """The frames from the script's first one on: none if the script itself cannot be compiled."""
    if script is None:
        return trace
    while trace is not None and trace.tb_frame.f_code.co_filename != str(script):
        trace = trace.tb_next
    return trace
