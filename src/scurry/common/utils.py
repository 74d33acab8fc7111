"""Wrappers of Java objects, under PyFlink's names: they can be imported, and not be made."""

from __future__ import annotations

from scurry.common.unavailable import unavailable

__all__ = ["JavaObjectWrapper"]


class JavaObjectWrapper:
    """An object of Flink's JVM, of which Scurry has none."""

    __init__ = unavailable("JavaObjectWrapper", "it wraps a Java object, and Scurry has none")
