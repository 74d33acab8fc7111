"""The SQL client: statements from files, from the command line, or from a prompt.

:mod:`~scurry.table.client.session` executes statements and prints results; with a terminal,
:mod:`~scurry.table.client.prompt` reads them, with completion, history and colours, and
:mod:`~scurry.table.client.live_view` shows a table as it changes.
"""
