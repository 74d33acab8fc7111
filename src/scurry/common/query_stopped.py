"""How a callback of a streaming query ends when the query was stopped.

Spark takes a failing callback for a failing query, unless the text says that a Java thread was
interrupted, which is what happens to callbacks that are inside a call to the JVM. And it looks for
that text in a way that does not bear long ones.
"""

from __future__ import annotations


class QueryStopped(Exception):
    """Ends the callback of a micro-batch that was waiting when its query was stopped."""

    def __init__(self) -> None:
        super().__init__(
            "py4j.protocol.Py4JJavaError: An error occurred while calling wait\n"
            ": java.lang.InterruptedException: the query was stopped"
        )
