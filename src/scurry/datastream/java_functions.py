"""Functions in Java, under PyFlink's names: they can be imported, and not be made.

PyFlink loads a Java class by its name here. Scurry's sources and sinks are Python classes.
"""

from __future__ import annotations

from scurry.common.unavailable import unavailable

__all__ = ["JavaFunctionWrapper", "SinkFunction", "SourceFunction"]


class JavaFunctionWrapper:
    """A function in Java."""

    __init__ = unavailable(
        "JavaFunctionWrapper", "it loads a Java class; write the function in Python"
    )


class SourceFunction(JavaFunctionWrapper):
    """A source in Java."""

    __init__ = unavailable(
        "SourceFunction",
        "it loads a Java class; take a connector of scurry.datastream.connectors, or write a "
        "Source in Python",
    )


class SinkFunction(JavaFunctionWrapper):
    """A sink in Java."""

    __init__ = unavailable(
        "SinkFunction",
        "it loads a Java class; take a connector of scurry.datastream.connectors, or write a Sink "
        "in Python",
    )
